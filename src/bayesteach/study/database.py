"""The study's database: its tables, and transactions that hold on SQLite and on PostgreSQL.

Whoever is recruited stands in `recruits` and nowhere else; whatever a person does hangs on `participants`.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    DateTime,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

from bayesteach.errors import BadStudy

MODES = ("live", "test", "simulated", "preview")
# How long a writer waits for those before it, in seconds.
_PATIENCE = 60


class Moment(TypeDecorator[datetime]):
    """A time in UTC, on both databases."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:  # noqa: ARG002 — SQLAlchemy's signature
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _person(*, primary: bool = False) -> Column[int]:
    return Column(
        "participant", Integer, ForeignKey("participants.id", ondelete="CASCADE"), nullable=False, primary_key=primary
    )


# One row: whether people are let in, and the secret that signs cookies and digests recruiters' numbers.
study = Table(
    "study",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("status", String(10), nullable=False),
    Column("secret", String(64), nullable=False),
    Column("shows_accuracy", Boolean, nullable=False),
    CheckConstraint("id = 1", name="one"),
    CheckConstraint("status IN ('open', 'paused', 'closed')", name="status"),
)

# The materials that people were, or are, shown.
launches = Table(
    "launches",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("digests", JSON, nullable=False),
    Column("arms", JSON, nullable=False),
    Column("consent", String(12), nullable=False),
    Column("settings", JSON, nullable=False),
)

# What stands behind each trial of a launch: an export needs no other file.
stimuli = Table(
    "stimuli",
    metadata,
    Column("launch", Integer, ForeignKey("launches.id"), primary_key=True),
    Column("trial", String(64), primary_key=True),
    Column("kind", String(10), nullable=False),
    Column("target", Text, nullable=False),
    Column("alternative", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("trial_type", String(64), nullable=False),
    Column("covariates", JSON, nullable=False),
)

participants = Table(
    "participants",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("code", String(16), nullable=False, unique=True),
    Column("launch", Integer, ForeignKey("launches.id"), nullable=False),
    Column("mode", String(10), nullable=False),
    Column("platform", String(16), nullable=False),
    Column("consent", String(12), nullable=False),
    Column("step", String(16), nullable=False),
    Column("failed", Integer, nullable=False),
    Column("arm", String(64)),
    Column("ending", String(16)),
    Column("consented_at", Moment, nullable=False),
    Column("allocated_at", Moment),
    Column("finished_at", Moment),
    Column("ended_at", Moment),
    Column("seen_at", Moment, nullable=False),
    # A leaky bucket: how many requests were made of late, counted at this moment.
    Column("spent", Float, nullable=False),
    Column("spent_at", Moment, nullable=False),
    CheckConstraint(f"mode IN {MODES}", name="mode"),
)
Index(None, participants.c.mode, participants.c.arm)

# Recruiters' numbers, apart from what people answered: a keyed digest for uniqueness, and the number itself until it is purged.
recruits = Table(
    "recruits",
    metadata,
    _person(primary=True),
    Column("mode", String(10), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("parameters", JSON),
    UniqueConstraint("mode", "digest"),
)

# Places in permuted blocks. A place is free if nobody has it, or who has it is silent for longer than a lease and not finished.
slots = Table(
    "slots",
    metadata,
    Column("launch", Integer, ForeignKey("launches.id"), primary_key=True),
    Column("mode", String(10), primary_key=True),
    Column("block", Integer, primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("arm", String(64), nullable=False),
    Column("participant", Integer, ForeignKey("participants.id", ondelete="SET NULL"), unique=True),
)

# What each person is asked, in which order, and whether the options change sides: frozen when it is drawn.
asked = Table(
    "asked",
    metadata,
    _person(primary=True),
    Column("phase", String(10), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("trial", String(64), nullable=False),
    Column("left", Text, nullable=False),
    Column("right", Text, nullable=False),
    Column("flipped", Boolean, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    _person(primary=True),
    Column("phase", String(10), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("attempt", String(36), nullable=False),
    Column("choice", Integer, nullable=False),
    Column("rt", Float, nullable=False),
    Column("by", String(10), nullable=False),
    Column("resumed", Boolean, nullable=False),
    Column("viewport_width", Integer, nullable=False),
    Column("viewport_height", Integer, nullable=False),
    Column("pixel_ratio", Float, nullable=False),
    Column("load_ms", Float, nullable=False),
    Column("hidden_ms", Float, nullable=False),
    Column("at", Moment, nullable=False),
    CheckConstraint("choice IN (0, 1)", name="choice"),
    CheckConstraint("phase IN ('practice', 'trials')", name="phase"),
)

demographics = Table(
    "demographics",
    metadata,
    _person(primary=True),
    Column("question", String(64), primary_key=True),
    Column("answer", Text),
)

comprehension = Table(
    "comprehension",
    metadata,
    _person(primary=True),
    Column("chance", Integer, primary_key=True),
    Column("right", Integer, nullable=False),
    Column("answers", JSON, nullable=False),
    Column("at", Moment, nullable=False),
)

researchers = Table(
    "researchers",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("password", Text, nullable=False),
    Column("refused", Integer, nullable=False),
    Column("refused_at", Moment),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("who", String(64), nullable=False),
    Column("what", String(32), nullable=False),
    Column("detail", Text, nullable=False),
)


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """Where a study's answers are. Several processes may hold one each.

    turn  held by whoever writes in this process: SQLite lets one write at a time, and who finds it taken sleeps and tries again,
          so that some would wait for seconds behind who came later. Other processes still meet at SQLite's own lock.
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
    """The database at an address: sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME."""
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


def reachable(database: Database) -> None:
    """Refuse, with the reason, a database that does not answer."""
    try:
        with database.engine.connect():
            pass
    except OperationalError as error:
        reason = " ".join(str(error.orig).split())
        raise BadStudy(
            f"database: {database.place} does not answer ({reason}). Is it running, and is the address right?"
        ) from None


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
