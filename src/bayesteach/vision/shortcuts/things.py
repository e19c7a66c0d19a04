"""What people make, at home and in the street."""

# A stroke a line, as one reads a drawing: the formatter would give each point a line of its own.
# fmt: off

from itertools import pairwise

import numpy as np

from bayesteach.vision.shortcuts.drawing import (
    Rng,
    Stroke,
    arc,
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
    symmetric,
    tint,
)

INK, GLASS = "#26222b", "#bfe3f2"


def house(rng: Rng) -> list[Stroke]:
    wall = paint(rng, "#f2dcb3", "#ece6da", "#d99a72", "#b9d0dc", "#f0b8a8")
    roof = paint(rng, "#b5452f", "#7a4034", "#4f6074", "#8c5a3a")
    wide, eaves, ridge = rng.uniform(0.62, 0.8), rng.uniform(-0.22, -0.05), rng.uniform(0.0, 0.35)
    door, chimney = rng.choice((-0.32, 0.0, 0.32)) * wide, rng.choice((-1, 1)) * wide * 0.5
    windows = [
        s
        for x in (-0.56 * wide, 0.56 * wide)
        if abs(x - door) > 0.3
        for s in (box("#fbfaf5", x - 0.17, 0.15, x + 0.17, 0.5), box("#7fb6d6", x - 0.13, 0.19, x + 0.13, 0.46),
            line("#fbfaf5", 0.04, (x, 0.18), (x, 0.46)))
    ]
    return [
        box(tint(roof, -0.25), chimney - 0.11, -0.92, chimney + 0.11, -0.2),
        box(tint(wall, -0.3), chimney - 0.14, -0.95, chimney + 0.14, -0.84),
        box(wall, -wide, eaves, wide, 0.9),
        polygon(roof, (-wide - 0.17, eaves + 0.06), (-ridge, -0.86), (ridge, -0.86), (wide + 0.17, eaves + 0.06)),
        line(tint(roof, -0.3), 0.05, (-wide - 0.14, eaves + 0.06), (wide + 0.14, eaves + 0.06)),
        box(tint(roof, -0.1), door - 0.15, 0.32, door + 0.15, 0.9, 0.03),
        ellipse("#f7cf3a", door + 0.09, 0.62, 0.03),
        *windows,
    ]


def guitar(rng: Rng) -> list[Stroke]:
    wood = paint(rng, "#c9843f", "#a85a2c", "#e0b06a", "#8a3a2a", "#d8b48a")
    wide, waist = rng.uniform(0.42, 0.5), rng.uniform(0.24, 0.3)
    half = ((0, -0.12), (0.28, -0.1), (0.36, 0.1), (waist, 0.3), (wide, 0.62), (0.3, 0.93), (0, 0.97))
    return [
        symmetric(tint(wood, -0.4), *half),
        symmetric(wood, *((x * 0.9, 0.42 + (y - 0.42) * 0.92) for x, y in half)),
        box("#4a3020", -0.07, -0.72, 0.07, 0.2),
        polygon("#3a2418", (-0.11, -0.7), (0.11, -0.7), (0.14, -0.97), (-0.14, -0.97)),
        *both_sides(*(ellipse("#d8d4c8", 0.16, y, 0.045) for y in (-0.92, -0.84, -0.76))),
        ellipse(tint(wood, -0.3), 0, 0.3, 0.2),
        ellipse("#2a1a12", 0, 0.3, 0.155),
        box("#3a2418", -0.2, 0.66, 0.2, 0.75),
        *(line("#e8e2d0", 0.014, (x, -0.85), (x, 0.7)) for x in (-0.035, 0, 0.035)),
        *(line("#c8c0a8", 0.02, (-0.065, y), (0.065, y)) for y in (-0.6, -0.45, -0.3, -0.15)),
    ]


def ladder(rng: Rng) -> list[Stroke]:
    wood, rungs = paint(rng, "#c98f4a", "#e0b878", "#d8392f", "#b8bec6", "#e8b53a"), int(rng.integers(5, 8))
    foot, head = rng.uniform(0.34, 0.44), rng.uniform(0.24, 0.34)
    steps = [(y, foot + (head - foot) * (0.9 - y) / 1.8) for y in np.linspace(-0.78, 0.72, rungs)]
    return [
        *(line(tint(wood, -0.14), 0.1, (-w, y), (w, y)) for y, w in steps),
        *(line(tint(wood, 0.2), 0.03, (-w, y - 0.02), (w, y - 0.02)) for y, w in steps),
        *both_sides(line(wood, 0.13, (foot, 0.93), (head, -0.93))),
    ]


