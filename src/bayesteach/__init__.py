"""Explain an image classifier by what would teach its answer."""

from bayesteach.analysis.analyse import Analysis, Plan, analyse
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.simulate import PAPER_EFFECTS, Effects, simulate
from bayesteach.errors import BadInput, BayesteachError, NotConverged
from bayesteach.explain.explanation import Explanation, explain
from bayesteach.maths.curvature import CurvatureSums, HeadPosterior, choose_shrinkage
from bayesteach.maths.discriminant import DiscriminantLearner, ScatterSums, choose_discriminant
from bayesteach.maths.hierarchical import HierarchicalFit, fit_hierarchical
from bayesteach.maths.kronecker import Gaussian, KroneckerGaussian, Logits
from bayesteach.maths.learner import Learner
from bayesteach.maths.lessons import Lesson, Search, best_of, exchange, first_past, from_teacher
from bayesteach.maths.masks import MaskPrior
from bayesteach.maths.refit import Refit, refit_head
from bayesteach.maths.saliency import ExpectedMask
from bayesteach.maths.teaching import Lessons, Pool, Prediction, Pupil, Teachable
from bayesteach.responses import Responses, read_responses
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.engines import make_engine
from bayesteach.vision.geometry import Geometry
from bayesteach.vision.images import ImageSet
from bayesteach.vision.photos import open_photo

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
