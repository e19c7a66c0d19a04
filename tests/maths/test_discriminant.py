"""Probabilistic LDA against the conditional of one big Gaussian."""

import itertools

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from bayesteach import DiscriminantLearner, Lessons, Pool, ScatterSums, choose_discriminant
from tests import oracles
from tests.oracles import doubles, with_bias


def world(classes: int, each: int, cols: int, rng: torch.Generator, spread: float = 2.0):
    """Features and labels of classes that differ most in their first coordinates."""
    scale = spread / torch.arange(1, cols + 1, dtype=torch.float64)
    labels = torch.arange(classes).repeat_interleave(each)
    means = doubles(classes, cols, rng=rng) * scale
    return means[labels] + doubles(len(labels), cols, rng=rng), labels


def density(within, between, centre, examples, probe) -> float:
    """log p(probe | examples of its class), from the joint Gaussian of all their coordinates."""
    count, cols = len(examples), len(centre)
    joint = torch.kron(torch.ones(count + 1, count + 1, dtype=torch.float64), between)
    joint += torch.kron(torch.eye(count + 1, dtype=torch.float64), within)
    known, asked = torch.arange(count * cols), torch.arange(count * cols, (count + 1) * cols)
    mean, covariance = oracles.conditional(joint, known, (examples - centre).flatten(), asked)
    return float(torch.distributions.MultivariateNormal(mean, covariance).log_prob(probe - centre))


@given(st.integers(0, 999), st.integers(1, 4))
def test_it_is_the_conditional_of_the_joint_gaussian(seed, each):
    rng = torch.Generator().manual_seed(seed)
    cols = 3
    features, labels = world(30, 6, cols, rng)
    sums = ScatterSums(30, cols).add(features, labels)
    learner = sums.learner(shrinkage=0.2, dimensions=cols)
    # Directions in which classes seem to vary less than not at all are left out; here we want all.
    assume(len(learner.ratios) == cols)
    centre, within, between = sums.covariances()
    shrunk = 0.8 * within + 0.2 * within.diagonal().mean() * torch.eye(cols, dtype=torch.float64)
    pool = Pool.of(doubles(4, cols, rng=rng), doubles(4, cols, rng=rng))
    probe = doubles(cols, rng=rng)
    of_target, of_alternative = (
        density(shrunk, between, centre, pool.features[first : first + each, 0], probe) for first in (0, 4)
    )
    prediction = learner.predict(probe, Lessons(pool, torch.tensor([[*range(each), *range(4, 4 + each)]])))
    assert float(prediction.log_odds) == pytest.approx(of_target - of_alternative, abs=1e-8)
    assert float(prediction.prior) == 0.5


def test_the_covariances_are_unbiased(rng):
    cols = 3
    totals = [torch.zeros(cols, cols, dtype=torch.float64) for _ in range(2)]
    for _ in range(300):
        features, labels = world(12, 4, cols, rng)
        keep = torch.rand(len(labels), generator=rng) < 0.8  # unequal groups
        _, within, between = ScatterSums(12, cols).add(features[keep], labels[keep]).covariances()
        totals[0] += within / 300
        totals[1] += between / 300
    torch.testing.assert_close(totals[0], torch.eye(cols).double(), atol=0.05, rtol=0)
    expected = torch.diag((2.0 / torch.arange(1, cols + 1, dtype=torch.float64)) ** 2)
    torch.testing.assert_close(totals[1], expected, atol=0.35, rtol=0)


