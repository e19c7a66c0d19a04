"""Learned maps against the truth of a class that is known, and the process against dense algebra."""

import pytest
import torch
from torch import Generator, Tensor

from bayesteach import BadInput, ExpectedMask, MaskPrior
from bayesteach.errors import NotFinite
from bayesteach.maths.learned import MOST, LearnedSampler, _fit, _kernel
from bayesteach.maths.samplers import Found
from tests.oracles import doubles

PRIOR = MaskPrior(48, 4.8)
RUNS, FEW = 6, 128


def log_weights(masks: Tensor) -> Tensor:
    """A class that wants one patch or another to be shown, and little beside them: hard to see, as real ones are."""
    first, second, beside = masks[:, 8:20, 8:20], masks[:, 26:40, 24:40], masks[:, 30:, :16]
    wanted = torch.stack([first.mean((1, 2)), second.mean((1, 2))]).amax(0) - beside.mean((1, 2))
    return torch.nn.functional.logsigmoid(9 * wanted - 6)[:, None]


def learned(masks: Tensor, weights: Tensor, seed: int = 0) -> Found:
    sampler = LearnedSampler(weights.shape[1], PRIOR, seed)
    sampler.learn(masks, weights)
    return sampler.found()


@pytest.fixture(scope="module")
def truth() -> Tensor:
    estimate = ExpectedMask(1, 48)
    for masks in PRIOR.stream(20_000, Generator().manual_seed(99), 2_000):
        estimate.add(masks, log_weights(masks))
    return estimate.map


@pytest.fixture(scope="module")
def runs():
    found = []
    for seed in range(RUNS):
        sampler = LearnedSampler(1, PRIOR, seed)
        masks = sampler.propose(FEW)
        weights = log_weights(masks)
        sampler.learn(masks, weights)
        found.append((sampler.found(), ExpectedMask(1, 48).add(masks, weights)))
    return found


def test_it_is_nearer_to_the_truth_than_the_average_of_the_same_masks(truth, runs):
    ours = torch.stack([found.map - truth for found, _ in runs]).square().mean().sqrt()
    average = torch.stack([plain.map - truth for _, plain in runs]).square().mean().sqrt()
    flat = (PRIOR.mean_mask - truth).square().mean().sqrt()
    assert ours < 0.6 * average
    assert ours < 0.8 * flat


def test_the_truth_is_within_the_stated_error_as_often_as_it_says(truth, runs):
    inside = torch.stack([(found.map - truth).abs() <= 1.96 * found.standard_error for found, _ in runs])
    assert 0.85 <= float(inside.double().mean()) <= 0.995


def test_weights_that_masks_do_not_explain_give_no_map():
    rng = Generator().manual_seed(1)
    masks = PRIOR.sample(256, rng)
    found = learned(masks, 3 * doubles(256, 1, rng=rng))
    off = (found.map - PRIOR.mean_mask).abs()
    assert float((off <= 3 * found.standard_error).double().mean()) > 0.95
    assert found.verdicts != ("converged",)


def test_more_masks_lower_the_error():
    masks = PRIOR.sample(512, Generator().manual_seed(3))
    few, many = (learned(some, log_weights(some)) for some in (masks[:64], masks))
    assert many.standard_error.mean() < 0.7 * few.standard_error.mean()
    assert many.noise < few.noise
    assert few.verdicts == ("noise",)  # whatever its process says of so few


def test_batches_and_other_classes_change_nothing():
    masks = PRIOR.sample(60, Generator().manual_seed(2))
    weights = log_weights(masks)
    whole = learned(masks, weights)
    sampler = LearnedSampler(2, PRIOR, 0)
    for some in torch.cat([weights, -weights], 1).split(25):
        sampler.learn(masks[sampler.count : sampler.count + len(some)], some)
    parts = sampler.found()
    torch.testing.assert_close(parts.map[:1], whole.map)
    torch.testing.assert_close(parts.standard_error[:1], whole.standard_error)


def test_a_photo_need_not_be_square():
    prior = MaskPrior((32, 64), 6.4)
    sampler = LearnedSampler(1, prior, 0)
    masks = sampler.propose(40)
    sampler.learn(masks, masks.mean((1, 2))[:, None])
    found = sampler.found()
    assert found.map.shape == found.standard_error.shape == (1, 32, 64)


def test_the_likelihood_is_that_of_dense_algebra():
    rng = Generator().manual_seed(0)
    seen, values = doubles(9, 4, rng=rng), doubles(9, rng=rng)
    kernel = _kernel(seen, seen, 1.4)
    fit = _fit(kernel, values, 1.4)
    # The restricted likelihood is that of contrasts, which no common mean can reach.
    contrasts = torch.linalg.svd(torch.ones(1, 9, dtype=torch.float64))[2][1:]
    covariance = contrasts @ (fit.noise * (torch.eye(9) + fit.ratio * kernel)) @ contrasts.mT
    dense = torch.distributions.MultivariateNormal(torch.zeros(8, dtype=torch.float64), covariance)
    said = fit.likelihood - 4 * (1 + torch.log(torch.tensor(2 * torch.pi))) + 0.5 * torch.log(torch.tensor(9.0))
    assert float(dense.log_prob(contrasts @ values)) == pytest.approx(float(said), rel=1e-6)
    inverse = torch.linalg.inv(torch.eye(9) + fit.ratio * kernel)
    assert fit.mean == pytest.approx(float((inverse @ values).sum() / inverse.sum()))


def test_what_cannot_be_learned_from_is_refused():
    masks = PRIOR.sample(2, Generator().manual_seed(0))
    for some in (masks[:1], masks[:1].expand(MOST + 1, -1, -1)):
        with pytest.raises(BadInput, match=f"found {len(some)} masks, expected 2 to {MOST}"):
            learned(some, log_weights(some))
    with pytest.raises(NotFinite):
        learned(masks, log_weights(masks) - torch.inf)


def test_what_is_worth_few_masks_is_never_called_converged():
    """However sure the process is, because log weights follow what masks show."""
    masks = PRIOR.sample(256, Generator().manual_seed(5))
    shown = masks[:, 10:20, 10:20].mean((1, 2))[:, None]
    gentle, steep = learned(masks, 5 * shown), learned(masks, 10 * shown)
    assert gentle.verdicts == ("converged",)
    assert float(steep.noise) < 0.1
    assert float(steep.effective_samples) < 10
    assert steep.verdicts == ("noise",)
