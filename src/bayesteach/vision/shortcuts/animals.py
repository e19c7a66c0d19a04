"""Animals."""

# A stroke a line, as one reads a drawing: the formatter would give each point a line of its own.
# fmt: off

from bayesteach.vision.shortcuts.drawing import (
    Colour,
    Rng,
    Stroke,
    arc,
    blob,
    both_sides,
    curve,
    ellipse,
    line,
    paint,
    pie,
    polygon,
    symmetric,
    tint,
)

INK = "#26222b"


def fish(rng: Rng) -> list[Stroke]:
    body = paint(rng, "#f08a24", "#e4572e", "#f2c230", "#7b5ea7", "#e0607e", "#3fa7a0", spread=16)
    fin, belly = tint(body, -0.25), tint(body, 0.45)
    tall, tail = rng.uniform(0.42, 0.6), rng.uniform(0.34, 0.52)
    stripes = [
        arc(tint(body, 0.75), 0.1, x - 0.2, 0, 0.16, tall * (0.86 - abs(x) * 0.5), -70, 70)
        for x in (-0.05, 0.3)[: rng.integers(0, 3)]
    ]
    return [
        blob(fin, (0.45, 0), (0.75, -0.16), (0.98, -tail), (0.86, 0), (0.98, tail), (0.75, 0.16)),
        blob(fin, (-0.3, -tall * 0.7), (-0.05, -tall * 1.45), (0.4, -tall * 1.2), (0.4, -tall * 0.5)),
        blob(fin, (-0.05, tall * 0.7), (0.15, tall * 1.35), (0.35, tall * 1.2), (0.3, tall * 0.5)),
        blob(body, (-0.9, 0.02), (-0.6, -tall * 0.7), (-0.1, -tall), (0.4, -tall * 0.6), (0.72, 0), (0.4, tall * 0.6),
            (-0.1, tall), (-0.6, tall * 0.7)),
        blob(belly, (-0.8, 0.12), (-0.35, tall * 0.42), (0.2, tall * 0.5), (0.3, tall * 0.62), (-0.1, tall * 0.93),
            (-0.55, tall * 0.68)),
        *stripes,
        blob(fin, (-0.12, 0.04), (0.22, -0.02), (0.3, 0.2), (0.1, 0.26)),
        arc(fin, 0.05, -0.62, 0, 0.24, tall * 0.62, -60, 60),
        ellipse("#ffffff", -0.58, -0.12, 0.14),
        ellipse(INK, -0.6, -0.11, 0.08),
        line(INK, 0.045, (-0.86, 0.1), (-0.72, 0.13)),
    ]


def duck(rng: Rng) -> list[Stroke]:
    body = paint(rng, "#f7cf3c", "#f7cf3c", "#fffaf0", "#a5784f")
    bill = paint(rng, "#ee7b22", "#e8922c")
    neck, tail = rng.uniform(-0.62, -0.48), rng.uniform(-0.3, -0.08)
    return [
        polygon(bill, (-0.68, neck - 0.06), (-0.98, neck + 0.04), (-0.94, neck + 0.14), (-0.62, neck + 0.14)),
        line(tint(bill, -0.35), 0.035, (-0.94, neck + 0.08), (-0.66, neck + 0.06)),
        blob(body, (-0.6, 0.02), (-0.3, -0.05), (0.2, -0.06), (0.6, tail + 0.1), (0.95, tail), (0.85, 0.4),
            (0.4, 0.75), (-0.25, 0.75), (-0.68, 0.45)),
        blob(body, (-0.66, 0.15), (-0.5, -0.2), (-0.4, -0.5), (0.0, -0.4), (0.1, 0.1), (-0.2, 0.3)),
        ellipse(body, -0.38, neck, 0.34, 0.33),
        blob(tint(body, -0.2), (-0.22, 0.2), (0.1, 0.08), (0.45, 0.1), (0.72, 0.18), (0.5, 0.46), (0.1, 0.5)),
        blob(tint(body, -0.08), (-0.2, 0.19), (0.1, 0.06), (0.45, 0.08), (0.66, 0.15), (0.45, 0.36), (0.1, 0.4)),
        ellipse("#ffffff", -0.47, neck - 0.08, 0.085),
        ellipse(INK, -0.48, neck - 0.08, 0.06),
    ]


def crab(rng: Rng) -> list[Stroke]:
    shell = paint(rng, "#d9432f", "#e56a35", "#c23b4e")
    dark, reach, flat = tint(shell, -0.22), rng.uniform(0.7, 0.85), rng.uniform(0.36, 0.46)
    legs = [curve(dark, 0.09, (0.35, 0.25), (0.62 + 0.05 * k, 0.14 + 0.17 * k), (0.82 - 0.06 * k, 0.42 + 0.17 * k))
        for k in range(3)]
    open_by = rng.uniform(35, 65)
    claw = [
        curve(dark, 0.13, (0.45, 0.0), (reach, -0.05), (reach - 0.02, -0.35)),
        pie(shell, reach - 0.08, -0.55, 0.27, 0.31, -75 + open_by / 2, 285 - open_by / 2),
        polygon(None, (reach - 0.1, -0.52), (reach - 0.3, -1.0), (reach + 0.02, -1.0)),
    ]
    eye = [line(dark, 0.07, (0.17, -0.2), (0.2, -0.5)), ellipse("#ffffff", 0.2, -0.54, 0.12),
        ellipse(INK, 0.19, -0.53, 0.065)]
    return [
        *both_sides(*legs, *claw, *eye),
        ellipse(shell, 0, 0.16, 0.62, flat),
        ellipse(tint(shell, 0.25), 0, 0.02, 0.4, flat * 0.42),
        arc(INK, 0.05, 0, 0.2, 0.2, 0.14, 25, 155),
    ]


