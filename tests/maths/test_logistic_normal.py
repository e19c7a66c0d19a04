"""E[σ(f)] against adaptive quadrature, Gauss–Hermite and its own symmetries."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from bayesteach.maths.logistic_normal import mean_log_odds, mean_sigmoid
from tests import oracles


def at(function, mean: float, sd: float) -> float:
    return float(function(torch.tensor(mean, dtype=torch.float64), torch.tensor(sd, dtype=torch.float64)))


@pytest.mark.parametrize("sd", [0.03, 0.3, 1.0, 2.0, 7.0, 50.0])
@pytest.mark.parametrize("mean", [0.0, -0.1, 1.0, -4.0, -12.0])
def test_quadrature_agrees(mean, sd):
    expected = oracles.mean_sigmoid(mean, sd)
    assert at(mean_sigmoid, mean, sd) == pytest.approx(expected, rel=1e-10)
    assert at(mean_log_odds, mean, sd) == pytest.approx(logit(expected), abs=1e-9)


@given(st.floats(-30, 30), st.floats(0, 1.5))
def test_gauss_hermite_agrees_where_it_is_accurate(mean, sd):
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    expected = (weights * expit(mean + sd * nodes)).sum() / weights.sum()
    assert at(mean_sigmoid, mean, sd) == pytest.approx(expected, rel=1e-9)


@given(st.floats(-1e308, 1e308) | st.floats(-1e6, 1e6), st.floats(0, 1e300) | st.floats(0, 1e9))
def test_finite_odd_and_never_more_certain_than_its_mean(mean, sd):
    value = at(mean_log_odds, mean, sd)
    assert np.isfinite(value)
    assert value == -at(mean_log_odds, -mean, sd)
    assert abs(value) <= abs(mean) * (1 + 1e-9) + 1e-9


def test_tails_keep_their_digits_where_the_probability_is_0_or_1():
    # Far out E[σ(f)] = E[eᶠ] = exp(μ + s²/2).
    assert at(mean_log_odds, -800.0, 1.0) == pytest.approx(-799.5, abs=1e-9)
    assert at(mean_log_odds, 800.0, 1.0) == pytest.approx(799.5, abs=1e-9)


def test_certainty_is_the_sigmoid_itself():
    assert at(mean_log_odds, 1.25, 0.0) == pytest.approx(1.25, abs=1e-11)
