"""Where a person is in the study: a state that lives in the database, and nowhere else."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from bayesteach.study import allocation, plan
from bayesteach.study.materials import Materials
from bayesteach.study.plan import Asked
from bayesteach.study.tables import answers, asked, comprehension, demographics, participants, recruits
from bayesteach.study.visits import Visit

# In this order; `done` is where every ending leads.
STEPS = ("instructions", "practice", "comprehension", "arm", "trials", "demographics", "debrief", "saving", "done")
PHASES = ("practice", "trials")


@dataclass(frozen=True, slots=True)
class Session:
    """Where a person is. `ending` says how they left, `finished` whether all their trials were answered."""

    id: int
    code: str
    launch: int
    mode: str
    step: str
    failed: int
    arm: str | None
    ending: str | None
    finished: bool
    seen_at: datetime
    spent: float
    spent_at: datetime


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What the state machine needs to know of a study: its materials, its launch, and where chance comes from."""

    materials: Materials
    launch: int
    rng: Random

    @property
    def lease(self) -> timedelta:
        """How long a person may be silent before their place is given away."""
        return timedelta(minutes=self.materials.settings.study.lease_minutes)

    def pool(self, mode: str) -> allocation.Pool:
        """The places of a mode."""
        return allocation.Pool(self.launch, mode, self.materials.arms, self.lease)


def begin(connection: Connection, rules: Rules, visit: Visit, digest: str | None, moment: datetime) -> Session | None:
    """The session of a person who has agreed: theirs, if they have one; else a new one; None if the study is full."""
    allocation.lock(connection, rules.launch)
    if digest is not None:
        known = connection.scalar(
            select(participants.c.code)
            .join(recruits, recruits.c.participant == participants.c.id)
            .where(recruits.c.mode == visit.mode, recruits.c.digest == digest)
        )
        if known is not None:
            return load(connection, known)
    wanted = rules.materials.settings.study.participants
    if visit.mode == "live" and allocation.is_full(connection, rules.launch, wanted, rules.lease, moment):
        return None
    session = _insert(connection, rules, visit.mode, visit.platform, moment)
    if digest is not None:
        connection.execute(
            insert(recruits).values(
                participant=session.id, mode=visit.mode, digest=digest, parameters=dict(visit.parameters)
            )
        )
    return session


def preview(connection: Connection, rules: Rules, arm: str, trial: str | None, moment: datetime) -> Session:
    """A researcher's look at an arm, from a certain trial on; its answers are marked as such for ever."""
    session = _insert(connection, rules, "preview", "direct", moment)
    drawn = plan.trials(rules.materials, rules.rng)
    first = [row for row in drawn if row.trial == trial]
    if trial is not None and not first:
        first = plan.sided([rules.materials.shown[trial]], rules.rng)
    ask(connection, session.id, "trials", [*first, *(row for row in drawn if row.trial != trial)])
    return change(connection, session, arm=arm, step="arm" if trial is None else "trials", allocated_at=moment)


def load(connection: Connection, code: str, *, to_change: bool = False) -> Session | None:
    """The session of this code; to change it, no other request of the same person may run meanwhile."""
    query = select(participants).where(participants.c.code == code)
    row = connection.execute(query.with_for_update(key_share=True) if to_change else query).first()
    return None if row is None else _session(row)


def recruited(connection: Connection, mode: str, digest: str) -> str | None:
    """The code of the person with this recruiter's number, if they have agreed before."""
    return connection.scalar(
        select(participants.c.code)
        .join(recruits, recruits.c.participant == participants.c.id)
        .where(recruits.c.mode == mode, recruits.c.digest == digest)
    )


def touch(connection: Connection, rules: Rules, session: Session, moment: datetime) -> Session:
    """Note that the person is there; one who was silent for longer than a lease takes up a place again."""
    late = moment - session.seen_at > rules.lease
    if late and session.arm is not None and session.ending is None and session.mode != "preview":
        allocation.keep(connection, rules.pool(session.mode), session.id, session.arm, moment, rules.rng)
    return change(connection, session, seen_at=moment)


def withdraw(connection: Connection, session: Session, moment: datetime) -> Session:
    """All that the person answered is deleted; what stays is that somebody withdrew."""
    for table in (answers, asked, demographics, comprehension):
        connection.execute(delete(table).where(table.c.participant == session.id))
    # The digest stays, so that nobody takes part again; it says nothing without the study's secret.
    connection.execute(update(recruits).where(recruits.c.participant == session.id).values(parameters=None))
    allocation.release(connection, session.launch, session.id)
    return change(connection, session, step="done", ending="withdrawn", finished_at=None, ended_at=moment)


def phase_of(session: Session) -> Literal["practice", "trials"] | None:
    """What is being answered now, if anything."""
    if session.ending is None and session.step == "practice":
        return "practice"
    return "trials" if session.ending is None and session.step == "trials" else None


def count(connection: Connection, session: Session) -> int:
    """How many trials of this phase are answered: the index of the next one."""
    query = select(func.count()).select_from(answers)
    return connection.scalar(query.where(answers.c.participant == session.id, answers.c.phase == session.step)) or 0


def total(connection: Connection, session: Session) -> int:
    """How many trials this phase has."""
    query = select(func.count()).select_from(asked)
    return connection.scalar(query.where(asked.c.participant == session.id, asked.c.phase == session.step)) or 0


def questions(connection: Connection, session: Session) -> list[Asked]:
    """The trials of this phase, in the person's order."""
    query = select(asked).where(asked.c.participant == session.id, asked.c.phase == session.step)
    rows = connection.execute(query.order_by(asked.c.index)).all()
    return [Asked(row.trial, row.left, row.right, row.flipped) for row in rows]


def ask(connection: Connection, participant: int, phase: str, rows: Sequence[Asked]) -> None:
    """Store what the person is going to be asked, in this order."""
    if rows:
        connection.execute(
            insert(asked),
            [
                {
                    "participant": participant,
                    "phase": phase,
                    "index": index,
                    "trial": row.trial,
                    "left": row.left,
                    "right": row.right,
                    "flipped": row.flipped,
                }
                for index, row in enumerate(rows)
            ],
        )


def change(connection: Connection, session: Session, **values: Any) -> Session:
    """The session with these columns changed."""
    query = update(participants).where(participants.c.id == session.id).values(**values).returning(participants)
    return _session(connection.execute(query).one())


def _insert(connection: Connection, rules: Rules, mode: str, platform: str, moment: datetime) -> Session:
    values = {
        "code": secrets.token_hex(6),
        "launch": rules.launch,
        "mode": mode,
        "platform": platform,
        "consent": rules.materials.texts.consent,
        "step": STEPS[0],
        "failed": 0,
        "consented_at": moment,
        "seen_at": moment,
        "spent": 0.0,
        "spent_at": moment,
    }
    row = connection.execute(insert(participants).values(values).returning(participants)).one()
    session = _session(row)
    ask(connection, session.id, "practice", plan.practice(rules.materials, rules.rng))
    return session


def _session(row: Any) -> Session:
    return Session(
        id=row.id,
        code=row.code,
        launch=row.launch,
        mode=row.mode,
        step=row.step,
        failed=row.failed,
        arm=row.arm,
        ending=row.ending,
        finished=row.finished_at is not None,
        seen_at=row.seen_at,
        spent=row.spent,
        spent_at=row.spent_at,
    )
