"""`bayesteach measure`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bayesteach.cli.console import out, progress
from bayesteach.cli.run import Change, Preset, StudyFolder, watch_with

if TYPE_CHECKING:
    import pandas as pd

# What is shown at once; means.csv has all.
_SHOWN = ("lift", "thing_share", "insertion_gain", "deletion_gain", "prior", "posterior", "taught")


def measure(
    study: StudyFolder,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write. [default: measures in the study's folder]", metavar="DIR"),
    ] = None,
    preset: Preset = None,
    change: Change = None,
) -> None:
    """What a machine can tell of the explanations, before anybody is asked.

    Where maps lie, whether the answer comes and goes with what they
    show, and what examples teach three learners, by trial type. Writes
    maps.csv, lessons.csv, means.csv and two figures.
    """
    from bayesteach.analysis.machine import all_means, table_of, write  # noqa: PLC0415 — torch and pandas take seconds
    from bayesteach.artifacts import TRIAL_TYPES  # noqa: PLC0415
    from bayesteach.pipeline import Run  # noqa: PLC0415
    from bayesteach.settings import read_settings  # noqa: PLC0415
    from bayesteach.store.workspace import Workspace  # noqa: PLC0415

    settings = read_settings(study, change or (), preset)
    with progress() as bar:
        found = Run(Workspace(study), settings, watch_with(bar)).measure()
    folder = to or study / "measures"
    write(found, folder, settings.seed)
    means = all_means(table_of(found.maps), table_of(found.lessons), settings.seed)
    table = Table("mean [95 %]", "of", *(kind.replace("_", " ") for kind in TRIAL_TYPES), box=None, pad_edge=False)
    for (name, *whose), rows in _shown(means):
        cells = {row["trial_type"]: _cell(row) for row in rows}
        table.add_row(name, ", ".join(whose), *(cells.get(kind, "") for kind in TRIAL_TYPES))
    out.print(table)
    out.print(f"{found.summary} → {escape(str(folder))}", soft_wrap=True)


def _shown(means: "pd.DataFrame") -> Iterator[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """The rows of each measure of each explainer, and learner where there is one, that is known."""
    known = means[means["measure"].isin(_SHOWN) & means["mean"].notna()]
    by = [name for name in ("measure", "explainer", "learner") if name in known]
    for key, rows in known.groupby(by, sort=False, dropna=False):
        yield tuple(part for part in key if isinstance(part, str)), rows.to_dict("records")


def _cell(row: Mapping[str, Any]) -> str:
    """A mean with its interval, if it has one."""
    mean = f"{row['mean']:.2f}"
    return mean if row["low"] != row["low"] else f"{mean} [{row['low']:.2f}, {row['high']:.2f}]"
