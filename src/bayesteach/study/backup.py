"""A study's database as one file, while the server runs, and back again; also from one kind of database to the other.

The file is an SQLite database of the same tables, copied from one snapshot. pg_dump would need the server's own version on this
machine, and gives a text that nothing here can check.
"""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, insert, inspect, select, text

from bayesteach.errors import BadStudy
from bayesteach.study.database import Database, connect
from bayesteach.study.migrations import migrate, revision
from bayesteach.study.tables import metadata

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Copied:
    """How many rows of all tables."""

    rows: int


def backup(database: Database, file: Path) -> Copied:
    """Write the database into a new file, whole or not at all."""
    if file.exists():
        raise BadStudy(f"backup: {file} is there already. Name a new file.")
    if not file.absolute().parent.is_dir():
        raise BadStudy(f"backup: there is no folder {file.absolute().parent}. Make it, or check the path.")
    unfinished = file.absolute().with_name(f".unfinished-{file.name}")
    unfinished.unlink(missing_ok=True)
    target = connect(f"sqlite:///{unfinished}")
    try:
        with database.read() as source:
            if revision(source) is None:
                raise BadStudy(f"backup: {database.place} holds no study. Check --database.")
            migrate(target)
            copied = _copy(source, target)
        _one_file(target)
        unfinished.rename(file)
    finally:
        target.close()
        for rest in unfinished.parent.glob(f"{unfinished.name}*"):
            rest.unlink()
    return copied


def restore(file: Path, database: Database) -> Copied:
    """Read a backup into a database that holds no study yet."""
    if not file.is_file():
        raise BadStudy(f"restore: there is no {file}. Check the path.")
    if file.read_bytes()[:15] != b"SQLite format 3":
        raise BadStudy(f"restore: {file} is no backup of bayesteach.")
    backed_up = connect(f"sqlite:///{file.absolute()}")
    try:
        with database.read() as connection:
            there = inspect(connection).has_table("study") and connection.scalar(
                select(func.count()).select_from(text("study"))
            )
        if there:
            raise BadStudy(
                f"restore: {database.place} holds a study already. Name an empty database; nothing was changed."
            )
        migrate(backed_up)
        migrate(database)
        with backed_up.read() as source:
            return _copy(source, database)
    finally:
        backed_up.close()


def _copy(source: Connection, target: Database) -> Copied:
    """All rows in one transaction, tables before those that point to them."""
    rows = 0
    with target.write() as connection:
        for table in metadata.sorted_tables:
            found = source.execution_options(yield_per=_AT_ONCE).execute(select(table)).mappings()
            for part in found.partitions():
                connection.execute(insert(table), [dict(row) for row in part])
                rows += len(part)
            if not target.is_sqlite and "id" in table.c and len(table.primary_key) == 1 and table.name != "study":
                # PostgreSQL counts on from the last number that it gave itself.
                connection.execute(
                    text(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), max(id)) FROM {table.name}")  # noqa: S608 — names of our own tables
                )
    return Copied(rows)


def _one_file(database: Database) -> None:
    """Nothing of it is left in a second file beside."""
    raw = database.engine.raw_connection()
    try:
        raw.cursor().execute("PRAGMA journal_mode=DELETE")
    finally:
        raw.close()
    database.close()
