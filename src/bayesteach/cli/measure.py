"""`bayesteach measure`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bayesteach.cli.console import out, progress
from bayesteach.cli.run import Change, Preset, StudyFolder, watch_with

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
    from bayesteach.pipeline import Run  # noqa: PLC0415
    from bayesteach.settings import read_settings  # noqa: PLC0415
    from bayesteach.store.workspace import Workspace  # noqa: PLC0415

    settings = read_settings(study, change or (), preset)
    with progress() as bar:
        found = Run(Workspace(study), settings, watch_with(bar)).measure()
    folder = to or study / "measures"
    write(found, folder, settings.seed)
    table = Table("measure", "of", "trial type", "mean", "95 % interval", box=None, pad_edge=False)
    shown = all_means(table_of(found.maps), table_of(found.lessons), settings.seed)
    for row in shown[shown["measure"].isin(_SHOWN) & shown["mean"].notna()].to_dict("records"):
        whose = str(row["explainer"]) + (f", {row['learner']}" if isinstance(row.get("learner"), str) else "")
        interval = f"{row['low']:+.3f} to {row['high']:+.3f}" if row["low"] == row["low"] else ""
        table.add_row(row["measure"], whose, row["trial_type"], f"{row['mean']:+.3f}", interval)
    out.print(table)
    out.print(f"{found.summary} → {escape(str(folder))}", soft_wrap=True)
