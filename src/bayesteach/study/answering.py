"""One answer: stored once, whole, in the order of the trials, and never changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, insert, select

from bayesteach.study.sessions import Rules, Session, count, phase_of, total, touch
from bayesteach.study.tables import answers

Milliseconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Pixels = Annotated[int, Field(ge=0, le=100_000)]


class Answer(BaseModel):
    """What a browser sends for a trial: `choice` 0 is the left option; `attempt` is fixed when the person answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phase: Literal["practice", "trials"]
    index: Annotated[int, Field(ge=0, le=100_000)]
    attempt: UUID
    choice: Literal[0, 1]
    rt: Milliseconds
    by: Literal["key", "pointer"]
    resumed: bool
    viewport: tuple[Pixels, Pixels]
    pixel_ratio: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
    load_ms: Milliseconds
    hidden_ms: Milliseconds


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer is in the database, now or from before; `next` is the first trial without one."""

    next: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was stored: that trial has another answer, or is not the next one."""

    next: int


def take(
    connection: Connection, rules: Rules, session: Session, answer: Answer, moment: datetime
) -> Taken | Conflict | None:
    """Store an answer; None if the person is not at a trial. The same attempt again is the same answer, also later."""
    phase = phase_of(session)
    following = count(connection, session) if phase is not None else 0
    if answer.phase != phase or answer.index != following or following >= total(connection, session):
        where = (answers.c.participant == session.id, answers.c.phase == answer.phase, answers.c.index == answer.index)
        known = connection.scalar(select(answers.c.index).where(*where, answers.c.attempt == str(answer.attempt)))
        if known is not None:
            return Taken(following if answer.phase == phase else answer.index + 1)
        return None if phase is None else Conflict(following)
    connection.execute(
        insert(answers).values(
            participant=session.id,
            phase=phase,
            index=answer.index,
            attempt=str(answer.attempt),
            choice=answer.choice,
            rt=answer.rt,
            by=answer.by,
            resumed=answer.resumed,
            viewport_width=answer.viewport[0],
            viewport_height=answer.viewport[1],
            pixel_ratio=answer.pixel_ratio,
            load_ms=answer.load_ms,
            hidden_ms=answer.hidden_ms,
            at=moment,
        )
    )
    touch(connection, rules, session, moment)
    return Taken(following + 1)
