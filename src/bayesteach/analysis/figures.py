"""The two figures of the paper: accuracy by trial type and condition, and the coefficients."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from bayesteach.analysis.accuracy import Accuracy
from bayesteach.analysis.effects import spoken

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Orange and purple as in the maps; control is grey. Told apart in print and with any colour blindness, by lightness too.
COLOURS: Mapping[str, str] = {"control": "#6b6b6b", "saliency": "#c05a00", "examples": "#6a4fa3", "both": "#0b6e6e"}
_OTHERS = ("#6b6b6b", "#c05a00", "#6a4fa3", "#0b6e6e", "#a8325e", "#3b6ea8", "#7a6a00", "#444444")
_INK, _FAINT, _RULE = "#222222", "#767676", "#d9d9d9"
_DPI = 200
# How far the mean stands beside the middle of the participants, in conditions.
_BESIDE = 0.38
# Text as outlines, so that it looks alike everywhere; names in the SVG that do not change from run to run.
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "svg.fonttype": "path",
    "svg.hashsalt": "bayesteach",
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def colours(conditions: Sequence[str]) -> dict[str, str]:
    """A colour for each condition."""
    free = cycle([colour for colour in _OTHERS if colour not in {COLOURS.get(name) for name in conditions}] or _OTHERS)
    return {name: COLOURS.get(name) or next(free) for name in conditions}


def accuracy_figure(found: Accuracy) -> Figure:
    """A panel for each trial type; in it each condition's mean with its interval, beside every participant's own."""
    kinds, conditions = (list(dict.fromkeys(found.cells[name])) for name in ("trial_type", "condition"))
    colour = colours(conditions)
    with mpl.rc_context(_STYLE):
        width = max(0.9 + len(kinds) * (0.66 * len(conditions) + 0.2), 4.5)
        figure = Figure(figsize=(width, 4.3), dpi=_DPI, layout="constrained")
        panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for axis, kind in zip(panels, kinds, strict=True):
            axis.axhline(0.5, color=_FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
            for x, name in enumerate(conditions):
                own = found.people.query("trial_type == @kind and condition == @name")["accuracy"].to_numpy()
                cell = found.cells.query("trial_type == @kind and condition == @name").iloc[0]
                _cloud(axis, x, own, colour[name])
                _mean(axis, x, cell, colour[name])
            _panel(axis, kind, conditions, colour, several=len(kinds) > 1)
        panels[0].set_ylabel("answers that are correct")
        panels[-1].annotate(
            "guessing",
            (0.01, 0.5),
            (0, 2),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=7,
            color=_FAINT,
        )
        return figure


def coefficients_figure(coefficients: pd.DataFrame, beside: Mapping[str, pd.DataFrame] | None = None) -> Figure:
    """Each coefficient with its 95 % interval, and under it those of others: published, Bayesian (term, estimate, low, high).

    What has no interval, since it is separated, is named and not drawn.
    """
    series = {"this study": coefficients, **(beside or {})}
    looks = {"this study": ("o", _INK), "published": ("D", "#c05a00"), "Bayesian": ("s", "#6a4fa3")}
    terms = list(coefficients["term"])
    with mpl.rc_context(_STYLE):
        gap = 0.26 if len(series) > 1 else 0
        figure = Figure(
            figsize=(7.4, 1.25 + len(terms) * (0.3 + 0.13 * (len(series) - 1))), dpi=_DPI, layout="constrained"
        )
        axis = figure.add_subplot()
        axis.axvline(0, color=_FAINT, linewidth=0.8, zorder=0)
        for row in range(0, len(terms), 2):
            axis.axhspan(row - 0.5, row + 0.5, color="#f5f5f3", linewidth=0, zorder=-1)
        for i, (name, table) in enumerate(series.items()):
            marker, colour = looks[name]
            filled = colour if name == "this study" else "white"
            shift = gap * (i - (len(series) - 1) / 2)
            for row, term in enumerate(terms):
                found = table[table["term"] == term]
                if len(found) and np.isfinite(found["low"].iloc[0]):
                    estimate, low, high = (float(found[column].iloc[0]) for column in ("estimate", "low", "high"))
                    axis.plot([low, high], [row + shift] * 2, color=colour, linewidth=1.6, solid_capstyle="round")
                    axis.plot(
                        estimate,
                        row + shift,
                        marker,
                        color=colour,
                        markersize=5,
                        markerfacecolor=filled,
                        markeredgewidth=1.2,
                    )
                elif name == "this study":
                    axis.annotate(
                        "separated: no size",
                        (0, row + shift),
                        (4, -2.5),
                        textcoords="offset points",
                        fontsize=7.5,
                        color=_FAINT,
                    )
            axis.plot([], [], marker, color=colour, markerfacecolor=filled, label=name)
        axis.set_yticks(range(len(terms)), [spoken(term) for term in terms])
        axis.set_ylim(len(terms) - 0.5, -0.5)
        axis.set_xlabel("coefficient, in logits, with 95 % interval")
        axis.tick_params(axis="y", length=0)
        axis.spines[["top", "right", "left"]].set_visible(False)
        _odds(axis)
        if len(series) > 1:
            figure.legend(loc="outside lower center", ncols=len(series), frameon=False, fontsize=8.5)
        return figure


def save(figure: Figure, folder: Path, name: str) -> None:
    """NAME.svg and NAME.png, the same bytes for the same figure."""
    with mpl.rc_context(_STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": "bayesteach"})
        figure.savefig(folder / f"{name}.png", metadata={"Software": "bayesteach"})


def _cloud(axis: "Axes", x: float, own: np.ndarray, colour: str) -> None:
    """Every participant's mean; those alike stand side by side."""
    values, counts = np.unique(own.round(9), return_counts=True)
    step = min(0.05, 0.46 / max(counts.max(initial=1) - 1, 1))
    for value, count in zip(values, counts, strict=True):
        sideways = step * (np.arange(count) - (count - 1) / 2)
        axis.scatter(x + sideways, np.full(count, value), s=8, color=colour, alpha=0.4, linewidths=0, zorder=1)


