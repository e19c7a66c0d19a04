"""Who is given which arm: permuted blocks whose places come back when a person has gone, so that *completers* are balanced.

A place is free if nobody holds it, or if its holder is not finished and has been silent for longer than a lease. The first free
place of the first block is given. Who was let in and comes back late goes on in their arm, whatever became of the place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, insert, or_, select, update

from bayesteach.study.tables import launches, participants, slots


@dataclass(frozen=True, slots=True)
class Pool:
    """The places of one launch and mode: those of tests, simulations and people never mix."""

    launch: int
    mode: str
    arms: Sequence[str]
    lease: timedelta


def lock(connection: Connection, launch: int) -> None:
    """One at a time from here to the end of the transaction. SQLite's writers are that already."""
    connection.execute(select(launches.c.id).where(launches.c.id == launch).with_for_update(key_share=True))


def allocate(connection: Connection, pool: Pool, participant: int, moment: datetime, rng: Random) -> str:
    """The arm of the first free place, which is now this person's."""
    lock(connection, pool.launch)
    place = _first_free(connection, pool, moment)
    while place is None:
        _add_block(connection, pool, rng)
        place = _first_free(connection, pool, moment)
    _give(connection, place, participant)
    return str(place.arm)


def keep(connection: Connection, pool: Pool, participant: int, arm: str, moment: datetime, rng: Random) -> None:
    """Give a person who lost their place the first free one of their arm, a later block's if need be."""
    lock(connection, pool.launch)
    if connection.scalar(select(func.count()).select_from(slots).where(slots.c.participant == participant)):
        return
    place = _first_free(connection, pool, moment, arm)
    while place is None:
        _add_block(connection, pool, rng)
        place = _first_free(connection, pool, moment, arm)
    _give(connection, place, participant)


def release(connection: Connection, launch: int, participant: int) -> None:
    """The place of a person who withdrew is free."""
    lock(connection, launch)
    connection.execute(update(slots).where(slots.c.participant == participant).values(participant=None))


def is_full(connection: Connection, launch: int, wanted: int | None, lease: timedelta, moment: datetime) -> bool:
    """Whether those who finished, and those who are at it, are as many as the study wants."""
    if wanted is None:
        return False
    at_it = and_(participants.c.ending.is_(None), participants.c.seen_at >= moment - lease)
    taken = connection.scalar(
        select(func.count())
        .select_from(participants)
        .where(
            participants.c.launch == launch,
            participants.c.mode == "live",
            or_(participants.c.finished_at.is_not(None), at_it),
        )
    )
    return (taken or 0) >= wanted


def _first_free(connection: Connection, pool: Pool, moment: datetime, arm: str | None = None) -> Any:
    gone: ColumnElement[bool] = and_(participants.c.finished_at.is_(None), participants.c.seen_at < moment - pool.lease)
    query = (
        select(slots)
        .select_from(slots.outerjoin(participants, slots.c.participant == participants.c.id))
        .where(slots.c.launch == pool.launch, slots.c.mode == pool.mode, or_(slots.c.participant.is_(None), gone))
        .order_by(slots.c.block, slots.c.place)
        .limit(1)
    )
    if arm is not None:
        query = query.where(slots.c.arm == arm)
    return connection.execute(query).first()


def _give(connection: Connection, place: Any, participant: int) -> None:
    same = [slots.c[name] == getattr(place, name) for name in ("launch", "mode", "block", "place")]
    connection.execute(update(slots).where(*same).values(participant=participant))


def _add_block(connection: Connection, pool: Pool, rng: Random) -> None:
    """Every arm once more, in a random order."""
    last = connection.scalar(
        select(func.max(slots.c.block)).where(slots.c.launch == pool.launch, slots.c.mode == pool.mode)
    )
    block = 0 if last is None else last + 1
    arms = rng.sample(list(pool.arms), len(pool.arms))
    connection.execute(
        insert(slots),
        [
            {"launch": pool.launch, "mode": pool.mode, "block": block, "place": place, "arm": arm, "participant": None}
            for place, arm in enumerate(arms)
        ],
    )
