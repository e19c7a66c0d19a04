"""The tables of a study's database.

Whoever is recruited stands in `recruits` and nowhere else; whatever a person does hangs on `participants`.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
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
)

MODES = ("live", "test", "simulated", "preview")


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