def cup(rng: Rng) -> list[Stroke]:
    """A tea cup on its saucer: wide above, narrow below, a small handle."""
    china = paint(rng, "#f7f4ee", "#dfeaf2", "#f6d9d5", "#e3efd9")
    band = paint(rng, "#3f6fb0", "#c0485a", "#d8a02c", "#3f8f6f")
    wide, deep = rng.uniform(0.56, 0.66), rng.uniform(0.5, 0.62)
    rim = -0.42
    half = ((wide, rim), (wide * 0.92, rim + deep * 0.55), (wide * 0.5, rim + deep * 1.35), (0, rim + deep * 1.5))
    foot = rim + deep * 1.45
    return [
        ellipse(tint(china, -0.16), 0, foot + 0.12, 0.93, 0.2),
        ellipse(china, 0, foot + 0.08, 0.93, 0.18),
        ellipse(tint(china, -0.1), 0, foot + 0.08, 0.5, 0.09),
        arc(tint(china, -0.08), 0.1, wide * 0.92, rim + deep * 0.5, 0.24, 0.22, -110, 120),
        symmetric(china, *half),
        curve(band, 0.07, (-wide * 0.96, rim + deep * 0.32), (0, rim + deep * 0.5), (wide * 0.96, rim + deep * 0.32)),
        ellipse(tint(china, -0.12), 0, rim, wide, 0.15),
        ellipse(paint(rng, "#6a3f22", "#8a5a2c", "#a5622c"), 0, rim + 0.02, wide * 0.88, 0.11),
    ]


def mug(rng: Rng) -> list[Stroke]:
    """A coffee mug: straight sides, a large handle."""
    clay = paint(rng, "#d8392f", "#2f6fa8", "#3f8f6f", "#e8a53a", "#f2efe8", "#6a5a8a")
    wide, tall = rng.uniform(0.48, 0.58), rng.uniform(0.62, 0.76)
    mark = paint(rng, "#fbf4e6", "#f7cf3a", "#2a3a55")
    marks = (
        [line(mark, 0.1, (-wide - 0.1, y), (wide - 0.22, y)) for y in (0.02, 0.24)],
        [ellipse(mark, -0.1, 0.12, 0.2)],
        [blob(mark, (-0.12, 0.02), (-0.02, -0.1), (0.12, 0.02), (-0.1, 0.34), (-0.34, 0.02), (-0.22, -0.1))],
        [],
    )[rng.integers(4)]
    return [
        arc(tint(clay, -0.15), 0.15, wide - 0.12, 0.06, 0.42, tall * 0.55, -95, 95),
        pie(clay, -0.11, tall, wide, 0.17, 0, 180),
        box(clay, -wide - 0.11, -tall, wide - 0.11, tall),
        *marks,
        ellipse(tint(clay, -0.2), -0.11, -tall, wide, 0.18),
        ellipse(tint(clay, 0.3), -0.11, -tall, wide * 0.95, 0.155),
        ellipse(paint(rng, "#4a2c1a", "#6a3f22"), -0.11, -tall + 0.03, wide * 0.88, 0.125),
    ]


def key(rng: Rng) -> list[Stroke]:
    metal = paint(rng, "#d9a93a", "#c9ced6", "#b87a3a")
    r, teeth = rng.uniform(0.27, 0.34), int(rng.integers(2, 4))
    dark = tint(metal, -0.25)
    leaves = ((-0.5, -0.22), (-0.5, 0.22), (-0.8, 0))
    bows = (
        [ellipse(metal, -0.6, 0, r), ellipse(None, -0.6, 0, r * 0.5)],
        [*(ellipse(metal, x, y, r * 0.68) for x, y in leaves), *(ellipse(None, x, y, r * 0.3) for x, y in leaves)],
    )[int(rng.random() < 0.35)]
    return [
        line(metal, 0.17, (-0.36, 0), (0.86, 0)),
        *(
            box(metal, x, 0, x + 0.13, 0.2 + 0.12 * ((k + teeth) % 2))
            for k, x in enumerate(np.linspace(0.78, 0.36, teeth))
        ),
        box(dark, -0.3, -0.13, -0.2, 0.13),
        line(tint(metal, 0.45), 0.04, (-0.16, -0.035), (0.84, -0.035)),
        *bows,
    ]


