"""What an export holds, row by row: answers, people, what they were shown, and how many came how far."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import LABEL_STYLE_TABLENAME_PLUS_COL, Connection, and_, func, select

from bayesteach.errors import BadStudy
from bayesteach.study.tables import answers, asked, demographics, launches, participants, stimuli

Cell = str | int | float | None
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Launched:
    """What an export needs to know of a launch: its factors by arm, and the covariates of its trials."""

    row: Any
    factors: Mapping[str, Mapping[str, str]]
    names: tuple[str, ...]
    covariates: tuple[str, ...]


def launched(connection: Connection, number: int | None) -> Launched:
    """The launch of this number; without one, the last."""
    query = select(launches).order_by(launches.c.id.desc()).limit(1)
    row = connection.execute(query if number is None else query.where(launches.c.id == number)).first()
    if row is None:
        raise BadStudy("export: this database holds no study yet. Begin with bayesteach serve, or check --database.")
    factors = {arm["name"]: arm["factors"] for arm in row.arms}
    found = connection.scalars(select(stimuli.c.covariates).where(stimuli.c.launch == row.id))
    covariates = tuple(dict.fromkeys(name for cells in found for name in cells))
    return Launched(row, factors, tuple(dict.fromkeys(n for levels in factors.values() for n in levels)), covariates)


def trials(connection: Connection, chosen: Launched, mode: str) -> Iterator[dict[str, Cell]]:
    """One row an answer, in each person's order."""
    query = (
        select(participants, asked, answers, stimuli)
        .set_label_style(LABEL_STYLE_TABLENAME_PLUS_COL)
        .select_from(answers)
        .join(participants, participants.c.id == answers.c.participant)
        .join(
            asked,
            and_(
                asked.c.participant == answers.c.participant,
                asked.c.phase == answers.c.phase,
                asked.c.index == answers.c.index,
            ),
        )
        .join(stimuli, and_(stimuli.c.launch == participants.c.launch, stimuli.c.trial == asked.c.trial))
        .where(participants.c.launch == chosen.row.id, participants.c.mode == mode)
        .order_by(participants.c.id, answers.c.phase, answers.c.index)
    )
    for row in connection.execution_options(yield_per=_AT_ONCE).execute(query):
        yield _trial(row, chosen)


def _trial(row: Any, chosen: Launched) -> dict[str, Cell]:
    picked = row.asked_right if row.answers_choice else row.asked_left
    arm = row.participants_arm
    factors = chosen.factors.get(arm, {}) if row.answers_phase == "trials" else {}
    return {
        "participant": row.participants_code,
        "mode": row.participants_mode,
        "order": row.answers_index + 1,
        "trial": row.asked_trial,
        "practice": int(row.stimuli_kind == "practice"),
        "attention": int(row.stimuli_kind == "attention"),
        "target": row.stimuli_target,
        "alternative": row.stimuli_alternative,
        "category": row.stimuli_category,
        "trial_type": row.stimuli_trial_type,
        "arm": arm,
        **{name: factors.get(name) for name in chosen.names},
        "left": row.asked_left,
        "right": row.asked_right,
        "side": "right" if row.answers_choice else "left",
        "choice": picked,
        "correct": int(picked == row.stimuli_target),
        "rt": round(row.answers_rt, 3),
        "by": row.answers_by,
        "resumed": int(row.answers_resumed),
        "viewport_width": row.answers_viewport_width,
        "viewport_height": row.answers_viewport_height,
        "pixel_ratio": row.answers_pixel_ratio,
        "load_ms": round(row.answers_load_ms, 3),
        "hidden_ms": round(row.answers_hidden_ms, 3),
        **{name: row.stimuli_covariates.get(name) for name in chosen.covariates},
    }


def people(connection: Connection, chosen: Launched, mode: str) -> Iterator[dict[str, Cell]]:
    """One row a person who agreed and did not withdraw."""
    of_launch = and_(participants.c.launch == chosen.row.id, participants.c.mode == mode)
    query = select(demographics).join(participants).where(of_launch)
    said: dict[int, dict[str, str | None]] = {}
    for row in connection.execute(query):
        said.setdefault(row.participant, {})[row.question] = row.answer
    questions = sorted({name for found in said.values() for name in found})
    answered = select(answers.c.participant, func.count().label("n")).where(answers.c.phase == "trials")
    counted = answered.group_by(answers.c.participant).subquery()
    query = select(participants, func.coalesce(counted.c.n, 0).label("answered"))
    query = query.outerjoin(counted, counted.c.participant == participants.c.id)
    query = query.where(of_launch, participants.c.ending.is_distinct_from("withdrawn")).order_by(participants.c.id)
    for row in connection.execute(query):
        factors = chosen.factors.get(row.arm or "", {})
        yield {
            "participant": row.code,
            "mode": row.mode,
            "platform": row.platform,
            "arm": row.arm,
            **{name: factors.get(name) for name in chosen.names},
            "completed": int(row.finished_at is not None),
            "ending": row.ending,
            "answered": row.answered,
            "comprehension_failed": row.failed,
            "consent": row.consent,
            "started": row.consented_at.date().isoformat(),
            "minutes": _minutes(row.consented_at, row.finished_at),
            **{f"said_{name}": said.get(row.id, {}).get(name) for name in questions},
        }


def shown(connection: Connection, chosen: Launched) -> Iterator[dict[str, Cell]]:
    """One row a trial of the launch."""
    query = select(stimuli).where(stimuli.c.launch == chosen.row.id).order_by(stimuli.c.kind, stimuli.c.trial)
    for row in connection.execute(query):
        yield {
            "trial": row.trial,
            "kind": row.kind,
            "target": row.target,
            "alternative": row.alternative,
            "category": row.category,
            "trial_type": row.trial_type,
            **{name: row.covariates.get(name) for name in chosen.covariates},
        }


def flow(connection: Connection, chosen: Launched, mode: str) -> dict[str, int]:
    """How many people came how far."""
    where = (participants.c.launch == chosen.row.id, participants.c.mode == mode)

    def number(*more: Any) -> int:
        return connection.scalar(select(func.count()).select_from(participants).where(*where, *more)) or 0

    return {
        "agreed": number(),
        "did not understand the instructions": number(participants.c.ending == "screened_out"),
        "allocated": number(participants.c.arm.is_not(None)),
        "finished": number(participants.c.finished_at.is_not(None)),
        "withdrew (their answers are deleted)": number(participants.c.ending == "withdrawn"),
    }


def _minutes(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round((end - start).total_seconds() / 60, 2)
