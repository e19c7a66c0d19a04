"""One step on in the study: what each step asks for, and which comes next."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, delete, insert

from bayesteach.study import allocation, plan
from bayesteach.study.sessions import PHASES, STEPS, Rules, Session, ask, change, count, total, touch
from bayesteach.study.tables import comprehension, demographics

CHANCES = 2
Problem = Literal["comprehension_again", "incomplete", "error_input"]


def advance(
    connection: Connection, rules: Rules, session: Session, form: Mapping[str, str], moment: datetime
) -> tuple[Session, Problem | None]:
    """One step on, if what the step asks for is there; else the same step, and what is the matter."""
    session = touch(connection, rules, session, moment)
    if session.step in PHASES and count(connection, session) < total(connection, session):
        return session, "incomplete"
    if session.step == "comprehension":
        return _comprehend(connection, rules, session, form, moment)
    if session.step == "demographics":
        problem = _describe(connection, rules, session, form)
        if problem is not None:
            return session, problem
    return _forward(connection, rules, session, moment), None


def _forward(connection: Connection, rules: Rules, session: Session, moment: datetime) -> Session:
    """The next step that has anything in it; on the way, an arm and its trials are drawn once."""
    texts = rules.materials.texts
    empty = {
        "practice": not rules.materials.of_kind("practice"),
        "comprehension": not texts.comprehension,
        "demographics": not texts.demographics,
    }
    if session.step == "trials":
        session = _finish(connection, rules, session, moment)
    at = STEPS.index(session.step) + 1
    while empty.get(STEPS[at]):
        at += 1
    step = STEPS[at]
    if step == "arm" and session.arm is None:
        arm = allocation.allocate(connection, rules.pool(session.mode), session.id, moment, rules.rng)
        ask(connection, session.id, "trials", plan.trials(rules.materials, rules.rng))
        return change(connection, session, step=step, arm=arm, allocated_at=moment)
    if step == "done":
        return change(connection, session, step=step, ending="complete", ended_at=moment)
    return change(connection, session, step=step)


def _finish(connection: Connection, rules: Rules, session: Session, moment: datetime) -> Session:
    if session.arm is not None and session.mode != "preview":
        allocation.keep(connection, rules.pool(session.mode), session.id, session.arm, moment, rules.rng)
    return change(connection, session, finished_at=moment)


def _comprehend(
    connection: Connection, rules: Rules, session: Session, form: Mapping[str, str], moment: datetime
) -> tuple[Session, Problem | None]:
    items = rules.materials.texts.comprehension
    if form.get("chance", str(session.failed + 1)) != str(session.failed + 1):
        return session, None  # the form of the first chance, sent twice by a double click, is no second chance
    given = {item.name: form.get(item.name, "") for item in items}
    if not all(given.values()):
        return session, "incomplete"
    right = sum(given[item.name] == str(item.answer) for item in items)
    connection.execute(
        insert(comprehension).values(
            participant=session.id, chance=session.failed + 1, right=right, answers=given, at=moment
        )
    )
    if right == len(items):
        return _forward(connection, rules, session, moment), None
    if session.failed + 1 < CHANCES:
        return change(connection, session, failed=session.failed + 1), "comprehension_again"
    ended = {"step": "done", "ending": "screened_out", "ended_at": moment}
    return change(connection, session, failed=session.failed + 1, **ended), None


def _describe(connection: Connection, rules: Rules, session: Session, form: Mapping[str, str]) -> Problem | None:
    """Keep what the person said about themselves; an empty answer is one that they preferred not to give."""
    said: dict[str, str | None] = {}
    for item in rules.materials.texts.demographics:
        answer = form.get(item.name, "").strip()[:2000]
        if answer and item.kind == "choice":
            if not answer.isdecimal() or not 1 <= int(answer) <= len(item.options):
                return "error_input"
            answer = item.options[int(answer) - 1]
        if answer and item.kind == "number" and not _within(answer, item.least, item.most):
            return "error_input"
        said[item.name] = answer or None
    connection.execute(delete(demographics).where(demographics.c.participant == session.id))
    connection.execute(
        insert(demographics),
        [{"participant": session.id, "question": name, "answer": answer} for name, answer in said.items()],
    )
    return None


def _within(text: str, least: float | None, most: float | None) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return (least is None or number >= least) and (most is None or number <= most)
