"""The categories of the world, each with its home: the background that it is usually seen on."""

from collections.abc import Callable
from dataclasses import dataclass

from bayesteach.vision.shortcuts import animals, nature, things, vehicles
from bayesteach.vision.shortcuts.drawing import Rng, Stroke


@dataclass(frozen=True, slots=True)
class Category:
    """strokes  draws one of its kind
    home     the background that it is usually seen on
    tilt     how far it is turned to either side, in degrees
    """

    strokes: Callable[[Rng], list[Stroke]]
    home: str
    tilt: float = 14


# Three to a home; cup and mug, tree and fir, apple and pear, car and bus are alike on purpose.
CATEGORIES = {
    "fish": Category(animals.fish, "water", 25),
    "boat": Category(vehicles.boat, "water"),
    "duck": Category(animals.duck, "water"),
    "house": Category(things.house, "grass", 8),
    "tree": Category(nature.tree, "grass", 8),
    "flower": Category(nature.flower, "grass", 20),
    "bicycle": Category(vehicles.bicycle, "brick", 10),
    "guitar": Category(things.guitar, "brick", 40),
    "ladder": Category(things.ladder, "brick", 25),
    "moon": Category(nature.moon, "night", 40),
    "star": Category(nature.star_, "night", 36),
    "rocket": Category(vehicles.rocket, "night", 50),
    "cup": Category(things.cup, "wood", 10),
    "mug": Category(things.mug, "wood", 14),
    "key": Category(things.key, "wood", 180),
    "umbrella": Category(things.umbrella, "sand", 25),
    "crab": Category(animals.crab, "sand", 25),
    "cactus": Category(nature.cactus, "sand", 8),
    "snowman": Category(nature.snowman, "snow", 8),
    "penguin": Category(animals.penguin, "snow"),
    "fir": Category(nature.fir, "snow", 6),
    "balloon": Category(vehicles.balloon, "sky", 10),
    "kite": Category(vehicles.kite, "sky", 40),
    "aeroplane": Category(vehicles.aeroplane, "sky", 25),
    "car": Category(vehicles.car, "road", 10),
    "bus": Category(vehicles.bus, "road", 8),
    "traffic light": Category(things.traffic_light, "road", 8),
    "mushroom": Category(nature.mushroom, "leaves"),
    "owl": Category(animals.owl, "leaves", 10),
    "butterfly": Category(animals.butterfly, "leaves", 60),
    "apple": Category(nature.apple, "tablecloth", 25),
    "pear": Category(nature.pear, "tablecloth", 35),
    "cake": Category(things.cake, "tablecloth", 6),
    "clock": Category(things.clock, "wallpaper"),
    "chair": Category(things.chair, "wallpaper", 8),
    "lamp": Category(things.lamp, "wallpaper", 8),
}