@given(st.lists(st.integers(0, 60), max_size=4), st.integers(0, 99))
def test_any_split_of_the_images_gives_the_same_sums(cuts, seed):
    features, labels = world(6, 10, 3, torch.Generator().manual_seed(seed))
    whole = ScatterSums(6, 3).add(features, labels)
    edges = [0, *sorted(cuts), 60]
    parts = [ScatterSums(6, 3).add(features[a:b], labels[a:b]) for a, b in itertools.pairwise(edges)]
    merged = sum(parts[1:], start=parts[0])
    for mine, theirs in zip(merged.covariances(), whole.covariances(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)


def test_more_examples_of_the_probes_class_teach_more(rng):
    features, labels = world(40, 8, 6, rng, spread=4.0)
    learner = ScatterSums(40, 6).add(features, labels).learner(shrinkage=0.1, dimensions=6)
    taught = {each: [] for each in (1, 4)}
    for c in range(39):
        own, other = features[labels == c], features[labels == c + 1]
        pool = Pool.of(own[1:], other[1:])
        for each, values in taught.items():
            members = torch.tensor([[*range(each), *range(7, 7 + each)]])
            values.append(float(learner.predict(own[0], Lessons(pool, members)).log_odds))
    assert sum(taught[4]) > sum(taught[1]) > 0


def test_the_bias_that_never_varies_is_harmless(rng):
    features, labels = world(30, 6, 3, rng)
    plain = ScatterSums(30, 3).add(features, labels).learner(shrinkage=0.0, dimensions=3)
    biased = ScatterSums(30, 4).add(with_bias(features), labels).learner(shrinkage=0.0, dimensions=3)
    torch.testing.assert_close(plain.ratios, biased.ratios, rtol=1e-6, atol=1e-8)


def test_views_are_averaged_and_may_each_count(rng):
    features, labels = world(30, 6, 3, rng)
    learner = ScatterSums(30, 3).add(features, labels).learner(dimensions=3)
    two = doubles(4, 3, rng=rng)
    pool = Pool.of(two[:2, None].repeat(1, 5, 1), two[2:, None].repeat(1, 5, 1))
    once = Pool.of(two[:2], two[2:])
    probe, members = doubles(3, rng=rng), torch.tensor([[0, 1, 2, 3]])
    one = learner.predict(probe, Lessons(once, members)).log_odds
    torch.testing.assert_close(learner.predict(probe, Lessons(pool, members)).log_odds, one)
    each = DiscriminantLearner(learner.centre, learner.axes, learner.ratios, every_view_counts=True)
    repeated = torch.tensor([[0] * 5 + [1] * 5 + [2] * 5 + [3] * 5])
    torch.testing.assert_close(
        each.predict(probe, Lessons(pool, members)).log_odds, learner.predict(probe, Lessons(once, repeated)).log_odds
    )


def test_shrinkage_and_temperature_are_chosen_on_held_out_lessons(rng):
    cols = 40
    sums = ScatterSums(25, cols).add(*world(25, 3, cols, rng))
    features, labels = world(25, 8, cols, rng)
    choice = choose_discriminant(sums, features, labels, rng, dimensions=20)
    assert choice.log_losses[choice.shrinkage] == min(choice.log_losses.values())
    # Estimated from three images a class it is too sure of itself, and says so less at its best temperature.
    assert choice.learner.temperature > 1.2
    few = choose_discriminant(sums, features, labels, rng, dimensions=20, candidates=(0.0, 0.7))
    assert few.log_losses[0.7] < few.log_losses[0.0]


def test_lessons_that_any_temperature_foresees_choose_none(rng):
    features, labels = 1e3 * torch.eye(6, dtype=torch.float64).repeat(4, 1), torch.arange(24) % 6
    features = features + 1e-3 * doubles(24, 6, rng=rng)
    choice = choose_discriminant(ScatterSums(6, 6).add(features, labels), features, labels, rng, lessons=20)
    assert choice.learner.temperature == 1.0
    assert choice.log_losses[choice.shrinkage] == 0.0


def test_at_the_chosen_temperature_it_is_calibrated(rng):
    cols = 10
    learner_images, learner_labels = world(400, 5, cols, rng)
    sums = ScatterSums(400, cols).add(learner_images, learner_labels)
    features, labels = world(200, 6, cols, rng)
    learner = choose_discriminant(sums, features, labels, rng, candidates=(0.1,)).learner
    assert learner.temperature == pytest.approx(1.0, abs=0.15)
    probes, lessons = [], []
    for c in range(0, 200, 2):
        own, other = features[labels == c], features[labels == c + 1]
        probes.append(learner.predict(own[0], Lessons(Pool.of(own[1:3], other[1:3]), torch.tensor([[0, 1, 2, 3]]))))
        lessons.append(float(probes[-1].probability))
    p = torch.tensor(lessons).double()
    assert abs(float(p.mean()) - float((p > 0.5).double().mean())) < 0.1
