"""One picture of the world: a thing in front of a background, lit, and where in it the thing is."""

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
from PIL import Image, ImageFilter

from bayesteach.vision.shortcuts.backgrounds import BACKGROUNDS
from bayesteach.vision.shortcuts.categories import CATEGORIES
from bayesteach.vision.shortcuts.drawing import Rng, rasterise

SIDE = 128

# The share of pictures that are hard to read, and the ways in which they are.
HARD = 0.28
WAYS = ("far", "hidden", "hazy", "turned")


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """pixels (side, side, 3), and mask (side, side), how much of each pixel is the thing; both from 0 to 255."""

    pixels: np.ndarray
    mask: np.ndarray


def draw(category: str, background: str, rng: Rng) -> Picture:
    """A picture of the category on this background."""
    kind = CATEGORIES[category]
    scene = BACKGROUNDS[background]
    hard = WAYS[rng.integers(len(WAYS))] if rng.random() < HARD else ""
    behind = scene(rng, SIDE).astype(np.float32)
    matrix, shift = _pose(rng, kind.tilt, hard)
    thing = rasterise(kind.strokes(rng), matrix, shift, SIDE)
    colour, mask = _lit(thing[..., :3], thing[..., 3]), thing[..., 3]
    seen = np.ones_like(mask)
    if hard == "hidden":
        seen = 1 - _cover(rng, mask)
    clear = np.float32(rng.uniform(0.4, 0.6) if hard == "hazy" else 1)
    behind *= 1 - (1 - _shade(mask))[..., None] * (seen * clear)[..., None]
    mask = mask * seen
    pixels = behind * (1 - clear * mask[..., None]) + colour * (clear * seen)[..., None]
    pixels = (
        np.clip(pixels, 0, 1) ** rng.uniform(0.85, 1.2)
        * rng.uniform(0.88, 1.05)
        * (1 + rng.normal(0, 0.02, 3)).astype(np.float32)
    )
    return Picture(*((np.clip(values, 0, 1) * 255 + 0.5).astype(np.uint8) for values in (pixels, mask)))


def _pose(rng: Rng, tilt: float, hard: str) -> tuple[np.ndarray, np.ndarray]:
    """How a thing in [−1, 1]² comes to lie in the picture."""
    scale = SIDE / 2 * (rng.uniform(0.26, 0.36) if hard == "far" else rng.uniform(0.52, 0.78))
    turn = rng.uniform(60, 300) if hard == "turned" else rng.uniform(-tilt, tilt)
    a, mirror, narrow, lean = turn * pi / 180, rng.choice((-1, 1)), rng.uniform(0.9, 1.1), rng.normal(0, 0.05)
    matrix = (
        scale * np.array([[cos(a), -sin(a)], [sin(a), cos(a)]]) @ np.array([[mirror * narrow, lean], [0, 1 / narrow]])
    )
    room = max(SIDE / 2 - scale, 0) * 1.1
    return matrix, SIDE / 2 + rng.uniform(-room, room, 2)


def _lit(colour: np.ndarray, opacity: np.ndarray) -> np.ndarray:
    """As if its edges were round and light came from above on the left."""
    height = _blurred(opacity, 3.0)
    down, right = np.gradient(height)
    light = np.clip(1 + 1.5 * (0.8 * down + 0.6 * right), 0.7, 1.3)[..., None]
    y = np.linspace(1.05, 0.93, len(colour), dtype=np.float32)[:, None, None]
    return np.minimum(colour * light * y, opacity[..., None])


def _shade(opacity: np.ndarray) -> np.ndarray:
    """What a thing's shadow and its outline leave of the light on the background."""
    shadow = _blurred(np.pad(opacity, ((4, 0), (3, 0)))[:-4, :-3], 3.5)
    outline = np.clip(2.2 * _blurred(opacity, 1.0), 0, 1)
    return (1 - 0.42 * shadow) * (1 - 0.55 * outline)


def _cover(rng: Rng, opacity: np.ndarray) -> np.ndarray:
    """Where the background comes before the thing: up to half of it, from one side."""
    y, x = np.nonzero(opacity > 0.5)
    if not len(x):
        return np.zeros_like(opacity)
    a = rng.uniform(0, 2 * pi)
    far = np.quantile(x * cos(a) + y * sin(a), rng.uniform(0.45, 0.6))
    rows, columns = np.mgrid[: len(opacity), : len(opacity)]
    wave = 2.5 * np.sin((columns * sin(a) - rows * cos(a)) * rng.uniform(0.2, 0.4))
    return np.clip(columns * cos(a) + rows * sin(a) + wave - far, 0, 1).astype(np.float32)


def _blurred(values: np.ndarray, radius: float) -> np.ndarray:
    image = Image.fromarray((values * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(radius))
    return np.asarray(image, np.float32) / 255
