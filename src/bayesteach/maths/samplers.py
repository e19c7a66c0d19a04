"""Which masks to weigh, and what their weights say: a sampler proposes masks, and learns from what they weigh."""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bayesteach.maths.masks import MaskPrior
from bayesteach.maths.saliency import ExpectedMask

Verdict = Literal["converged", "rough", "noise"]
# The share of a map's variance that may be error before it counts as rough, and as noise.
ROUGH, NOISE = 0.1, 0.5
# Of fewer effective masks an average's stated error is itself a guess; an average that is to count as converged wants more.
FEW, LEAST = 100.0, 30.0
# The sizes at which an error is looked at, and at no others: stopping whenever it happens to be small would make it untrue.
# The first is the least number of masks that anything is said of.
LOOKS = tuple(128 * 2**k for k in range(12))
# Masks added at a time, in float64.
BATCH = 64


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a sampler makes of its masks: expected masks, their standard errors, and how far to believe either.

    effective_samples  (Σ w)² / Σ w² of the prior's masks that were weighed, which no learning can flatter
    noise              the share of a map's variance over its pixels that is error; all, of a map that does not vary
    """

    map: Float[Tensor, "classes height width"]
    standard_error: Float[Tensor, "classes height width"]
    effective_samples: Float[Tensor, " classes"]
    noise: Float[Tensor, " classes"]
    verdicts: tuple[Verdict, ...]


class Sampler(Protocol):
    """A way to an expected mask."""

    @property
    def count(self) -> int:
        """How many masks it has learned from."""
        ...

    def propose(self, n: int) -> Float[Tensor, "n height width"]:
        """The next masks to weigh."""
        ...

    def learn(self, masks: Float[Tensor, "n height width"], log_weights: Float[Tensor, "n classes"]) -> None:
        """Take in the log probability of each class under each of these masks."""
        ...

    def found(self) -> Found:
        """The expected masks, from all that was learned."""
        ...


class PriorSampler:
    """The paper's: independent masks of the prior, averaged by their weights. Consistent, and it knows of nothing but masks."""

    def __init__(self, classes: int, prior: MaskPrior, seed: int) -> None:
        self._prior, self._rng = prior, Generator().manual_seed(seed)
        self._average = ExpectedMask(classes, prior.shape)

    @property
    def count(self) -> int:
        return self._average.count

    def propose(self, n: int) -> Float[Tensor, "n height width"]:
        return self._prior.sample(n, self._rng)

    def learn(self, masks: Float[Tensor, "n height width"], log_weights: Float[Tensor, "n classes"]) -> None:
        for some, weights in zip(masks.split(BATCH), log_weights.split(BATCH), strict=True):
            self._average.add(some, weights)

    def found(self) -> Found:
        mean, error, worth = self._average.map, self._average.standard_error, self._average.effective_samples
        # Error adds to what varies in an average.
        noise = share(error.square().mean((1, 2)), mean.var((1, 2), correction=0))
        verdicts = (verdict(n, w, LEAST, FEW) for n, w in zip(noise.tolist(), worth.tolist(), strict=True))
        return Found(mean, error, worth, noise, tuple(verdicts))


def share(error: Tensor, varies: Tensor) -> Tensor:
    """What part of what varies is error."""
    return torch.where(varies > 0, error / varies, 1)


def verdict(noise: float, worth: float, least: float, enough: float) -> Verdict:
    """converged, rough or noise: of masks worth fewer than the least no error is believed, and converged are only enough."""
    if noise > NOISE or worth < least:
        return "noise"
    return "rough" if noise > ROUGH or worth < enough else "converged"
