"""A learner that meets the two classes for the first time: probabilistic linear discriminant analysis (Ioffe 2006).

It knows how images vary within classes (Φ_w) and how classes vary (Φ_b), but not these two classes: a class has mean
y ~ N(m, Φ_b) and images z ~ N(y, Φ_w). In coordinates where Φ_w = I and Φ_b = diag(ψ), n examples of mean z̄ give, per dimension,

    z | examples ~ N(r z̄, 1 + ψ(1 − r)),   r = nψ / (nψ + 1),

and its log odds are the log ratio of the two classes' densities at the probe, divided by a temperature.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from torch import Generator, Tensor

from bayesteach.errors import BadInput
from bayesteach.maths import checks
from bayesteach.maths.teaching import Lessons, Pool, Prediction, places, settled_or_raise


class ScatterSums:
    """Sums over labelled images, in float64: Σ z zᵀ, and by class how many and Σ z. They add up in any order and any split."""

    __slots__ = ("class_counts", "class_totals", "moments")

    def __init__(self, classes: int, features: int) -> None:
        checks.some("classes", classes)
        checks.some("features", features)
        self.moments: Float[Tensor, "cols cols"] = torch.zeros(features, features, dtype=torch.float64)
        self.class_totals: Float[Tensor, "classes cols"] = torch.zeros(classes, features, dtype=torch.float64)
        self.class_counts: Int[Tensor, " classes"] = torch.zeros(classes, dtype=torch.long)

    def add(self, features: Float[Tensor, "images cols"], labels: Int[Tensor, " images"]) -> "ScatterSums":
        """Take in a batch of images with their classes."""
        checks.sizes("features", features, "images", len(self.moments))
        checks.sizes("labels", labels, len(features))
        checks.finite("features", features)
        checks.indices("labels", labels, len(self.class_counts))
        z = features.detach().double()
        self.moments.addmm_(z.mT, z)
        self.class_totals.index_add_(0, labels.long(), z)
        self.class_counts += torch.bincount(labels.long(), minlength=len(self.class_counts))
        return self

    def __add__(self, other: "ScatterSums") -> "ScatterSums":
        """The sums over both sets of images."""
        checks.sizes("classes and features", other.class_totals, *self.class_totals.shape)
        total = ScatterSums(*self.class_totals.shape)
        total.moments = self.moments + other.moments
        total.class_totals = self.class_totals + other.class_totals
        total.class_counts = self.class_counts + other.class_counts
        return total

    def covariances(self) -> tuple[Float[Tensor, " cols"], Float[Tensor, "cols cols"], Float[Tensor, "cols cols"]]:
        """The mean, Φ_w and Φ_b: unbiased estimates of a one-way analysis of variance with unequal groups."""
        seen = self.class_counts > 0
        counts = self.class_counts[seen].double()
        images, classes = float(counts.sum()), len(counts)
        if classes < 2 or images <= classes:
            raise BadInput(
                f"scatter sums: found {images:.0f} images of {classes} classes; variation within and between classes needs at "
                "least two classes, and more images than classes. Add images."
            )
        totals = self.class_totals[seen]
        mean = totals.sum(0) / images
        class_means = totals / counts[:, None]
        within = (self.moments - (class_means.mT * counts) @ class_means) / (images - classes)
        centred = class_means - mean
        between = (centred.mT * counts) @ centred
        effective = (images - float(counts.square().sum()) / images) / (classes - 1)
        return mean, within, (between / (classes - 1) - within) / effective

    def learner(
        self, *, shrinkage: float = 0.5, dimensions: int = 256, temperature: float = 1.0
    ) -> "DiscriminantLearner":
        """The learner in the directions in which classes differ most beside how images of one class do.

        shrinkage   ρ: Φ_w becomes (1 − ρ) Φ_w + ρ (mean of its diagonal) I
        dimensions  how many directions, at most
        """
        checks.share("shrinkage", shrinkage)
        checks.some("dimensions", dimensions)
        mean, within, between = self.covariances()
        checks.finite("Σ z zᵀ", within)
        if float(within.diagonal().max()) <= 0:
            raise BadInput(
                "scatter sums: images of one class never vary. Add images that are not copies of each other."
            )
        shrunk = (1 - shrinkage) * within
        shrunk.diagonal().add_(shrinkage * float(within.diagonal().mean()))
        values, vectors = torch.linalg.eigh(shrunk)
        # Directions in which no image ever varies (the 1 of the bias) tell nothing, and would divide by zero.
        alive = values > len(values) * torch.finfo(values.dtype).eps * float(values.max())
        whiten = vectors[:, alive] * values[alive].rsqrt()
        ratios, axes = torch.linalg.eigh(whiten.mT @ between @ whiten)
        top = ratios.argsort(descending=True)[:dimensions]
        top = top[ratios[top] > 0]
        if not len(top):
            raise BadInput(
                "scatter sums: classes differ no more than images within them do. Add images, or check the labels."
            )
        return DiscriminantLearner(mean, whiten @ axes[:, top], ratios[top], temperature)


@dataclass(frozen=True, slots=True, eq=False)
class DiscriminantLearner:
    """Knows how images vary, and learns the means of the two classes from the lesson alone.

    centre       the mean of all classes
    axes         to coordinates in which images of a class have unit covariance
    ratios       ψ: how much classes vary in each coordinate
    temperature  divides the log odds: coordinates are taken as independent, which makes it too sure
    """

    centre: Float[Tensor, " cols"]
    axes: Float[Tensor, "cols dimensions"]
    ratios: Float[Tensor, " dimensions"]
    temperature: float = 1.0
    every_view_counts: bool = False

    def __post_init__(self) -> None:
        checks.sizes("centre", self.centre, "cols")
        checks.sizes("axes", self.axes, len(self.centre), "dimensions")
        checks.sizes("ratios", self.ratios, self.axes.shape[1])
        for name, tensor in (("centre", self.centre), ("axes", self.axes), ("ratios", self.ratios)):
            checks.finite(name, tensor)
        checks.positive("temperature", self.temperature)

    def facing(self, probe: Float[Tensor, " cols"], pool: Pool) -> "DiscriminantPupil":
        """Project probe and pool once; the views of an example are averaged."""
        checks.sizes("probe", probe, len(self.centre))
        checks.finite("probe", probe)
        checks.sizes("pool", pool.features, "images", "views", len(self.centre))
        return DiscriminantPupil(
            probe=self._coordinates(probe),
            examples=self._coordinates(pool.features.double().mean(1)),
            pool=pool,
            learner=self,
            observations=pool.features.shape[1] if self.every_view_counts else 1,
        )

    def predict(self, probe: Float[Tensor, " cols"], lessons: Lessons) -> Prediction:
        """P(target | probe, lesson) for every lesson."""
        return settled_or_raise(self.facing(probe, lessons.pool).predict(lessons.members))

    def _coordinates(self, features: Tensor) -> Tensor:
        return (features.detach().double() - self.centre) @ self.axes

    def log_density(
        self,
        probe: Float[Tensor, "#lessons dimensions"],
        total: Float[Tensor, "lessons dimensions"],
        count: Float[Tensor, " lessons"],
    ) -> Float[Tensor, " lessons"]:
        """log p(probe | examples of its class), from their number and total, up to a constant."""
        known = count[..., None] * self.ratios / (count[..., None] * self.ratios + 1)
        mean = known * total / count[..., None].clamp_min(1)
        variance = 1 + self.ratios * (1 - known)
        return -0.5 * ((probe - mean).square() / variance + variance.log()).sum(-1)


@dataclass(frozen=True, slots=True, eq=False)
class DiscriminantPupil:
    """A discriminant learner before one probe and one pool, in its coordinates."""

    probe: Float[Tensor, " dimensions"]
    examples: Float[Tensor, "images dimensions"]
    pool: Pool
    learner: DiscriminantLearner
    observations: int

    def predict(self, members: Int[Tensor, "lessons examples"]) -> Prediction:
        members = places(members, len(self.examples))
        is_target = self.pool.is_target[members]
        of_target, of_alternative = (self._log_density(members, chosen) for chosen in (is_target, ~is_target))
        log_odds = (of_target - of_alternative) / self.learner.temperature
        settled = log_odds.isfinite()
        # Before any lesson the two classes are alike to it; and a lesson too far out to tell leaves it so.
        return Prediction(torch.where(settled, log_odds, 0.0), torch.zeros((), dtype=log_odds.dtype), settled)

    def _log_density(self, members: Tensor, chosen: Tensor) -> Tensor:
        weight = chosen.double() * self.observations
        total = (weight[:, None, :] @ self.examples[members])[:, 0]
        return self.learner.log_density(self.probe[None], total, weight.sum(1))


@dataclass(frozen=True, slots=True, eq=False)
class DiscriminantChoice:
    """The learner that foresees held-out lessons best, and the log loss of each shrinkage at its best temperature."""

    learner: DiscriminantLearner
    shrinkage: float
    log_losses: dict[float, float]


def choose_discriminant(
    sums: ScatterSums,
    features: Float[Tensor, "images cols"],
    labels: Int[Tensor, " images"],
    rng: Generator,
    *,
    dimensions: int = 256,
    candidates: Sequence[float] = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0),
    lessons: int = 2000,
    each: int = 2,
) -> DiscriminantChoice:
    """Shrinkage and temperature by log loss on lessons about held-out images: two classes, `each` examples, one more to tell."""
    checks.some("candidates", len(candidates))
    checks.sizes("features", features, "images", len(sums.moments))
    checks.sizes("labels", labels, len(features))
    checks.finite("features", features)
    checks.indices("labels", labels, len(sums.class_counts))
    checks.some("each", each)
    questions = _questions(labels, rng, lessons, each)
    tried = {s: _tempered(sums.learner(shrinkage=s, dimensions=dimensions), features, questions) for s in candidates}
    best = min(tried, key=lambda s: tried[s][1])
    return DiscriminantChoice(tried[best][0], best, {s: loss for s, (_, loss) in tried.items()})


def _questions(labels: Tensor, rng: Generator, lessons: int, each: int) -> Int[Tensor, "lessons places"]:
    """Rows of images: a probe, `each` more of its class, and `each` of another."""
    checks.some("lessons", lessons)
    groups = [(labels == c).nonzero()[:, 0] for c in labels.unique()]
    probed = [i for i, group in enumerate(groups) if len(group) > each]
    shown = [i for i, group in enumerate(groups) if len(group) >= each]
    if not probed or len(shown) < 2:
        raise BadInput(
            f"held-out images: found {len(probed)} classes with more than {each} images and {len(shown)} with at least {each}; "
            "a lesson and a probe need one of the former and two of the latter. Hold out more images."
        )
    rows = []
    for _ in range(lessons):
        own = probed[int(torch.randint(len(probed), (), generator=rng))]
        others = [i for i in shown if i != own]
        other = others[int(torch.randint(len(others), (), generator=rng))]
        mine, theirs = (groups[i][torch.randperm(len(groups[i]), generator=rng)] for i in (own, other))
        rows.append(torch.cat([mine[: each + 1], theirs[:each]]))
    return torch.stack(rows)


def _tempered(learner: DiscriminantLearner, features: Tensor, questions: Tensor) -> tuple[DiscriminantLearner, float]:
    """The learner at the temperature of least log loss, and that loss."""
    seen = learner._coordinates(features)
    each = questions.shape[1] // 2
    count = torch.full((len(questions),), float(each), dtype=torch.float64)
    probe = seen[questions[:, 0]]
    own, other = seen[questions[:, 1 : each + 1]].sum(1), seen[questions[:, each + 1 :]].sum(1)
    log_odds = learner.log_density(probe, own, count) - learner.log_density(probe, other, count)

    def loss(log_temperature: float) -> float:
        return float(torch.nn.functional.softplus(-log_odds / np.exp(log_temperature)).mean())

    found = minimize_scalar(loss, bounds=(np.log(1e-2), np.log(1e4)), method="bounded")
    # Lessons that any temperature foresees leave it as it is.
    best = min(0.0, float(found.x), key=loss)
    return replace(learner, temperature=float(np.exp(best))), loss(best)
