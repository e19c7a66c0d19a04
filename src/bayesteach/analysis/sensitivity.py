"""The largest model again under other readings of the data: does what we say hang on a choice?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bayesteach.analysis.accuracy import trial_key
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.regressions import Regression, regress
from bayesteach.analysis.sample import Sample, choose_sample
from bayesteach.errors import BayesteachError
from bayesteach.responses import Responses


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """The model under another choice, or why it could not be had."""

    title: str
    regression: Regression | None
    reason: str = ""


def variants(
    main: Regression, sample: Sample, responses: Responses, exclude: Mapping[str, str] | None = None
) -> tuple[Variant, ...]:
    """With a random intercept for each trial; with categories by target; and, where people dropped out, with everyone."""
    formula = main.design.formula
    found = [Variant("as reported", main)]
    found.append(_by_trial(formula, sample.table))
    if "category" in formula.groups:
        found.append(_by_target(formula, sample.table))
    if sample.who == "completers" and int(sample.flow["dropped_out"].sum()):
        found.append(_of_everyone(formula, responses, exclude))
    return tuple(found)


def sensitivity_table(found: Sequence[Variant]) -> pd.DataFrame:
    """sensitivity.csv: a row a term and variant."""
    tables = [
        variant.regression.coefficients()[["term", "estimate", "se", "p", "flag"]].assign(variant=variant.title)
        for variant in found
        if variant.regression is not None
    ]
    return pd.concat(tables, ignore_index=True)[["variant", "term", "estimate", "se", "p", "flag"]]


def _by_trial(formula: Formula, table: pd.DataFrame) -> Variant:
    title = "with (1|trial)"
    key = trial_key(table)
    if key is None:
        return Variant(title, None, "no column tells trials apart")
    if "trial" in formula.groups or len(formula.groups) > 2:
        return Variant(title, None, "the formula has it, or three random intercepts already")
    return _fitted(title, formula.with_groups(formula.name, (*formula.groups, "trial")), table.assign(trial=key))


def _by_target(formula: Formula, table: pd.DataFrame) -> Variant:
    title = "categories by target"
    if "target" not in table or table["target"].isna().any():
        return Variant(title, None, "there is no complete column target")
    return _fitted(title, formula, table.assign(category=table["target"]))


def _of_everyone(formula: Formula, responses: Responses, exclude: Mapping[str, str] | None) -> Variant:
    return _fitted(
        "with those who dropped out", formula, choose_sample(responses, (formula,), "everyone", exclude).table
    )


def _fitted(title: str, formula: Formula, table: pd.DataFrame) -> Variant:
    try:
        return Variant(title, regress(formula, table))
    except BayesteachError as error:
        return Variant(title, None, str(error))
