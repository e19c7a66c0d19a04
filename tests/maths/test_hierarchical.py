"""The hierarchical regression against a dense oracle, against glmmTMB, and in trouble."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from bayesteach import HierarchicalFit, fit_hierarchical
from bayesteach.maths.hierarchical import aliased
from tests import oracles
from tests.maths.glmmtmb_judge import GOLDEN, digest
from tests.maths.worlds import WORLDS, Dice, World, answered, crossed, interaction, study

SHARED = Path(__file__).parents[3] / "shared" / "glmm"


def fitted(world: World, **changes) -> HierarchicalFit:
    given = {"outcomes": world.outcomes, "design": world.design, "groups": world.groups, "trials": world.trials}
    return fit_hierarchical(**given | changes)


def assert_alike(fit: HierarchicalFit, other: HierarchicalFit, atol: float = 2e-6) -> None:
    assert fit.converged
    assert other.converged
    np.testing.assert_allclose(fit.coefficients, other.coefficients, rtol=1e-6, atol=atol)
    np.testing.assert_allclose(fit.standard_errors, other.standard_errors, rtol=1e-4)
    np.testing.assert_allclose(fit.standard_deviations, other.standard_deviations, atol=atol)
    assert fit.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-7)
    assert fit.singular == other.singular
    assert fit.separated == other.separated


def assert_agrees(fit: HierarchicalFit, judge: dict) -> None:
    """Within what was promised: estimates 2e-4, SE 0.5 %, SD 1e-4, log-likelihood 1e-4."""
    assert fit.converged
    assert not any(fit.separated)
    np.testing.assert_allclose(fit.coefficients, judge["coefficients"], rtol=0, atol=2e-4)
    np.testing.assert_allclose(fit.standard_errors, judge["standard_errors"], rtol=5e-3)
    np.testing.assert_allclose(fit.standard_deviations, judge["standard_deviations"], rtol=0, atol=1e-4)
    assert fit.log_likelihood == pytest.approx(judge["log_likelihood"], abs=1e-4)


# ── against glmmTMB


@pytest.mark.parametrize("name", WORLDS)
def test_glmmtmb_agrees(name):
    world, judge = WORLDS[name](), json.loads(GOLDEN.read_text())[name]
    judge["standard_deviations"] = np.atleast_1d(judge["standard_deviations"])
    assert digest(world) == judge["world"], "this is not the world that glmmTMB was shown: judge it again"
    fit = fitted(world)
    assert_agrees(fit, judge)
    # glmmTMB searches by log SD, which never arrives at 0; we say 0.
    assert fit.singular == tuple(sd < 1e-4 for sd in judge["standard_deviations"])


def shared_study(name: str) -> World:
    rows = np.genfromtxt(SHARED / f"{name}.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    trial_type = np.select(
        [rows["trial_type"] == "standard_incorrect", rows["trial_type"] == "standard_correct"], [1, 2]
    )
    groups = [np.unique(rows[factor], return_inverse=True)[1] for factor in ("participant", "category")]
    return World(rows["correct"].astype(float), interaction(trial_type, rows["saliency"], rows["examples"]), groups)


@pytest.mark.skipif(not SHARED.exists(), reason=f"no reference fits at {SHARED}")
@pytest.mark.parametrize(("name", "judge"), [("sim_seed1", "seed1"), ("edge_small16", "edge_small16")])
def test_the_reference_fits_agree(name, judge):
    world = shared_study(name)
    given = json.loads((SHARED / f"glmmTMB_{judge}.json").read_text())
    likelihoods = []
    for model, terms in (("null", 3), ("explanation", 5), ("interaction", 12)):
        fit, known = fitted(world, design=world.design[:, :terms]), given["models"][model]
        named = {"coefficients": known["estimate"], "standard_errors": known["se"], "log_likelihood": known["logLik"]}
        assert_agrees(fit, named | {"standard_deviations": [known["sd_participant"], known["sd_category"]]})
        likelihoods.append(fit.log_likelihood)
    chi2 = 2 * np.diff(likelihoods)
    known = [given["lrt"][pair]["chisq"] for pair in ("explanation_vs_null", "interaction_vs_explanation")]
    np.testing.assert_allclose(chi2, known, rtol=0, atol=5e-4)


# ── against the dense oracle


@pytest.mark.parametrize(
    ("sizes", "sds", "terms"), [((8,), (0.8,), 3), ((8, 6), (0.8, 0.6), 2), ((6, 5, 4), (0.8, 0.6, 0.7), 1)]
)
def test_the_dense_oracle_agrees(sizes, sds, terms):
    world = crossed(31, 200, sizes, sds, terms)
    coefficients, errors, deviations, height = oracles.hierarchical(
        world.outcomes, np.ones(200), world.design, world.groups
    )
    fit = fitted(world)
    np.testing.assert_allclose(fit.coefficients, coefficients, atol=1e-6)
    np.testing.assert_allclose(fit.standard_errors, errors, rtol=1e-4)
    np.testing.assert_allclose(fit.standard_deviations, deviations, atol=1e-6)
    assert fit.log_likelihood == pytest.approx(height, abs=1e-8)


@given(st.integers(0, 10_000))
def test_the_likelihood_is_the_oracles_at_the_fit_and_lower_beside_it(seed):
    dice = Dice(seed)
    sizes = [3 + int(k) for k in dice.below(12, 1 + seed % 3)]
    world = crossed(seed, 120, sizes, [0.9] * len(sizes), 2)
    fit = fitted(world)
    given = (world.outcomes, np.ones(120), world.design, world.groups)
    height = oracles.laplace(*given, fit.coefficients, fit.standard_deviations)
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(height, abs=1e-6)
    for k in range(4):
        nudge = 0.05 * dice.normal(2 + len(sizes))
        beside = np.maximum(fit.standard_deviations + nudge[2:], 0)
        assert oracles.laplace(*given, fit.coefficients + nudge[:2], beside) < height + 1e-7, k


def test_intercepts_are_the_conditional_modes():
    world = WORLDS["three factors"]()
    fit = fitted(world)
    logits = world.design @ fit.coefficients
    for g, b in zip(world.groups, fit.intercepts, strict=True):
        logits = logits + b[g]
    residuals = world.outcomes - expit(logits)
    for g, b, sd in zip(world.groups, fit.intercepts, fit.standard_deviations, strict=True):
        np.testing.assert_allclose(np.bincount(g, residuals), b / sd**2, atol=1e-7)


# ── laws


WORLD = crossed(21, 400, (25, 14, 8), (0.7, 0.9, 0.5), 3)
FIT = fitted(WORLD)


@given(st.integers(0, 10_000))
def test_the_order_of_rows_does_not_matter(seed):
    order = Dice(seed).shuffled(400)
    moved = fitted(World(WORLD.outcomes[order], WORLD.design[order], [g[order] for g in WORLD.groups]))
    assert_alike(moved, FIT)


@given(st.permutations(range(3)), st.integers(0, 10_000))
def test_names_of_groups_and_order_of_factors_do_not_matter(order, seed):
    dice = Dice(seed)
    names = [dice.shuffled(int(g.max()) + 1) for g in WORLD.groups]
    fit = fitted(World(WORLD.outcomes, WORLD.design, [names[f][WORLD.groups[f]] for f in order]))
    assert_alike(replace(fit, standard_deviations=FIT.standard_deviations, singular=FIT.singular), FIT)
    np.testing.assert_allclose(fit.standard_deviations, FIT.standard_deviations[list(order)], atol=2e-6)
    for f, intercepts in zip(order, fit.intercepts, strict=True):
        np.testing.assert_allclose(intercepts[names[f]], FIT.intercepts[f], atol=1e-5)


@given(st.integers(0, 10_000))
def test_rows_count_the_same_split_or_collapsed(seed):
    world = WORLDS["counts"]()
    parts = Dice(seed).below(4, len(world.outcomes))
    first_trials = np.minimum(np.maximum(world.trials - 1, 0), parts)
    first_ones = np.minimum(world.outcomes, first_trials)
    rest_ones, rest_trials = world.outcomes - first_ones, world.trials - first_trials
    # Ones beyond the rest's trials move over: any split of the same counts is the same data.
    over = np.maximum(rest_ones - rest_trials, 0)
    ones = np.concatenate([first_ones + over, rest_ones - over])
    trials = np.concatenate([first_trials, rest_trials])
    some = trials > 0
    split = fit_hierarchical(
        ones[some],
        np.concatenate([world.design] * 2)[some],
        [np.concatenate([g] * 2)[some] for g in world.groups],
        trials=trials[some],
    )
    assert_alike(split, fitted(world))


def test_counts_are_rows_of_zeros_and_ones():
    world = WORLDS["counts"]()
    rows = np.repeat(np.arange(len(world.outcomes)), world.trials.astype(int))
    place = np.concatenate([np.arange(n) for n in world.trials.astype(int)])
    outcomes = (place < world.outcomes[rows]).astype(float)
    assert_alike(fit_hierarchical(outcomes, world.design[rows], [g[rows] for g in world.groups]), fitted(world))


@given(st.floats(-30, 30), st.sampled_from([1e-6, -0.01, 3.0, 1e5]))
def test_shift_and_unit_of_a_column_do_not_matter(shift, unit):
    design = WORLD.design.copy()
    design[:, 1] = (design[:, 1] + shift) * unit
    fit = fitted(WORLD, design=design)
    # η = β₀ + β₁ x with x = x′/unit − shift.
    back = np.eye(3)
    back[0, 1], back[1, 1] = shift * unit, unit
    turned = replace(fit, coefficients=back @ fit.coefficients, covariance=back @ fit.covariance @ back.T)
    assert_alike(turned, FIT)


def test_exchanging_zeros_and_ones_turns_the_signs():
    fit = fitted(WORLD, outcomes=1 - WORLD.outcomes)
    assert_alike(replace(fit, coefficients=-fit.coefficients), FIT)


def test_a_start_changes_the_way_and_not_the_end():
    assert_alike(fitted(WORLD, start=FIT), FIT)
    far = replace(FIT, coefficients=FIT.coefficients + 3, standard_deviations=np.array([5.0, 0.01, 2.0]))
    assert_alike(fitted(WORLD, start=far), FIT)


def test_groups_may_be_missing():
    numbered = [2 * g + 1 for g in WORLD.groups]
    fit = fitted(WORLD, groups=numbered)
    assert_alike(fit, FIT)
    assert (fit.intercepts[0][::2] == 0).all()


# ── trouble


def plain_likelihood(world: World) -> float:
    def loss(b):
        return -(log_expit(np.where(world.outcomes > 0, 1, -1) * (world.design @ b))).sum()

    return -minimize(loss, np.zeros(world.design.shape[1]), method="BFGS", options={"gtol": 1e-7}).fun


def test_variance_zero_is_left_where_there_is_variance():
    # By SD, 0 is a stationary point of every likelihood: a search that starts there must not stay.
    none = replace(FIT, standard_deviations=np.zeros(3), singular=(True,) * 3)
    assert_alike(fitted(WORLD, start=none), FIT)
    tiny = replace(FIT, standard_deviations=np.full(3, 1e-3))
    assert_alike(fitted(WORLD, start=tiny), FIT)


def test_groups_alike_beyond_chance_are_singular_and_keep_the_likelihood():
    # Every group has the same share of ones: less than chance alone would make them differ.
    group = np.repeat(np.arange(20), 10)
    world = World(np.tile([1.0, 0.0, 0.0, 1.0, 1.0], 40), np.ones((200, 1)), [group])
    fit = fitted(world)
    assert fit.converged
    assert fit.singular == (True,)
    assert fit.standard_deviations.tolist() == [0.0]
    assert fit.log_likelihood == pytest.approx(plain_likelihood(world), abs=1e-7)
    assert (fit.intercepts[0] == 0).all()
    assert fit.standard_errors[0] == pytest.approx((200 * 0.6 * 0.4) ** -0.5, rel=1e-6)


def test_one_factor_may_be_singular_beside_another():
    world = crossed(22, 600, (30,), (1.0,))
    nothing = np.arange(600) % 6
    order = np.lexsort((world.outcomes, world.groups[0]))
    both = World(world.outcomes[order], world.design[order], [nothing, world.groups[0][order]])
    fit, without = fitted(both), fitted(world)
    assert fit.singular == (True, False)
    assert fit.standard_deviations[0] == 0
    assert_alike(replace(fit, standard_deviations=without.standard_deviations, singular=(False,)), without)


def certain_cell(world: World) -> World:
    """Standard correct trials in the control condition are all answered right."""
    _, _, correct, saliency, examples, *_ = world.design.T
    return replace(world, outcomes=np.where(correct * (1 - saliency) * (1 - examples) > 0, 1.0, world.outcomes))


CERTAIN = certain_cell(study(2, 24, categories=12))


def test_a_certain_cell_flags_its_coefficients_and_keeps_the_likelihood():
    fit = fitted(CERTAIN)
    assert fit.converged
    # Standard correct, and its products with saliency and examples: only their sums are known.
    assert [k for k, off in enumerate(fit.separated) if off] == [2, 6, 8, 11]
    assert np.isnan(fit.standard_errors).tolist() == list(fit.separated)
    cell = (CERTAIN.design == [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]).all(1)
    np.testing.assert_allclose(CERTAIN.design[cell] @ fit.coefficients, 20, atol=1)

    # The limit is the fit of the other cells, where those columns are one.
    rest = CERTAIN.design[~cell]
    rest = rest[:, [k for k in range(12) if k != 2]]
    other = fit_hierarchical(CERTAIN.outcomes[~cell], rest, [g[~cell] for g in CERTAIN.groups])
    assert fit.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-7)
    known, same = [0, 1, 3, 4, 5, 7, 9, 10], [0, 1, 2, 3, 4, 6, 8, 9]
    np.testing.assert_allclose(fit.coefficients[known], other.coefficients[same], atol=1e-5)
    np.testing.assert_allclose(fit.standard_errors[known], other.standard_errors[same], rtol=1e-3)
    np.testing.assert_allclose(fit.standard_deviations, other.standard_deviations, atol=1e-5)


def test_the_likelihood_of_separated_data_is_its_supremum():
    fit = fitted(CERTAIN)
    given = (CERTAIN.outcomes, np.ones(len(CERTAIN.outcomes)), CERTAIN.design, CERTAIN.groups)
    direction = np.zeros(12)
    direction[[2, 6, 8, 11]] = 1, -1, -1, 1
    heights = [
        oracles.laplace(*given, fit.coefficients + k * direction, fit.standard_deviations) for k in (-18, -14, -10, 0)
    ]
    assert heights == sorted(heights)
    assert heights[0] < fit.log_likelihood - 1
    assert heights[-1] == pytest.approx(fit.log_likelihood, abs=1e-4)


def test_one_answer_against_ends_a_separation():
    _, _, correct, saliency, examples, *_ = CERTAIN.design.T
    outcomes = CERTAIN.outcomes.copy()
    outcomes[np.flatnonzero(correct * (1 - saliency) * (1 - examples))[0]] = 0
    fit = fitted(CERTAIN, outcomes=outcomes)
    assert fit.converged
    assert not any(fit.separated)
    assert np.isfinite(fit.standard_errors).all()


def test_numbers_separate_too():
    world = crossed(23, 300, (20, 10), (0.5, 0.5), 3)
    outcomes = (world.design[:, 1] > 0.3).astype(float)
    fit = fitted(world, outcomes=outcomes)
    assert fit.converged
    assert all(fit.separated)
    assert fit.log_likelihood == 0
    assert fit.singular == (True, True)
    np.testing.assert_array_equal(world.design @ fit.coefficients > 0, outcomes > 0)


def test_one_answer_only_is_separated():
    fit = fitted(WORLD, outcomes=np.ones(400))
    assert all(fit.separated)
    assert fit.log_likelihood == 0
    np.testing.assert_allclose(WORLD.design @ fit.coefficients, 20)
    assert np.isnan(fit.covariance).all()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_separation_knows_no_units(unit):
    fit = fitted(CERTAIN, design=CERTAIN.design * np.where(np.arange(12) % 2, unit, 1.0))
    assert fit.separated == fitted(CERTAIN).separated


def test_a_far_row_is_not_a_separation():
    # A single x of 300 takes its logit beyond 40; both answers around 0 still hold the slope.
    dice = Dice(24)
    design = np.stack([np.ones(300), dice.normal(300)], 1)
    world = answered(dice, design, [np.arange(300) % 15], (0.2, 0.4), (0.5,))
    design[0, 1], world.outcomes[0] = 300, 1
    fit = fitted(world)
    assert fit.converged
    assert not any(fit.separated)
    assert design[0] @ fit.coefficients > 40


def test_what_does_not_converge_says_so_with_its_gradient():
    # Every group answers in one way only: the variance runs off to infinity.
    group = np.repeat(np.arange(30), 20)
    world = World((group % 2).astype(float), np.ones((600, 1)), [group])
    fit = fitted(world)
    assert not fit.converged
    assert fit.gradient > 0
    assert fit.standard_deviations[0] > 10


def test_aliased_names_the_later_columns():
    one, a, b = np.ones(50), *Dice(25).normal(2, 50)
    assert aliased(np.stack([one, a, b], 1)) == ()
    assert aliased(np.stack([one, a, 2 * one - 3 * a, b, a - b, np.zeros(50)], 1)) == (2, 4, 5)
    # A shift by ten thousand spreads, and a unit of a millionth, are no alias.
    assert aliased(np.stack([one, 1e4 + a, 1e-6 * b], 1)) == ()
    assert aliased(np.stack([one, 1e4 + a, 1e-6 * b, 1e9 * (a + b)], 1)) == (3,)
