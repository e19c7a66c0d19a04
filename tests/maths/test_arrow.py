"""Arrow matrices against dense ones."""

import numpy as np
import pytest

from bayesteach.maths.arrow import Arrow
from tests.maths.worlds import Dice


def dense(arrow: Arrow) -> np.ndarray:
    return np.block([[np.diag(arrow.shaft), arrow.wing], [arrow.wing.T, arrow.head]])


def made(seed: int, large: int, small: int) -> Arrow:
    dice = Dice(seed)
    head = dice.normal(small, small)
    return Arrow(dice.normal(large), dice.normal(large, small), head + head.T)


def positive(seed: int, large: int, small: int) -> Arrow:
    return made(seed, large, small).plus_diagonal(np.full(large + small, 5.0 + large + small))


SIZES = pytest.mark.parametrize(("large", "small"), [(7, 4), (3, 3), (5, 1), (6, 0)])


@SIZES
def test_products_with_the_inverse(large, small):
    arrow = positive(1, large, small)
    inverse = arrow.inverse()
    for shape in ((large + small,), (large + small, 3)):
        x = Dice(2).normal(*shape)
        np.testing.assert_allclose(inverse.times(x), np.linalg.solve(dense(arrow), x), rtol=0, atol=1e-12)
    assert inverse.log_determinant() == pytest.approx(np.linalg.slogdet(dense(arrow))[1], rel=1e-12)


@SIZES
def test_entries_of_the_inverse(large, small):
    arrow = positive(3, large, small)
    diagonal, side, core = arrow.inverse().entries()
    expected = np.linalg.inv(dense(arrow))
    np.testing.assert_allclose(diagonal, np.diag(expected), atol=1e-14)
    np.testing.assert_allclose(side, expected[:large, large:], atol=1e-14)
    np.testing.assert_allclose(core, expected[large:, large:], atol=1e-14)


@SIZES
def test_traces_of_products(large, small):
    arrow = positive(4, large, small)
    arrows = [made(seed, large, small) for seed in (5, 6, 7)]
    inverse = np.linalg.inv(dense(arrow))
    expected = [[np.trace(inverse @ dense(a) @ inverse @ dense(b)) for b in arrows] for a in arrows]
    np.testing.assert_allclose(arrow.inverse().trace_products(arrows), expected, atol=1e-12)


def test_a_matrix_that_is_not_positive_definite_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        Arrow(np.ones(2), np.full((2, 1), 3.0), np.ones((1, 1))).inverse()