def umbrella(rng: Rng) -> list[Stroke]:
    one = paint(rng, "#d8392f", "#2f7fc0", "#e0507f", "#3f9a6a", "#f08030")
    two = paint(rng, "#fbf4e6", "#f7cf3a", "#fbf4e6")
    rise, handle = rng.uniform(0.8, 0.98), paint(rng, "#6a4426", "#2b2b33")
    # Half ellipses of falling width: each hides the middle of the one before it.
    edges = 0.95 * np.cos(np.linspace(0, np.pi, 6))
    canopy = [pie((one, two, one)[k], 0, 0.1, edges[k], rise, 180, 360) for k in range(3)]
    scallops = [ellipse(None, (a + b) / 2, 0.13, (a - b) / 2 * 0.97, 0.11) for a, b in pairwise(edges)]
    return [
        line("#8a8f98", 0.07, (0, 0.12 - rise), (0, 0.0 - rise)),
        *canopy,
        *scallops,
        line("#8a8f98", 0.065, (0, 0.0), (0, 0.78)),
        curve(handle, 0.11, (0, 0.5), (0, 0.8), (-0.06, 0.93), (-0.19, 0.93), (-0.25, 0.76)),
    ]


def traffic_light(rng: Rng) -> list[Stroke]:
    case = paint(rng, "#2f3238", "#3a4a3f", "#e0b52e", spread=7)
    lit, wide = int(rng.integers(3)), rng.uniform(0.28, 0.34)
    lamps = ((-0.62, "#f0372e"), (-0.2, "#f7b92e"), (0.22, "#3fc060"))
    return [
        box("#6a6f78", -0.08, 0.4, 0.08, 0.97),
        box("#6a6f78", -0.24, 0.88, 0.24, 0.97, 0.03),
        *both_sides(*(polygon(tint(case, -0.3), (wide * 0.9, y - 0.15), (wide + 0.2, y - 0.15),
            (wide * 0.9, y + 0.12)) for y, _ in lamps)),
        box(case, -wide, -0.94, wide, 0.52, 0.12),
        *(ellipse("#15161a", 0, y, 0.195) for y, _ in lamps),
        *(ellipse(tint(c, 0.1) if k == lit else tint(c, -0.45), 0, y, 0.165) for k, (y, c) in enumerate(lamps)),
        *(ellipse(tint(c, 0.65), -0.05, y - 0.05, 0.06) for k, (y, c) in enumerate(lamps) if k == lit),
    ]


def cake(rng: Rng) -> list[Stroke]:
    sponge = paint(rng, "#e0b070", "#6a4028", "#f0cf8a")
    icing = paint(rng, "#f7a8c0", "#fbf4ea", "#8a5a40", "#a8dcd0", "#c8a8e0")
    candles, tall = int(rng.integers(1, 5)), rng.uniform(0.6, 0.75)
    top, wide = 0.82 - tall, 0.74
    drips = [box(icing, x - 0.085, top, x + 0.085, top + rng.uniform(0.18, 0.4), 0.085)
        for x in np.linspace(-0.65, 0.65, 9)]
    wicks = [
        s
        for x in np.linspace(-0.15 * (candles - 1), 0.15 * (candles - 1), candles)
        for s in (
            box(paint(rng, "#e0407a", "#2f8fd0", "#f7cf3a", "#5fb85a"), x - 0.05, top - 0.44, x + 0.05, top - 0.02),
            blob("#f08a24", (x, top - 0.74), (x + 0.075, top - 0.55), (x, top - 0.46), (x - 0.075, top - 0.55)),
            ellipse("#fbe27a", x, top - 0.54, 0.03, 0.055),
        )
    ]
    return [
        ellipse("#e4e4ea", 0, 0.84, 0.95, 0.13),
        pie(sponge, 0, 0.8, wide, 0.14, 0, 180),
        box(sponge, -wide, top, wide, 0.8),
        box(icing, -wide, (top + 0.8) / 2 + 0.08, wide, (top + 0.8) / 2 + 0.2),
        *drips,
        ellipse(icing, 0, top, wide, 0.17),
        ellipse(tint(icing, 0.3), 0, top - 0.02, wide * 0.86, 0.12),
        *wicks,
        *both_sides(ellipse("#c8203a", 0.55, top - 0.06, 0.1)),
    ]


