"""What a machine can tell of explanations, by trial type: means over trials with intervals, and two figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import logit
from scipy.stats import bootstrap

from bayesteach.analysis.effects import spoken
from bayesteach.analysis.figures import FAINT, INK, STYLE, save
from bayesteach.artifacts import TRIAL_TYPES, Measures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is told of maps: each a function of the table, whose mean over trials is reported.
OF_MAPS: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "thing_area": lambda t: t["thing_area"],
    "thing_share": lambda t: t["thing_share"],
    "lift": lambda t: t["lift"],
    "insertion": lambda t: t["insertion"],
    "insertion_gain": lambda t: t["insertion"] - t["any_insertion"],
    "deletion": lambda t: t["deletion"],
    "deletion_gain": lambda t: t["any_deletion"] - t["deletion"],
}
OF_LESSONS: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "prior": lambda t: t["prior"],
    "posterior": lambda t: t["posterior"],
    "prior_log_odds": lambda t: pd.Series(logit(t["prior"].clip(1e-12, 1 - 1e-12)), index=t.index),
    "taught": lambda t: t["taught"],
}
_DRAWS = 2000


def write(measures: Measures, folder: Path, seed: int = 0) -> tuple[Path, ...]:
    """maps.csv and lessons.csv, a row each; means.csv; and both figures."""
    folder.mkdir(parents=True, exist_ok=True)
    maps, lessons = table_of(measures.maps), table_of(measures.lessons)
    tables = {"maps": maps, "lessons": lessons, "means": all_means(maps, lessons, seed)}
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    figures = {"maps": maps_figure(maps, seed) if len(maps) else None}
    figures |= {"lessons": lessons_figure(lessons, seed) if len(lessons) else None}
    for name, figure in figures.items():
        if figure is not None:
            save(figure, folder, name)
    return tuple(folder / f"{name}.csv" for name in tables)


def all_means(maps: pd.DataFrame, lessons: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Both tables' means, one below the other."""
    found = []
    if len(maps):
        found.append(means(maps, ("explainer", "trial_type"), OF_MAPS, seed))
    if len(lessons):
        found.append(means(lessons, ("explainer", "learner", "trial_type"), OF_LESSONS, seed))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def table_of(rows: Sequence[Any]) -> pd.DataFrame:
    """Rows of dataclasses as a table."""
    return pd.DataFrame([asdict(row) for row in rows])


def means(
    table: pd.DataFrame, by: Sequence[str], told: Mapping[str, Callable[[pd.DataFrame], pd.Series]], seed: int = 0
) -> pd.DataFrame:
    """Each measure's mean over trials with its 95 % interval, by percentile bootstrap of trials."""
    rows = []
    for key, group in table.groupby(list(by), sort=False) if len(table) else ():
        for name, measure in told.items():
            values = measure(group).dropna().to_numpy(dtype=np.float64)
            low, high = _interval(values, seed)
            mean = float(values.mean()) if len(values) else float("nan")
            rows.append(
                {**dict(zip(by, key, strict=True)), "measure": name, "trials": len(values), "mean": mean}
                | {"low": low, "high": high}
            )
    found = pd.DataFrame(rows, columns=[*by, "measure", "trials", "mean", "low", "high"])
    if "trial_type" not in by:
        return found
    order = found["trial_type"].map({kind: k for k, kind in enumerate(TRIAL_TYPES)})
    return found.assign(order=order).sort_values("order", kind="stable").drop(columns="order").reset_index(drop=True)


