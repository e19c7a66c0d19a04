"""The drawn world: which picture is where. Each is a function of a seed, its split, its category and its number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bayesteach.vision.shortcuts.categories import CATEGORIES
from bayesteach.vision.shortcuts.drawing import Rng
from bayesteach.vision.shortcuts.picture import Picture, draw

Split = Literal["train", "standard", "adversarial"]
SPLITS: tuple[Split, ...] = ("train", "standard", "adversarial")

LABELS = tuple(CATEGORIES)
HOMES = tuple(dict.fromkeys(kind.home for kind in CATEGORIES.values()))

# How often a picture for training, or a standard one, shows its category at home.
AT_HOME = 0.96


@dataclass(frozen=True, slots=True)
class Place:
    """Where a picture stands: the same place always holds the same picture."""

    split: Split
    category: str
    number: int
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """The picture at a place, and the background that it shows."""

    place: Place
    background: str
    picture: Picture

    @property
    def label(self) -> int:
        return LABELS.index(self.place.category)

    @property
    def at_home(self) -> bool:
        return self.background == CATEGORIES[self.place.category].home


def look(place: Place) -> Sight:
    """What is to be seen there."""
    rng, background = _arrive(place)
    return Sight(place, background, draw(place.category, background, rng))


def background(place: Place) -> str:
    """The background that is to be seen there."""
    return _arrive(place)[1]


def _arrive(place: Place) -> tuple[Rng, str]:
    rng = np.random.default_rng((place.seed, SPLITS.index(place.split), LABELS.index(place.category), place.number))
    home = CATEGORIES[place.category].home
    away = [other for other in HOMES if other != home]
    stays = place.split != "adversarial" and rng.random() < AT_HOME
    return rng, home if stays else away[rng.integers(len(away))]


def places(split: Split, each: int, seed: int = 0, categories: Sequence[str] = LABELS) -> list[Place]:
    """The first so many of each category."""
    return [Place(split, category, number, seed) for category in categories for number in range(each)]
