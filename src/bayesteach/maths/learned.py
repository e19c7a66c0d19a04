"""The expected mask, learned: what masks that nobody weighed would weigh, from those that were.

Weights are so uneven that a few masks hold them all, and an average over those is mostly noise. Their logarithms are not: every
mask, whether the class shows under it or not, says something about masks like it. A Gaussian process learns log weights from what
masks show, and the expected mask is averaged over thousands of others, at the log weights that it expects of them.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import interpolate

from bayesteach.errors import BadInput
from bayesteach.maths import checks
from bayesteach.maths.masks import MaskPrior
from bayesteach.maths.samplers import LOOKS, Found, share, verdict

# Points of the grid that masks are looked at, in a length scale: the map is smooth between them.
POINTS = 3
# Masks that a map is averaged over, and those of them that tell how the errors of their weights go together.
POOL, PAIRS = 8192, 1024
# What is tried for the kernel: its length beside the norm of a mask, and its variance beside the noise's.
LENGTHS = (0.5, 0.7, 1.0, 1.4, 2.0)
RATIOS = tuple(torch.logspace(-2.5, 1.5, 17, dtype=torch.float64).tolist())
# Masks that the length is chosen by: five lengths on all masks would take most of the time.
SOME = 512
# The least variance of noise.
TINY = 1e-12
# Time grows with the cube of the masks: beyond these an average is the better tool.
MOST = 2048
# Where few masks hold all the weight the process is surer than it should be: of six photos on the two whose thousand masks were
# worth 5 and 13, and not on those worth 19 and more. Of fewer than the first nothing is believed; converged is only what is worth
# the second.
LEAST, ENOUGH = 15.0, 30.0


class LearnedSampler:
    """Masks of the prior and their log weights, on a grid as fine as masks are smooth, and the expected mask learned from them.

    Biased where the class depends on masks in another way than a stationary process says: the error holds what is not known under
    that process. `PriorSampler` knows of none.
    """

    def __init__(self, classes: int, prior: MaskPrior, seed: int) -> None:
        checks.some("classes", classes)
        self._prior, self._classes, self._seed = prior, classes, seed
        self._rng = Generator().manual_seed(seed)
        grid = tuple(min(side, round(POINTS * side / prior.length_scale)) for side in prior.shape)
        # Pixels of the grid are square but for rounding: the length scale follows the rows'.
        coarser = grid[0] / prior.shape[0]
        self._coarse = MaskPrior((grid[0], grid[1]), prior.length_scale * coarser, prior.mean, prior.sd, torch.float64)
        self._masks: list[Tensor] = []
        self._log_weights: list[Tensor] = []

    @property
    def count(self) -> int:
        return sum(len(part) for part in self._masks)

    def propose(self, n: int) -> Float[Tensor, "n height width"]:
        return self._prior.sample(n, self._rng)

    def learn(self, masks: Float[Tensor, "n height width"], log_weights: Float[Tensor, "n classes"]) -> None:
        checks.sizes("masks", masks, "n", *self._prior.shape)
        checks.sizes("log_weights", log_weights, len(masks), self._classes)
        checks.finite("masks", masks)
        checks.finite("log_weights", log_weights)
        self._masks.append(interpolate(masks[:, None], self._coarse.shape, mode="area")[:, 0].double())
        self._log_weights.append(log_weights.detach().double())

    def found(self) -> Found:
        if not 2 <= self.count <= MOST:
            raise BadInput(
                f"learned mask: found {self.count} masks, expected 2 to {MOST}. Average them, with the sampler prior."
            )
        seen, log_weights = self._shown(torch.cat(self._masks)), torch.cat(self._log_weights)
        pool = _pool(self._coarse, self._seed)
        shown, pixels = self._shown(pool), pool.flatten(1)
        learned = [_learn(seen, values, shown, pixels) for values in log_weights.mT]
        mean, error = (self._full(torch.stack(parts)) for parts in zip(*learned, strict=True))
        # What is not known of the truth is missing from what varies in a learned map.
        unknown = error.square().mean((1, 2))
        noise = share(unknown, mean.var((1, 2), correction=0) + unknown)
        worth = (2 * log_weights.logsumexp(0) - (2 * log_weights).logsumexp(0)).exp()
        # Of fewer masks than are ever looked at, nothing is believed.
        least = LEAST if self.count >= LOOKS[0] else torch.inf
        verdicts = (verdict(n, w, least, ENOUGH) for n, w in zip(noise.tolist(), worth.tolist(), strict=True))
        return Found(mean, error, worth, noise, tuple(verdicts))

    def _shown(self, masks: Tensor) -> Float[Tensor, "n features"]:
        """Masks as the prior's kernel sees them: the inner product of two is Σ mask · kernel · mask, over all pairs of pixels."""
        departures = masks - self._coarse.mean_mask
        return (self._coarse.row_factor.mT @ departures @ self._coarse.col_factor).flatten(1)

    def _full(self, grid: Float[Tensor, "classes points"]) -> Float[Tensor, "classes height width"]:
        coarse = grid.unflatten(1, self._coarse.shape)
        return interpolate(coarse[:, None], self._prior.shape, mode="bicubic")[:, 0].clamp(0, 1)


