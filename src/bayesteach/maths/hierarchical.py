"""Logistic regression with one to three crossed (or nested) random intercepts, by Laplace's approximation.

The likelihood and its derivatives are in crossing.py. Here it is maximised over coefficients and variances: by an SD or its
logarithm, 0 is a stationary point of every likelihood, where a search can stop for no reason; by the variance, the slope at 0
says whether the maximum lies there (docs/decisions/0010).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Real
from numpy import ndarray
from scipy.optimize import minimize

from bayesteach.errors import BadShape
from bayesteach.maths.crossing import Mode, spreads_of, variances_of
from bayesteach.maths.rows import aliased, collapsed
from bayesteach.maths.separation import Estimable

__all__ = ["HierarchicalFit", "aliased", "fit_hierarchical"]

# A variance that ends at the least is 0: SD 1e-5 moves no log-likelihood by 1e-7. SD 100 is beyond what answers can tell apart.
_LEAST, _GREATEST = 1e-10, 1e4
_FIRST_VARIANCE, _SMALL_VARIANCE, _LARGE_VARIANCE = 0.25, 0.01, 1.0
# Gradients times SE: at 1e-4 an estimate is 1e-4 SE from its maximum, and one exact Newton step from there leaves 1e-8.
_SEARCH_TOLERANCE, _TOLERANCE = 1e-4, 1e-6
_ALIKE = 1e-6  # of two log-likelihoods
_SEARCHES, _SEARCH_STEPS, _NEWTON_STEPS = 4, 500, 5


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalFit:
    """The maximum of the Laplace likelihood, and how near to it.

    `covariance` is of the coefficients, from the Hessian over them and the variances together. A factor that is `singular` has
    standard deviation exactly 0. A coefficient that is `separated` runs off to infinity: its value puts the cells that are
    certain at logits of ±20 or beyond, it has no standard error, and likelihood and all else are those of the limit. `gradient`
    is the largest component at the end, times the standard error. `intercepts` are conditional modes, an array for each factor.
    """

    coefficients: Float[ndarray, " terms"]
    covariance: Float[ndarray, "terms terms"]
    standard_deviations: Float[ndarray, " factors"]
    log_likelihood: float
    converged: bool
    gradient: float
    singular: tuple[bool, ...]
    separated: tuple[bool, ...]
    intercepts: tuple[ndarray, ...]

    @property
    def standard_errors(self) -> Float[ndarray, " terms"]:
        """Of the coefficients; NaN where separated."""
        return np.sqrt(np.diag(self.covariance))


def fit_hierarchical(
    outcomes: Real[ndarray, " rows"],
    design: Real[ndarray, "rows terms"],
    groups: Sequence[Int[ndarray, " rows"]],
    *,
    trials: Real[ndarray, " rows"] | None = None,
    start: HierarchicalFit | None = None,
) -> HierarchicalFit:
    """logit P(yᵢ = 1) = xᵢᵀβ + Σ_f b_f[g_fᵢ],  b_f ~ N(0, σ_f² I): the β and σ of the greatest Laplace likelihood.

    `outcomes` are 0 or 1, or with `trials` the number of ones among so many. `groups` are one to three arrays of whole numbers
    from 0, crossed or nested. `start` is a fit of alike data, to search from. The likelihood leaves binomial coefficients out.
    """
    responses, order = collapsed(outcomes, trials, design, groups)
    told = Estimable.of(responses)
    place = [order.index(f) for f in range(len(order))]
    if not len(told.responses.ones):
        return _certain(told, [responses.crossing.sizes[f] for f in place])
    peak = _highest(_first_mode(told, order, start))
    mode = peak.mode
    singular = mode.variances <= _LEAST
    covariance = told.basis @ peak.covariance @ told.basis.T
    covariance[told.separated] = covariance[:, told.separated] = np.nan
    return HierarchicalFit(
        told.basis @ mode.coefficients + told.beyond,
        covariance,
        np.where(singular, 0.0, np.sqrt(mode.variances))[place],
        mode.log_likelihood,
        peak.gradient <= _TOLERANCE,
        peak.gradient,
        tuple(bool(singular[f]) for f in place),
        tuple(bool(s) for s in told.separated),
        tuple(mode.effects[mode.responses.crossing.blocks[f]] * (not singular[f]) for f in place),
    )


def _certain(told: Estimable, sizes: list[int]) -> HierarchicalFit:
    """Every cell runs off: the likelihood's supremum is 1, and nothing is left that could vary."""
    terms, factors = len(told.beyond), len(sizes)
    return HierarchicalFit(
        told.beyond,
        np.full((terms, terms), np.nan),
        np.zeros(factors),
        0.0,
        converged=True,
        gradient=0.0,
        singular=(True,) * factors,
        separated=(True,) * terms,
        intercepts=tuple(np.zeros(size) for size in sizes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Peak:
    """A mode of the likelihood, the covariance of the coefficients there, and the gradient that is left, times SE."""

    mode: Mode
    covariance: Float[ndarray, "terms terms"]
    gradient: float


def _first_mode(told: Estimable, order: list[int], start: HierarchicalFit | None) -> Mode:
    """Where the search begins: a fit of alike data, or the regression without random effects."""
    crossing = told.responses.crossing
    effects = np.zeros(sum(crossing.sizes))
    if start is None:
        return told.responses.mode(told.plain, np.full(len(order), _FIRST_VARIANCE), effects)
    if len(start.coefficients) != len(told.basis) or len(start.standard_deviations) != len(order):
        raise BadShape(
            f"start: found a fit of {len(start.coefficients)} terms and {len(start.standard_deviations)} factors, expected "
            f"{len(told.basis)} and {len(order)}. Start from a fit of the same model."
        )
    variances = start.standard_deviations[order] ** 2
    near = np.linalg.lstsq(told.basis, start.coefficients - told.beyond, rcond=None)[0]
    return told.responses.mode(near, np.where(variances > _LEAST, variances, _FIRST_VARIANCE), effects)


def _highest(first: Mode) -> _Peak:
    """The top; if a variance came to rest at 0, the highest of those found from larger and from smaller variances too."""
    peak = _peak(first)
    stuck = peak.mode.variances <= _LEAST
    if stuck.any() and peak.mode.variances.max() < _GREATEST:
        for variances in (np.where(stuck, _LARGE_VARIANCE, peak.mode.variances), np.full(len(stuck), _SMALL_VARIANCE)):
            other = _peak(peak.mode.responses.mode(peak.mode.coefficients, variances, peak.mode.effects))
            # What differs by rounding alone is one top.
            if other.mode.log_likelihood > peak.mode.log_likelihood + _ALIKE:
                peak = other
    return peak


def _peak(mode: Mode) -> _Peak:
    """The top nearby: searched, and searched again from where the search stopped if that is no top yet."""
    for _ in range(_SEARCHES):
        peak = _polished(_climb(mode))
        if peak.gradient <= _TOLERANCE or peak.mode.variances.max() >= _GREATEST:
            break
        mode = peak.mode
    return peak


def _climb(first: Mode) -> Mode:
    """Quasi-Newton ascent (L-BFGS-B) with the analytic gradient, in coordinates where the first Hessian is about the identity."""
    terms = len(first.coefficients)
    start = spreads_of(first.variances)
    information = -first.hessian()
    try:
        turn = np.linalg.inv(np.linalg.cholesky(information[:terms, :terms])).T
    except np.linalg.LinAlgError:
        turn = np.eye(terms)  # the design is orthonormal: never far off
    scale = 1 / np.sqrt(np.abs(np.diag(information)[terms:]) + 1)
    last = first

    def descent(place: ndarray) -> tuple[float, ndarray]:
        nonlocal last
        variances = np.clip(variances_of(start + scale * place[terms:]), _LEAST, _GREATEST)
        variances[variances < 2 * _LEAST] = _LEAST  # on the bound, but for rounding
        last = last.responses.mode(first.coefficients + turn @ place[:terms], variances, last.effects)
        gradient = last.gradient()
        return -last.log_likelihood, -np.concatenate([gradient[:terms] @ turn, gradient[terms:] * scale])

    least, greatest = (spreads_of(np.full(len(scale), bound)) for bound in (_LEAST, _GREATEST))
    within = zip((least - start) / scale, (greatest - start) / scale, strict=True)
    found = minimize(
        descent,
        np.zeros(terms + len(scale)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * terms + list(within),
        options={"maxiter": _SEARCH_STEPS, "ftol": 0.0, "gtol": _SEARCH_TOLERANCE, "maxcor": 20},
    )
    descent(found.x)
    return last


def _polished(mode: Mode) -> _Peak:
    """The top by Newton's method with the exact Hessian, over all but the variances that are 0."""
    terms = len(mode.coefficients)
    free = np.concatenate([np.ones(terms, dtype=bool), mode.variances > _LEAST])
    covariance, gradient = np.full((terms, terms), np.nan), mode.gradient()
    left = float(np.abs(gradient[free]).max())
    for _ in range(_NEWTON_STEPS):
        try:
            half = np.linalg.inv(np.linalg.cholesky(-mode.hessian()[np.ix_(free, free)]))
        except np.linalg.LinAlgError:
            break  # no top here: its gradient is told as it is
        inverse = half.T @ half
        errors = np.sqrt(np.diag(inverse))
        covariance = inverse[:terms, :terms]
        left = float(np.abs(gradient[free] * errors).max())
        if left > 1:
            break  # too far for Newton's method to know the way
        step = np.zeros(len(free))
        step[free] = inverse @ gradient[free]
        variances = np.clip(variances_of(spreads_of(mode.variances) + step[terms:]), _LEAST, _GREATEST)
        mode = mode.responses.mode(mode.coefficients + step[:terms], variances, mode.effects)
        gradient = mode.gradient()
        left = float(np.abs(gradient[free] * errors).max())
        if left <= _TOLERANCE:
            break
    return _Peak(mode, covariance, left)
