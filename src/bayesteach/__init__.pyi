from .analysis.analyse import Analysis, Plan, analyse
from .analysis.formulas import Formula
from .analysis.simulate import PAPER_EFFECTS, Effects, simulate
from .errors import BadInput, BayesteachError, NotConverged
from .explain.explanation import Explanation, explain
from .maths.curvature import CurvatureSums, HeadPosterior, choose_shrinkage
from .maths.discriminant import DiscriminantLearner, ScatterSums, choose_discriminant
from .maths.hierarchical import HierarchicalFit, fit_hierarchical
from .maths.kronecker import Gaussian, KroneckerGaussian, Logits
from .maths.learner import Learner
from .maths.lessons import Lesson, Search, best_of, exchange, first_past, from_teacher
from .maths.masks import MaskPrior
from .maths.refit import Refit, refit_head
from .maths.saliency import ExpectedMask
from .maths.teaching import Lessons, Pool, Prediction, Pupil, Teachable
from .responses import Responses, read_responses
from .vision.classifier import Classifier
from .vision.engines import make_engine
from .vision.geometry import Geometry
from .vision.images import ImageSet
from .vision.photos import open_photo

__all__ = [
    "PAPER_EFFECTS",
    "Analysis",
    "BadInput",
    "BayesteachError",
    "Classifier",
    "CurvatureSums",
    "DiscriminantLearner",
    "Effects",
    "ExpectedMask",
    "Explanation",
    "Formula",
    "Gaussian",
    "Geometry",
    "HeadPosterior",
    "HierarchicalFit",
    "ImageSet",
    "KroneckerGaussian",
    "Learner",
    "Lesson",
    "Lessons",
    "Logits",
    "MaskPrior",
    "NotConverged",
    "Plan",
    "Pool",
    "Prediction",
    "Pupil",
    "Refit",
    "Responses",
    "ScatterSums",
    "Search",
    "Teachable",
    "analyse",
    "best_of",
    "choose_discriminant",
    "choose_shrinkage",
    "exchange",
    "explain",
    "first_past",
    "fit_hierarchical",
    "from_teacher",
    "make_engine",
    "open_photo",
    "read_responses",
    "refit_head",
    "simulate",
]
