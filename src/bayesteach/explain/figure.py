"""The picture of an explanation: what the network saw, the maps laid over it, their errors, and the scales to read them by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bayesteach.vision.overlay import CLEAR, COLOURS, SPAN, SURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from PIL import Image

    from bayesteach.explain.explanation import Explanation

# Inches and dots an inch: three panels across fill a slide.
_WIDTH, _GAP, _LINE, _NOTE, _LEGEND, _DPI = 4.4, 0.2, 0.26, 0.32, 0.85, 150
# Width over height. A longer photo's maps are shown with as much around the crop as keeps within.
_NARROW, _WIDE = 0.75, 1.6
# Characters of a title's line, and its lines.
_CHARACTERS, _LINES = 40, 3
_ERROR_COLOURS, _ERROR_SPAN = "Greys", Normalize(0, SPAN / 2)
_VERDICTS = {"converged": "converged", "rough": "rough, large shapes only", "noise": "mostly noise"}


@dataclass(frozen=True, slots=True)
class _Panel:
    """A title, and what is drawn below it."""

    title: str
    draw: Callable[["Axes", "Explanation"], None]

    @property
    def lines(self) -> list[str]:
        return wrap(self.title, _CHARACTERS, max_lines=_LINES, placeholder=" …")


def explanation_figure(explanation: "Explanation") -> Figure:
    """Photo, map and error in one row; with several classes a row of maps, and their errors below, beside the contrast of two."""
    labels, best = explanation.labels, int(explanation.probabilities.argmax())
    classes = len(labels)
    answer = f"Answer: “{explanation.classifier.labels[best]}”, p = {float(explanation.probabilities[best]):.2f}"
    maps = [_Panel(f"What would teach “{label}”", partial(_map, which=i)) for i, label in enumerate(labels)]
    errors = [_Panel(f"Error of “{label}”", partial(_error, which=i)) for i, label in enumerate(labels)]
    beside = _Panel(f"“{labels[0]}” less “{labels[1]}”", _contrast) if classes == 2 else None
    above, below = [_Panel(answer, _photo), *maps], [beside, *errors]
    rows: list[Sequence[_Panel | None]] = [[*above, *errors]] if classes == 1 else [above, below]
    columns = len(rows[0])

    left, top, right, bottom = _window(explanation)
    high = _WIDTH * min(max((bottom - top) / (right - left), 0.4), 1.6)
    title = max(len(panel.lines) for panels in rows for panel in panels if panel) * _LINE + 0.1
    row = title + high + _NOTE
    width, height = columns * (_WIDTH + _GAP) + _GAP, len(rows) * row + _LEGEND
    figure = Figure(figsize=(width, height), dpi=_DPI)

    def placed(column: int, from_top: float, wide: float, tall: float) -> "Axes":
        x = _GAP + column * (_WIDTH + _GAP)
        return figure.add_axes((x / width, 1 - (from_top + tall) / height, wide / width, tall / height))

    for r, panels in enumerate(rows):
        for c, panel in enumerate(panels):
            if panel is not None:
                axis = placed(c, r * row + title, _WIDTH, high)
                axis.set_axis_off()
                axis.set_anchor("N")
                axis.set_title("\n".join(panel.lines), fontsize=13, parse_math=False)
                panel.draw(axis, explanation)

    first, over = (1, 1) if classes == 1 else (0, classes)
    legend = f"expected mask less {explanation.prior_mean:.2f}, which masks show on average\n"
    legend += f"clear within {CLEAR:.0f} standard errors, full from {SURE:.0f}"
    tints, greys = ScalarMappable(Normalize(-SPAN, SPAN), COLOURS), ScalarMappable(_ERROR_SPAN, _ERROR_COLOURS)
    scales = height - _LEGEND + 0.08
    _bar(placed(first, scales, over * (_WIDTH + _GAP) - _GAP, 0.14), tints, legend, "both", np.linspace(-SPAN, SPAN, 7))
    _bar(placed(columns - 1, scales, _WIDTH, 0.14), greys, "standard error", "max", np.linspace(0, SPAN / 2, 4))
    return figure


def _photo(axis: "Axes", explanation: "Explanation") -> None:
    """All of the photo, whatever its shape."""
    _picture(axis, explanation.photo)
    left, top, right, bottom = explanation.classifier.geometry.box(*explanation.photo.size)
    for colour, width in (("black", 3.0), ("white", 1.2)):
        axis.add_patch(
            Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=colour, linewidth=width)
        )
    _note(axis, "frame: what the network sees")


def _map(axis: "Axes", explanation: "Explanation", which: int) -> None:
    _framed(axis, explanation, explanation.overlay(which))
    worth = float(explanation.effective_samples[which])
    verdict = explanation.verdicts[which]
    _note(
        axis,
        f"{explanation.masks:,} masks, worth {worth:,.0f}: {_VERDICTS[verdict]}",
        colour="#444444" if verdict == "converged" else "#b2182b",
    )


def _contrast(axis: "Axes", explanation: "Explanation") -> None:
    _framed(axis, explanation, explanation.contrast())
    _note(axis, "orange for the first, purple for the second")


def _error(axis: "Axes", explanation: "Explanation", which: int) -> None:
    """In the photo's frame."""
    left, top, right, bottom = explanation.classifier.geometry.box(*explanation.photo.size)
    axis.imshow(
        explanation.errors[which].numpy(),
        extent=(left, right, bottom, top),
        cmap=_ERROR_COLOURS,
        norm=_ERROR_SPAN,
        interpolation="bilinear",
    )
    axis.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor="#bbbbbb", linewidth=1))
    _within(axis, explanation)
    _note(axis, f"error is {min(explanation.noise[which], 1):.0%} of what varies in the map")


def _framed(axis: "Axes", explanation: "Explanation", picture: "Image.Image") -> None:
    _picture(axis, picture)
    _within(axis, explanation)


def _picture(axis: "Axes", picture: "Image.Image") -> None:
    """From 0 to its size, as boxes are told, and not from the middle of its first pixel."""
    axis.imshow(picture, extent=(0, picture.width, picture.height, 0))


def _within(axis: "Axes", explanation: "Explanation") -> None:
    left, top, right, bottom = _window(explanation)
    axis.set(xlim=(left, right), ylim=(bottom, top))


def _window(explanation: "Explanation") -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the part of the photo that maps are shown in: the crop, and what is around it."""
    width, height = explanation.photo.size
    left, top, right, bottom = explanation.classifier.geometry.box(width, height)
    wide = min(max(height * _WIDE, right - left), width)
    high = min(max(width / _NARROW, bottom - top), height)
    from_left = min(max((left + right - wide) / 2, 0), width - wide)
    from_top = min(max((top + bottom - high) / 2, 0), height - high)
    return from_left, from_top, from_left + wide, from_top + high


def _bar(axis: "Axes", shown: ScalarMappable, label: str, extend: str, ticks: np.ndarray) -> None:
    bar = axis.figure.colorbar(shown, cax=axis, orientation="horizontal", extend=extend, ticks=ticks)
    bar.set_label(label, fontsize=10)
    axis.tick_params(labelsize=9)


def _note(axis: "Axes", text: str, colour: str = "#444444") -> None:
    axis.text(0.5, -0.02, text, transform=axis.transAxes, ha="center", va="top", fontsize=10, color=colour)
