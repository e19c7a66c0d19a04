"""What samplers say of their maps, where the expected mask is known in closed form: either of two far places shows the class."""

from dataclasses import dataclass

import pytest
import torch
from torch import Generator, Tensor

from bayesteach import ExpectedMask, MaskPrior
from bayesteach.maths.learned import LearnedSampler
from bayesteach.maths.logistic_normal import mean_sigmoid
from bayesteach.maths.samplers import FEW, LEAST, PriorSampler, Sampler, verdict

PRIOR = MaskPrior(24, 6.0, mean=-1.0, sd=1.5, dtype=torch.float64)
PLACES = ((5, 5), (18, 18))
PASSES = 512


def log_weights(masks: Tensor, steep: float) -> Tensor:
    """As steep in the field at the first place as in that at the second."""
    field = (masks.logit() - PRIOR.mean) / PRIOR.sd
    return (steep * torch.stack([field[:, row, col] for row, col in PLACES], 1)).logsumexp(1, keepdim=True)


def truth(steep: float) -> Tensor:
    """Such weights turn the field's Gaussian into two, of equal weight, that stand where the kernel of a place raises them."""
    row, col = torch.meshgrid(*(torch.arange(24.0, dtype=torch.float64),) * 2, indexing="ij")
    raised = [torch.exp(-0.5 * ((row - r) ** 2 + (col - c) ** 2) / PRIOR.length_scale**2) for r, c in PLACES]
    sd = torch.tensor(PRIOR.sd, dtype=torch.float64)
    return torch.stack([mean_sigmoid(PRIOR.mean + sd * steep * part, sd.expand_as(part)) for part in raised]).mean(0)


def off(found: Tensor, steep: float) -> float:
    """The squared error beside the variance of the truth."""
    return float((found[0] - truth(steep)).square().mean() / truth(steep).var(correction=0))


def run(sampler: Sampler, steep: float, masks: int = PASSES) -> Sampler:
    proposed = sampler.propose(masks)
    sampler.learn(proposed, log_weights(proposed, steep))
    return sampler


@dataclass(frozen=True)
class Adaptive:
    """A trap: the Gaussian's mean moves to the weighted mean of batches before, and weights are the prior over the mixture."""

    map: Tensor
    effective: float

    @classmethod
    def of(cls, seed: int, steep: float) -> "Adaptive":
        rng, size = Generator().manual_seed(seed), (PASSES // 16, *PRIOR.latent_size)
        latents = torch.empty(0, *PRIOR.latent_size, dtype=torch.float64)
        means = [torch.zeros(PRIOR.latent_size, dtype=torch.float64)]
        for _ in range(16):
            latents = torch.cat([latents, means[-1] + torch.randn(size, generator=rng, dtype=torch.float64)])
            over = torch.stack([(latents * mean).sum((1, 2)) - mean.square().sum() / 2 for mean in means])
            weights = log_weights(PRIOR.masks(latents), steep) - over.logsumexp(0)[:, None]
            means.append((weights[:, 0].softmax(0)[:, None, None] * latents).sum(0))
        estimate = ExpectedMask(1, PRIOR.shape).add(PRIOR.masks(latents), weights)
        return cls(estimate.map, float(estimate.effective_samples))


def test_the_verdict_is_not_fooled_by_an_adaptive_samplers_own_effective_size():
    steep, fooled = 3.0, False
    for seed in (0, 1):
        adaptive = Adaptive.of(seed, steep)
        fooled |= adaptive.effective > LEAST and off(adaptive.map, steep) > 3
        for sampler in (PriorSampler(1, PRIOR, seed), LearnedSampler(1, PRIOR, seed)):
            found = run(sampler, steep).found()
            assert found.verdicts != ("converged",) or off(found.map, steep) < 0.1
            assert float(found.effective_samples) < LEAST
    assert fooled  # or there would be no trap


def test_stated_errors_of_an_average_are_its_errors_once_enough_masks_are_worth_something():
    inside = []
    for seed in range(20):
        found = run(PriorSampler(1, PRIOR, seed), 1.5, 2048).found()
        inside.append(((found.map[0] - truth(1.5)).abs() <= 1.96 * found.standard_error[0]).double().mean())
    assert 0.85 <= float(torch.stack(inside).mean()) <= 0.98


@pytest.mark.parametrize(
    ("noise", "worth", "said"),
    [(0.05, 200, "converged"), (0.05, 50, "rough"), (0.3, 200, "rough"), (0.6, 200, "noise"), (0.05, 20, "noise")],
)
def test_a_verdict_goes_by_the_error_and_by_what_the_masks_are_worth(noise, worth, said):
    assert verdict(noise, worth, LEAST, FEW) == said
