"""From a training set to the posterior of a classifier's head: streaming sums, and what is made of them.

With p = softmax(W z), the generalised Gauss–Newton curvature of one image's log loss is (diag(p) − p pᵀ) ⊗ z zᵀ. Taking the two
factors as independent over the N images (Ritter et al. 2018) gives the precision U ⊗ V of vec(W), with

    U = √N · E[z zᵀ] + √τ · I,    V = √N · E[diag(p) − p pᵀ] + √τ · I.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from bayesteach.errors import BadInput
from bayesteach.maths import checks
from bayesteach.maths.kronecker import KroneckerGaussian, Logits

# Images whose logits are in memory at a time: 100 draws of 1000 classes take 0.4 GB at 512.
_BLOCK = 512


@dataclass(frozen=True, slots=True, eq=False)
class HeadPosterior(KroneckerGaussian):
    """The Laplace posterior of a head, and what it took to invert its precision.

    shrinkage  ρ: U was replaced by (1 − ρ) U + ρ diag(U)
    jitter     the least share of diag(U) that had to be added to invert U (0 if none)
    class_jitter  the same for V on the contrasts of classes, as a share of its mean eigenvalue
    images     N: how many images the precision stands for
    """

    images: float
    shrinkage: float
    jitter: float
    class_jitter: float


class CurvatureSums:
    """Sums over images, in float64: how many, Σ z zᵀ, and Σ p pᵀ. They add up in any order and any split."""

    __slots__ = ("coanswers", "count", "feature_moments")

    def __init__(self, classes: int, features: int) -> None:
        checks.some("classes", classes)
        checks.some("features", features)
        self.count = 0
        self.feature_moments: Float[Tensor, "cols cols"] = torch.zeros(features, features, dtype=torch.float64)
        self.coanswers: Float[Tensor, "rows rows"] = torch.zeros(classes, classes, dtype=torch.float64)

    def add(
        self, features: Float[Tensor, "images cols"], probabilities: Float[Tensor, "images rows"]
    ) -> "CurvatureSums":
        """Take in a batch: the features (with the 1 of the bias) and the class probabilities of some images."""
        checks.sizes("features", features, "images", len(self.feature_moments))
        checks.sizes("probabilities", probabilities, len(features), len(self.coanswers))
        checks.finite("features", features)
        checks.probabilities("probabilities", probabilities)
        z, p = features.detach().double(), probabilities.detach().double()
        p = p / p.sum(1, keepdim=True)
        self.feature_moments.addmm_(z.mT, z)
        self.coanswers.addmm_(p.mT, p)
        self.count += len(features)
        return self

    def __add__(self, other: "CurvatureSums") -> "CurvatureSums":
        """The sums over both sets of images."""
        checks.sizes("features", other.feature_moments, *self.feature_moments.shape)
        checks.sizes("classes", other.coanswers, *self.coanswers.shape)
        total = CurvatureSums(len(self.coanswers), len(self.feature_moments))
        total.count = self.count + other.count
        total.feature_moments = self.feature_moments + other.feature_moments
        total.coanswers = self.coanswers + other.coanswers
        return total

    @property
    def feature_factor(self) -> Float[Tensor, "cols cols"]:
        """E[z zᵀ]."""
        checks.some("images in the sums", self.count)
        return self.feature_moments / self.count

    @property
    def class_factor(self) -> Float[Tensor, "rows rows"]:
        """E[diag(p) − p pᵀ], as the Laplacian of the graph whose edges are Σ pᵢ pⱼ.

        p sums to 1, so pᵢ(1 − pᵢ) = Σⱼ pᵢ pⱼ over j ≠ i: nothing cancels however sure the classifier is, and A·1 = 0.
        """
        checks.some("images in the sums", self.count)
        edges = self.coanswers.clone().fill_diagonal_(0)
        return (torch.diag(edges.sum(1)) - edges) / self.count

    def posterior(
        self,
        head: Float[Tensor, "rows cols"],
        n: float | None = None,
        prior_precision: float = 0.0,
        shrinkage: float = 0.0,
    ) -> HeadPosterior:
        """N(vec(head), (U ⊗ V)⁻¹), for a head that was trained on n images (those of the sums, if not said)."""
        checks.some("images in the sums", self.count)
        checks.sizes("head", head, len(self.coanswers), len(self.feature_moments))
        checks.finite("head", head)
        features = _FeaturePrecision.of(self, n, prior_precision)
        row_scale, class_jitter = _class_scale(self.class_factor, features.images, prior_precision)
        return features.posterior(head.detach().double(), row_scale, class_jitter, shrinkage)


@dataclass(frozen=True, slots=True, eq=False)
class _FeaturePrecision:
    """U = D^½ (Q Λ Qᵀ) D^½ with D = diag(U): one eigendecomposition serves every shrinkage towards D."""

    images: float
    root_diagonal: Float[Tensor, " cols"]
    eigenvalues: Float[Tensor, " cols"]
    eigenvectors: Float[Tensor, "cols cols"]

    @classmethod
    def of(cls, sums: CurvatureSums, n: float | None, prior_precision: float) -> "_FeaturePrecision":
        images = float(sums.count if n is None else n)
        checks.positive("n, the number of images", images)
        checks.not_negative("prior_precision", prior_precision)
        precision = sqrt(images) * sums.feature_factor
        checks.finite("Σ z zᵀ", precision)
        precision.diagonal().add_(sqrt(prior_precision))
        diagonal = precision.diagonal().clone()
        alive = diagonal > 0
        # A feature that is 0 on every image has no scale of its own: it takes the mean of the others.
        diagonal[~alive] = diagonal[alive].mean() if bool(alive.any()) else 1.0
        root = diagonal.sqrt()
        values, vectors = torch.linalg.eigh(precision / root / root[:, None])
        return cls(images, root, values.clamp_min(0), vectors)

    def inverse_root(self, shrinkage: float) -> tuple[Float[Tensor, " cols"], float]:
        """The diagonal of ((1 − ρ)Λ + ρ + jitter)^−½, and the jitter."""
        checks.share("shrinkage", shrinkage)
        values = (1 - shrinkage) * self.eigenvalues + shrinkage
        jitter = _least_jitter(values)
        return (values + jitter).rsqrt(), jitter

    def posterior(self, head: Tensor, row_scale: Tensor, class_jitter: float, shrinkage: float) -> HeadPosterior:
        inverse_root, jitter = self.inverse_root(shrinkage)
        col_scale = self.eigenvectors * inverse_root / self.root_diagonal[:, None]
        return HeadPosterior(head, row_scale, col_scale, self.images, shrinkage, jitter, class_jitter)


def _class_scale(class_factor: Tensor, images: float, prior_precision: float) -> tuple[Tensor, float]:
    """R with R Rᵀ = V⁻¹; at τ = 0 the pseudo-inverse on 1⊥, because softmax cannot see a shift of all logits."""
    rows = len(class_factor)
    trace = float(class_factor.trace())
    if trace <= 0 and prior_precision <= 0:
        raise BadInput(
            "probabilities: every image in the sums is answered with certainty (or there is one class), so the curvature of the "
            "log loss is zero and the posterior is flat. Add images, or pass a prior_precision above 0."
        )
    # Twice the trace along 1 makes 1 the last eigenvector, whatever else is nearly singular.
    values, vectors = torch.linalg.eigh(class_factor + 2 * trace / rows)
    values, vectors = values[:-1].clamp_min(0), vectors[:, :-1]
    if trace <= 0:
        # All curvature is the prior's: any basis of 1⊥ serves.
        values, vectors = torch.zeros(rows - 1, dtype=values.dtype), torch.linalg.qr(_contrasts(rows)).Q
    values = sqrt(images) * values + sqrt(prior_precision)
    relative = _least_jitter(values / values.mean()) if rows > 1 else 0.0
    scale = vectors * (values + relative * (values.mean() if rows > 1 else 0)).rsqrt()
    if prior_precision > 0:
        ones = torch.full((rows, 1), 1 / sqrt(rows), dtype=scale.dtype) * prior_precision**-0.25
        scale = torch.cat([scale, ones], 1)
    return scale, relative


def _contrasts(rows: int) -> Tensor:
    """Each class but the first against the first."""
    return torch.cat([-torch.ones(1, rows - 1, dtype=torch.float64), torch.eye(rows - 1, dtype=torch.float64)])


def _least_jitter(values: Tensor) -> float:
    """The least power of ten, 0 if none is needed, that lifts eigenvalues of order 1 above what rounding leaves of zero."""
    floor = len(values) * torch.finfo(values.dtype).eps * float(values.max())
    jitter = 0.0
    while float(values.min()) + jitter <= floor:
        jitter = jitter * 10 if jitter else 1e-15
    return jitter


@dataclass(frozen=True, slots=True)
class ShrinkageChoice:
    """The shrinkage whose posterior foresees held-out labels best, and the log loss of each that was tried."""

    shrinkage: float
    log_losses: dict[float, float]


def choose_shrinkage(  # noqa: PLR0913 — the posterior's own settings, and the held-out images
    sums: CurvatureSums,
    head: Float[Tensor, "rows cols"],
    features: Float[Tensor, "images cols"],
    labels: Int[Tensor, " images"],
    rng: Generator,
    *,
    n: float | None = None,
    prior_precision: float = 0.0,
    candidates: Sequence[float] = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0),
    draws: int = 100,
) -> ShrinkageChoice:
    """Try shrinkages of U on held-out images: the Monte Carlo log loss of each, with the same draws for all.

    With fewer than about ten images a feature, U is nearly singular, and the variance of logits is nonsense without it.
    """
    checks.some("candidates", len(candidates))
    checks.some("held-out images", len(features))
    checks.some("draws", draws)
    checks.finite("head", head)
    checks.sizes("head", head, len(sums.coanswers), len(sums.feature_moments))
    checks.sizes("features", features, "images", len(sums.feature_moments))
    checks.sizes("labels", labels, len(features))
    checks.finite("features", features)
    checks.indices("labels", labels, len(head))
    features, head = features.detach(), head.detach().double()
    precision = _FeaturePrecision.of(sums, n, prior_precision)
    row_scale, _ = _class_scale(sums.class_factor, precision.images, prior_precision)
    inverse_variances = torch.stack([precision.inverse_root(s)[0] ** 2 for s in candidates])
    total = torch.zeros(len(candidates), dtype=torch.float64)
    for start in range(0, len(features), _BLOCK):
        z, y = features[start : start + _BLOCK].double(), labels[start : start + _BLOCK].long()
        whitened = (z / precision.root_diagonal) @ precision.eigenvectors
        spreads = (whitened**2 @ inverse_variances.mT).sqrt()
        seen = torch.zeros(len(candidates), len(z), dtype=torch.float64)
        unit = Logits(torch.zeros(len(z), len(head), dtype=torch.float64), torch.ones_like(spreads[:, 0]), row_scale)
        mean = z @ head.mT
        for _ in range(draws):
            noise = unit.sample(1, rng)[0]
            for i in range(len(candidates)):
                log_p = (mean + spreads[:, i, None] * noise).log_softmax(-1)
                seen[i] += log_p.gather(1, y[:, None])[:, 0].exp()
        # An image that no draw foresees costs what one draw in a thousand could not have shown, not infinity.
        total -= (seen / draws).clamp_min(1e-3 / draws).log().sum(1)
    losses = {s: float(loss) / len(features) for s, loss in zip(candidates, total, strict=True)}
    return ShrinkageChoice(min(losses, key=lambda s: (losses[s], s)), losses)
