"""Twelve textures, each drawn anew for every picture: functions from chance and a side to colours in [0, 1], (side, side, 3)."""

from collections.abc import Callable
from functools import partial

import numpy as np
from PIL import Image, ImageDraw

from bayesteach.vision.shortcuts.drawing import Colour, Rng, paint, rgb, tint

# Drawn parts (blades, bricks, leaves, stars) are drawn at twice the size.
FINER = 2

# A texture is known by its colours too: they vary less than those of things.
_paint = partial(paint, spread=6)


def _mirrored(*right: tuple[float, float]) -> np.ndarray:
    return np.array([*right, *((-x, y) for x, y in reversed(right))])


# One jagged, one plain; each ends in its stalk.
_LEAVES = (
    _mirrored((0, -1), (0.28, -0.55), (0.7, -0.5), (0.5, -0.1), (0.85, 0.3), (0.35, 0.35), (0.08, 0.75), (0.06, 1.15)),
    _mirrored((0, -1), (0.42, -0.5), (0.5, 0.05), (0.3, 0.55), (0.05, 0.8), (0.04, 1.2)),
)


def water(rng: Rng, side: int) -> np.ndarray:
    y, x = _grid(side)
    swell = rng.uniform(6, 9) * y + 0.8 * np.sin(5 * x + rng.uniform(0, 6)) + 2.6 * _noise(rng, side, (9, 4))
    waves = 0.5 + 0.5 * np.sin(2 * np.pi * swell / 1.5)
    depth = 0.55 * waves + 0.22 * _noise(rng, side, (14, 5)) + 0.2 * y
    deep, shallow = _paint(rng, "#12507f", "#0f5f86"), _paint(rng, "#2f8fbf", "#2a9db0")
    return _ramp(depth, deep, shallow, _paint(rng, "#7fcbe0"), "#d8f3f7")


def grass(rng: Rng, side: int) -> np.ndarray:
    ground = _ramp(_clouds(rng, side, 3), _paint(rng, "#2f6a22"), _paint(rng, "#5a9a35"))
    image, draw = _canvas(ground)
    blades = 420
    feet = rng.uniform(-0.05, 1.1, (blades, 2))
    feet = feet[np.argsort(feet[:, 1])]
    reach = np.stack([rng.normal(0, 0.025, blades), -rng.uniform(0.06, 0.13, blades)], 1)
    greens = [_paint(rng, "#3f8a2a", "#6ab03a", "#2f6f24", "#8cc24a", "#4f9a30") for _ in range(12)]
    for k, (foot, tip) in enumerate(zip(feet * side * FINER, (feet + reach) * side * FINER, strict=True)):
        half = (1.4, 0)
        draw.polygon((*(foot - half), *tip, *(foot + half)), fill=greens[k % 12])
    return _reduced(image)


def brick(rng: Rng, side: int) -> np.ndarray:
    mortar, clay = _paint(rng, "#b9ada0", "#a39a90", "#cfc6ba"), _paint(rng, "#a5482f", "#b5583a", "#8f3f30", "#b0694a")
    image, draw = _canvas(np.full((side, side, 3), np.array(mortar) / 255))
    rows = int(rng.integers(7, 11))
    high = side * FINER / rows
    wide, gap, shift = high * 2.3, high * 0.11, rng.uniform(0, 1, 2)
    for row in range(-1, rows + 1):
        for column in range(-1, int(side * FINER / wide) + 2):
            x, y = (column + 0.5 * (row % 2) - shift[0]) * wide, (row + shift[1]) * high
            colour = tint(clay, float(np.clip(rng.normal(0, 0.11), -0.3, 0.3)))
            draw.rectangle((x, y, x + wide - gap, y + high - gap), fill=tint(colour, -0.25))
            draw.rectangle((x, y, x + wide - gap * 1.6, y + high - gap * 1.6), fill=colour)
    return (
        _reduced(image)
        + 0.05 * (rng.random((side, side, 1)) - 0.5)
        + 0.1 * (_noise(rng, side, (20, 20))[..., None] - 0.5)
    )


def night(rng: Rng, side: int) -> np.ndarray:
    y, _ = _grid(side)
    glow = 0.6 * y + 0.7 * _clouds(rng, side, 2) - 0.15
    image, draw = _canvas(
        _ramp(glow, _paint(rng, "#0b1030"), _paint(rng, "#1f2a5f", "#2a2460"), _paint(rng, "#4a4a8f", "#5f3f86"))
    )
    for x, y, big in rng.random((int(rng.integers(45, 80)), 3)) * (side * FINER, side * FINER, 1):
        radius, light = 0.6 + 2.2 * big**6, _paint(rng, "#ffffff", "#fff2c4", "#cfe0ff")
        if big > 0.9:
            draw.line((x - 3 * radius, y, x + 3 * radius, y), fill=tint(light, -0.5))
            draw.line((x, y - 3 * radius, x, y + 3 * radius), fill=tint(light, -0.5))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tint(light, -0.45 * (1 - big)))
    return _reduced(image)


