"""What samplers say of their maps, against a class whose expected mask is known: it is shown by either of two far patches."""

from dataclasses import dataclass

import pytest
import torch
from torch import Generator, Tensor

from bayesteach import ExpectedMask, MaskPrior
from bayesteach.maths.samplers import FEW, LEAST, Found, PriorSampler, verdict

PRIOR = MaskPrior(24, 6.0)
PASSES = 512


def log_weights(masks: Tensor) -> Tensor:
    """Two ways to be seen: the first is found soon, the second seldom, and it weighs more."""
    first, second = masks[:, 2:8, 2:8].mean((1, 2)), masks[:, 12:24, 12:24].mean((1, 2))
    return torch.stack([10 * first - 10, 24 * second - 15.5]).logsumexp(0)[:, None]


@pytest.fixture(scope="module")
def truth() -> Found:
    return weighed(PriorSampler(1, PRIOR, 99), 100_000)


def weighed(sampler: PriorSampler, masks: int) -> Found:
    while sampler.count < masks:
        some = sampler.propose(min(5000, masks - sampler.count))
        sampler.learn(some, log_weights(some))
    return sampler.found()


@dataclass(frozen=True)
class Adaptive:
    """A trap: the Gaussian's mean moves to the weighted mean of the batches before, and weights are the prior over the mixture."""

    map: Tensor
    effective: float

    @classmethod
    def of(cls, seed: int) -> "Adaptive":
        rng = Generator().manual_seed(seed)
        latents, means, seen = torch.empty(0, *PRIOR.latent_size), [torch.zeros(PRIOR.latent_size)], []
        for _ in range(8):
            latents = torch.cat([latents, means[-1] + torch.randn(PASSES // 8, *PRIOR.latent_size, generator=rng)])
            seen.append(log_weights(PRIOR.masks(latents[-PASSES // 8 :]))[:, 0])
            # All proposals so far, as one mixture: log density over the prior's.
            over = torch.stack([(latents * m).sum((1, 2)) - m.square().sum() / 2 for m in means]).logsumexp(0)
            log_w = torch.cat(seen) - over + torch.tensor(float(len(means))).log()
            means.append((log_w.softmax(0)[:, None, None] * latents).sum(0))
        estimate = ExpectedMask(1, PRIOR.shape).add(PRIOR.masks(latents), log_w[:, None])
        return cls(estimate.map, float(estimate.effective_samples))


def test_the_verdict_is_not_fooled_by_an_adaptive_samplers_own_effective_size(truth):
    runs = [(Adaptive.of(seed), weighed(PriorSampler(1, PRIOR, seed), PASSES)) for seed in range(5)]
    fooled = 0
    for adaptive, plain in runs:
        off = float((adaptive.map - truth.map).square().mean() / truth.map.var(correction=0))
        fooled += adaptive.effective > LEAST and off > 0.5
        off = float((plain.map - truth.map).square().mean() / truth.map.var(correction=0))
        assert plain.verdicts == ("noise",) or off < 0.5
    assert fooled >= 3  # or there would be no trap


def test_stated_errors_are_the_errors(truth):
    inside = []
    for seed in range(12):
        found = weighed(PriorSampler(1, PRIOR, seed), 8192)
        inside.append(((found.map - truth.map).abs() <= 1.96 * found.standard_error).double().mean())
    assert 0.85 <= float(torch.stack(inside).mean()) <= 0.98


@pytest.mark.parametrize(
    ("noise", "worth", "said"),
    [(0.05, 200, "converged"), (0.05, 50, "rough"), (0.3, 200, "rough"), (0.6, 200, "noise"), (0.05, 20, "noise")],
)
def test_a_verdict_goes_by_the_error_and_by_what_the_masks_are_worth(noise, worth, said):
    assert verdict(noise, worth, LEAST, FEW) == said
