from .explanations import Lessons, MapOf, Refused, SaliencyMaps, TaughtLesson
from .head import Features, Judged, Posterior
from .measures import MeasuredLesson, MeasuredMap, Measures
from .seen import Seen, Skipped
from .shards import Shards
from .stimuli import Arm, Group, Hidden, Page, Panel, Shown, Stimuli
from .trials import TRIAL_TYPES, Category, Kind, Trial, Trials, TrialType, Unfilled

__all__ = [
    "TRIAL_TYPES",
    "Arm",
    "Category",
    "Features",
    "Group",
    "Hidden",
    "Judged",
    "Kind",
    "Lessons",
    "MapOf",
    "MeasuredLesson",
    "MeasuredMap",
    "Measures",
    "Page",
    "Panel",
    "Posterior",
    "Refused",
    "SaliencyMaps",
    "Seen",
    "Shards",
    "Shown",
    "Skipped",
    "Stimuli",
    "TaughtLesson",
    "Trial",
    "TrialType",
    "Trials",
    "Unfilled",
]
