"""`bayesteach backup` and `bayesteach restore`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from bayesteach.cli.console import out
from bayesteach.cli.run import StudyFolder
from bayesteach.cli.serve import Database


def backup(
    study: StudyFolder,
    to: Annotated[Path, typer.Argument(help="The new file.", metavar="FILE")],
    database: Database = None,
) -> None:
    """Copy all answers into one file, while the server runs.

    The file is an SQLite database, also where answers are kept in
    PostgreSQL. It holds all that the database holds: keep it as safe.
    """
    from bayesteach.study.backup import backup as copy  # noqa: PLC0415 — SQLAlchemy takes a moment
    from bayesteach.study.database import default_url, existing  # noqa: PLC0415

    there = existing(database or default_url(study))
    out.print(f"{copy(there, to).rows} rows → {escape(str(to))}", soft_wrap=True)


def restore(
    study: StudyFolder,
    file: Annotated[Path, typer.Argument(help="What bayesteach backup wrote.", metavar="FILE")],
    database: Database = None,
) -> None:
    """Put a backup into an empty database, SQLite or PostgreSQL.

    A database that holds a study is refused: nothing is overwritten.
    """
    from bayesteach.study.backup import restore as copy  # noqa: PLC0415 — SQLAlchemy takes a moment
    from bayesteach.study.database import connect, default_url  # noqa: PLC0415

    there = connect(database or default_url(study))
    out.print(f"{copy(file, there).rows} rows → {escape(there.place)}", soft_wrap=True)
