"""The matrix normal: a random linear head, its logits, and the class probabilities that they give."""

from dataclasses import dataclass, replace
from math import pi

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bayesteach.maths import checks


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """A random vector x ~ N(mean, scale scaleᵀ)."""

    mean: Float[Tensor, " size"]
    scale: Float[Tensor, "size rank"]

    @property
    def covariance(self) -> Float[Tensor, "size size"]:
        return self.scale @ self.scale.mT

    def sample(self, draws: int, rng: Generator) -> Float[Tensor, "draws size"]:
        return self.mean + _standard_normal((draws, self.scale.shape[1]), rng, self.mean) @ self.scale.mT


@dataclass(frozen=True, slots=True, eq=False)
class Logits:
    """The random logits of some images: image i has f ~ N(mean[i], spread[i]² · R Rᵀ), with R = row_scale."""

    mean: Float[Tensor, "*images rows"]
    spread: Float[Tensor, "*images"]
    row_scale: Float[Tensor, "rows row_rank"]

    def sample(self, draws: int, rng: Generator) -> Float[Tensor, "draws *images rows"]:
        noise = _standard_normal((draws, *self.spread.shape, self.row_scale.shape[1]), rng, self.mean)
        return self.mean + self.spread[..., None] * (noise @ self.row_scale.mT)

    def probabilities(self, rng: Generator, draws: int = 100) -> Float[Tensor, "*images rows"]:
        """E[softmax(f)] by Monte Carlo; one draw of all images is in memory at a time."""
        checks.some("draws", draws)
        total = torch.zeros_like(self.mean)
        for _ in range(draws):
            total += self.sample(1, rng)[0].softmax(-1)
        return total / draws

    def mean_field_probit(self) -> Float[Tensor, "*images rows"]:
        """E[softmax(f)] ≈ softmax(f̄ / √(1 + π/8 · var f)), class by class: no draws, but not exact.

        Logits are taken less their mean over the classes, which softmax does not see and this formula would. It forgets how
        the classes covary. With 100 classes and logits of standard deviation 0.3, 1 and 3 it was off by up to 0.014, 0.09 and
        0.16, and changed the top class of 0, 6 and 28 % of images (benchmarks/bench_predictive.py).
        """
        centred = self.row_scale - self.row_scale.mean(0)
        variance = (self.spread[..., None] * torch.linalg.vector_norm(centred, dim=1)) ** 2
        mean = self.mean - self.mean.mean(-1, keepdim=True)
        return (mean / (1 + pi / 8 * variance).sqrt()).softmax(-1)


@dataclass(frozen=True, slots=True, eq=False)
class KroneckerGaussian:
    """A random matrix W with vec(W) ~ N(vec(mean), C Cᵀ ⊗ R Rᵀ): R scales its rows (classes), C its columns (features).

    Equivalently W = mean + R Q Cᵀ with Q standard normal. W is rows × cols, and vec stacks its columns.
    """

    mean: Float[Tensor, "rows cols"]
    row_scale: Float[Tensor, "rows row_rank"]
    col_scale: Float[Tensor, "cols col_rank"]

    def __post_init__(self) -> None:
        checks.sizes("mean", self.mean, "rows", "cols")
        rows, cols = self.mean.shape
        checks.sizes("row_scale", self.row_scale, rows, "row_rank")
        checks.sizes("col_scale", self.col_scale, cols, "col_rank")
        for name, tensor in (("mean", self.mean), ("row_scale", self.row_scale), ("col_scale", self.col_scale)):
            checks.floating(name, tensor)
            checks.finite(name, tensor)
            checks.same_precision(name, tensor, self.mean)

    def spread(self, row: int, other: int) -> Float[Tensor, ""]:
        """√κ: the difference of two rows is N(·, κ · C Cᵀ), κ = ‖R[row] − R[other]‖²."""
        checks.index("row", row, self.mean.shape[0])
        checks.index("other", other, self.mean.shape[0])
        return torch.linalg.vector_norm(self.row_scale[row] - self.row_scale[other])

    def contrast(self, row: int, other: int) -> Gaussian:
        """The difference of two rows: all that a two-class softmax can see."""
        scale = self.spread(row, other) * self.col_scale
        return Gaussian(self.mean[row] - self.mean[other], scale)

    def at(self, features: Float[Tensor, "*images cols"]) -> Logits:
        """The logits W z of images with these features: covariance (zᵀ C Cᵀ z) · R Rᵀ."""
        features = self._ready(features)
        mean, spread = features @ self.mean.mT, torch.linalg.vector_norm(features @ self.col_scale, dim=-1)
        # Features that are finite, and too large: their softmax would be NaN.
        checks.finite("logits", mean)
        checks.finite("spread of the logits", spread)
        return Logits(mean, spread, self.row_scale)

    def sample(self, draws: int, rng: Generator) -> Float[Tensor, "draws rows cols"]:
        checks.some("draws", draws)
        noise = _standard_normal((draws, self.row_scale.shape[1], self.col_scale.shape[1]), rng, self.mean)
        return self.mean + self.row_scale @ noise @ self.col_scale.mT

    def probabilities_by_weights(
        self, features: Float[Tensor, "images cols"], rng: Generator, draws: int = 100
    ) -> Float[Tensor, "images rows"]:
        """E[softmax(W z)] from whole draws of W: what `.at(features).probabilities` does at s·n·m numbers instead of s·n."""
        checks.some("draws", draws)
        features = self._ready(features)
        total = features.new_zeros(len(features), self.mean.shape[0])
        for _ in range(draws):
            total += (features @ self.sample(1, rng)[0].mT).softmax(-1)
        return total / draws

    def _ready(self, features: Tensor) -> Tensor:
        """Features of the right width, finite, in the precision of the head."""
        checks.widths("features", features, self.mean.shape[1])
        checks.finite("features", features)
        return features.to(self.mean.dtype)

    def to(self, dtype: torch.dtype) -> "KroneckerGaussian":
        """The same distribution in another precision."""
        mean, row_scale, col_scale = (tensor.to(dtype) for tensor in (self.mean, self.row_scale, self.col_scale))
        return replace(self, mean=mean, row_scale=row_scale, col_scale=col_scale)


def _standard_normal(shape: tuple[int, ...], rng: Generator, like: Tensor) -> Tensor:
    return torch.randn(shape, generator=rng, dtype=like.dtype, device=rng.device).to(like.device)
