"""The models of a study by what its conditions differ in, where no formulas are given: for the paper's design the paper's three.

`null` has the trial type alone, `explanation` each factor of the conditions beside it, and in `interaction` all of them meet.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.sample import trials_of
from bayesteach.errors import BadResponses
from bayesteach.responses import GRADED, LABELS, YES_NO, Responses
from bayesteach.settings import read_settings

_GROUPS = ("participant", "category")
# Columns that are about answers and people, never what a condition is.
_NO_FACTORS = {*LABELS, *YES_NO} - set(GRADED)


def models(factors: Sequence[str], *, kinds: bool = True, crossed: bool = True) -> tuple[Formula, ...]:
    """The models of these factors: of trials of several `kinds` or of one, and factors that are `crossed` or met only in part."""
    fixed = {
        "null": "trial_type" if kinds else "1",
        "explanation": " + ".join([*["trial_type"][:kinds], *factors]),
        "interaction": "*".join([*["trial_type"][:kinds], *factors]),
    }
    if not crossed:
        fixed["interaction"] = f"trial_type*({' + '.join(factors)})" if kinds else fixed["explanation"]
    if not factors:
        del fixed["explanation"], fixed["interaction"]
    elif fixed["interaction"] == fixed["explanation"]:
        del fixed["interaction"]
    return tuple(Formula(name, "correct", text, _GROUPS) for name, text in fixed.items())


PAPER = models(GRADED)


def models_for(responses: Responses) -> tuple[Formula, ...]:
    """The models of these responses: a factor, or a trial type, that does not vary in them is left out."""
    table, _ = trials_of(responses.table)
    factors = [name for name in factors_of(responses) if name not in table or varies(table[name])]
    known = [name for name in factors if name in table]
    kinds = "trial_type" not in table or varies(table["trial_type"])
    return models(factors, kinds=kinds, crossed=_crossed(table[known]))


def models_of(conditions: pd.DataFrame, *, kinds: bool = True) -> tuple[Formula, ...]:
    """The models of a study before it has answers: a row a condition, and a column for each factor."""
    factors = [str(name) for name in conditions if name != "condition" and varies(conditions[name])]
    return models(factors, kinds=kinds, crossed=_crossed(conditions[factors]))


def varies(column: pd.Series) -> bool:
    """Whether there are two values or more."""
    return len(column.dropna().unique()) > 1


def _crossed(factors: pd.DataFrame) -> bool:
    """Whether every level of each factor meets every level of the others."""
    return len(factors.drop_duplicates().dropna()) == int(factors.nunique().prod()) or not len(factors.columns)


def factors_of(responses: Responses) -> tuple[str, ...]:
    """What the conditions differ in.

    What the arms say. Else saliency and examples, if both are there or there is no condition. Else columns that the condition
    determines, if they tell all conditions apart, and the condition itself if they do not.
    """
    table = responses.table
    if responses.factors:
        return responses.factors
    if set(GRADED) <= set(table) or "condition" not in table or table["condition"].nunique() < 2:
        return tuple(name for name in GRADED if name in table) or GRADED
    rows = table[table["condition"].notna()]
    apart = 1
    chosen: list[str] = []
    for name in (str(name) for name in rows if name not in _NO_FACTORS):
        determined = rows.groupby("condition")[name].nunique(dropna=False).max() == 1
        finer = rows.groupby([*chosen, name], dropna=False).ngroups if determined else 0
        if finer > apart:
            apart, chosen = finer, [*chosen, name]
    return tuple(chosen) if apart == rows["condition"].nunique() else ("condition",)


def read_arms(study: Path) -> pd.DataFrame:
    """The arms of a study folder: condition, and a column for each factor."""
    arms = read_settings(study).study.arms
    if not arms[0].factors:
        raise BadResponses(
            f"{study}: its [[study.arms]] have no factors. Say of each arm what it is, as in factors = {{ explainer = 'rise' }}."
        )
    return pd.DataFrame([{"condition": arm.name, **arm.factors} for arm in arms])
