"""Strokes, and the canvas that they are drawn on: x to the right, y down, a thing in [−1, 1]²."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
from PIL import Image, ImageColor, ImageDraw

# Drawn at so many times the size and reduced: 17 levels on each side of an edge.
FINER = 4

Rng = np.random.Generator
Colour = str | tuple[int, int, int]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Stroke:
    """A filled outline, or with a width the line along it. Without a colour it takes away what lies below."""

    colour: Colour | None
    points: np.ndarray
    width: float = 0.0


def polygon(colour: Colour | None, *corners: Point) -> Stroke:
    return Stroke(colour, np.array(corners, float))


def line(colour: Colour | None, width: float, *points: Point) -> Stroke:
    return Stroke(colour, np.array(points, float), width)


def box(colour: Colour | None, left: float, top: float, right: float, bottom: float, radius: float = 0.0) -> Stroke:
    """A rectangle, its corners rounded."""
    radius = min(radius, (right - left) / 2, (bottom - top) / 2)
    if radius == 0:
        return polygon(colour, (left, top), (right, top), (right, bottom), (left, bottom))
    centres = ((right, bottom), (left, bottom), (left, top), (right, top))
    inward = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    corners = [
        _around(x + dx * radius, y + dy * radius, radius, radius, 90 * turn, 90 * turn + 90)
        for turn, ((x, y), (dx, dy)) in enumerate(zip(centres, inward, strict=True))
    ]
    return Stroke(colour, np.concatenate(corners))


def ellipse(colour: Colour | None, x: float, y: float, rx: float, ry: float | None = None) -> Stroke:
    return Stroke(colour, _around(x, y, rx, rx if ry is None else ry, 0, 360))


def pie(colour: Colour | None, x: float, y: float, rx: float, ry: float, start: float, stop: float) -> Stroke:
    """The part of an ellipse between two angles, cut off straight. Angles are in degrees, from the right, clockwise."""
    return Stroke(colour, _around(x, y, rx, ry, start, stop))


def arc(
    colour: Colour | None, width: float, x: float, y: float, rx: float, ry: float, start: float, stop: float
) -> Stroke:
    """A line along an ellipse between two angles."""
    return Stroke(colour, _around(x, y, rx, ry, start, stop), width)


def curve(colour: Colour | None, width: float, *points: Point) -> Stroke:
    """A smooth line through points (Catmull and Rom's)."""
    ends = [points[0], *points, points[-1]]
    return Stroke(colour, _smooth(np.array(ends, float)), width)


def blob(colour: Colour | None, *points: Point) -> Stroke:
    """A smooth outline through points, filled."""
    return Stroke(colour, _smooth(np.array([points[-1], *points, points[0], points[1]], float)))


def symmetric(colour: Colour | None, *right: Point) -> Stroke:
    """A smooth outline whose left half mirrors its right."""
    return blob(colour, *right, *((-x, y) for x, y in reversed(right) if x))


def star(colour: Colour | None, x: float, y: float, outer: float, inner: float, tips: int, turn: float = -90) -> Stroke:
    angles = np.radians(turn + np.arange(2 * tips) * 180 / tips)
    radii = np.where(np.arange(2 * tips) % 2, inner, outer)
    return Stroke(colour, np.stack([x + radii * np.cos(angles), y + radii * np.sin(angles)], 1))


def moved(strokes: Iterable[Stroke], x: float = 0, y: float = 0, turn: float = 0, scale: float = 1) -> list[Stroke]:
    """The same, turned by an angle, scaled, and moved."""
    a = turn * pi / 180
    matrix = scale * np.array([[cos(a), -sin(a)], [sin(a), cos(a)]])
    return [Stroke(s.colour, s.points @ matrix.T + (x, y), s.width * scale) for s in strokes]


def both_sides(*strokes: Stroke) -> list[Stroke]:
    """These, and their mirror images."""
    return [*strokes, *(Stroke(s.colour, s.points * (-1, 1), s.width) for s in strokes)]


def tint(colour: Colour, amount: float) -> tuple[int, int, int]:
    """Lighter by a share of the way to white, or darker by a share of the way to black."""
    towards = 255 if amount > 0 else 0
    r, g, b = (round(c + abs(amount) * (towards - c)) for c in rgb(colour))
    return r, g, b


def rgb(colour: Colour) -> tuple[int, int, int]:
    return ImageColor.getrgb(colour)[:3] if isinstance(colour, str) else colour


def paint(rng: Rng, *colours: Colour, spread: float = 12) -> tuple[int, int, int]:
    """One of these colours, a little off."""
    chosen = rgb(colours[rng.integers(len(colours))])
    r, g, b = np.clip(chosen + rng.normal(0, spread, 3) + rng.normal(0, spread), 0, 255).astype(int).tolist()
    return r, g, b


def rasterise(strokes: Iterable[Stroke], matrix: np.ndarray, shift: np.ndarray, size: int) -> np.ndarray:
    """Strokes through an affine map into pixels: colour times opacity, and opacity, from 0 to 1 (size, size, 4)."""
    canvas = Image.new("RGBA", (size * FINER, size * FINER))
    draw = ImageDraw.Draw(canvas)
    scale = FINER * np.sqrt(abs(np.linalg.det(matrix)))
    for stroke in strokes:
        points = (stroke.points @ matrix.T + shift) * FINER
        colour = (0, 0, 0, 0) if stroke.colour is None else (*rgb(stroke.colour), 255)
        if stroke.width:
            _line(draw, points, colour, stroke.width * scale)
        else:
            draw.polygon(points.ravel().tolist(), fill=colour)
    pixels = np.zeros((size, size, 4), np.float32)
    if drawn := canvas.getbbox():
        left, top, right, bottom = drawn[0] // FINER, drawn[1] // FINER, -(-drawn[2] // FINER), -(-drawn[3] // FINER)
        part = canvas.crop((left * FINER, top * FINER, right * FINER, bottom * FINER)).convert("RGBa").reduce(FINER)
        pixels[top:bottom, left:right] = np.asarray(part, np.float32) / 255
    return pixels


def _line(draw: ImageDraw.ImageDraw, points: np.ndarray, colour: tuple[int, ...], width: float) -> None:
    """A line with round ends and joints."""
    draw.line(points.ravel().tolist(), fill=colour, width=max(1, round(width)))
    radius = width / 2 - 0.5
    if radius > 1:
        for x, y in points.tolist():
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _around(x: float, y: float, rx: float, ry: float, start: float, stop: float) -> np.ndarray:
    steps = max(4, round(abs(stop - start) / 9)) + 1
    angles = np.radians(np.linspace(start, stop, steps))
    return np.stack([x + rx * np.cos(angles), y + ry * np.sin(angles)], 1)


def _smooth(points: np.ndarray, steps: int = 6) -> np.ndarray:
    t = np.linspace(0, 1, steps, endpoint=False)[:, None]
    weights = np.stack([-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2]) / 2
    pieces = [sum(w * points[i + k] for k, w in enumerate(weights)) for i in range(len(points) - 3)]
    return np.concatenate([*pieces, points[-2:-1]])
