"""What explains the trials: lessons of examples, and saliency maps."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from statistics import median

from jaxtyping import Float
from torch import Tensor


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