def _learn(seen: Tensor, log_weights: Tensor, shown: Tensor, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Map and error of one class, at the pixels of the pool."""
    norm = seen.square().sum(1).mean().sqrt()
    seen, shown = seen / norm, shown / norm
    some, values = seen[:SOME], log_weights[:SOME]
    tried = (_fit(_kernel(some, some, length), values, length) for length in LENGTHS)
    length = max(tried, key=lambda fit: fit.likelihood).length
    best = _fit(_kernel(seen, seen, length), log_weights, length)
    inner = torch.linalg.cholesky(_kernel(seen, seen, best.length) + torch.eye(len(seen)) / best.ratio)
    dual = torch.cholesky_solve((log_weights - best.mean)[:, None], inner)
    expected = (_kernel(shown, seen, best.length) @ dual)[:, 0]
    mean = expected.softmax(0) @ pixels
    # What the map of a smaller pool moves by with the log weight of each of its masks, and the covariance of those.
    few, weights = shown[:PAIRS], expected[:PAIRS].softmax(0)
    slopes = weights[:, None] * (pixels[:PAIRS] - mean)
    across = torch.linalg.solve_triangular(inner, _kernel(seen, few, best.length), upper=False)
    unknown = _kernel(few, few, best.length) - across.mT @ across
    alone = unknown.diagonal() @ slopes.square()
    together = (slopes * (unknown @ slopes)).sum(0) - alone
    # What masks have for themselves is less in the whole pool, which is not infinite either.
    share_of_pool = len(few) / len(shown)
    variance = best.noise * best.ratio * (together.clamp_min(0) + share_of_pool * alone)
    return mean, (variance + share_of_pool * slopes.square().sum(0)).sqrt()


@lru_cache(maxsize=4)
def _pool(prior: MaskPrior, seed: int) -> Float[Tensor, "pool height width"]:
    """Masks to average over, the same for every photo."""
    return prior.sample_sobol(POOL, seed)


@dataclass(frozen=True, slots=True)
class _Fit:
    """A kernel's length, its variance beside the noise's, and the mean and noise variance that go best with them."""

    likelihood: float
    length: float
    ratio: float
    mean: float
    noise: float


def _fit(kernel: Tensor, values: Tensor, length: float) -> _Fit:
    """The best ratio for a kernel, by restricted likelihood: in its eigenvectors all ratios cost next to nothing."""
    eigenvalues, vectors = torch.linalg.eigh(kernel)
    turned, ones, n = vectors.mT @ values, vectors.sum(0), len(values)

    def at(ratio: float) -> _Fit:
        spread = 1 + ratio * eigenvalues.clamp_min(0)
        certainty = (ones.square() / spread).sum()
        mean = (turned * ones / spread).sum() / certainty
        # Not 0, or log weights that are all the same would have no likelihood.
        noise = (((turned - mean * ones).square() / spread).sum() / (n - 1)).clamp_min(TINY)
        likelihood = -0.5 * ((n - 1) * noise.log() + spread.log().sum() + certainty.log())
        return _Fit(float(likelihood), length, ratio, float(mean), float(noise))

    return max((at(ratio) for ratio in RATIOS), key=lambda fit: fit.likelihood)


def _kernel(some: Tensor, others: Tensor, length: float) -> Tensor:
    return torch.exp(-0.5 * (torch.cdist(some, others) / length).square())