def penguin(rng: Rng) -> list[Stroke]:
    coat, bill = paint(rng, "#2b2f3f", "#1f2229", "#34435c", spread=7), paint(rng, "#f0a02c", "#ee7f2d")
    wide, up = rng.uniform(0.46, 0.58), rng.uniform(-0.1, 0.12)
    flipper = blob(tint(coat, 0.08), (wide * 0.8, -0.25), (wide + 0.2, 0.1 - up), (wide + 0.26, 0.38 - 2 * up),
        (wide * 0.9, 0.3))
    return [
        *both_sides(ellipse(bill, 0.24, 0.9, 0.22, 0.09), flipper),
        symmetric(coat, (0, -0.96), (0.34, -0.8), (0.4, -0.45), (wide, 0.1), (wide * 0.95, 0.62), (0.3, 0.9)),
        symmetric("#fbfaf5", (0, -0.3), (wide * 0.6, -0.1), (wide * 0.78, 0.35), (wide * 0.5, 0.8)),
        *both_sides(ellipse("#fbfaf5", 0.15, -0.58, 0.19, 0.22), ellipse(INK, 0.13, -0.6, 0.065)),
        polygon(bill, (-0.13, -0.5), (0.13, -0.5), (0, -0.3)),
    ]


def owl(rng: Rng) -> list[Stroke]:
    coat = paint(rng, "#8a5a3a", "#6f4a36", "#a9825a", "#75706b")
    pale, dark, iris = tint(coat, 0.5), tint(coat, -0.3), paint(rng, "#f4b92e", "#f08c2a", "#f2d24a")
    wide, eye = rng.uniform(0.55, 0.68), rng.uniform(0.24, 0.29)
    rows = [
        arc(coat, 0.05, x, y, 0.11, 0.09, 10, 170)
        for y, xs in ((0.2, (-0.2, 0.0, 0.2)), (0.38, (-0.1, 0.1)), (0.54, (-0.2, 0.0, 0.2)))
        for x in xs
    ]
    return [
        *both_sides(polygon(dark, (0.18, -0.75), (0.56, -0.98), (0.52, -0.5)), ellipse(iris, 0.2, 0.9, 0.15, 0.08)),
        symmetric(coat, (0, -0.82), (0.45, -0.74), (wide * 0.95, -0.3), (wide, 0.3), (0.38, 0.88)),
        ellipse(pale, 0, 0.38, wide * 0.62, 0.46),
        *rows,
        *both_sides(
            blob(dark, (wide * 0.85, -0.2), (wide + 0.12, 0.2), (wide * 0.8, 0.72), (wide * 0.6, 0.3)),
            ellipse(pale, 0.25, -0.38, eye + 0.08),
            ellipse(iris, 0.25, -0.38, eye),
            ellipse(INK, 0.24, -0.38, eye * 0.58),
            ellipse("#ffffff", 0.19, -0.45, eye * 0.2),
        ),
        polygon("#e9a13b", (-0.1, -0.26), (0.1, -0.26), (0, -0.04)),
    ]


def butterfly(rng: Rng) -> list[Stroke]:
    wing = paint(rng, "#e8792b", "#3d7fd0", "#d94f8c", "#f0c02e", "#8a57c2", spread=16)
    spot, rim = paint(rng, "#fff3d0", "#ffe08a", "#bfe6ff"), tint(wing, -0.55)
    high, low = rng.uniform(0.7, 0.95), rng.uniform(0.55, 0.8)

    def upper(grown: float, colour: Colour) -> Stroke:
        return blob(colour, (0.02, -0.05 + grown), (0.3, -high * 0.75), (0.75, -high - grown),
            (0.95 + grown, -high * 0.6), (0.7, 0.02 + grown))

    def lower(grown: float, colour: Colour) -> Stroke:
        return blob(colour, (0.02, 0.0), (0.6, 0.0), (0.78 + grown, low * 0.5), (0.5, low + grown),
            (0.2, low * 0.75 + grown))

    return [
        *both_sides(
            lower(0.05, rim), upper(0.05, rim), lower(-0.04, tint(wing, -0.12)), upper(-0.05, wing),
            ellipse(spot, 0.66, -high * 0.62, 0.13), ellipse(spot, 0.42, -high * 0.34, 0.08), ellipse(spot, 0.46,
                low * 0.55, 0.11),
            curve(INK, 0.04, (0.03, -0.35), (0.1, -0.65), (0.24, -0.8)), ellipse(INK, 0.24, -0.81, 0.045),
        ),
        ellipse(INK, 0, 0.1, 0.085, 0.5),
        ellipse(INK, 0, -0.38, 0.11),
    ]