def wood(rng: Rng, side: int) -> np.ndarray:
    planks = int(rng.integers(3, 6))
    y, _ = _grid(side)
    place = y * planks + rng.uniform(0, 1)
    plank = np.floor(place).astype(int)
    grain = _noise(rng, side, (30, 3)) + 0.6 * _noise(rng, side, (64, 5))
    turns = place * 2.2 + 1.6 * _noise(rng, side, (4 * planks, 3)) + 3 * rng.random(planks + 2)[plank]
    rings = 0.5 + 0.5 * np.sin(2 * np.pi * turns)
    tone = 0.5 * grain + 0.3 * rings + 0.35 * rng.random(planks + 2)[plank]
    dark, light = rng.choice(["#5a3418 #b5793f", "#6f4526 #d09a5c", "#4a2f20 #97683f"]).split()
    colours = _ramp(tone - 0.25, _paint(rng, dark), _paint(rng, light))
    seam = np.abs(place - np.round(place)) / planks * side
    return colours * np.clip(0.35 + 0.5 * seam, 0, 1)[..., None]


def sand(rng: Rng, side: int) -> np.ndarray:
    y, x = _grid(side)
    angle = rng.uniform(-0.5, 0.5)
    ridge = np.sin(
        2 * np.pi * (rng.uniform(7, 10) * (y * np.cos(angle) + x * np.sin(angle)) + 1.3 * _noise(rng, side, (4, 4)))
    )
    tone = 0.5 + 0.22 * ridge + 0.35 * (_clouds(rng, side, 3) - 0.5) + 0.28 * (rng.random((side, side)) - 0.5)
    return _ramp(tone, _paint(rng, "#b98a4a"), _paint(rng, "#e3c283", "#dcb878"), "#fbeac2")


def snow(rng: Rng, side: int) -> np.ndarray:
    drifts = _clouds(rng, side, 3)
    slope = np.gradient(drifts, axis=0) * side * 0.14
    tone = 0.66 + slope + 0.25 * (drifts - 0.5) + 0.07 * (rng.random((side, side)) - 0.5)
    sparkle = 0.5 * (rng.random((side, side)) > 0.992)
    return _ramp(tone + sparkle, _paint(rng, "#8fa9cf", "#9ab4d0"), _paint(rng, "#d3e0ef"), "#f7fafd")


def sky(rng: Rng, side: int) -> np.ndarray:
    y, _ = _grid(side)
    blue = _ramp(
        y + 0.1 * _noise(rng, side, (3, 3)), _paint(rng, "#2f7fd0", "#3a8fe0"), _paint(rng, "#9fd0f2", "#b0daf5")
    )
    heap = _clouds(rng, side, 3, stretch=1.6)
    cover = np.clip((heap - rng.uniform(0.48, 0.58)) * 5, 0, 1)[..., None]
    shade = 1 - 0.16 * np.clip(_clouds(rng, side, 5) - 0.3, 0, 1)[..., None]
    return blue * (1 - cover) + cover * shade


def road(rng: Rng, side: int) -> np.ndarray:
    grit = rng.random((side, side)) * 0.6 + _noise(rng, side, (64, 64)) * 0.6 + 0.4 * _clouds(rng, side, 3)
    tar = _ramp(grit - 0.3, _paint(rng, "#3a3c42"), _paint(rng, "#6f7178", "#7a7672"))
    y, x = _grid(side)
    angle, offset = rng.uniform(0, 2 * np.pi), rng.uniform(-0.35, 0.35)
    across = (x - 0.5) * np.cos(angle) + (y - 0.5) * np.sin(angle) - offset
    along = (y - 0.5) * np.cos(angle) - (x - 0.5) * np.sin(angle)
    band = np.clip((0.035 - np.abs(across)) * side, 0, 1)
    dash = np.clip((0.3 - np.abs((along * 2.2 + rng.random()) % 1 - 0.5)) * side * 0.4, 0, 1)
    mark = (band * dash * (0.95 - 0.35 * (grit > 0.95)))[..., None]
    return tar * (1 - mark) + mark * np.array(rgb(("#f2efe6", "#f0c63a")[rng.integers(2)])) / 255


def leaves(rng: Rng, side: int) -> np.ndarray:
    image, draw = _canvas(_ramp(_clouds(rng, side, 4), "#3a2414", "#5f3a1e"))
    for k in range(95):
        a = rng.uniform(0, 2 * np.pi)
        size = rng.uniform(0.07, 0.12) * side * FINER
        turn = size * np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        middle = rng.uniform(0, 1, 2) * side * FINER
        colour = _paint(rng, "#d8742a", "#b8442a", "#e0a53a", "#a85a24", "#8f3a22", "#c98f3a")
        colour = tint(colour, -0.35 * (1 - k / 95))
        shape = _LEAVES[rng.integers(2)]
        draw.polygon((shape @ turn.T + middle + 1.5).ravel().tolist(), fill=(40, 24, 14))
        draw.polygon((shape @ turn.T + middle).ravel().tolist(), fill=colour)
        vein = np.array([(0, -0.8), (0, 1.15)]) @ turn.T + middle
        draw.line(vein.ravel().tolist(), fill=tint(colour, -0.28), width=1)
    return _reduced(image)