def clock(rng: Rng) -> list[Stroke]:
    rim = paint(rng, "#c0392f", "#2f5f8f", "#8a5a32", "#2b2b33", "#d8a53a", "#3f8a6a")
    face = paint(rng, "#fbf8ee", spread=4)
    hour = rng.uniform(0, 360)
    bells = rng.random() < 0.4
    r = 0.76 if bells else 0.9
    y = 0.12 if bells else 0
    alarm = [
        *both_sides(line(tint(rim, -0.3), 0.12, (0.45, 0.72), (0.62, 0.93)),
            *moved([pie(rim, 0, 0, 0.3, 0.3, 180, 360)], 0.48, -0.6, 35)),
        line(tint(rim, -0.3), 0.08, (0, -0.6), (0, -0.9)),
    ]
    ticks = [
        s
        for k in range(12)
        for s in moved([line(INK, 0.07 if k % 3 == 0 else 0.035, (0, -r * 0.72), (0, -r * 0.62))], 0, y, 30 * k)
    ]
    return [
        *(alarm if bells else []),
        ellipse(rim, 0, y, r),
        ellipse(tint(rim, -0.3), 0, y, r * 0.86),
        ellipse(face, 0, y, r * 0.82),
        *ticks,
        *moved([line(INK, 0.1, (0, 0.05), (0, -r * 0.4))], 0, y, hour),
        *moved([line(INK, 0.065, (0, 0.08), (0, -r * 0.6))], 0, y, 12 * hour),
        ellipse("#d8392f", 0, y, 0.07),
    ]


def chair(rng: Rng) -> list[Stroke]:
    wood = paint(rng, "#8a5a32", "#c98f4a", "#5a3a28", "#d8d2c4", "#3f6f8f")
    seat = paint(rng, "#b5402f", "#3f7f8f", "#e0b04a", "#7a9a4a")
    slats, back = int(rng.integers(2, 5)), rng.uniform(-0.95, -0.8)
    dark = tint(wood, -0.28)
    return [
        line(dark, 0.11, (-0.28, 0.2), (-0.28, 0.72)),
        line(dark, 0.11, (0.6, 0.2), (0.62, 0.72)),
        *(line(tint(wood, -0.1), 0.07, (x, back + 0.08), (x, 0.1)) for x in np.linspace(-0.42, 0.42, slats + 2)[1:-1]),
        line(wood, 0.13, (-0.45, back), (-0.42, 0.15)),
        line(wood, 0.13, (0.45, back), (0.42, 0.15)),
        line(wood, 0.16, (-0.45, back + 0.03), (0.45, back + 0.03)),
        polygon(seat, (-0.42, 0.05), (0.52, 0.05), (0.66, 0.3), (-0.58, 0.3)),
        box(tint(seat, -0.25), -0.58, 0.29, 0.66, 0.38, 0.03),
        line(wood, 0.13, (-0.52, 0.4), (-0.54, 0.93)),
        line(wood, 0.13, (0.6, 0.4), (0.62, 0.93)),
    ]


def lamp(rng: Rng) -> list[Stroke]:
    shade = paint(rng, "#f2c14a", "#e8705a", "#fbf0d8", "#5fa8a0", "#d88ab0")
    foot = paint(rng, "#8a5a32", "#3a3a42", "#d8c8a8", "#2f5f8f")
    narrow, wide, low = rng.uniform(0.26, 0.4), rng.uniform(0.6, 0.74), rng.uniform(-0.14, 0.02)
    stands = (line(foot, 0.11, (0, low), (0, 0.85)), symmetric(foot, (0.07, low), (0.3, 0.42), (0.12, 0.85)))
    return [
        stands[rng.integers(2)],
        box(tint(foot, -0.15), -0.38, 0.8, 0.38, 0.95, 0.08),
        ellipse("#fff6d0", 0, low, wide * 0.9, 0.08),
        polygon(shade, (-narrow, -0.93), (narrow, -0.93), (wide, low), (-wide, low)),
        line(tint(shade, -0.2), 0.06, (-wide, low), (wide, low)),
        line(tint(shade, -0.2), 0.05, (-narrow, -0.93), (narrow, -0.93)),
        polygon(tint(shade, 0.35), (-narrow * 0.5, -0.88), (-narrow * 0.1, -0.88), (-wide * 0.15, low - 0.05),
            (-wide * 0.55, low - 0.05)),
    ]
