"""What a model says in probabilities: the effect of each explanation, alone, beside others and averaged, and each term in words.

A probability here is of the population: over people and categories that differ as much as the model finds, so that it compares
with observed accuracies. A contrast's interval is the delta method's, at the standard deviations found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from scipy.special import ndtr

from bayesteach.analysis.formulas import with_levels
from bayesteach.analysis.regressions import Regression, Z
from bayesteach.maths.logistic_normal import mean_sigmoid

AVERAGED, ALONE = "averaged", "alone"
_STEP = 1e-5


def effects_table(regression: Regression, table: pd.DataFrame) -> pd.DataFrame:
    """effects.csv: what each explanation changes in each type of trial, alone, with others shown, and averaged over the others.

    An explanation is a variable of the formula that differs between people and not within them. The logit, with its error,
    interval and p, is a contrast of coefficients; before and after are probabilities, change their difference with its own
    interval and p: where logits and probabilities are averaged over other explanations, the two can part.
    """
    levels = _levels(regression, table)
    between = [
        name for name in levels if table.groupby("participant")[name].nunique().max() == 1 and len(levels[name]) > 1
    ]
    first = {name: values[0] for name, values in levels.items()}
    kinds = levels.get("trial_type", ())
    rows = []
    for name in between:
        others = [other for other in between if other != name]
        for kind, level in product(kinds or (None,), levels[name][1:]):
            cases = list(product(*(levels[other] for other in others)))
            fixed = {} if kind is None else {"trial_type": kind}
            wholes = [({**fixed, **dict(zip(others, case, strict=True))}) for case in cases]
            named = [(_given(others, case, levels), [whole]) for case, whole in zip(cases, wholes, strict=True)]
            if len(cases) > 1:
                named.append((AVERAGED, wholes))
            for given, settings in named:
                shown = name if levels[name] == (0.0, 1.0) else f"{name} {level}"
                contrast = _contrast(regression, first, settings, name, (levels[name][0], level))
                rows.append({"explanation": shown, "trial_type": kind or "all", "given": given, **contrast})
    return pd.DataFrame(rows)


def population(logits: Float[np.ndarray, " n"], regression: Regression) -> Float[np.ndarray, " n"]:
    """The probability of a correct answer over people and categories."""
    spread = float(np.sqrt(np.sum(regression.fit.standard_deviations**2)))
    mean = torch.from_numpy(np.ascontiguousarray(logits, dtype=np.float64))
    return mean_sigmoid(mean, torch.full_like(mean, spread)).numpy()


@dataclass(frozen=True, slots=True)
class Reading:
    """A term in probabilities: what is expected in its cell, and what would be if the term were 0."""

    term: str
    words: str


def readings(regression: Regression) -> tuple[Reading, ...]:
    """Each term in plain words; terms that are not products of columns and levels have none."""
    factors = {term: frozenset(term.split(":")) - {"(Intercept)"} for term in regression.terms}
    if any(not _plain(factor) for parts in factors.values() for factor in parts):
        return ()
    found = []
    for i, (term, parts) in enumerate(factors.items()):
        present = np.array([others <= parts for others in factors.values()])
        logit = float(regression.fit.coefficients[present].sum())
        after, before = population(np.array([logit, logit - regression.fit.coefficients[i]]), regression)
        found.append(Reading(term, _words(regression, i, parts, after, before)))
    return tuple(found)


def in_100(p: float) -> str:
    """A probability as so many in 100."""
    if not np.isfinite(p):
        return "?"
    return "fewer than 1" if 0 <= p < 0.005 else "more than 99" if p > 0.995 else f"{100 * p:.0f}"


def p_text(p: float) -> str:
    """p as papers print it, in one piece."""
    _ = "\N{NO-BREAK SPACE}"
    return "p unknown" if np.isnan(p) else f"p{_}<{_}0.001" if p < 0.001 else f"p{_}={_}{p:.{3 if p < 0.1 else 2}f}"


def spoken(name: str) -> str:
    """A column, level or term as a reader would say it."""
    parts = [part.partition("[") for part in name.split(":")]
    words = [level.removesuffix("]") if level else column for column, _, level in parts]
    return " × ".join(word.replace("_", " ") for word in words)


def _levels(regression: Regression, table: pd.DataFrame) -> dict[str, tuple[object, ...]]:
    """The values of each variable of the formula, the reference first; of a number that is not 0 or 1, its mean."""
    found: dict[str, tuple[object, ...]] = {}
    levelled = with_levels(table[list(regression.design.formula.variables)])
    for name in levelled:
        column = levelled[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            found[str(name)] = tuple(column.cat.categories)
        elif set(column.unique()) <= {0.0, 1.0}:
            found[str(name)] = tuple(sorted(column.unique()))
        else:
            found[str(name)] = (float(column.mean()),)
    return found


def _given(others: Sequence[str], case: Sequence[object], levels: dict[str, tuple[object, ...]]) -> str:
    """What else is shown: alone, with examples, with style red."""
    shown = [
        other if levels[other] == (0.0, 1.0) else f"{other} {value}"
        for other, value in zip(others, case, strict=True)
        if value != levels[other][0]
    ]
    return f"with {' and '.join(shown)}" if shown else ALONE


def _contrast(
    regression: Regression,
    first: dict[str, object],
    settings: Sequence[dict[str, object]],
    name: str,
    pair: tuple[object, object],
) -> dict[str, float]:
    """From one level to another, in logits and in probability, averaged over settings."""
    beta, covariance = regression.fit.coefficients, regression.fit.covariance
    before, after = (_rows(regression, first, [{**setting, name: level} for setting in settings]) for level in pair)
    logit = (after - before).mean(axis=0)
    estimate, se = float(logit @ beta), _error(logit, covariance, regression)
    z = estimate / se
    p_before, p_after = population(before @ beta, regression), population(after @ beta, regression)
    slope = (
        _slopes(after @ beta, regression)[:, None] * after - _slopes(before @ beta, regression)[:, None] * before
    ).mean(axis=0)
    change, change_se = float((p_after - p_before).mean()), _error(slope, covariance, regression)
    return {
        "logit": estimate,
        "se": se,
        "p": float(2 * ndtr(-abs(z))),
        "low": estimate - Z * se,
        "high": estimate + Z * se,
        "before": float(p_before.mean()),
        "after": float(p_after.mean()),
        "change": change,
        "change_low": change - Z * change_se,
        "change_high": change + Z * change_se,
        "change_p": float(2 * ndtr(-abs(change / change_se))),
    }


def _rows(
    regression: Regression, first: dict[str, object], settings: Sequence[dict[str, object]]
) -> Float[np.ndarray, "rows terms"]:
    """The design of made-up rows: the settings, and every other variable at its reference or mean."""
    return regression.design.of(pd.DataFrame([{**first, **setting} for setting in settings]))


def _error(
    weights: Float[np.ndarray, " terms"], covariance: Float[np.ndarray, "terms terms"], regression: Regression
) -> float:
    """The standard error of a combination of coefficients; NaN where a separated one takes part."""
    used = np.abs(weights) > 1e-12
    if np.any(used & np.array(regression.fit.separated)):
        return float("nan")
    return float(np.sqrt(weights[used] @ covariance[np.ix_(used, used)] @ weights[used]))


def _slopes(logits: Float[np.ndarray, " n"], regression: Regression) -> Float[np.ndarray, " n"]:
    return np.asarray((population(logits + _STEP, regression) - population(logits - _STEP, regression)) / (2 * _STEP))


def _plain(factor: str) -> bool:
    """A column, or a column's level."""
    name, _, level = factor.partition("[")
    return name.isidentifier() and (not level or level.endswith("]"))


def _words(regression: Regression, i: int, parts: frozenset[str], after: float, before: float) -> str:
    """A sentence on one term."""
    if not parts:
        return f"{in_100(after)} correct answers in 100 are expected in the reference cell."
    if regression.fit.separated[i]:
        return "In some cell every answer is correct, or none: the size of this effect cannot be told."
    row = regression.coefficients().iloc[i]
    sure = " Not to be told from chance." if row["p"] >= 0.05 else ""
    tail = f"({round(row['estimate'], 2) + 0.0:+.2f} logits, {p_text(row['p'])}).{sure}".replace("-", "−")
    if len(parts) == 1:
        return f"From {in_100(before)} to {in_100(after)} correct answers in 100, all else at its reference {tail}"
    return (
        f"{in_100(after)} correct answers in 100 where these meet; their effects simply added up would give "
        f"{in_100(before)} {tail}"
    )
