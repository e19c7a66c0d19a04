"""`bayesteach export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from bayesteach.cli.console import out
from bayesteach.cli.run import StudyFolder
from bayesteach.cli.serve import Database


def export(
    study: StudyFolder,
    to: Annotated[Path, typer.Argument(help="The new folder of the data set.", metavar="OUT")],
    database: Database = None,
    mode: Annotated[
        Literal["live", "test", "simulated", "preview"], typer.Option(help="Whose answers. They never mix.")
    ] = "live",
    launch: Annotated[
        int | None, typer.Option(help="Which launch, if there were several. [default: the last]", metavar="N")
    ] = None,
) -> None:
    """Write the answers as a Psych-DS data set.

    data/…trials… has one row an answer, …participants… one a person,
    …stimuli… one a trial. The server may go on meanwhile.
    bayesteach analyse takes OUT as it is.
    """
    from bayesteach.study.database import default_url, existing  # noqa: PLC0415 — torch takes a second
    from bayesteach.study.export import export as write  # noqa: PLC0415
    from bayesteach.study.migrations import migrate  # noqa: PLC0415
    from bayesteach.study.texts import title  # noqa: PLC0415

    there = existing(database or default_url(study))
    migrate(there)
    done = write(there, title(study), to, mode=mode, launch=launch)
    out.print(
        f"{done.answers} answers of {done.people} people ({mode}) → {escape(str(to))}. "
        f"Next: bayesteach analyse {escape(str(to))}",
        soft_wrap=True,
    )
