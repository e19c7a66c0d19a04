"""What a machine can tell of maps and lessons."""

from dataclasses import dataclass
from math import isnan


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
