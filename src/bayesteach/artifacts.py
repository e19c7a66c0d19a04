"""The values that flow between stages: frozen, and knowing nothing of disk."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isnan
from statistics import median
from typing import Literal, get_args

from jaxtyping import Float
from torch import Tensor

from bayesteach.maths.curvature import HeadPosterior
from bayesteach.maths.discriminant import DiscriminantLearner

Kind = Literal["trial", "practice", "attention"]
TrialType = Literal["standard_correct", "standard_incorrect", "adversarial_incorrect"]
TRIAL_TYPES: tuple[TrialType, ...] = ("adversarial_incorrect", "standard_incorrect", "standard_correct")


class Page(str):
    """A whole HTML page."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """An image that went through the classifier: what it answered, and with which probability."""

    id: str
    source: str
    label: int
    answer: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """An image that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, eq=False)
class Features:
    """The features of every image, with the 1 of the bias, and the classifier's answers, in one order."""

    seen: tuple[Seen, ...]
    features: Float[Tensor, "images cols"]
    skipped: tuple[Skipped, ...]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each image is, by its id."""
        return {seen.id: place for place, seen in enumerate(self.seen)}

    @property
    def summary(self) -> str:
        """What a run says of it."""
        hits = sum(seen.answer == seen.label for seen in self.seen)
        skipped = f"; {len(self.skipped)} could not be read, the first {self.skipped[0].path}" if self.skipped else ""
        return f"{len(self.seen)} images, {hits / len(self.seen):.1%} answered as labelled{skipped}"

    def of(self, ids: tuple[str, ...] | list[str]) -> Float[Tensor, "images cols"]:
        """The features of some images."""
        return self.features[[self.places[i] for i in ids]]


@dataclass(frozen=True, slots=True)
class Judged:
    """How well a head foresees the labels of held-out images."""

    head: str
    images: int
    top1: float
    top5: float
    log_loss: float
    calibration_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What is known of the classifier's head, and the learner who knows nothing of it but how images vary.

    judged  the deterministic head beside the Bayesian one, on images that chose nothing of either
    """

    head: HeadPosterior
    discriminant: DiscriminantLearner
    discriminant_shrinkage: float
    judged: tuple[Judged, ...]

    @property
    def summary(self) -> str:
        """What a run says of it."""
        heads = "; ".join(
            f"{row.head} head top-1 {row.top1:.1%}, top-5 {row.top5:.1%}, log loss {row.log_loss:.3f}, "
            f"calibration error {row.calibration_error:.3f}"
            for row in self.judged
        )
        few = self.head.images < 10 * self.head.mean.shape[1]
        scarce = (
            f"; N = {self.head.images:,.0f} is below ten a feature: say fit.images if the head saw more" if few else ""
        )
        return f"{heads} on {self.judged[0].images} held-out images; shrinkage {self.head.shrinkage:g}{scarce}"


@dataclass(frozen=True, slots=True)
class Trial:
    """A probe and two options. Classes are indices; probe is an image's id; source is `mined` where it was."""

    trial: str
    kind: Kind
    trial_type: TrialType
    category: int
    target: int
    alternative: int
    probe: str
    source: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Unfilled:
    """A trial, or a whole category, that could not be made, and why."""

    category: int
    trial_type: str
    reason: str


@dataclass(frozen=True, slots=True)
class Category:
    """A class of the classifier, by how often it is answered when it is true on the standard images."""

    category: int
    accuracy: float
    images: int
    chosen: bool


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """The trials of a study, the images that may be examples in it, and what could not be had."""

    trials: tuple[Trial, ...]
    pool: tuple[Seen, ...]
    categories: tuple[Category, ...]
    unfilled: tuple[Unfilled, ...]

    @property
    def summary(self) -> str:
        """What a run says of it."""
        kinds = {kind: sum(trial.kind == kind for trial in self.trials) for kind in get_args(Kind)}
        told = f"{kinds['trial']} trials of {sum(c.chosen for c in self.categories)} categories"
        extra = f", {kinds['practice']} for practice, {kinds['attention']} for attention; {len(self.pool)} images for examples"
        return told + extra + (f"; {len(self.unfilled)} could not be filled" if self.unfilled else "")


