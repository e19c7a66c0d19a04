"""The learner in the span of its lesson against the learner in weight space."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from bayesteach import CurvatureSums, KroneckerGaussian, Learner, Lessons, NotConverged, Pool, ScatterSums
from bayesteach.maths import learner as module
from bayesteach.maths.learner import mode
from tests import oracles
from tests.oracles import doubles

COLS = 5


def head(rng: torch.Generator, size: float = 1.0) -> KroneckerGaussian:
    return KroneckerGaussian(
        doubles(4, COLS, rng=rng), size * doubles(4, 3, rng=rng), doubles(COLS, COLS, rng=rng) + torch.eye(COLS)
    )


def pool(rng: torch.Generator, views: int = 1, size: float = 1.0) -> Pool:
    return Pool.of(*(size * doubles(6, views, COLS, rng=rng) for _ in range(2)))


def in_weight_space(learner: Learner, probe, lessons: Lessons, lesson: int) -> tuple[float, float]:
    images = lessons.pool.features[lessons.members[lesson]]
    views = images.shape[1]
    return oracles.taught(
        learner.mean,
        learner.scale @ learner.scale.mT,
        images.flatten(0, 1),
        lessons.pool.is_target[lessons.members[lesson]].repeat_interleave(views),
        torch.full((len(images) * views,), 1.0 if learner.every_view_counts else 1 / views, dtype=torch.float64),
        probe,
    )


@given(
    st.integers(0, 999),
    st.sampled_from([1, 3]),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.1, 1.0, 10.0]),
)
def test_it_is_the_weight_space_learner(seed, views, every_view_counts, knowledge, prior_strength):
    rng = torch.Generator().manual_seed(seed)
    learner = Learner.between(
        head(rng), 2, 0, knowledge=knowledge, prior_strength=prior_strength, every_view_counts=every_view_counts
    )
    images, probe = pool(rng, views), doubles(COLS, rng=rng)
    lessons = Lessons(images, torch.tensor([[0, 1, 6, 7], [2, 3, 8, 9], [0, 6, 0, 6]]))
    pupil = learner.facing(probe, images)
    mean, sd, settled = pupil.logit(lessons.members)
    prediction = learner.predict(probe, lessons)
    assert settled.all()
    for lesson in range(3):
        expected_mean, expected_sd = in_weight_space(learner, probe, lessons, lesson)
        assert float(mean[lesson]) == pytest.approx(expected_mean, abs=1e-6)
        assert float(sd[lesson]) == pytest.approx(expected_sd, abs=1e-6)
        expected = oracles.mean_sigmoid(expected_mean, expected_sd)
        assert float(prediction.probability[lesson]) == pytest.approx(expected, abs=1e-6)


def test_the_prior_is_the_head_alone(rng):
    learner, images, probe = Learner.between(head(rng), 1, 3), pool(rng), doubles(COLS, rng=rng)
    prediction = learner.predict(probe, Lessons(images, torch.tensor([[0, 1, 6, 7]])))
    spread = float(torch.linalg.vector_norm(probe @ learner.scale))
    assert float(prediction.prior) == pytest.approx(oracles.mean_sigmoid(float(probe @ learner.mean), spread), abs=1e-9)
    torch.testing.assert_close(prediction.taught, prediction.log_odds - prediction.prior_log_odds)
    torch.testing.assert_close(prediction.probability.logit() - prediction.prior.logit(), prediction.taught)


def test_draws_agree_within_their_error(rng):
    learner, images, probe = Learner.between(head(rng), 1, 3), pool(rng), doubles(COLS, rng=rng)
    members = torch.tensor([[0, 1, 6, 7], [2, 3, 8, 9]])
    drawn = learner.facing(probe, images).predict_by_draws(members, rng, draws=100_000)
    exact = learner.predict(probe, Lessons(images, members)).probability
    assert drawn.settled.all()
    assert ((drawn.probability - exact).abs() < 5 * 0.5 / 100_000**0.5).all()


def test_swapping_the_labels_swaps_the_answer(rng):
    w, images, probe = head(rng), pool(rng), doubles(COLS, rng=rng)
    swapped = Pool(images.features, ~images.is_target, images.ids)
    members = torch.tensor([[0, 1, 6, 7], [2, 3, 8, 9]])
    one = Learner.between(w, 1, 3).predict(probe, Lessons(images, members))
    other = Learner.between(w, 3, 1).predict(probe, Lessons(swapped, members))
    torch.testing.assert_close(one.log_odds, -other.log_odds)


@given(st.integers(0, 99), st.permutations(range(4)))
def test_order_batching_and_company_do_not_matter(seed, order):
    rng = torch.Generator().manual_seed(seed)
    learner, images, probe = Learner.between(head(rng), 1, 3), pool(rng), doubles(COLS, rng=rng)
    members = torch.cat([torch.randint(0, 6, (30, 2), generator=rng), torch.randint(6, 12, (30, 2), generator=rng)], 1)
    together = learner.predict(probe, Lessons(images, members)).log_odds
    apart = torch.cat([learner.predict(probe, Lessons(images, some)).log_odds for some in members.split([1, 2, 22, 5])])
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-9)
    shuffled = learner.predict(probe, Lessons(images, members[:, list(order)])).log_odds
    torch.testing.assert_close(together, shuffled, rtol=0, atol=1e-9)


def test_lessons_that_do_not_fit_in_memory_at_once_are_taught_in_turn(rng, monkeypatch):
    learner, images, probe = Learner.between(head(rng), 1, 3), pool(rng, views=3), doubles(COLS, rng=rng)
    lessons = Lessons(images, torch.randint(0, 12, (9, 4), generator=rng))
    at_once = learner.predict(probe, lessons).log_odds
    monkeypatch.setattr(module, "GRAM_BYTES", 1)
    torch.testing.assert_close(learner.predict(probe, lessons).log_odds, at_once, rtol=0, atol=1e-9)


def test_views_share_an_examples_weight_unless_each_counts(rng):
    w, probe = head(rng), doubles(COLS, rng=rng)
    once = pool(rng)
    thrice = Pool(once.features.repeat(1, 3, 1), once.is_target, once.ids)
    repeated = torch.tensor([[0, 0, 0, 1, 1, 1, 6, 6, 6, 7, 7, 7]])
    members = torch.tensor([[0, 1, 6, 7]])

    def log_odds(images: Pool, members: torch.Tensor, *, every_view_counts: bool) -> torch.Tensor:
        learner = Learner.between(w, 1, 3, every_view_counts=every_view_counts)
        return learner.predict(probe, Lessons(images, members)).log_odds

    torch.testing.assert_close(
        log_odds(thrice, members, every_view_counts=False), log_odds(once, members, every_view_counts=False)
    )
    torch.testing.assert_close(
        log_odds(thrice, members, every_view_counts=True), log_odds(once, repeated, every_view_counts=False)
    )


@pytest.mark.parametrize(("prior_mean", "gram"), [(-3.0, 30.0), (-4.0, 15.0), (-10.0, 20.0)])
def test_lessons_on_which_plain_newton_cycles_settle(prior_mean, gram):
    # One example of the target: its logit is the root of f = m + k σ(−f).
    found = mode(
        torch.tensor([[prior_mean]]).double(), torch.tensor([[[gram]]]).double(), torch.ones(1, 1).double(), 1.0
    )
    expected = brentq(
        lambda logit: prior_mean + gram * expit(-logit) - logit, prior_mean, prior_mean + gram, xtol=1e-13
    )
    assert found.settled.all()
    assert prior_mean + gram * float(found.dual) == pytest.approx(expected, abs=1e-8)

    # And plain Newton does cycle there.
    logit = prior_mean
    for _ in range(200):
        p = expit(logit)
        step = (gram * (1 - p) - (logit - prior_mean)) / (1 + gram * p * (1 - p))
        logit += step
    assert abs(step) > 1


EXTREMES = torch.tensor([[0, 0, 0, 0], [0, 1, 6, 7], [6, 6, 6, 6], [0, 6, 0, 6]])


def extreme(seed: int, image_size: float, prior_size: float, head_size: float):
    """Repeated, separable and contradictory examples, of any size, under any prior."""
    rng = torch.Generator().manual_seed(seed)
    images, w = pool(rng, size=image_size), head(rng, prior_size)
    learner = Learner(head_size * w.contrast(1, 3).mean, w.contrast(1, 3).scale)
    return learner.facing(doubles(COLS, rng=rng), images).predict(EXTREMES)


@given(
    st.integers(0, 999),
    st.sampled_from([(1e-6, 1e6), (1e-6, 1e-6), (1.0, 1e-6), (1.0, 1.0), (1.0, 1e2), (1e2, 1.0), (1e6, 1e-6)]),
    st.sampled_from([1e-3, 1.0, 10.0]),
)
def test_repeated_separable_and_contradictory_examples_settle(seed, sizes, head_size):
    """As long as the prior leaves logits a standard deviation of up to a few hundred."""
    prediction = extreme(seed, *sizes, head_size)
    assert prediction.settled.all()
    assert prediction.log_odds.isfinite().all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1e2, 1e5, 1e8, 1e15, 1e150])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_cannot_be_told_is_marked_and_what_is_told_is_right(seed, size, dtype):
    rng = torch.Generator().manual_seed(seed)
    size = min(size, 1e15) if dtype == torch.float32 else size  # beyond it, products overflow
    learner = Learner(doubles(COLS, rng=rng).to(dtype), (size * doubles(COLS, COLS, rng=rng)).to(dtype))
    images, probe = pool(rng), doubles(COLS, rng=rng)
    pupil = learner.facing(probe, images)
    prediction, (mean, sd, settled) = pupil.predict(EXTREMES), pupil.logit(EXTREMES)
    assert prediction.log_odds.isfinite().all()
    assert prediction.taught[~settled].abs().sum() == 0
    for lesson in settled.nonzero()[:, 0].tolist():
        gram, cross = pupil._gram(EXTREMES[lesson, None])[0], pupil._cross[EXTREMES[lesson], 0]
        labels = images.is_target[EXTREMES[lesson]].tolist()
        expected_mean, expected_sd = oracles.taught_in_many_digits(
            pupil.means[EXTREMES[lesson], 0], gram, cross, labels, pupil.probe_mean, pupil.probe_white
        )
        assert float(sd[lesson]) == pytest.approx(expected_sd, rel=1e-3)
        assert abs(float(mean[lesson]) - expected_mean) < 1e-3 * (1 + expected_sd)


def test_lessons_that_do_not_settle_are_named_and_the_others_returned(rng, monkeypatch):
    # Two steps are enough for an easy lesson and too few for one on which Newton must halve its step.
    monkeypatch.setattr(module, "NEWTON_STEPS", 4)
    learner = Learner(torch.tensor([1.0, 0.0]).double(), torch.eye(2).double())
    easy, hard = torch.tensor([[0.0, 0.1], [0.0, 0.2]]).double(), torch.tensor([[-4.0, 60.0], [-4.0, 61.0]]).double()
    images = Pool.of(torch.cat([easy, hard]), easy + 0.01)
    members = torch.tensor([[0, 1, 4, 5], [2, 3, 2, 3]])
    with pytest.raises(NotConverged, match=r"1 of 2 lessons did not settle \(lessons 1\)") as raised:
        learner.predict(torch.ones(2).double(), Lessons(images, members))
    partial = raised.value.partial
    assert partial.settled.tolist() == [True, False]
    assert partial.log_odds.isfinite().all()
    monkeypatch.undo()
    complete = learner.predict(torch.ones(2).double(), Lessons(images, members))
    torch.testing.assert_close(complete.log_odds[0], partial.log_odds[0])


def test_a_novice_with_a_weak_prior_believes_the_examples(rng):
    w = KroneckerGaussian(doubles(4, COLS, rng=rng), doubles(4, 3, rng=rng), torch.eye(COLS).double())
    images = Pool.of(0.1 * doubles(6, COLS, rng=rng) + 1, 0.1 * doubles(6, COLS, rng=rng) - 1)
    probe, lessons = torch.ones(COLS, dtype=torch.float64), Lessons(images, torch.tensor([[0, 1, 6, 7]]))
    novice, stubborn = (
        Learner.between(w, 1, 3, knowledge=0.0, prior_strength=strength).predict(probe, lessons)
        for strength in (0.1, 1e6)
    )
    assert float(novice.prior) == float(stubborn.prior) == pytest.approx(0.5)
    assert float(novice.probability) > 0.8
    assert float(stubborn.probability) == pytest.approx(0.5, abs=0.001)


def test_a_networks_own_tensors_serve_as_they_come(rng):
    """A head that is a parameter, and features that remember how they were made."""
    layer = torch.nn.Linear(COLS, 3, bias=False).double()
    features = doubles(20, COLS, rng=rng).requires_grad_()
    posterior = CurvatureSums(3, COLS).add(features, layer(features).softmax(1)).posterior(layer.weight)
    scatter = ScatterSums(3, COLS).add(features, torch.arange(20) % 3)
    images, members = Pool.of(features[1:5], features[5:9]), torch.tensor([[0, 1, 4, 5]])
    for learner in (Learner.between(posterior, 0, 1), scatter.learner()):
        found = learner.predict(features[0], Lessons(images, members)).log_odds
        assert not found.requires_grad
        for narrow in (torch.int8, torch.int32):
            torch.testing.assert_close(
                learner.predict(features[0], Lessons(images, members.to(narrow))).log_odds, found
            )


def test_products_looked_up_are_those_made(rng):
    learner, images, probe = Learner.between(head(rng), 1, 3), pool(rng), doubles(COLS, rng=rng)
    pupil = learner.facing(probe, images)
    members = torch.randint(0, 12, (50, 4), generator=rng)
    few = torch.cat([pupil.logit(m)[0] for m in members.split(2)])
    assert "_products" not in pupil.__dict__
    torch.testing.assert_close(pupil.logit(members)[0], few)
    assert "_products" in pupil.__dict__
