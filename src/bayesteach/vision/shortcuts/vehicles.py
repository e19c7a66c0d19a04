"""What moves, on land, on water and in the air."""

# A stroke a line, as one reads a drawing: the formatter would give each point a line of its own.
# fmt: off

import numpy as np

from bayesteach.vision.shortcuts.drawing import (
    Colour,
    Rng,
    Stroke,
    arc,
    blob,
    both_sides,
    box,
    curve,
    ellipse,
    line,
    paint,
    pie,
    polygon,
    symmetric,
    tint,
)

INK, GLASS, TYRE = "#26222b", "#bfe3f2", "#2a2a30"


def boat(rng: Rng) -> list[Stroke]:
    hull = paint(rng, "#b5402f", "#8a5a36", "#2f5f9a", "#3d8a6a", "#f2efe8")
    sail = paint(rng, "#fbf7ea", "#fbf7ea", "#f2c14a", "#e8705a")
    mast, deck = rng.uniform(-0.1, 0.1), rng.uniform(0.36, 0.44)
    return [
        line("#6a4a30", 0.07, (mast, -0.95), (mast, deck)),
        polygon(sail, (mast + 0.07, -0.86), (mast + rng.uniform(0.6, 0.8), deck - 0.14), (mast + 0.07, deck - 0.14)),
        polygon(tint(sail, -0.12), (mast - 0.07, -0.7), (mast - 0.07, deck - 0.14),
            (mast - rng.uniform(0.45, 0.6), deck - 0.14)),
        polygon(paint(rng, "#d8392f", "#2f7fc0"), (mast, -0.97), (mast + 0.26, -0.9), (mast, -0.82)),
        blob(hull, (-0.95, deck), (-0.4, deck + 0.02), (0.4, deck + 0.02), (0.95, deck), (0.78, deck + 0.3),
            (0.5, 0.86), (-0.5, 0.86), (-0.78, deck + 0.3)),
        line(tint(hull, 0.55), 0.07, (-0.82, deck + 0.12), (0.82, deck + 0.12)),
    ]


def rocket(rng: Rng) -> list[Stroke]:
    body, trim = paint(rng, "#eef0f3", "#dfe3ea", "#f4e3d0"), paint(rng, "#d8392f", "#e8792b", "#2f6fc0", "#7a4fb0")
    wide, flame = rng.uniform(0.26, 0.34), rng.uniform(0.8, 0.98)
    return [
        symmetric("#f08a24", (wide * 0.6, 0.5), (wide * 0.4, 0.75), (0, flame)),
        symmetric("#fbe27a", (wide * 0.3, 0.5), (wide * 0.2, 0.64), (0, flame - 0.16)),
        *both_sides(polygon(trim, (wide * 0.8, 0.05), (wide + 0.3, 0.45), (wide + 0.3, 0.72), (wide * 0.6, 0.5))),
        symmetric(body, (0, -0.97), (wide * 0.7, -0.6), (wide * 1.05, -0.1), (wide * 0.75, 0.54)),
        symmetric(trim, (0, -0.97), (wide * 0.66, -0.62), (wide * 0.72, -0.52)),
        ellipse(tint(trim, -0.2), 0, -0.16, wide * 0.62),
        ellipse(GLASS, 0, -0.16, wide * 0.45),
        box(tint(trim, -0.1), -wide * 0.8, 0.44, wide * 0.8, 0.54),
        polygon(trim, (-0.05, 0.15), (0.05, 0.15), (0.05, 0.7), (-0.05, 0.7)),
    ]


def bicycle(rng: Rng) -> list[Stroke]:
    frame = paint(rng, "#d8392f", "#2a7fc4", "#2f8f5f", "#e8a02c", "#7d4fb0", "#e9e4da", spread=14)
    r, low, seat = rng.uniform(0.37, 0.43), 0.45, rng.uniform(-0.32, -0.2)
    spokes = ((1, 0), (0, 1), (0.7, 0.7), (0.7, -0.7))
    wheels = [
        s
        for x in (-0.56, 0.56)
        for s in (
            *(line("#c4c8ce", 0.018, (x - a * r, low - b * r), (x + a * r, low + b * r)) for a, b in spokes),
            arc(TYRE, 0.085, x, low, r, r, 0, 360),
            ellipse("#8a8f98", x, low, 0.05),
        )
    ]
    crank, back, front = (-0.06, low), (-0.22, seat + 0.1), (0.38, -0.2)
    return [
        *wheels,
        line(frame, 0.08, (-0.56, low), back, front, crank, (-0.56, low)),
        line(frame, 0.08, (-0.25, seat), crank),
        line(frame, 0.08, (0.34, -0.34), (0.56, low)),
        line(INK, 0.1, (-0.38, seat - 0.02), (-0.12, seat - 0.02)),
        curve(INK, 0.07, (0.16, -0.48), (0.34, -0.46), (0.5, -0.4), (0.48, -0.28)),
        ellipse("#5a5f68", *crank, 0.1),
        line("#5a5f68", 0.05, (crank[0] - 0.08, low - 0.14), (crank[0] + 0.08, low + 0.14)),
    ]


