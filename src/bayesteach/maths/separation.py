"""When a logistic regression has no maximum: a direction along which the likelihood only rises, for ever.

It is a d with xᵢᵀd ≥ 0 at every row that only ones were seen at, ≤ 0 where only zeros were, = 0 where both were, and X d ≠ 0.
Random intercepts change nothing in this: given them, each factor of the likelihood rises along d, and so does its mean.
In the limit the rows that d moves are certain and drop out; the rest decide what the likelihood's supremum is (Geyer 2009).
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy.optimize import linprog

from bayesteach.maths.crossing import Responses

# A Newton step falls for certain if it moves no logit by more than 1.79 (see crossing.py). Here all are cut to that.
_REACH = 1.5
_STEPS = 60
_TOLERANCE = 1e-6
# What stands for infinity: certain cells are put at this logit or beyond. σ(−20) = 2e-9.
_CERTAIN_LOGIT = 20.0
# A regression with a logit beyond this may be on its way to infinity.
_DOUBTFUL_LOGIT = 12.0
# What rounding may leave of 0 in a singular value, or in a direction of length 1.
_RANK, _STILL = 1e-9, 1e-6


def plain_regression(
    ones: Float[ndarray, " cells"], trials: Float[ndarray, " cells"], cells: Float[ndarray, "cells terms"]
) -> Float[ndarray, " terms"] | None:
    """The maximum of a logistic regression without random effects; None if 60 Newton steps do not reach one."""
    coefficients = np.zeros(cells.shape[1])
    for _ in range(_STEPS):
        logits = cells @ coefficients
        tail = np.exp(-np.abs(logits))
        weights = trials * tail / (1 + tail) ** 2
        residuals = ones - trials * np.where(logits > 0, 1.0, tail) / (1 + tail)
        try:
            step = np.linalg.solve((cells.T * weights) @ cells, cells.T @ residuals)
        except np.linalg.LinAlgError:
            return None
        reach = float(np.abs(cells @ step).max(initial=0))
        if not np.isfinite(reach):
            return None
        coefficients = coefficients + min(1.0, _REACH / max(reach, _TOLERANCE)) * step
        if reach < _TOLERANCE:
            return coefficients
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """A direction of no return, and the cells that it moves: by 1 or more towards what was seen there."""

    direction: Float[ndarray, " terms"]
    moved: Bool[ndarray, " cells"]


def find_separation(
    ones: Float[ndarray, " cells"], trials: Float[ndarray, " cells"], cells: Float[ndarray, "cells terms"]
) -> Separation | None:
    """The direction that moves every cell that any such direction moves; None if there is none.

    A linear programme (Konis 2007) in d and 0 ≤ z ≤ 1: the greatest Σ z with ± xᵀd ≥ z at cells of one answer and xᵀd = 0 at
    cells of both. As d has no bound, z is 1 wherever a cell can be moved at all, and 0 elsewhere.
    """
    certain = (ones == 0) | (ones == trials)
    sides = np.where(ones > 0, 1.0, -1.0)[certain, None] * cells[certain]
    count, terms = sides.shape
    if not count:
        return None
    found = linprog(
        np.concatenate([np.zeros(terms), -np.ones(count)]),
        A_ub=np.hstack([-sides, np.eye(count)]),
        b_ub=np.zeros(count),
        A_eq=np.hstack([cells[~certain], np.zeros((len(cells) - count, count))]),
        b_eq=np.zeros(len(cells) - count),
        bounds=[(None, None)] * terms + [(0, 1)] * count,
        method="highs",
    )
    if found.x is None or found.x[terms:].max() < 0.5:
        return None
    moved = np.zeros(len(cells), dtype=bool)
    moved[certain] = found.x[terms:] > 0.5
    return Separation(found.x[:terms], moved)


@dataclass(frozen=True, slots=True, eq=False)
class Estimable:
    """What the responses can tell of the coefficients: β = basis γ + beyond, with γ in coordinates where XᵀX = I.

    Without separation the basis is square and `beyond` is 0. Otherwise the cells that run off are left out of `responses`, the
    terms that run off with them are `separated`, and `beyond` takes those cells to where their probability is 0 or 1.
    """

    responses: Responses  # with the design in the coordinates γ
    basis: Float[ndarray, "terms estimable"]
    beyond: Float[ndarray, " terms"]
    separated: Bool[ndarray, " terms"]
    plain: Float[ndarray, " estimable"]  # γ of the regression without random effects

    @classmethod
    def of(cls, responses: Responses) -> "Estimable":
        ones = np.bincount(responses.cell, responses.ones, len(responses.cells))
        trials = np.bincount(responses.cell, responses.trials, len(responses.cells))
        # Columns of one length: terms may be in any unit.
        lengths = np.sqrt(trials @ responses.cells**2)
        cells = responses.cells / lengths
        basis, _ = _orthonormal(cells, trials)
        plain = plain_regression(ones, trials, cells @ basis)
        # Far out, rounding makes certain cells look settled; but one far row may have its maximum there: the programme decides.
        doubtful = plain is None or float(np.abs(cells @ (basis @ plain)).max()) > _DOUBTFUL_LOGIT
        found = find_separation(ones, trials, cells @ basis) if doubtful else None
        if found is None:
            # Neither a maximum nor a direction: near enough to separation that rounding hides which. The search will tell.
            plain = np.zeros(basis.shape[1]) if plain is None else plain
            still = np.zeros(len(basis))
            return cls(replace(responses, cells=cells @ basis), basis / lengths[:, None], still, still > 0, plain)

        direction, kept = basis @ found.direction, ~found.moved
        basis, free = _orthonormal(cells[kept], trials[kept])
        plain = plain_regression(ones[kept], trials[kept], cells[kept] @ basis)
        plain = np.zeros(basis.shape[1]) if plain is None else plain
        # From the rest's own predictions, along what they leave free, to where every moved cell is certain: at ±20 exactly if one
        # step can put them all there (as in designs of cells), along the programme's direction otherwise.
        sides = np.where(ones > 0, 1.0, -1.0)[found.moved, None] * cells[found.moved]
        short = _CERTAIN_LOGIT - sides @ (basis @ plain)
        beyond = free @ np.linalg.lstsq(sides @ free, short, rcond=None)[0]
        if not np.allclose(sides @ beyond, short, rtol=0, atol=1):
            beyond = direction * max(0.0, float((short / (sides @ direction)).max()))
        separated = (np.abs(free) > _STILL).any(1)
        rest = _only(responses, kept, cells @ basis)
        return cls(rest, basis / lengths[:, None], beyond / lengths, separated, plain)


def _orthonormal(
    cells: Float[ndarray, "cells terms"], trials: Float[ndarray, " cells"]
) -> tuple[Float[ndarray, "terms rank"], Float[ndarray, "terms free"]]:
    """A basis T of what the cells determine, (X T)ᵀ diag(trials) (X T) = I, and an orthonormal one of what they leave free."""
    terms = cells.shape[1]
    # Enough rows of 0 for a square factor, whatever is missing.
    padded = np.concatenate([np.sqrt(trials)[:, None] * cells, np.zeros((terms, terms))])
    _, values, vectors = np.linalg.svd(np.linalg.qr(padded, mode="r"))
    rank = int((values > _RANK).sum())  # columns have length 1
    return vectors[:rank].T / values[:rank], vectors[rank:].T


def _only(responses: Responses, kept: Bool[ndarray, " cells"], cells: Float[ndarray, "cells terms"]) -> Responses:
    """The responses at these cells."""
    rows = kept[responses.cell]
    return Responses(
        responses.ones[rows],
        responses.trials[rows],
        cells[kept],
        (np.cumsum(kept) - 1)[responses.cell[rows]],
        responses.crossing.only(rows),
    )