def _mean(axis: "Axes", x: float, cell: pd.Series, colour: str) -> None:
    if cell["answers"] == 0:
        axis.annotate("no answers", (x, 0.52), ha="center", va="bottom", fontsize=7, color=_FAINT)
        return
    x += _BESIDE
    if np.isfinite(cell["low"]):
        axis.plot([x, x], [cell["low"], cell["high"]], color=colour, linewidth=2, solid_capstyle="butt", zorder=3)
    axis.plot(
        x, cell["accuracy"], "o", color=colour, markersize=5, markeredgecolor="white", markeredgewidth=0.8, zorder=4
    )
    label = axis.annotate(
        f"{100 * cell['accuracy']:.0f}",
        (x, cell["accuracy"]),
        (5, 0),
        textcoords="offset points",
        va="center",
        zorder=5,
    )
    label.set(fontsize=8.5, color=colour, fontweight="bold")


def _panel(axis: "Axes", kind: str, conditions: Sequence[str], colour: Mapping[str, str], *, several: bool) -> None:
    axis.set_xticks(range(len(conditions)), [spoken(name) for name in conditions])
    for label, name in zip(axis.get_xticklabels(), conditions, strict=True):
        label.set(color=colour[name], fontsize=8.5)
    axis.set_xlim(-0.5, len(conditions) - 0.2)
    axis.set_ylim(-0.02, 1.02)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axis.grid(axis="y", color=_RULE, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="both", length=0)
    if several:
        axis.set_title(spoken(kind), fontsize=10, fontweight="bold", loc="left")


def _odds(axis: "Axes") -> None:
    """The same axis as odds ratios, above."""
    above = axis.secondary_xaxis("top")
    low, high = axis.get_xlim()
    ratios = [r for r in (1e-3, 1e-2, 0.1, 0.25, 0.5, 1, 2, 5, 20, 100, 1e3, 1e4) if low <= np.log(r) <= high]
    above.set_xticks([float(np.log(r)) for r in ratios])
    above.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"×{np.exp(x):,.4g}"))
    above.tick_params(labelsize=7.5, colors=_FAINT, length=2)
    above.spines["top"].set_color(_RULE)
    above.set_xlabel("odds of a correct answer", fontsize=8, color=_FAINT)


def power_figure(table: pd.DataFrame) -> Figure:
    """Of each coefficient and test the power at each size, with its interval, and how much significant estimates exaggerate."""
    sizes, names = (list(dict.fromkeys(table[name])) for name in ("participants", "name"))
    shades = mpl.colormaps["viridis_r"](np.linspace(0.15, 0.9, len(sizes)))
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(9.2, 1.5 + 0.34 * len(names)), dpi=_DPI, layout="constrained")
        power, exaggeration = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        power.axvline(0.8, color=_FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        exaggeration.axvline(1, color=_FAINT, linewidth=0.8, zorder=0)
        for i, (size, shade) in enumerate(zip(sizes, shades, strict=True)):
            rows = table[table["participants"] == size].set_index("name").reindex(names)
            y = np.arange(len(names)) + 0.22 * (i / max(len(sizes) - 1, 1) - 0.5) * (len(sizes) > 1) * 2
            power.hlines(y, rows["low"], rows["high"], color=shade, linewidth=1.6)
            power.plot(rows["power"], y, "o", color=shade, markersize=4.5, label=f"{size} people")
            exaggeration.plot(rows["type_m"], y, "o", color=shade, markersize=4.5)
        power.set(xlim=(-0.02, 1.02), xlabel=f"power: studies with p < 0.05, of {int(table['simulations'].min()):,}")
        power.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        power.set_yticks(range(len(names)), [spoken(name) for name in names])
        power.set_ylim(len(names) - 0.4, -0.6)
        exaggeration.set_xscale("log")
        top = max(2.0, float(np.nanmax(table["type_m"].to_numpy(dtype=float), initial=1.0)) * 1.15)
        ticks = [tick for tick in (1, 1.5, 2, 3, 5, 10, 20, 50) if tick <= top]
        exaggeration.set(xlim=(0.9, top), xlabel="times too large, where p < 0.05 (type M)")
        exaggeration.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        exaggeration.set_xticks([], minor=True)
        for axis in (power, exaggeration):
            for row in range(0, len(names), 2):
                axis.axhspan(row - 0.5, row + 0.5, color="#f5f5f3", linewidth=0, zorder=-1)
            axis.spines[["top", "right", "left"]].set_visible(False)
            axis.tick_params(axis="y", length=0)
        figure.legend(
            *power.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=min(len(sizes), 6),
            frameon=False,
            fontsize=8.5,
        )
        return figure
