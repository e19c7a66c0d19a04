"""What a reader should know before believing a table: of the fits, of the sample, and where a model and the answers part."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from bayesteach.analysis.formulas import level_order
from bayesteach.analysis.regressions import Regression
from bayesteach.analysis.sample import EVERYONE, Sample

# χ² tests of the explanations rest on participants; below this many they reject too often.
FEW_PARTICIPANTS = 40
# With fewer categories than this a standard deviation of theirs is little more than a guess.
FEW_LEVELS = 5


def warnings_of(regressions: Sequence[Regression], sample: Sample, *, bootstrapped: bool) -> tuple[str, ...]:
    """What must be said; nothing where all is well."""
    said = []
    for regression in regressions:
        fit, name = regression.fit, regression.name
        separated = [term for term, alone in zip(regression.terms, fit.separated, strict=True) if alone]
        if separated:
            said.append(
                f"Model {name}: {', '.join(separated)} cannot be told in size, since in some cell every answer is "
                "correct or none is. "
                "They have no standard error and no p. The likelihood, and tests that rest on it, hold."
            )
        singular = [group for group, alone in zip(regression.design.formula.groups, fit.singular, strict=True) if alone]
        if singular:
            said.append(
                f"Model {name}: no difference was found between one {' or '.join(singular)} and another beyond chance "
                "(standard deviation 0). "
                "The fit is that of a model without this random intercept."
            )
        if not fit.converged:
            said.append(
                f"Model {name} did not converge: the gradient at the end is {fit.gradient:.2g} standard errors. Do "
                "not read it."
            )
        small = [
            f"{len(levels)} of {group}"
            for group, levels in zip(regression.design.formula.groups, regression.design.levels, strict=True)
            if len(levels) < FEW_LEVELS
        ]
        if small and regression is regressions[-1]:
            said.append(
                f"There are only {' and '.join(small)}: the standard deviation of such a random intercept is little "
                "more than a guess."
            )
    if sample.participants < FEW_PARTICIPANTS and not bootstrapped:
        said.append(
            f"With {sample.participants} participants the χ² tests reject too often. Run again with --bootstrap-lrt "
            "1000 for p values that do not."
        )
    if "completed" in sample.rule and "no column" in sample.rule and _dropped(sample) > 0.25:
        said.append(
            f"{_dropped(sample):.0%} of the participants count as dropped out. {sample.rule} If they finished, say so "
            "in a column completed."
        )
    return tuple(said)


def calibration(regression: Regression, sample: Sample) -> pd.DataFrame:
    """Observed and expected accuracy in each cell, by the model with each person's and category's own intercept."""
    logits = regression.design.matrix @ regression.fit.coefficients
    for group, intercepts in zip(regression.design.groups, regression.fit.intercepts, strict=True):
        logits = logits + np.asarray(intercepts)[group]
    kinds = sample.table.get("trial_type", EVERYONE)
    table = pd.DataFrame(
        {
            "trial_type": kinds,
            "condition": sample.table["condition"],
            "observed": regression.outcomes,
            "expected": expit(logits),
        }
    )
    cells = table.groupby(["trial_type", "condition"])[["observed", "expected"]].mean()
    order = sorted(cells.index, key=lambda cell: tuple(map(level_order, cell)))
    return cells.loc[order].reset_index()


def extremes(regression: Regression, most: int = 3) -> pd.DataFrame:
    """The people and categories that lie furthest from the others, in standard deviations."""
    rows = []
    groups = zip(
        regression.design.formula.groups,
        regression.design.levels,
        regression.fit.intercepts,
        regression.fit.standard_deviations,
        strict=True,
    )
    for group, levels, intercepts, sd in groups:
        if sd > 0:
            far = np.argsort(-np.abs(intercepts))[:most]
            rows += [
                {"group": group, "level": levels[i], "logits": intercepts[i], "sds": intercepts[i] / sd} for i in far
            ]
    return pd.DataFrame(rows, columns=["group", "level", "logits", "sds"])


def _dropped(sample: Sample) -> float:
    return float(sample.flow["dropped_out"].sum() / sample.flow["started"].sum())
