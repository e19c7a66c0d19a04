"""The database's versions, from the first; brought up to date when a server starts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from filelock import FileLock
from sqlalchemy import Connection, text

from bayesteach.errors import BadStudy
from bayesteach.study.database import Database

# Any number that no other program on the same PostgreSQL takes for a lock of its own.
_LOCK = 0x62617965


def migrate(database: Database) -> None:
    """Bring the database to this version's tables, one process at a time; a database of a newer version is refused."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with _alone(database), database.write() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if found is not None and found not in known:
            raise BadStudy(
                f"database: {database.place} was written by a newer version of bayesteach (its revision is {found}, "
                f"this one knows {', '.join(sorted(known))}). Use that version; nothing was changed."
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def revision(connection: Connection) -> str | None:
    """The version of the tables that are there."""
    return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def _alone(database: Database) -> Iterator[None]:
    """While several servers start at once, one migrates and the others wait."""
    if database.is_sqlite:
        file = str(database.engine.url.database)
        with FileLock(f"{file}.migration"):
            yield
    else:
        with database.engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK})
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _LOCK})