def balloon(rng: Rng) -> list[Stroke]:
    one, two = paint(rng, "#d8392f", "#2f6fc0", "#e8792b", "#7a4fb0"), paint(rng, "#f7cf3a", "#fbf4e6", "#4fb0a0")
    wide = rng.uniform(0.66, 0.76)

    def panel(colour: Colour, w: float) -> Stroke:
        return symmetric(colour, (0, -0.97), (w * 0.75, -0.75), (w, -0.3), (w * 0.62, 0.12), (w * 0.26, 0.42))

    return [
        *both_sides(line("#6a4a30", 0.03, (wide * 0.24, 0.4), (0.13, 0.75))),
        panel(one, wide),
        panel(two, wide * 0.72),
        panel(one, wide * 0.42),
        panel(two, wide * 0.15),
        box("#8a5a32", -0.17, 0.7, 0.17, 0.97, 0.05),
        line("#b98552", 0.05, (-0.17, 0.73), (0.17, 0.73)),
        line("#6f4526", 0.025, (-0.16, 0.85), (0.16, 0.85)),
    ]


def kite(rng: Rng) -> list[Stroke]:
    one = paint(rng, "#e0407a", "#d8392f", "#2f7fc0", "#7a4fb0")
    two = paint(rng, "#f7cf3a", "#4fb878", "#f0903a", "#f5f0e6")
    wide, cross = rng.uniform(0.46, 0.58), rng.uniform(-0.5, -0.38)
    bend = rng.uniform(-0.2, 0.2)
    tail = ((0.0, 0.3), (0.14 + bend, 0.48), (-0.08 + bend, 0.66), (0.16 + bend, 0.82), (0.02, 0.97))
    bows = [
        s
        for x, y in tail[1:4]
        for s in (polygon(one, (x, y), (x - 0.14, y - 0.08), (x - 0.14, y + 0.08)),
            polygon(two, (x, y), (x + 0.14, y - 0.08), (x + 0.14, y + 0.08)))
    ]
    return [
        curve("#f2efe8", 0.035, *tail),
        *bows,
        polygon(one, (0, -0.97), (wide, cross), (0, cross)),
        polygon(two, (0, -0.97), (-wide, cross), (0, cross)),
        polygon(tint(two, -0.1), (wide, cross), (0, 0.32), (0, cross)),
        polygon(tint(one, -0.1), (-wide, cross), (0, 0.32), (0, cross)),
        line("#5f4028", 0.03, (0, -0.97), (0, 0.32)),
        line("#5f4028", 0.03, (-wide, cross), (wide, cross)),
    ]


def aeroplane(rng: Rng) -> list[Stroke]:
    body, trim = paint(rng, "#f0f2f5", "#e4e8ee", "#f5ead8"), paint(rng, "#d8392f", "#2f6fc0", "#e8792b", "#2f8f7f")
    thick, sweep = rng.uniform(0.14, 0.18), rng.uniform(0.3, 0.45)
    return [
        polygon(tint(body, -0.22), (-0.05, -0.05), (0.25, -0.05), (sweep + 0.22, -0.58), (sweep + 0.02, -0.58)),
        polygon(trim, (0.62, -0.05), (0.74, -0.5), (0.95, -0.5), (0.9, 0.0)),
        blob(body, (-0.97, 0.06), (-0.82, -0.08), (-0.5, -thick), (0.3, -thick), (0.9, -0.08), (0.95, 0.0),
            (0.4, thick), (-0.5, thick + 0.03), (-0.85, thick)),
        line(trim, 0.05, (-0.78, 0.09), (0.72, 0.06)),
        *(ellipse("#4a6f96", x, -0.045, 0.042) for x in (-0.45, -0.3, -0.15, 0.0, 0.15, 0.3, 0.45)),
        pie("#4a6f96", -0.78, -0.01, 0.11, 0.09, 180, 300),
        polygon(tint(body, -0.14), (-0.25, 0.06), (0.1, 0.06), (sweep + 0.1, 0.68), (sweep - 0.12, 0.68)),
        polygon(trim, (sweep - 0.12, 0.68), (sweep + 0.1, 0.68), (sweep + 0.07, 0.58), (sweep - 0.15, 0.58)),
        polygon(tint(body, -0.14), (0.66, 0.0), (0.85, 0.0), (0.97, 0.22), (0.85, 0.22)),
        box("#5a6472", -0.12, 0.2, 0.12, 0.34, 0.07),
    ]


