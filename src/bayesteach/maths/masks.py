"""Random masks: a smooth field squashed to [0, 1] shows some regions of an image and hides the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.quasirandom import SobolEngine

from bayesteach.errors import OutOfRange
from bayesteach.maths import checks
from bayesteach.maths.logistic_normal import mean_sigmoid

# The share of the field's variance that the low-rank factors may leave out.
LEFT_OUT = 1e-6
BATCH = 64


@dataclass(frozen=True)
class MaskPrior:
    """Masks σ(g), g a Gaussian process with this mean and covariance sd² exp(−‖x − x'‖² / 2ℓ²), ℓ = length_scale in pixels.

    The kernel separates over rows and columns, so g = mean + sd · R Z Cᵀ with Z standard normal, and R Rᵀ, C Cᵀ the kernels of
    the sides. Of each side the first eigenvectors are kept that leave out no more than 1e-6 of the variance in all: 19 of 224 at
    the paper's length scale of a tenth of the side. The defaults are the paper's.
    """

    size: int | tuple[int, int] = 224
    length_scale: float = 22.4
    mean: float = -100.0
    sd: float = 100.0
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        checks.sides(self.size)
        checks.positive("length_scale", self.length_scale)
        checks.positive("sd", self.sd)
        checks.number("mean", self.mean)
        if not self.dtype.is_floating_point or 10 * max(abs(self.mean), self.sd) > torch.finfo(self.dtype).max:
            raise OutOfRange(
                f"masks: found mean {self.mean} and sd {self.sd} in {self.dtype}, which cannot hold such a field. "
                "Pass another dtype, or smaller numbers."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return checks.sides(self.size)

    @cached_property
    def row_factor(self) -> Float[Tensor, "height row_rank"]:
        """R, with R Rᵀ the kernel between rows."""
        return _factor(self.shape[0], self.length_scale).to(self.dtype)

    @cached_property
    def col_factor(self) -> Float[Tensor, "width col_rank"]:
        """C, with C Cᵀ the kernel between columns."""
        return _factor(self.shape[1], self.length_scale).to(self.dtype)

    @property
    def latent_size(self) -> tuple[int, int]:
        return self.row_factor.shape[1], self.col_factor.shape[1]

    @property
    def mean_mask(self) -> float:
        """E[σ(g)], the same at every pixel."""
        return float(mean_sigmoid(*(torch.tensor(x, dtype=torch.float64) for x in (self.mean, self.sd))))

    def masks(self, latents: Float[Tensor, "n row_rank col_rank"]) -> Float[Tensor, "n height width"]:
        """The masks that these standard normal numbers stand for."""
        checks.sizes("latents", latents, "n", *self.latent_size)
        field = (self.sd * self.row_factor) @ latents @ self.col_factor.mT
        return field.add_(self.mean).sigmoid_()

    def sample(self, n: int, rng: Generator) -> Float[Tensor, "n height width"]:
        """Independent masks."""
        return self.masks(self._latents(n, rng))

    def sample_sobol(self, n: int, seed: int) -> Float[Tensor, "n height width"]:
        """Masks at scrambled Sobol points: each is a draw from the prior, but they depend on each other."""
        return torch.cat(list(self.stream_sobol(n, seed)))

    def stream(self, n: int, rng: Generator, batch: int = BATCH) -> Iterator[Float[Tensor, "batch height width"]]:
        """The masks of `sample`, a batch in memory at a time."""
        for size in _batches(n, batch):
            yield self.sample(size, rng)

    def stream_sobol(self, n: int, seed: int, batch: int = BATCH) -> Iterator[Float[Tensor, "batch height width"]]:
        """The masks of `sample_sobol`, a batch in memory at a time."""
        rows, cols = self.latent_size
        # The latents beyond what the sequence has, those of least variance, are drawn independently.
        even = min(rows * cols, SobolEngine.MAXDIM)
        engine = SobolEngine(even, scramble=True, seed=seed)
        rng = torch.Generator().manual_seed(seed)
        order = self._by_weight()
        for size in _batches(n, batch):
            rest = torch.rand(size, rows * cols - even, generator=rng, dtype=torch.float64)
            points = torch.cat([engine.draw(size, dtype=torch.float64), rest], 1)
            # A scrambled point lies in [0, 1): half a step of its 30 bits keeps the normal quantile finite.
            normal = torch.special.ndtri(points.clamp(2.0**-31, 1 - 2.0**-31)).to(self.dtype)
            latents = torch.empty_like(normal)
            latents[:, order] = normal
            yield self.masks(latents.view(size, rows, cols))

    def _latents(self, n: int, rng: Generator) -> Float[Tensor, "n row_rank col_rank"]:
        checks.some("n, the number of masks", n)
        return torch.randn(n, *self.latent_size, generator=rng, dtype=self.dtype)

    def _by_weight(self) -> Tensor:
        """The latents, greatest variance first: early Sobol coordinates are the more even."""
        weight = self.row_factor.square().sum(0)[:, None] * self.col_factor.square().sum(0)
        return weight.flatten().argsort(descending=True, stable=True)


def _factor(side: int, length_scale: float) -> Float[Tensor, "side rank"]:
    """F with F Fᵀ ≈ exp(−(i − j)² / 2ℓ²): its first eigenvectors, scaled."""
    place = torch.arange(side, dtype=torch.float64)
    kernel = torch.exp(-0.5 * ((place[:, None] - place) / length_scale) ** 2)
    values, vectors = torch.linalg.eigh(kernel)
    values, vectors = values.clamp_min(0).flip(0), vectors.flip(1)
    # Both sides leave out half of what may be left out in all.
    missing = 1 - values.cumsum(0) / values.sum()
    rank = 1 + int((missing > LEFT_OUT / 2).sum())
    return vectors[:, :rank] * values[:rank].sqrt()


def _batches(n: int, batch: int) -> Iterator[int]:
    checks.some("n, the number of masks", n)
    checks.some("batch", batch)
    for start in range(0, n, batch):
        yield min(batch, n - start)
