"""Explain an image classifier by what would teach its answer."""

from bayesteach.errors import BadInput, BayesteachError, NotConverged
from bayesteach.maths.curvature import CurvatureSums, HeadPosterior, choose_shrinkage
from bayesteach.maths.discriminant import DiscriminantLearner, ScatterSums, choose_discriminant
from bayesteach.maths.kronecker import Gaussian, KroneckerGaussian, Logits
from bayesteach.maths.learner import Learner
from bayesteach.maths.lessons import Lesson, Search, best_of, exchange, first_past, from_teacher
from bayesteach.maths.masks import MaskPrior
from bayesteach.maths.refit import Refit, refit_head
from bayesteach.maths.saliency import ExpectedMask
from bayesteach.maths.teaching import Lessons, Pool, Prediction, Pupil, Teachable

__all__ = [
    "BadInput",
    "BayesteachError",
    "CurvatureSums",
    "DiscriminantLearner",
    "ExpectedMask",
    "Gaussian",
    "HeadPosterior",
    "KroneckerGaussian",
    "Learner",
    "Lesson",
    "Lessons",
    "Logits",
    "MaskPrior",
    "NotConverged",
    "Pool",
    "Prediction",
    "Pupil",
    "Refit",
    "ScatterSums",
    "Search",
    "Teachable",
    "best_of",
    "choose_discriminant",
    "choose_shrinkage",
    "exchange",
    "first_past",
    "from_teacher",
    "refit_head",
]