def car(rng: Rng) -> list[Stroke]:
    body = paint(rng, "#d2322d", "#2f6fc0", "#f0b92e", "#3f9a5a", "#e9ecef", "#6a4fa0", "#f08030", spread=14)
    roof, front, back = rng.uniform(-0.55, -0.42), rng.uniform(-0.42, -0.3), rng.uniform(0.35, 0.55)
    glass = [
        polygon(GLASS, (front - 0.04, roof + 0.1), (-0.02, roof + 0.1), (-0.02, -0.02), (front - 0.2, -0.02)),
        polygon(GLASS, (0.06, roof + 0.1), (back - 0.06, roof + 0.1), (back + 0.12, -0.02), (0.06, -0.02)),
    ]
    wheels = [
        s
        for x in (-0.54, 0.52)
        for s in (ellipse(TYRE, x, 0.4, 0.22), ellipse("#c9ced6", x, 0.4, 0.115), ellipse("#7a808a", x, 0.4, 0.045))
    ]
    return [
        polygon(tint(body, -0.06), (front - 0.1, roof), (back, roof), (back + 0.3, 0.02), (front - 0.35, 0.02)),
        *glass,
        blob(body, (-0.96, 0.2), (-0.86, 0.02), (-0.5, -0.02), (0.5, -0.02), (0.9, 0.03), (0.97, 0.2), (0.94, 0.38),
            (0.5, 0.42), (-0.5, 0.42), (-0.93, 0.38)),
        line(tint(body, -0.3), 0.05, (-0.9, 0.36), (0.9, 0.36)),
        line(tint(body, -0.35), 0.025, (0.02, 0.0), (0.02, 0.34)),
        line(tint(body, -0.45), 0.035, (0.1, 0.1), (0.22, 0.1)),
        ellipse("#fff3b0", -0.88, 0.16, 0.07, 0.08),
        ellipse("#b01f24", 0.92, 0.15, 0.05, 0.08),
        *wheels,
    ]


def bus(rng: Rng) -> list[Stroke]:
    body = paint(rng, "#d2322d", "#f0b92e", "#3f8f5a", "#2f7fb8", spread=14)
    roof, double = rng.uniform(-0.6, -0.44), rng.random() < 0.35
    top = -0.85 if double else roof
    rows = ((-0.72, -0.45), (-0.2, 0.06)) if double else ((roof + 0.12, -0.06),)
    panes = int(rng.integers(3, 6))
    windows = [
        box(GLASS, x, a, x + 1.02 / panes, b, 0.04)
        for a, b in rows
        for x in np.linspace(-0.86, 0.34 - 1.02 / panes, panes)
    ]
    wheel = rng.uniform(0.46, 0.56)
    wheels = [s for x in (-wheel, wheel) for s in (ellipse(TYRE, x, 0.5, 0.18), ellipse("#c9ced6", x, 0.5, 0.085))]
    return [
        box(body, -0.96, top, 0.96, 0.5, 0.12),
        box(tint(body, 0.55), -0.96, 0.14, 0.96, 0.22),
        *windows,
        *(box(GLASS, 0.68, a, 0.92, b, 0.04) for a, b in rows[:1] if double),
        box(tint(body, -0.35), 0.4, -0.24, 0.64, 0.44, 0.03),
        box(GLASS, 0.43, -0.2, 0.61, 0.1, 0.02),
        box(GLASS, 0.7, -0.3, 0.96, 0.04, 0.04),
        box("#3a3a42", -0.97, 0.42, 0.97, 0.5, 0.03),
        ellipse("#fff3b0", 0.9, 0.34, 0.06),
        *wheels,
    ]
