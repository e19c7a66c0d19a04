"""Laplace's likelihood, its gradient and its Hessian: against the dense oracle, and against differences of each other."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesteach.maths.crossing import Crossing, Mode, Responses, spreads_of, variances_of
from tests import oracles
from tests.maths.worlds import Dice, World, counted, crossed

PLACES = {1: (0.8,), 2: (0.8, 0.3), 3: (0.8, 0.3, 0.5)}


def responses(world: World) -> Responses:
    sizes = [int(g.max()) + 1 for g in world.groups]
    rows = len(world.outcomes)
    trials = np.ones(rows) if world.trials is None else world.trials
    return Responses(world.outcomes, trials, world.design, np.arange(rows), Crossing.of(world.groups, sizes))


def at(given: Responses, coefficients: np.ndarray, spreads: np.ndarray) -> Mode:
    return given.mode(coefficients, variances_of(spreads), np.zeros(sum(given.crossing.sizes)))


def slopes(function: Callable, place: np.ndarray, step: float = 1e-4) -> np.ndarray:
    return np.array([(function(place + e) - function(place - e)) / (2 * step) for e in step * np.eye(len(place))])


@given(st.integers(1, 3), st.integers(0, 10_000))
def test_the_likelihood_and_its_derivatives(factors, seed):
    dice = Dice(seed)
    world = crossed(seed, 150, sorted((3 + dice.below(9, factors)).tolist(), reverse=True), PLACES[factors], 2)
    ours = responses(world)
    coefficients, variances = 0.5 * dice.normal(2), 0.02 + dice.uniform(factors)
    place = np.concatenate([coefficients, spreads_of(variances)])
    mode = at(ours, coefficients, place[2:])
    expected = oracles.laplace(
        world.outcomes, np.ones(150), world.design, world.groups, coefficients, np.sqrt(variances)
    )
    assert mode.log_likelihood == pytest.approx(expected, abs=1e-8)
    gradient = slopes(lambda p: at(ours, p[:2], p[2:]).log_likelihood, place)
    np.testing.assert_allclose(mode.gradient(), gradient, atol=2e-6)
    hessian = slopes(lambda p: at(ours, p[:2], p[2:]).gradient(), place)
    np.testing.assert_allclose(mode.hessian(), hessian, atol=1e-5, rtol=1e-6)


def test_of_counts_too():
    world = counted(3)
    ours = responses(world)
    place = np.array([0.3, -0.6, *spreads_of(np.array([0.5, 0.4]))])
    mode = at(ours, place[:2], place[2:])
    np.testing.assert_allclose(
        mode.gradient(), slopes(lambda p: at(ours, p[:2], p[2:]).log_likelihood, place), atol=1e-5
    )
    np.testing.assert_allclose(
        mode.hessian(), slopes(lambda p: at(ours, p[:2], p[2:]).gradient(), place), atol=1e-4, rtol=1e-6
    )


def test_the_slope_at_no_variance_is_that_of_the_variance():
    # By SD it would be 0 whatever the data say. It is the score test of a random intercept, ½ Σ_g {(Σ r)² − Σ w}.
    world = crossed(8, 200, (12,), (1.0,), 1)
    p = 1 / (1 + np.exp(-0.1))
    sums, counts = np.bincount(world.groups[0], world.outcomes - p), np.bincount(world.groups[0])
    for variance in (1e-10, 1e-8, 1e-6):
        mode = responses(world).mode(np.array([0.1]), np.array([variance]), np.zeros(12))
        expected = 0.05 * 0.5 * (sums @ sums - p * (1 - p) * counts.sum())
        assert mode.gradient()[1] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("start", [0.0, 30.0, -200.0])
def test_the_mode_is_found_from_anywhere(start):
    world = crossed(9, 300, (20, 10), (3.0, 2.0), 2)
    ours = responses(world)
    begun = ours.mode(np.array([5.0, -8.0]), np.array([9.0, 400.0]), np.full(30, start))
    other = ours.mode(np.array([5.0, -8.0]), np.array([9.0, 400.0]), np.zeros(30))
    np.testing.assert_allclose(begun.effects, other.effects, atol=1e-8)
    assert begun.reach < 1e-8