@dataclass(frozen=True, slots=True)
class TaughtLesson:
    """The examples of a trial, those of the target first, and what they teach.

    prior, posterior  P(target | probe) of the learner before and after the lesson; taught is their difference in log odds
    rank              among so many candidates, 1 for the best
    """

    trial: str
    explainer: str
    targets: tuple[str, ...]
    alternatives: tuple[str, ...]
    prior: float
    posterior: float
    taught: float
    rank: int
    candidates: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A trial without a lesson, and why."""

    trial: str
    explainer: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """A lesson a trial for each explainer of examples, and the trials that have none."""

    lessons: tuple[TaughtLesson, ...]
    refused: tuple[Refused, ...]

    @property
    def summary(self) -> str:
        """What a run says of it."""
        taught = f", which teach {median(row.taught for row in self.lessons):.2f} in log odds" if self.lessons else ""
        return f"{len(self.lessons)} lessons{taught}; {len(self.refused)} refused"


@dataclass(frozen=True, slots=True)
class MapOf:
    """Whose map, of which class, and how far to trust it: its effective masks, the share of error in what varies, a verdict.

    effective_samples  NaN of an explainer that weighs no masks
    verdict            converged, rough or noise; None of an explainer that weighs no masks
    """

    image: str
    label: int
    explainer: str
    effective_samples: float
    noise: float
    verdict: str | None


@dataclass(frozen=True, eq=False)
class SaliencyMaps:
    """Maps as departures from what a mask shows on average, with the doubt in them, at the network's size."""

    of: tuple[MapOf, ...]
    departures: Float[Tensor, "maps height width"]
    doubts: Float[Tensor, "maps height width"]

    @cached_property
    def places(self) -> Mapping[tuple[str, int, str], int]:
        """Where each map is, by image, class and explainer."""
        return {(row.image, row.label, row.explainer): place for place, row in enumerate(self.of)}

    @property
    def summary(self) -> str:
        """What a run says of it."""
        noisy = sum(row.noise > 0.5 for row in self.of)
        weighed = [row.effective_samples for row in self.of if isfinite(row.effective_samples)]
        worth = f" of {median(weighed):.0f} effective masks" if weighed else ""
        return f"{len(self.of)} maps{worth}; {noisy} of them mostly noise"


@dataclass(frozen=True, slots=True)
class Arm:
    """A condition of the study: its name, and the level that it stands for in each factor of the design."""

    name: str
    factors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """Examples under one heading, with their overlays in the same order where the arm shows any."""

    heading: str
    images: tuple[str, ...]
    overlays: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """What an arm adds to the probe: its overlay, and groups of examples in the order of the options."""

    overlay: str | None
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a browser may know of a trial: nothing here depends on its type or on the classifier's answer.

    options  the two labels in alphabetical order
    probe    the name of its picture, as all names of pictures random
    panels   by the name of the arm
    """

    trial: str
    kind: Kind
    options: tuple[str, str]
    probe: str
    panels: Mapping[str, Panel]


@dataclass(frozen=True, slots=True)
class Hidden:
    """What only the analysis may know of a trial: target, alternative, category, trial type, and covariates."""

    trial: str
    target: str
    alternative: str
    category: str
    trial_type: str
    covariates: Mapping[str, float | str | None]


@dataclass(frozen=True, slots=True, eq=False)
class Stimuli:
    """All that a participant could see, and what stands behind it, in the same order of trials.

    pictures  PNG files by their random names, without a suffix; `legend` is the scale of all maps
    """

    arms: tuple[Arm, ...]
    shown: tuple[Shown, ...]
    hidden: tuple[Hidden, ...]
    pictures: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class MeasuredMap:
    """The map of a probe for its target. NaN where nobody has said what is the thing.

    thing_area           the share of the picture that is the thing
    thing_share          the share of all that the map calls showing that lies on the thing; of a map that knows nothing, its area
    lift                 the mean of the map on the thing less that on the background; noise alone gives 0 on average
    insertion, deletion  areas under RISE's curves, and `any_…` those of a random smooth map
    """

    trial: str
    trial_type: str
    explainer: str
    thing_area: float
    thing_share: float
    lift: float
    insertion: float
    deletion: float
    any_insertion: float
    any_deletion: float


@dataclass(frozen=True, slots=True)
class MeasuredLesson:
    """What a trial's examples teach one learner: P(target | probe) before and after, and their difference in log odds."""

    trial: str
    trial_type: str
    explainer: str
    learner: str
    prior: float
    posterior: float
    taught: float


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """A row for each map of a probe, and for each lesson and learner."""

    maps: tuple[MeasuredMap, ...]
    lessons: tuple[MeasuredLesson, ...]

    @property
    def summary(self) -> str:
        """What is said of it."""
        where = sum(not isnan(row.lift) for row in self.maps)
        return (
            f"{len(self.maps)} maps, of {where} it is known where the thing is; {len(self.lessons)} lessons by learner"
        )
