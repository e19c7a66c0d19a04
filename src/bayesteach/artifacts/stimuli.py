"""What a participant can see of a trial, and what stands behind it."""

from collections.abc import Mapping
from dataclasses import dataclass

from bayesteach.artifacts.trials import Kind


class Page(str):
    """A whole HTML page."""

    __slots__ = ()


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
