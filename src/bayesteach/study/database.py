"""The study's database: transactions that hold on SQLite and on PostgreSQL alike."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

from bayesteach.errors import BadStudy

# How long a writer waits for those before it, in seconds.
_PATIENCE = 60


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """Where a study's answers are. Several processes may hold one each.

    turn  held by whoever writes in this process: SQLite lets one write at a time, and who finds it taken sleeps and tries again,
          so that some would wait for seconds behind who came later: in turn, with 200 people at full speed, the slowest hundredth
          waits 0.43 times as long, and 9 % more is answered. Other processes still meet at SQLite's own lock.
    """

    engine: Engine
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that writes: whole, and on the disk before it returns, or nothing of it."""
        with self.turn, self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One snapshot: whatever is written meanwhile, it does not change."""
        with self.engine.connect().execution_options(**_reading(self.engine)) as connection, connection.begin():
            yield connection

    @property
    def is_sqlite(self) -> bool:
        """Whether it is one file."""
        return self.engine.dialect.name == "sqlite"

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self.engine.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def default_url(root: Path) -> str:
    """A file in the study's folder."""
    return f"sqlite:///{(root / 'study.db').absolute()}"


def connect(url: str) -> Database:
    """The database at an address, sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, once it has answered."""
    return _answering(_addressed(url))


def existing(url: str) -> Database:
    """A database that holds a study already: a mistyped file is refused, not begun."""
    database = _addressed(url)
    file = database.engine.url.database
    if database.is_sqlite and not Path(str(file)).is_file():
        raise BadStudy(
            f"database: there is no file {file}. Check the study's folder, or the address; bayesteach serve begins one."
        )
    if not inspect(_answering(database).engine).has_table("launches"):
        database.close()
        raise BadStudy(f"database: {database.place} holds no study. Check the address.")
    return database


def _answering(database: Database) -> Database:
    try:
        database.engine.connect().close()
    except OperationalError as error:
        database.close()
        reason = " ".join(str(error.orig).split())
        raise BadStudy(
            f"database: {database.place} does not answer ({reason}). Is it running, and is the address right?"
        ) from None
    return database


def _addressed(url: str) -> Database:
    try:
        address = make_url(url)
        if address.get_backend_name() == "sqlite":
            if address.database in {None, "", ":memory:"}:
                raise BadStudy("database: a study needs a file, not SQLite's memory. Write sqlite:///FILE.")
            return Database(_sqlite(url), Lock())
        if address.get_backend_name() == "postgresql":
            return Database(_postgres(url))
    except ArgumentError:
        raise BadStudy(
            f"database: {url!r} is no address. Write sqlite:///FILE or postgresql://USER@HOST/NAME."
        ) from None
    except (NoSuchModuleError, ModuleNotFoundError):
        raise BadStudy("database: PostgreSQL needs psycopg. Install bayesteach[postgres].") from None
    raise BadStudy(f"database: found {address.get_backend_name()}, expected sqlite or postgresql.")


def _sqlite(url: str) -> Engine:
    engine = create_engine(
        url, connect_args={"timeout": _PATIENCE, "check_same_thread": False}, pool_size=20, max_overflow=30
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        # The driver's own transactions begin too late for a read that decides a write; ours begin below.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading")
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _postgres(url: str) -> Engine:
    address = make_url(url)
    if address.drivername == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    engine = create_engine(address, pool_size=20, max_overflow=30, pool_pre_ping=True)

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        connection.execute("SET synchronous_commit TO on")
        connection.execute(f"SET lock_timeout TO '{_PATIENCE}s'")
        connection.commit()

    return engine


def _reading(engine: Engine) -> dict[str, Any]:
    if engine.dialect.name == "sqlite":
        return {"reading": True}
    return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
