"""A formula fitted to a sample, and the tables of coefficients and of models."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from bayesteach.analysis.formulas import Design, Formula, make_design
from bayesteach.errors import BadFormula, BadResponses
from bayesteach.maths.hierarchical import HierarchicalFit, aliased, fit_hierarchical
from bayesteach.maths.rows import distinct

# Standard errors each side of an estimate: 95 %.
Z = float(ndtri(0.975))
SEPARATED, UNSETTLED = "separated", "not converged"


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """A hierarchical logistic regression, fitted."""

    design: Design
    outcomes: Float[np.ndarray, " rows"]
    fit: HierarchicalFit

    @property
    def name(self) -> str:
        return self.design.formula.name

    @property
    def terms(self) -> tuple[str, ...]:
        return self.design.terms

    @property
    def parameters(self) -> int:
        return len(self.terms) + len(self.design.groups)

    @property
    def sd(self) -> dict[str, float]:
        """The standard deviation of each random intercept."""
        return dict(zip(self.design.formula.groups, map(float, self.fit.standard_deviations), strict=True))

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader must know before using a coefficient; empty where there is nothing."""
        settled = "" if self.fit.converged else UNSETTLED
        return tuple(SEPARATED if separated else settled for separated in self.fit.separated)

    def coefficients(self) -> pd.DataFrame:
        """A row a term: logits, standard error, Wald test, 95 % interval and odds ratio; of separated terms the estimate."""
        estimate, se = self.fit.coefficients, self.fit.standard_errors
        z = estimate / se
        low, high = estimate - Z * se, estimate + Z * se
        with np.errstate(over="ignore"):
            odds = {"odds_ratio": np.exp(estimate), "odds_ratio_low": np.exp(low), "odds_ratio_high": np.exp(high)}
        columns = {"estimate": estimate, "se": se, "z": z, "p": 2 * ndtr(-np.abs(z)), "low": low, "high": high, **odds}
        return pd.DataFrame({"model": self.name, "term": self.terms, **columns, "flag": self.flags})

    def summary(self) -> dict[str, object]:
        """Its row in models.csv."""
        k, ll, n = self.parameters, self.fit.log_likelihood, len(self.outcomes)
        return {
            "model": self.name,
            "n": n,
            "parameters": k,
            "log_likelihood": ll,
            "aic": 2 * k - 2 * ll,
            "bic": k * log(n) - 2 * ll,
            **{f"sd_{group}": value for group, value in self.sd.items()},
            "converged": self.fit.converged,
            "singular": any(self.fit.singular),
        }


def regress(formula: Formula, table: pd.DataFrame) -> Regression:
    """The formula fitted to a table without missing values."""
    outcomes = _outcomes(formula, table)
    design = make_design(formula, table)
    for group, levels in zip(formula.groups, design.levels, strict=True):
        if len(levels) < 2:
            raise BadResponses(
                f"{group}: found {levels[0]!r} alone; a random intercept needs two levels or more. Add responses, or "
                f"leave (1|{group}) out."
            )
        if len(levels) >= len(table):
            raise BadResponses(
                f"{group}: every one of the {len(table)} answers has a value of its own; a random intercept needs several "
                f"answers to each. Leave (1|{group}) out."
            )
    _estimable(design, table)
    return Regression(design, outcomes, fit_hierarchical(outcomes, design.matrix, design.groups))


def coefficients_table(regressions: Sequence[Regression]) -> pd.DataFrame:
    """coefficients.csv: every term of every model."""
    return pd.concat([regression.coefficients() for regression in regressions], ignore_index=True)


def models_table(regressions: Sequence[Regression]) -> pd.DataFrame:
    """models.csv: a row a model."""
    rows = [regression.summary() for regression in regressions]
    sds = dict.fromkeys(name for row in rows for name in row if name.startswith("sd_"))
    first = ("model", "n", "parameters", "log_likelihood", "aic", "bic")
    return pd.DataFrame(rows)[[*first, *sds, "converged", "singular"]]


def _outcomes(formula: Formula, table: pd.DataFrame) -> Float[np.ndarray, " rows"]:
    column = table[formula.outcome]
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    odd = ~np.isin(values, (0.0, 1.0))
    if odd.any():
        row = int(odd.argmax())
        raise BadResponses(
            f"{formula.outcome}: {int(odd.sum())} of {len(values)} values are neither 0 nor 1, the first is "
            f"{column.iloc[row]!r} "
            f"of participant {table['participant'].iloc[row]}. These models are for outcomes of yes or no."
        )
    if len(set(values)) < 2:
        raise BadResponses(
            f"{formula.outcome}: all {len(values)} values are {values[0]:g}, so there is nothing to explain. Check "
            "the column."
        )
    return values


def _estimable(design: Design, table: pd.DataFrame) -> None:
    """No term is a combination of others, and every one has a value everywhere."""
    for term, column in zip(design.terms, design.matrix.T, strict=True):
        if not np.isfinite(column).all():
            row = int(np.isfinite(column).argmin())
            raise BadResponses(
                f"{term}: {int((~np.isfinite(column)).sum())} of {len(column)} values are infinite or none, the first of "
                f"participant {table['participant'].iloc[row]}. Leave these answers out, or change the formula."
            )
    extra = aliased(distinct(design.matrix)[0])
    if not extra:
        return
    names = ", ".join(design.terms[i] for i in extra)
    raise BadFormula(
        f"model {design.formula.name}: these responses cannot tell {names} from the other "
        f"terms.{_empty_cells(design.formula, table)} "
        "Leave the terms out of the formula, or add responses."
    )


def _empty_cells(formula: Formula, table: pd.DataFrame) -> str:
    """The combinations of the formula's variables that nobody answered in."""
    few = [name for name in formula.variables if name in table and table[name].nunique() <= 12]
    if len(few) < 1:
        return ""
    seen = set(map(tuple, table[few].drop_duplicates().to_numpy().tolist()))
    grid = pd.MultiIndex.from_product([sorted(table[name].unique()) for name in few])
    empty = [cell for cell in grid if tuple(cell if isinstance(cell, tuple) else (cell,)) not in seen]
    if not empty:
        return " Some variable is constant, or follows from the others."
    cell = empty[0] if isinstance(empty[0], tuple) else (empty[0],)
    words = ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in zip(few, cell, strict=True)
    )
    more = f" (and in {len(empty) - 1} other cells)" if len(empty) > 1 else ""
    return f" There are no answers with {words}{more}."