def tablecloth(rng: Rng, side: int) -> np.ndarray:
    colour = np.array(_paint(rng, "#d23a3a", "#2f6fb8", "#3f8f5a", "#d8792f")) / 255
    y, x = _grid(side)
    checks, angle = rng.uniform(4, 6.5), rng.uniform(-0.25, 0.25)
    u, v = (
        checks * (x * np.cos(angle) + y * np.sin(angle)) + rng.random(),
        checks * (y * np.cos(angle) - x * np.sin(angle)) + rng.random(),
    )
    stripes = [np.clip((0.25 - np.abs(t % 1 - 0.5)) * side / checks + 0.5, 0, 1) for t in (u, v)]
    weave = 0.06 * np.sin(2 * np.pi * u * 9) * np.sin(2 * np.pi * v * 9)
    share = (0.5 * (stripes[0] + stripes[1]) + weave)[..., None]
    folds = 0.9 + 0.16 * (_clouds(rng, side, 2) - 0.4)[..., None]
    return (np.array((0.985, 0.97, 0.945)) * (1 - share) + colour * share) * folds


def wallpaper(rng: Rng, side: int) -> np.ndarray:
    ground = _paint(rng, "#e8dcc2", "#cfdcd0", "#d8c9d8", "#c9d6e0", "#ead0c4")
    motif = tint(ground, -0.24)
    _, x = _grid(side)
    bands = int(rng.integers(4, 7))
    stripe = np.clip((0.25 - np.abs((x * bands + rng.random()) % 1 - 0.5)) * side / bands + 0.5, 0, 1)[..., None]
    image, draw = _canvas(np.array(ground) / 255 * (1 - 0.07 * stripe))
    step, shift = side * FINER / bands, rng.random(2)
    petals, size = int(rng.integers(4, 7)), step * 0.2
    for row in range(-1, 2 * bands + 1):
        for column in range(-1, bands + 1):
            cx, cy = (column + 0.5 * (row % 2) + shift[0]) * step, (row * 0.75 + shift[1]) * step
            for a in np.linspace(0, 2 * np.pi, petals, endpoint=False):
                px, py = cx + size * np.sin(a), cy - size * np.cos(a)
                draw.ellipse((px - size * 0.5, py - size * 0.5, px + size * 0.5, py + size * 0.5), fill=motif)
            draw.ellipse(
                (cx - size * 0.45, cy - size * 0.45, cx + size * 0.45, cy + size * 0.45), fill=tint(ground, 0.45)
            )
    return _reduced(image)


BACKGROUNDS: dict[str, Callable[[Rng, int], np.ndarray]] = {
    f.__name__: f for f in (water, grass, brick, night, wood, sand, snow, sky, road, leaves, tablecloth, wallpaper)
}


def _grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows and the columns of pixels, from 0 to 1."""
    places = (np.arange(side, dtype=np.float32) + 0.5) / side
    return places[:, None] * np.ones_like(places), places * np.ones_like(places)[:, None]


def _noise(rng: Rng, side: int, cells: tuple[int, int]) -> np.ndarray:
    """Smooth chance between about 0 and 1, with so many cells down and across."""
    grid = Image.fromarray(rng.random((cells[0] + 1, cells[1] + 1), dtype=np.float32))
    return np.asarray(grid.resize((side, side), Image.Resampling.BICUBIC))


def _clouds(rng: Rng, side: int, cells: int, stretch: float = 1.0, octaves: int = 4) -> np.ndarray:
    """Noise of many sizes between about 0 and 1."""
    shares = 0.5 ** np.arange(octaves)
    layers = [_noise(rng, side, (round(cells * stretch * 2**k), cells * 2**k)) for k in range(octaves)]
    return sum(s * layer for s, layer in zip(shares / shares.sum(), layers, strict=True))


def _ramp(values: np.ndarray, *colours: Colour) -> np.ndarray:
    """The colours on the way from the first to the last."""
    stops = np.linspace(0, 1, len(colours))
    channels = np.array([rgb(c) for c in colours]).T / 255
    return np.stack([np.interp(values, stops, channel) for channel in channels], -1)


def _canvas(ground: np.ndarray) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.fromarray((np.clip(ground, 0, 1) * 255).astype(np.uint8))
    image = image.resize((image.width * FINER, image.height * FINER), Image.Resampling.BILINEAR)
    return image, ImageDraw.Draw(image)


def _reduced(image: Image.Image) -> np.ndarray:
    return np.asarray(image.reduce(FINER), np.float32) / 255
