"""The rows of a regression: checked, alike ones collapsed, and the design kept by its distinct rows."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int, Real
from numpy import ndarray

from bayesteach.errors import BadInput, BadShape, Empty, NotFinite, OutOfRange
from bayesteach.maths.crossing import Crossing, Responses

MOST_FACTORS = 3
# A column is a combination of earlier ones if less than this share of its length is left beside them (R's lm uses 1e-7 too).
_ALIASED = 1e-7


def aliased(design: Float[ndarray, "rows terms"]) -> tuple[int, ...]:
    """The columns that are linear combinations of those before them."""
    kept: list[ndarray] = []
    bound: list[int] = []
    for k, column in enumerate(design.T):
        length = float(np.linalg.norm(column))
        rest = column / (length or 1.0)
        for _ in range(2):  # once more, against what rounding leaves
            for other in kept:
                rest = rest - (other @ rest) * other
        left = float(np.linalg.norm(rest))
        if left < _ALIASED:
            bound.append(k)
        else:
            kept.append(rest / left)
    return tuple(bound)


def collapsed(
    outcomes: Real[ndarray, " rows"],
    trials: Real[ndarray, " rows"] | None,
    design: Real[ndarray, "rows terms"],
    groups: Sequence[Int[ndarray, " rows"]],
) -> tuple[Responses, list[int]]:
    """The responses, rows alike in design and groups as one, and the factors' places: the one with most groups comes first."""
    outcomes, trials, design, groups = _checked(outcomes, trials, design, groups)
    cells, cell = distinct(design)
    bound = aliased(cells)
    if bound:
        raise BadInput(
            f"design: column {', '.join(map(str, bound))} of {design.shape[1]} (from 0) is a linear combination of columns "
            "before it, so its coefficient has no value. Leave it out: a term repeats others, or a cell has no responses."
        )
    sizes = [int(g.max()) + 1 for g in groups]
    order = sorted(range(len(groups)), key=lambda f: (-sizes[f], f))
    keys = [*(groups[f] for f in order), cell]
    spans = [*(sizes[f] for f in order), len(cells)]
    # 2⁶² rows of possibilities are beyond any table whose rows repeat.
    if np.prod(np.array(spans, dtype=float)) < 2.0**62:
        code = keys[0].astype(np.int64)
        for key, span in zip(keys[1:], spans[1:], strict=True):
            code = code * span + key
        sort = np.argsort(code, kind="stable")
        code = code[sort]
        first = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
        outcomes, trials = np.add.reduceat(outcomes[sort], first), np.add.reduceat(trials[sort], first)
        keys = [key[sort[first]] for key in keys]
    return Responses(outcomes, trials, cells, keys[-1], Crossing.of(keys[:-1], spans[:-1])), order


def distinct(design: Float[ndarray, "rows terms"]) -> tuple[Float[ndarray, "cells terms"], Int[ndarray, " rows"]]:
    """The distinct rows, and which of them each row is."""
    # One random combination of the columns tells rows apart 50 times faster than sorting the rows themselves.
    marks = np.zeros(len(design))
    weights = np.random.default_rng(0).normal(size=(design.shape[1], 1))
    for column, share in zip(design.T, weights, strict=True):
        marks += share * column
    _, first, cell = np.unique(marks, return_index=True, return_inverse=True)
    cells = design[first]
    if not np.array_equal(cells[cell], design):
        cells, cell = np.unique(design, axis=0, return_inverse=True)
    return cells, cell.reshape(-1)


def _checked(
    outcomes: Real[ndarray, " rows"],
    trials: Real[ndarray, " rows"] | None,
    design: Real[ndarray, "rows terms"],
    groups: Sequence[Int[ndarray, " rows"]],
) -> tuple[ndarray, ndarray, ndarray, list[ndarray]]:
    """The same in float64, once they can be analysed."""
    outcomes, design = _numbers("outcomes", outcomes, 1), _numbers("design", design, 2)
    rows, terms = design.shape
    counted = trials is not None
    trials = np.ones(rows) if trials is None else _numbers("trials", trials, 1)
    groups = [np.asarray(g) for g in groups]
    if not rows or not terms:
        raise Empty(f"design: found {rows} rows of {terms} terms, expected at least one of each.")
    for name, values in [
        ("outcomes", outcomes),
        ("trials", trials),
        *((f"groups[{f}]", g) for f, g in enumerate(groups)),
    ]:
        if values.shape != (rows,):
            raise BadShape(f"{name}: found shape {values.shape}, expected ({rows},), one for each row of the design.")
    if rows < terms:
        raise BadInput(
            f"design: found {rows} rows for {terms} terms, expected at least as many rows. Add data, or drop terms."
        )
    bad = np.flatnonzero((trials < 1) | (trials != np.round(trials)))
    if len(bad):
        raise OutOfRange(f"trials: found {trials[bad[0]]:g} at row {bad[0]}, expected whole numbers from 1.")
    bad = np.flatnonzero((outcomes < 0) | (outcomes > trials) | (outcomes != np.round(outcomes)))
    if len(bad):
        wanted = f"a whole number from 0 to its {trials[bad[0]]:g} trials" if counted else "0 or 1"
        raise OutOfRange(
            f"outcomes: found {outcomes[bad[0]]:g} at row {bad[0]} ({len(bad)} rows so), expected {wanted}."
        )
    if not 1 <= len(groups) <= MOST_FACTORS:
        raise BadInput(
            f"groups: found {len(groups)}, expected one to {MOST_FACTORS}: an array of group numbers a factor."
        )
    for f, g in enumerate(groups):
        _check_groups(f"groups[{f}]", g, int(trials.sum()))
    return outcomes, trials, design, [g.astype(np.intp) for g in groups]


def _numbers(name: str, values: ndarray, dimensions: int) -> ndarray:
    values = np.asarray(values)
    if values.ndim != dimensions or values.dtype.kind not in "fiub":
        raise BadShape(
            f"{name}: found {values.dtype} of shape {values.shape}, expected numbers in {dimensions} dimension(s)."
        )
    values = values.astype(np.float64)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        raise NotFinite(
            f"{name}: {len(bad)} of {values.size} values are NaN or infinite, the first at row {bad[0][0]}. "
            "Leave out rows with missing values, and say so."
        )
    return values


def _check_groups(name: str, groups: ndarray, trials: int) -> None:
    if groups.dtype.kind not in "iu":
        raise OutOfRange(
            f"{name}: found {groups.dtype}, expected whole numbers from 0. np.unique(…, return_inverse=True) makes them."
        )
    if groups.min() < 0:
        raise OutOfRange(f"{name}: found {groups.min()}, expected whole numbers from 0.")
    if groups.max() > max(10 * trials, 1000):
        raise OutOfRange(
            f"{name}: found {groups.max()} in {trials} trials, expected groups numbered 0, 1, 2, … without large gaps."
        )
    found = len(np.unique(groups))
    if found < 2:
        raise BadInput(
            f"{name}: found one group, expected two or more: a variance between groups needs them. Leave the factor out."
        )
    if found >= trials:
        raise BadInput(
            f"{name}: found {found} groups in {trials} trials, expected fewer: nothing tells a group from its one trial."
        )
