"""What a researcher sees of a running study: the flow of people, the quality of answers, the health of the server."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, case, func, select

from bayesteach.study.database import Database
from bayesteach.study.tables import answers, asked, participants, stimuli, study

# Milliseconds, quicker than anybody can look at two options; and a share of answers on one side that nobody reaches by chance.
_TOO_FAST, _ONE_SIDE, _ENOUGH = 300, 0.9, 20


@dataclass(frozen=True, slots=True)
class Flow:
    """The people of one arm, as CONSORT counts them; `active` are at it now."""

    arm: str
    allocated: int
    finished: int
    active: int
    dropped: int
    withdrawn: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Those who agreed, and where they were lost before they were allocated."""

    agreed: int
    screened_out: int
    before: int
    left: int


@dataclass(frozen=True, slots=True)
class Flag:
    """What is odd about a person's answers."""

    participant: str
    arm: str
    answered: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """How the server does: milliseconds for a transaction that writes, the last answer, and who has gone silent in the trials."""

    lag: float
    last_answer: datetime | None
    answering: int
    silent: int


def arrivals(connection: Connection, launch: int, mode: str, lease: timedelta, moment: datetime) -> Arrivals:
    """The flow up to allocation."""
    unplaced = and_(participants.c.arm.is_(None), participants.c.ending.is_(None))
    here = participants.c.seen_at >= moment - lease
    row = connection.execute(
        select(
            func.count(),
            _number(participants.c.ending == "screened_out"),
            _number(and_(unplaced, here)),
            _number(and_(unplaced, ~here)),
        ).where(participants.c.launch == launch, participants.c.mode == mode)
    ).one()
    return Arrivals(*(int(number or 0) for number in row))


def flows(
    connection: Connection,
    launch: int,
    mode: str,
    arms: Sequence[str],
    lease: timedelta,
    moment: datetime,
    *,
    accuracy: bool,
) -> list[Flow]:
    """The flow in every arm. Accuracy only where it was asked for: nobody peeks by accident."""
    finished = participants.c.finished_at.is_not(None)
    unfinished = and_(participants.c.finished_at.is_(None), participants.c.ending.is_(None))
    here = participants.c.seen_at >= moment - lease
    query = select(
        participants.c.arm,
        func.count(),
        _number(finished),
        _number(and_(unfinished, here)),
        _number(and_(unfinished, ~here)),
        _number(participants.c.ending == "withdrawn"),
    ).where(participants.c.launch == launch, participants.c.mode == mode)
    found = {row[0]: [int(number or 0) for number in row[1:]] for row in connection.execute(query.group_by("arm"))}
    right = _accuracies(connection, launch, mode) if accuracy else {}
    flow = {arm: found.get(arm, [0] * 5) for arm in arms}
    return [Flow(arm, n[0], n[1], n[2], n[3], n[4], right.get(arm)) for arm, n in flow.items()]


def flags(connection: Connection, launch: int, mode: str) -> list[Flag]:
    """People whose answers are odd. They are told of, never left out."""
    chosen = case((answers.c.choice == 1, asked.c.right), else_=asked.c.left)
    failed = and_(stimuli.c.kind == "attention", chosen != stimuli.c.target)
    query = (
        select(
            participants.c.code,
            participants.c.arm,
            func.count().label("answered"),
            _number(answers.c.rt < _TOO_FAST).label("fast"),
            _number(answers.c.choice == 1).label("right"),
            _number(failed).label("failed"),
        )
        .select_from(answers)
        .join(participants, participants.c.id == answers.c.participant)
        .join(asked, _same_trial())
        .join(stimuli, and_(stimuli.c.launch == participants.c.launch, stimuli.c.trial == asked.c.trial))
        .where(participants.c.launch == launch, participants.c.mode == mode, answers.c.phase == "trials")
        .group_by(participants.c.code, participants.c.arm)
        .order_by(participants.c.code)
    )
    found = []
    for row in connection.execute(query):
        reasons = []
        if row.fast > row.answered / 10:
            reasons.append(f"{row.fast} answers in less than {_TOO_FAST} ms")
        share = max(row.right, row.answered - row.right) / row.answered
        if row.answered >= _ENOUGH and share > _ONE_SIDE:
            reasons.append(f"{share:.0%} on one side")
        if row.failed:
            reasons.append(f"{row.failed} attention checks failed")
        if reasons:
            found.append(Flag(row.code, row.arm or "", row.answered, tuple(reasons)))
    return found


def health(database: Database, launch: int, mode: str, moment: datetime) -> Health:
    """How long a transaction takes that writes, and what has come in of late."""
    start = time.perf_counter()
    with database.write() as connection:
        connection.execute(study.update().values(id=study.c.id))
    lag = 1000 * (time.perf_counter() - start)
    with database.read() as connection:
        of = (participants.c.launch == launch, participants.c.mode == mode)
        last = connection.scalar(select(func.max(answers.c.at)).join(participants).where(*of))
        trialling = (*of, participants.c.step == "trials", participants.c.ending.is_(None))
        seen = connection.scalars(select(participants.c.seen_at).where(*trialling)).all()
    recent = [one for one in seen if moment - one < timedelta(minutes=10)]
    return Health(lag, last, len(recent), sum(moment - one > timedelta(minutes=1) for one in recent))


def _accuracies(connection: Connection, launch: int, mode: str) -> dict[str, float]:
    chosen = case((answers.c.choice == 1, asked.c.right), else_=asked.c.left)
    query = (
        select(participants.c.arm, func.avg(case((chosen == stimuli.c.target, 1.0), else_=0.0)))
        .select_from(answers)
        .join(participants, participants.c.id == answers.c.participant)
        .join(asked, _same_trial())
        .join(stimuli, and_(stimuli.c.launch == participants.c.launch, stimuli.c.trial == asked.c.trial))
        .where(participants.c.launch == launch, participants.c.mode == mode, stimuli.c.kind == "trial")
        .group_by(participants.c.arm)
    )
    return {row[0]: float(row[1]) for row in connection.execute(query)}


def _same_trial() -> Any:
    return and_(
        asked.c.participant == answers.c.participant, asked.c.phase == answers.c.phase, asked.c.index == answers.c.index
    )


def _number(condition: Any) -> Any:
    return func.sum(case((condition, 1), else_=0))
