"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.String(length=64), nullable=False),
        sa.Column("what", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_table(
        "launches",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("digests", sa.JSON(), nullable=False),
        sa.Column("arms", sa.JSON(), nullable=False),
        sa.Column("consent", sa.String(length=12), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_launches")),
    )
    op.create_table(
        "researchers",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.Column("refused_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_researchers")),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("shows_accuracy", sa.Boolean(), nullable=False),
        sa.CheckConstraint("status IN ('open', 'paused', 'closed')", name=op.f("ck_study_status")),
        sa.CheckConstraint("id = 1", name=op.f("ck_study_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
    )
    op.create_table(
        "participants",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=16), nullable=False),
        sa.Column("launch", sa.Integer(), nullable=False),
        sa.Column("mode", sa.String(length=10), nullable=False),
        sa.Column("platform", sa.String(length=16), nullable=False),
        sa.Column("consent", sa.String(length=12), nullable=False),
        sa.Column("step", sa.String(length=16), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("arm", sa.String(length=64), nullable=True),
        sa.Column("ending", sa.String(length=16), nullable=True),
        sa.Column("consented_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("allocated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("spent", sa.Float(), nullable=False),
        sa.Column("spent_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("mode IN ('live', 'test', 'simulated', 'preview')", name=op.f("ck_participants_mode")),
        sa.ForeignKeyConstraint(["launch"], ["launches.id"], name=op.f("fk_participants_launch")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_participants")),
        sa.UniqueConstraint("code", name=op.f("uq_participants_code")),
    )
    op.create_index(op.f("ix_participants_mode_arm"), "participants", ["mode", "arm"], unique=False)
    op.create_table(
        "stimuli",
        sa.Column("launch", sa.Integer(), nullable=False),
        sa.Column("trial", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("alternative", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("trial_type", sa.String(length=64), nullable=False),
        sa.Column("covariates", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["launch"], ["launches.id"], name=op.f("fk_stimuli_launch")),
        sa.PrimaryKeyConstraint("launch", "trial", name=op.f("pk_stimuli")),
    )
    op.create_table(
        "answers",
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=10), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.String(length=36), nullable=False),
        sa.Column("choice", sa.Integer(), nullable=False),
        sa.Column("rt", sa.Float(), nullable=False),
        sa.Column("by", sa.String(length=10), nullable=False),
        sa.Column("resumed", sa.Boolean(), nullable=False),
        sa.Column("viewport_width", sa.Integer(), nullable=False),
        sa.Column("viewport_height", sa.Integer(), nullable=False),
        sa.Column("pixel_ratio", sa.Float(), nullable=False),
        sa.Column("load_ms", sa.Float(), nullable=False),
        sa.Column("hidden_ms", sa.Float(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("phase IN ('practice', 'trials')", name=op.f("ck_answers_phase")),
        sa.CheckConstraint("choice IN (0, 1)", name=op.f("ck_answers_choice")),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name=op.f("fk_answers_participant"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("participant", "phase", "index", name=op.f("pk_answers")),
    )
    op.create_table(
        "asked",
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=10), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("trial", sa.String(length=64), nullable=False),
        sa.Column("left", sa.Text(), nullable=False),
        sa.Column("right", sa.Text(), nullable=False),
        sa.Column("flipped", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name=op.f("fk_asked_participant"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("participant", "phase", "index", name=op.f("pk_asked")),
    )
    op.create_table(
        "comprehension",
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("chance", sa.Integer(), nullable=False),
        sa.Column("right", sa.Integer(), nullable=False),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name=op.f("fk_comprehension_participant"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("participant", "chance", name=op.f("pk_comprehension")),
    )
    op.create_table(
        "demographics",
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name=op.f("fk_demographics_participant"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("participant", "question", name=op.f("pk_demographics")),
    )
    op.create_table(
        "recruits",
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("mode", sa.String(length=10), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name=op.f("fk_recruits_participant"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("participant", name=op.f("pk_recruits")),
        sa.UniqueConstraint("mode", "digest", name=op.f("uq_recruits_mode_digest")),
    )
    op.create_table(
        "slots",
        sa.Column("launch", sa.Integer(), nullable=False),
        sa.Column("mode", sa.String(length=10), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("arm", sa.String(length=64), nullable=False),
        sa.Column("participant", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["launch"], ["launches.id"], name=op.f("fk_slots_launch")),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name=op.f("fk_slots_participant"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("launch", "mode", "block", "place", name=op.f("pk_slots")),
        sa.UniqueConstraint("participant", name=op.f("uq_slots_participant")),
    )
