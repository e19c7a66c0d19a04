"""Plants, fruit, and what one sees in the sky and in the snow."""

# A stroke a line, as one reads a drawing: the formatter would give each point a line of its own.
# fmt: off

import numpy as np

from bayesteach.vision.shortcuts.drawing import (
    Rng,
    Stroke,
    blob,
    both_sides,
    box,
    curve,
    ellipse,
    line,
    moved,
    paint,
    pie,
    polygon,
    star,
    symmetric,
    tint,
)

INK = "#26222b"


def tree(rng: Rng) -> list[Stroke]:
    leaf, bark = paint(rng, "#3f8f3a", "#5a9e32", "#2f7a4a", "#8aa83a"), paint(rng, "#7a5230", "#5f4028")
    crown, trunk = rng.uniform(0.5, 0.62), rng.uniform(0.11, 0.16)
    puffs = [(0.0, -0.5, crown), (-0.42, -0.22, crown * 0.72), (0.42, -0.2, crown * 0.74), (0.0, -0.1, crown * 0.75)]
    lights = [(-0.15, -0.6, crown * 0.5), (-0.5, -0.32, crown * 0.34), (0.32, -0.32, crown * 0.36)]
    fruit = [
        ellipse("#d8392f", rng.uniform(-0.6, 0.6), rng.uniform(-0.7, 0.1), 0.075)
        for _ in range(6 * int(rng.random() < 0.3))
    ]
    return [
        symmetric(bark, (trunk, 0.1), (trunk, 0.4), (trunk * 1.1, 0.7), (trunk * 2, 0.96)),
        line(bark, 0.09, (0.02, 0.4), (0.3, 0.05)),
        *(ellipse(leaf, *puff) for puff in puffs),
        *(ellipse(tint(leaf, 0.16), *puff) for puff in lights),
        *fruit,
    ]


def flower(rng: Rng) -> list[Stroke]:
    petal = paint(rng, "#e8447a", "#f2f0f5", "#8f5fd0", "#f26a3d", "#f5c934", "#4f7fe0")
    heart, stem = paint(rng, "#f5b82e", "#7a4a22"), paint(rng, "#3e8e3f", "#5b9a35")
    petals, long = int(rng.integers(5, 9)), rng.uniform(0.26, 0.33)
    wide = long * min(0.62, 3.6 / petals)
    lean = rng.uniform(-0.2, 0.2)
    one = [blob(petal, (0, -0.06), (wide, -long), (wide * 0.6, -long * 1.75), (-wide * 0.6, -long * 1.75),
        (-wide, -long))]
    rib = [line(tint(petal, -0.18), 0.03, (0, -0.15), (0, -long * 1.2))]
    around = [s for k in range(petals) for s in moved([*one, *rib], turn=k * 360 / petals)]
    return [
        curve(stem, 0.1, (0, -0.35), (lean * 0.4, 0.2), (lean, 0.97)),
        blob(stem, (lean * 0.6, 0.62), (0.3 + lean, 0.2), (0.62 + lean, 0.22), (0.45 + lean, 0.52)),
        blob(tint(stem, -0.12), (lean * 0.7, 0.72), (-0.25 + lean, 0.35), (-0.55 + lean, 0.4), (-0.38 + lean, 0.66)),
        *moved(around, 0, -0.4),
        ellipse(heart, 0, -0.4, 0.2),
        ellipse(tint(heart, 0.25), -0.04, -0.44, 0.1),
    ]


def moon(rng: Rng) -> list[Stroke]:
    colour = paint(rng, "#f6e3a1", "#f3ecd8", "#f0c96a")
    bite = rng.uniform(0.36, 0.55)
    places = ((-0.66, 0.05, 0.1), (-0.5, -0.42, 0.08), (-0.45, 0.47, 0.11))
    craters = [ellipse(tint(colour, -0.13), *place) for place in places]
    return [ellipse(colour, 0, 0, 0.9), *craters, ellipse(None, bite, -0.08, 0.74)]


