"""The trials and lessons of a researcher's own tables, which take the place of the automatic choice."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast, get_args

from bayesteach.artifacts import Kind, Seen, Trial, TrialType
from bayesteach.errors import BadInput, BadStudy
from bayesteach.stages.context import Context, digest

TRIALS = "trials.csv"
LESSONS = "lessons.csv"
EXCLUDE = "exclude.csv"


def own_trials(context: Context, seen: Sequence[Seen], index: Callable[[str], int]) -> list[Trial] | None:
    """trials.csv: probe (an image's id), alternative, and maybe trial_type and kind; target and category are facts."""
    rows = context.table(TRIALS, ("probe", "alternative"))
    if rows is None:
        return None
    by_id = {one.id: one for one in seen}
    return [_trial(row, f"{TRIALS} line {line}", by_id, index) for line, row in enumerate(rows, 2)]


def _trial(row: Mapping[str, str], where: str, by_id: Mapping[str, Seen], index: Callable[[str], int]) -> Trial:
    seen = by_id.get(row["probe"])
    if seen is None:
        raise BadStudy(f"{where}: there is no image {row['probe']!r}. Give an id of artifacts/collect.")
    try:
        alternative = index(row["alternative"])
    except BadInput as error:
        raise BadStudy(f"{where}: {error}") from error
    if alternative == seen.answer:
        raise BadStudy(f"{where}: the alternative is what the classifier answers. Name another class.")
    facts: tuple[TrialType, ...] = (
        ("standard_correct",) if seen.answer == seen.label else ("standard_incorrect", "adversarial_incorrect")
    )
    trial_type, kind = row.get("trial_type") or facts[0], row.get("kind") or "trial"
    if trial_type not in facts:
        raise BadStudy(f"{where}: found trial_type {trial_type!r}, but the answer makes it {' or '.join(facts)}.")
    if kind not in get_args(Kind):
        raise BadStudy(f"{where}: found kind {kind!r}, expected one of {', '.join(get_args(Kind))}.")
    return Trial(
        trial=digest(seen.id, seen.answer, alternative)[:10],
        kind=cast("Kind", kind),
        trial_type=trial_type,
        category=seen.label,
        target=seen.answer,
        alternative=alternative,
        probe=seen.id,
        source=seen.source,
        confidence=seen.confidence,
    )


def own_lessons(context: Context) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """lessons.csv: a lesson a line, by trial and explainer: `targets` and `alternatives`, ids with spaces between."""
    rows = context.table(LESSONS, ("trial", "targets", "alternatives"))
    return {
        (row["trial"], row.get("explainer") or "lesson"): (*row["targets"].split(), *row["alternatives"].split())
        for row in rows or ()
    }


def excluded(context: Context) -> frozenset[str]:
    """exclude.csv: the trials that a researcher has discarded."""
    return frozenset(row["trial"] for row in context.table(EXCLUDE, ("trial",)) or ())
