"""Likelihood-ratio tests of nested models, by χ² and by parametric bootstrap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.stats import chi2 as chi2_distribution

from bayesteach.analysis.regressions import Regression
from bayesteach.analysis.simulate import answers
from bayesteach.analysis.workers import spread
from bayesteach.errors import BayesteachError
from bayesteach.maths.hierarchical import fit_hierarchical
from bayesteach.maths.rows import distinct


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A model against a smaller one that is nested in it, fitted to the same answers."""

    larger: Regression
    smaller: Regression

    @property
    def chi2(self) -> float:
        return max(0.0, 2 * (self.larger.fit.log_likelihood - self.smaller.fit.log_likelihood))

    @property
    def df(self) -> int:
        return len(self.larger.terms) - len(self.smaller.terms)

    @property
    def p(self) -> float:
        return float(chi2_distribution.sf(self.chi2, self.df))

    @property
    def title(self) -> str:
        return f"{self.larger.name} against {self.smaller.name}"


def comparisons(regressions: Sequence[Regression]) -> tuple[Comparison, ...]:
    """Every nested pair, neighbours first: each model against the largest that is nested in it, then against smaller ones."""
    order = sorted(regressions, key=lambda regression: len(regression.terms))
    pairs = [Comparison(b, a) for b, a in permutations(order, 2) if nested(a, b)]
    return tuple(
        sorted(pairs, key=lambda pair: (order.index(pair.larger) - order.index(pair.smaller), order.index(pair.larger)))
    )


def nested(smaller: Regression, larger: Regression) -> bool:
    """Whether all that the smaller model can say of the answers, the larger can, under the same random intercepts."""
    if set(smaller.design.formula.groups) != set(larger.design.formula.groups) or len(smaller.terms) >= len(
        larger.terms
    ):
        return False
    both, _ = distinct(np.hstack([larger.design.matrix, smaller.design.matrix]))
    rank = np.linalg.matrix_rank
    return bool(rank(both) == rank(both[:, : len(larger.terms)]))


def comparisons_table(
    tests: Sequence[Comparison], bootstrap: Sequence[tuple[float, int]] | None = None
) -> pd.DataFrame:
    """comparisons.csv; `bootstrap` has each test's p and how many refits it rests on."""
    rows = [{"model": t.larger.name, "against": t.smaller.name, "chi2": t.chi2, "df": t.df, "p": t.p} for t in tests]
    table = pd.DataFrame(rows, columns=["model", "against", "chi2", "df", "p"])
    if bootstrap is not None:
        table = table.assign(p_bootstrap=[p for p, _ in bootstrap], refits=[refits for _, refits in bootstrap])
    return table


def bootstrap_p(
    test: Comparison, refits: int, seed: int, progress: Callable[[int], None] | None = None, workers: int | None = None
) -> tuple[float, int]:
    """The share of data sets drawn from the smaller model whose statistic reaches the one found; and how many settled.

    The χ² reference is too small with few participants; this one has the sample's own design.
    """
    larger, smaller = test.larger, test.smaller
    shared = _Null(
        smaller.design.matrix,
        larger.design.matrix,
        smaller.design.groups,
        smaller.fit.coefficients,
        smaller.fit.standard_deviations,
        seed,
    )
    statistics = []
    for _, statistic in spread(_refit, shared, range(refits), workers):
        statistics.append(statistic)
        if progress is not None:
            progress(1)
    found = np.array(statistics)
    found = found[np.isfinite(found)]
    # The fit that was found is a draw too: p is never 0, and the test is exact however few the refits.
    return float((1 + (found >= test.chi2 - 1e-9).sum()) / (1 + len(found))), len(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Null:
    """The smaller model as a source of answers, and the two designs to refit."""

    small: Float[np.ndarray, "rows few"]
    large: Float[np.ndarray, "rows many"]
    groups: tuple[Int[np.ndarray, " rows"], ...]
    coefficients: Float[np.ndarray, " few"]
    sds: Float[np.ndarray, " factors"]
    seed: int


def _refit(null: _Null, i: int) -> float:
    """The statistic of one data set from the smaller model; NaN where a fit did not settle."""
    rng = np.random.default_rng([null.seed, i])
    outcomes = answers(null.small @ null.coefficients, null.groups, null.sds, rng)
    try:
        small = fit_hierarchical(outcomes, null.small, null.groups)
        large = fit_hierarchical(outcomes, null.large, null.groups)
    except BayesteachError:
        return float("nan")
    if not (small.converged and large.converged):
        return float("nan")
    return 2 * (large.log_likelihood - small.log_likelihood)