def star_(rng: Rng) -> list[Stroke]:
    colour = paint(rng, "#f7cf3a", "#f4b62c", "#f9e27c", "#f09a36")
    inner = rng.uniform(0.4, 0.5)
    outline = star(colour, 0, 0, 0.95, inner, 5)
    facets = zip(outline.points[::2].tolist(), outline.points[1::2].tolist(), strict=True)
    return [outline, *(polygon(tint(colour, 0.35), (0, 0), (a, b), (c, d)) for (a, b), (c, d) in facets)]


def cactus(rng: Rng) -> list[Stroke]:
    skin = paint(rng, "#3f8a4a", "#5a9a45", "#2f7d62")
    rib, left, right = tint(skin, -0.3), rng.uniform(-0.25, 0.15), rng.uniform(-0.25, 0.15)
    tops = ((0, -0.9), (-0.62, left - 0.4), (0.62, right - 0.45))
    bloom = [star("#e8508a", x, y, 0.17, 0.09, 6) for x, y in tops if rng.random() < 0.5]
    return [
        line(skin, 0.25, (0, 0.32), (-0.62, 0.32), (-0.62, left - 0.25)),
        line(skin, 0.25, (0, 0.12), (0.62, 0.12), (0.62, right - 0.3)),
        box(skin, -0.25, -0.95, 0.25, 0.97, 0.25),
        *(line(rib, 0.035, (x, -0.74 + abs(x)), (x, 0.9)) for x in (-0.12, 0, 0.12)),
        line(rib, 0.03, (-0.62, 0.25), (-0.62, left - 0.22)),
        line(rib, 0.03, (0.62, 0.05), (0.62, right - 0.27)),
        *bloom,
    ]


def snowman(rng: Rng) -> list[Stroke]:
    snow = paint(rng, "#f4f7fb", spread=4)
    scarf = paint(rng, "#d83a3a", "#2f7fc0", "#3f9a4a", "#e0892c")
    hat = paint(rng, "#2b2b33", "#4a3a5a", spread=6)
    big, head = rng.uniform(0.46, 0.54), rng.uniform(0.27, 0.32)
    smile = [ellipse(INK, 0.13 * np.sin(a), -0.36 + 0.07 * np.cos(a), 0.022) for a in np.linspace(-1.1, 1.1, 5)]
    return [
        *both_sides(line("#6a4a30", 0.05, (0.25, 0.0), (0.8, -0.3)),
            line("#6a4a30", 0.04, (0.66, -0.22), (0.82, -0.1))),
        ellipse(snow, 0, 0.5, big),
        ellipse(tint(snow, -0.09), 0, -0.02, 0.365, 0.35),
        ellipse(snow, 0, -0.04, 0.36, 0.34),
        ellipse(snow, 0, -0.46, head),
        box(hat, -0.36, -0.74, 0.36, -0.65, 0.03),
        box(hat, -0.23, -0.99, 0.23, -0.68, 0.04),
        box(scarf, -0.23, -0.81, 0.23, -0.73),
        line(scarf, 0.11, (-0.24, -0.22), (0.24, -0.22)),
        line(scarf, 0.11, (0.16, -0.2), (0.24, 0.1)),
        *both_sides(ellipse(INK, 0.1, -0.53, 0.045)),
        polygon("#ee7d28", (0.0, -0.5), (0.0, -0.39), (-0.34, -0.42)),
        *smile,
        *(ellipse(INK, 0, y, 0.042) for y in (-0.02, 0.16, 0.42, 0.6)),
    ]