def _interval(values: np.ndarray, seed: int) -> tuple[float, float]:
    if len(values) < 2 or np.ptp(values) == 0:
        return float("nan"), float("nan")
    drawn = bootstrap(
        (values,), np.mean, n_resamples=_DRAWS, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    return float(drawn.low), float(drawn.high)


def maps_figure(maps: pd.DataFrame, seed: int = 0) -> Figure:
    """Of every trial where its map lies, and how much better it does than a random map; means with intervals beside."""
    found = means(maps, ("explainer", "trial_type"), OF_MAPS, seed)
    panels = (
        ("lift", "lift: on the thing less on the background", 0.0),
        ("insertion_gain", "insertion above a random map's", 0.0),
        ("deletion_gain", "deletion below a random map's", 0.0),
    )
    names = list(dict.fromkeys(maps["explainer"]))
    with mpl.rc_context(STYLE):
        figure = Figure(
            figsize=(9.4, 1.2 + 0.62 * len(TRIAL_TYPES) * max(len(names), 1)), dpi=200, layout="constrained"
        )
        axes = figure.subplots(1, len(panels), sharey=True)
        for axis, (measure, title, nothing) in zip(axes, panels, strict=True):
            axis.axvline(nothing, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
            labels = []
            for row, (name, kind) in enumerate((name, kind) for name in names for kind in TRIAL_TYPES):
                group = maps[(maps["explainer"] == name) & (maps["trial_type"] == kind)]
                cell = found[
                    (found["explainer"] == name) & (found["trial_type"] == kind) & (found["measure"] == measure)
                ]
                _row(axis, row, OF_MAPS[measure](group).dropna().to_numpy(dtype=float), cell)
                labels.append(spoken(kind) if len(names) == 1 else f"{spoken(kind)}\n{name}")
            axis.set_xlabel(title)
            axis.set_yticks(range(len(labels)), labels)
            axis.set_ylim(len(labels) - 0.4, -0.6)
            axis.tick_params(axis="y", length=0)
            axis.spines[["top", "right", "left"]].set_visible(False)
        return figure


def lessons_figure(lessons: pd.DataFrame, seed: int = 0) -> Figure:
    """How prior and lesson share the work: log odds of the answer before the lesson, and what the lesson adds."""
    learners = list(dict.fromkeys(lessons["learner"]))
    found = means(lessons, ("learner", "trial_type"), OF_LESSONS, seed).set_index(["learner", "trial_type", "measure"])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.4, 2.7), dpi=200, layout="constrained")
        axes = figure.subplots(1, len(learners), sharey=True)
        for axis, learner in zip(np.atleast_1d(axes), learners, strict=True):
            axis.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
            for row, kind in enumerate(TRIAL_TYPES):
                if (learner, kind, "taught") not in found.index:
                    continue
                prior, taught = (found.loc[learner, kind, name] for name in ("prior_log_odds", "taught"))
                axis.barh(
                    row - 0.18, prior["mean"], 0.34, color="#6b6b6b", label="before the lesson" if row == 0 else None
                )
                axis.barh(row + 0.18, taught["mean"], 0.34, color="#6a4fa3", label="what it adds" if row == 0 else None)
                for y, cell in ((row - 0.18, prior), (row + 0.18, taught)):
                    axis.plot([cell["low"], cell["high"]], [y, y], color=INK, linewidth=1.1)
            axis.set_title(learner, fontsize=10, fontweight="bold", loc="left")
            axis.set_xlabel("log odds of the AI’s answer")
            axis.set_yticks(range(len(TRIAL_TYPES)), [spoken(kind) for kind in TRIAL_TYPES])
            axis.set_ylim(len(TRIAL_TYPES) - 0.4, -0.6)
            axis.tick_params(axis="y", length=0)
            axis.spines[["top", "right", "left"]].set_visible(False)
        handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
        return figure


def _row(axis: "Axes", row: int, values: np.ndarray, cell: pd.DataFrame) -> None:
    """Each trial as a point, and below them the mean with its interval."""
    shake = 0.14 * np.linspace(-1, 1, len(values)) if len(values) > 1 else np.zeros(len(values))
    axis.scatter(values, row - 0.12 + shake, s=9, color="#c05a00", alpha=0.45, linewidths=0)
    if len(cell) and np.isfinite(cell["mean"].iloc[0]):
        low, mean, high = (float(cell[name].iloc[0]) for name in ("low", "mean", "high"))
        axis.plot([low, high], [row + 0.24] * 2, color=INK, linewidth=2)
        axis.plot(mean, row + 0.24, "o", color=INK, markersize=5, markeredgecolor="white", markeredgewidth=0.8)
