"""The picture of an explanation: what the network saw, the maps laid over it, their error, and the scales to read them by."""

from typing import TYPE_CHECKING

from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from PIL import Image

from bayesteach.vision.overlay import COLOURS, SPAN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesteach.explain.explanation import Explanation

# Inches and dots an inch: fit for a slide.
_PANEL, _DPI = 4.0, 150
_ERRORS = "Greys"


def explanation_figure(explanation: "Explanation") -> Figure:
    """Photo, a map for each class, the contrast of two, and the error."""
    several = len(explanation.targets) == 2
    maps = len(explanation.targets) + several
    panels = 2 + maps
    photo = explanation.photo
    height = _PANEL * min(max(photo.height / photo.width, 0.4), 1.6)
    figure = Figure(figsize=(_PANEL * panels, height + 1.4), dpi=_DPI, layout="constrained")
    grid = figure.add_gridspec(2, panels, height_ratios=(height, 0.14))
    axes = [figure.add_subplot(grid[0, i]) for i in range(panels)]
    for axis in axes:
        axis.set_axis_off()

    _photo(axes[0], explanation)
    for i, (axis, label) in enumerate(zip(axes[1:], explanation.labels, strict=False)):
        axis.imshow(explanation.overlay(i))
        worth = float(explanation.effective_samples[i])
        axis.set_title(f"What would show “{label}”", fontsize=12)
        _note(axis, f"{explanation.masks:,} masks, worth {worth:.0f} · {explanation.verdicts[i]}")
    if several:
        axes[3].imshow(explanation.contrast())
        axes[3].set_title(f"“{explanation.labels[0]}” less “{explanation.labels[1]}”", fontsize=12)
        _note(axes[3], "clear: no more than the two errors together")
    shown = _error(axes[-1], explanation)

    scale = ScalarMappable(Normalize(-SPAN, SPAN), COLOURS)
    _bar(
        figure.add_subplot(grid[1, 1:-1]),
        scale,
        f"expected mask less {explanation.prior_mean:.2f}, what masks show on average"
        "\nclear within one standard error, full from three",
        extend="both",
    )
    _bar(figure.add_subplot(grid[1, -1]), shown, "standard error", extend="max")
    return figure


def _photo(axis: "Axes", explanation: "Explanation") -> None:
    axis.imshow(explanation.photo)
    left, top, right, bottom = explanation.classifier.geometry.box(*explanation.photo.size)
    for colour, width in (("black", 3.0), ("white", 1.2)):
        axis.add_patch(
            Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=colour, linewidth=width)
        )
    best = int(explanation.probabilities.argmax())
    answer = explanation.classifier.labels[best]
    axis.set_title(f"Answer: “{answer}”, p = {float(explanation.probabilities[best]):.2f}", fontsize=12)
    _note(axis, "frame: what the network sees")


def _error(axis: "Axes", explanation: "Explanation") -> AxesImage:
    """The error of the first map, in the photo's frame."""
    left, top, right, bottom = explanation.classifier.geometry.box(*explanation.photo.size)
    axis.imshow(Image.new("RGB", explanation.photo.size, "white"))
    shown = axis.imshow(
        explanation.errors[0].numpy(),
        extent=(left, right, bottom, top),
        cmap=_ERRORS,
        vmin=0,
        vmax=SPAN / 2,
        interpolation="bilinear",
    )
    axis.set_xlim(0, explanation.photo.width)
    axis.set_ylim(explanation.photo.height, 0)
    axis.set_title(f"Error of “{explanation.labels[0]}”", fontsize=12)
    _note(axis, f"error is {min(explanation.noise[0], 1):.0%} of what varies in the map")
    return shown


def _bar(axis: "Axes", shown: ScalarMappable, label: str, extend: str) -> None:
    bar = axis.figure.colorbar(shown, cax=axis, orientation="horizontal", extend=extend)
    bar.set_label(label, fontsize=9)
    axis.tick_params(labelsize=9)


def _note(axis: "Axes", text: str) -> None:
    axis.text(0.5, -0.02, text, transform=axis.transAxes, ha="center", va="top", fontsize=9, color="#444444")