def fir(rng: Rng) -> list[Stroke]:
    green, tiers = paint(rng, "#256b45", "#2f7d4a", "#1f5a4f", "#3d7a3a"), int(rng.integers(3, 5))
    wide = rng.uniform(0.55, 0.72)
    white = rng.random() < 0.4
    strokes = [box(paint(rng, "#6a4630"), -0.11, 0.6, 0.11, 0.97)]
    for k in reversed(range(tiers)):
        top, bottom = -0.95 + 1.25 * k / tiers, -0.95 + 1.65 * (k + 1) / tiers
        half = wide * (0.45 + 0.55 * (k + 1) / tiers)
        strokes += [
            polygon(tint(green, -0.2), (0, top), (half, bottom), (half * 0.5, bottom - 0.06), (0, bottom + 0.05),
                (-half * 0.5, bottom - 0.06), (-half, bottom)),
            polygon(tint(green, 0.06), (0, top), (half * 0.3, bottom - 0.1), (0, bottom + 0.02),
                (-half * 0.5, bottom - 0.08), (-half, bottom)),
        ]
        if white:
            strokes += [polygon("#f3f7fa", (0, top), (half * 0.42, top + 0.2), (0.1, top + 0.15), (0, top + 0.26),
                (-0.1, top + 0.15), (-half * 0.42, top + 0.2))]
    return strokes


def mushroom(rng: Rng) -> list[Stroke]:
    cap, stem = paint(rng, "#cf3a2c", "#cf3a2c", "#a8683a", "#d98a35"), paint(rng, "#f3e8d2", "#e8d8bb")
    wide, high, thick = rng.uniform(0.75, 0.92), rng.uniform(0.7, 0.95), rng.uniform(0.2, 0.28)
    spots = ((-0.42, -0.26, 0.12), (0.02, -0.52, 0.14), (0.4, -0.2, 0.13), (-0.08, -0.16, 0.08), (0.66, -0.02, 0.07),
        (-0.7, -0.02, 0.06))
    return [
        symmetric(stem, (thick, -0.05), (thick, 0.4), (thick * 1.5, 0.85), (0, 0.95)),
        ellipse(tint(stem, -0.2), 0, 0.08, wide * 0.85, 0.17),
        pie(cap, 0, 0.08, wide, high, 180, 360),
        *(ellipse("#fbf4e6", x * wide, 0.08 + (y - 0.08) * high, r, r * 0.85) for x, y, r in spots),
        ellipse(tint(stem, -0.12), 0, 0.3, thick * 1.35, 0.08),
    ]


def apple(rng: Rng) -> list[Stroke]:
    skin = paint(rng, "#d2322d", "#c7263c", "#8cbf3f", "#e8b53a")
    wide = rng.uniform(0.74, 0.86)
    return [
        curve("#5f4028", 0.09, (0, -0.45), (0.02, -0.7), (0.14, -0.92)),
        blob("#4f9a3a", (0.06, -0.66), (0.28, -0.92), (0.62, -0.86), (0.36, -0.62)),
        symmetric(skin, (0, -0.44), (0.34, -0.58), (wide * 0.9, -0.38), (wide, 0), (wide * 0.82, 0.46), (0.32, 0.84), (0, 0.78)),
        ellipse(tint(skin, -0.35), 0, -0.46, 0.17, 0.06),
        *moved([ellipse(tint(skin, 0.5), 0, 0, 0.09, 0.22)], -0.5, -0.18, 25),
    ]


def pear(rng: Rng) -> list[Stroke]:
    skin = paint(rng, "#b9c53f", "#d6c94a", "#8fb548", "#d9a441")
    neck, wide = rng.uniform(0.24, 0.31), rng.uniform(0.62, 0.74)
    return [
        curve("#5f4028", 0.085, (0, -0.6), (0.03, -0.78), (0.14, -0.96)),
        blob("#4f9a3a", (0.06, -0.72), (0.25, -0.95), (0.56, -0.9), (0.34, -0.7)),
        symmetric(skin, (0, -0.72), (neck, -0.58), (neck * 1.1, -0.25), (wide * 0.85, 0.1), (wide, 0.48), (0.38, 0.9),
            (0, 0.93)),
        *moved([ellipse(tint(skin, 0.45), 0, 0, 0.08, 0.22)], -0.36, 0.34, 20),
        *(ellipse(tint(skin, -0.28), x, y, 0.022) for x, y in ((0.2, 0.3), (0.35, 0.5), (0.1, 0.6), (0.0, 0.1),
            (0.3, 0.7))),
    ]
