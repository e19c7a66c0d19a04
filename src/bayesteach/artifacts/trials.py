"""The trials of a study, and what could not be had."""

from dataclasses import dataclass
from typing import Literal, get_args

from bayesteach.artifacts.seen import Seen

Kind = Literal["trial", "practice", "attention"]
TrialType = Literal["standard_correct", "standard_incorrect", "adversarial_incorrect"]
TRIAL_TYPES: tuple[TrialType, ...] = ("adversarial_incorrect", "standard_incorrect", "standard_correct")


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
