"""The paper's learner: a two-class Bayesian logistic regression, taught in the span of its lesson.

Of the head's posterior only d = w_t − w_a ~ N(d₀, κ U⁻¹) reaches the likelihood. With k(z, z') = κ zᵀU⁻¹z' this is Laplace
Gaussian-process classification with a linear kernel (Rasmussen & Williams 2006, GPML, algorithms 3.1 and 3.2): the mode is found
in as many unknowns as the lesson has views, and the answer to a probe is E[σ(f)] with f ~ N(μ, s²), in closed form.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from bayesteach.errors import OutOfRange
from bayesteach.maths import checks
from bayesteach.maths.kronecker import KroneckerGaussian
from bayesteach.maths.logistic_normal import mean_log_odds
from bayesteach.maths.teaching import Lessons, Pool, Prediction, places, settled_or_raise

NEWTON_STEPS = 100
HALVINGS = 50
# A lesson has settled when a full Newton step moves no logit by more than this share: the error left is its square.
TOLERANCE = 1e-8
# The share of the rise that the slope promises, which a step must keep.
SUFFICIENT = 1e-3
# A few units in the last place of float64, and the most that they may move a logit before a lesson counts as not settled.
ROUNDING = 1e-14
WORST = 1e-5
# A posterior variance below this share of the prior's is mostly rounding.
CANCELLED = 1e-10
# What the Gram matrices of the lessons that are taught at once may take.
GRAM_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Learner:
    """Someone whose belief about d = w_t − w_a is N(mean, scale scaleᵀ), and who learns by Laplace's approximation.

    `every_view_counts`: each view of an example is an observation; else an example counts once and its views share it.
    """

    mean: Float[Tensor, " cols"]
    scale: Float[Tensor, "cols rank"]
    every_view_counts: bool = False

    def __post_init__(self) -> None:
        checks.sizes("mean", self.mean, "cols")
        checks.sizes("scale", self.scale, len(self.mean), "rank")
        checks.finite("mean", self.mean)
        checks.finite("scale", self.scale)
        checks.same_precision("scale", self.scale, self.mean)

    @classmethod
    def between(
        cls,
        posterior: KroneckerGaussian,
        target: int,
        alternative: int,
        *,
        knowledge: float = 1.0,
        prior_strength: float = 1.0,
        every_view_counts: bool = False,
    ) -> "Learner":
        """The learner whose prior is two rows of a head's posterior.

        knowledge       how much of the head it knows: 1 in the paper; 0 is a novice, whose prior mean is zero
        prior_strength  how much its prior weighs, as a factor on N
        """
        checks.not_negative("knowledge", knowledge)
        checks.positive("prior_strength", prior_strength)
        contrast = posterior.contrast(target, alternative)
        if target == alternative:
            raise OutOfRange(f"alternative: found class {target}, which is the target. Pass another class.")
        return cls(knowledge * contrast.mean, contrast.scale / sqrt(prior_strength), every_view_counts)

    def facing(self, probe: Float[Tensor, " cols"], pool: Pool) -> "LogisticPupil":
        """Whiten the pool once; then any number of its lessons can be taught."""
        checks.sizes("probe", probe, len(self.mean))
        checks.finite("probe", probe)
        checks.sizes("pool", pool.features, "images", "views", len(self.mean))
        probe, features = probe.detach().to(self.mean.dtype), pool.features.detach().to(self.mean.dtype)
        return LogisticPupil(
            probe_mean=probe @ self.mean,
            probe_white=probe @ self.scale,
            means=features @ self.mean,
            white=features @ self.scale,
            is_target=pool.is_target,
            view_weight=1.0 if self.every_view_counts else 1.0 / pool.features.shape[1],
        )

    def predict(self, probe: Float[Tensor, " cols"], lessons: Lessons) -> Prediction:
        """P(target | probe, lesson) for every lesson; lessons that do not settle are raised once all are taught."""
        return settled_or_raise(self.facing(probe, lessons.pool).predict(lessons.members))


@dataclass(frozen=True, eq=False)
class LogisticPupil:
    """A learner before one probe and one pool: prior logits, and features so scaled that k(z, z') = white · white'."""

    probe_mean: Float[Tensor, ""]
    probe_white: Float[Tensor, " rank"]
    means: Float[Tensor, "images views"]
    white: Float[Tensor, "images views rank"]
    is_target: Bool[Tensor, " images"]
    view_weight: float

    def predict(self, members: Int[Tensor, "lessons examples"]) -> Prediction:
        mean, sd, settled = self.logit(members)
        return Prediction(mean_log_odds(mean, sd), self._prior_log_odds, settled)

    def predict_by_draws(
        self, members: Int[Tensor, "lessons examples"], rng: Generator, draws: int = 100
    ) -> Prediction:
        """The same as the paper has it, from draws of the logit."""
        checks.some("draws", draws)
        mean, sd, settled = self.logit(members)
        noise = torch.randn(draws, len(mean), generator=rng, dtype=mean.dtype)
        log_odds = torch.sigmoid(mean + sd * noise).mean(0).logit(eps=torch.finfo(mean.dtype).eps)
        return Prediction(log_odds, self._prior_log_odds, settled)

    def logit(
        self, members: Int[Tensor, "lessons examples"]
    ) -> tuple[Float[Tensor, " lessons"], Float[Tensor, " lessons"], Bool[Tensor, " lessons"]]:
        """After each lesson, the probe's logit f ~ N(mean, sd²), and whether the lesson settled."""
        members = places(members, len(self.white))
        parts = [self._logit(part) for part in self._that_fit(members)]
        mean, sd, settled = (torch.cat(column) for column in zip(*parts, strict=True))
        return mean, sd, settled

    def _logit(self, members: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """GPML algorithm 3.2 for a batch of lessons."""
        views = self.means.shape[1]
        prior_mean = self.means[members].flatten(1).double()
        is_target = self.is_target[members].repeat_interleave(views, 1).double()
        gram = self._gram(members).double()
        cross = self._cross[members].flatten(1).double()
        found = mode(prior_mean, gram, is_target, self.view_weight)
        p = torch.sigmoid(prior_mean + _times(gram, found.dual))
        root = (self.view_weight * p * (1 - p)).sqrt()
        factor = torch.linalg.cholesky_ex(_one_plus(root, gram)).L
        explained = torch.linalg.solve_triangular(factor, (root * cross)[..., None], upper=False)[..., 0]
        prior_variance = self.probe_white.double().square().sum()
        variance = prior_variance - explained.square().sum(-1)
        mean = self.probe_mean.double() + (cross * found.dual).sum(-1)
        # A lesson that did not settle has taught nothing that we can vouch for: it leaves the prior.
        settled = found.settled & mean.isfinite() & (variance >= CANCELLED * prior_variance)
        mean = torch.where(settled, mean, self.probe_mean.double())
        return mean, torch.where(settled, variance, prior_variance).sqrt(), settled

    def _gram(self, members: Tensor) -> Tensor:
        # Once there are as many examples as images, looking products up beats making them (benchmarks/bench_lessons.py).
        if self.white.shape[1] == 1 and members.numel() >= len(self.white):
            return self._products[members[:, :, None], members[:, None, :]]
        white = self.white[members].flatten(1, 2)
        return white @ white.mT

    def _that_fit(self, members: Tensor) -> Iterator[Tensor]:
        size = members.shape[1] * self.means.shape[1]
        # Gram matrix, its factor and the gathered features are in memory together.
        bytes_each = 8 * size * (3 * size + self.white.shape[2])
        return iter(members.split(max(1, GRAM_BYTES // bytes_each)))

    @cached_property
    def _prior_log_odds(self) -> Float[Tensor, ""]:
        return mean_log_odds(self.probe_mean.double(), torch.linalg.vector_norm(self.probe_white.double()))

    @cached_property
    def _products(self) -> Float[Tensor, "images images"]:
        return self.white[:, 0] @ self.white[:, 0].mT

    @cached_property
    def _cross(self) -> Float[Tensor, "images views"]:
        return self.white @ self.probe_white


@dataclass(frozen=True, slots=True, eq=False)
class Mode:
    """The MAP of each lesson: its logits are prior_mean + gram · dual."""

    dual: Float[Tensor, "lessons size"]
    settled: Bool[Tensor, " lessons"]


def mode(
    prior_mean: Float[Tensor, "lessons size"],
    gram: Float[Tensor, "lessons size size"],
    is_target: Float[Tensor, "lessons size"],
    weight: float,
) -> Mode:
    """The learner's MAP for a batch of lessons, in the span of their examples (GPML algorithm 3.1).

    Plain Newton cycles for ever on some lessons (prior mean −3, gram 30), so each lesson halves its own step until its log
    posterior, which is strictly concave, rises. A lesson that does not settle is marked; it does not stop the others.
    """
    dual = torch.zeros_like(prior_mean)
    settled = torch.zeros(len(prior_mean), dtype=torch.bool)
    active = torch.arange(len(prior_mean))
    for _ in range(NEWTON_STEPS):
        moved_dual, done = _newton_step(prior_mean[active], gram[active], is_target[active], weight, dual[active])
        dual[active], settled[active] = moved_dual, done
        active = active[~done]
        if not len(active):
            break
    return Mode(dual, settled)


def _newton_step(
    prior_mean: Tensor, gram: Tensor, is_target: Tensor, weight: float, dual: Tensor
) -> tuple[Tensor, Tensor]:
    """The next dual of each lesson, and whether its full step hardly moved its logits."""
    shift = _times(gram, dual)
    p = torch.sigmoid(prior_mean + shift)
    curvature = weight * p * (1 - p)
    root = curvature.sqrt()
    full = curvature * shift + weight * (is_target - p)
    factor, info = torch.linalg.cholesky_ex(_one_plus(root, gram))
    solved = torch.cholesky_solve((root * _times(gram, full))[..., None], factor)[..., 0]
    step = full - root * solved - dual
    solvable = step.isfinite().all(-1) & (info == 0)
    step = torch.where(solvable[:, None], step, 0)
    step_shift = _times(gram, step)

    sign = 2 * is_target - 1
    now = _log_posterior(dual, shift, prior_mean, sign, weight)
    slope = ((weight * (is_target - p) - dual) * step_shift).sum(-1)
    slack = ROUNDING * (1 + now.abs())
    share = torch.ones_like(dual[:, :1])
    for _ in range(HALVINGS):
        then = _log_posterior(dual + share * step, shift + share * step_shift, prior_mean, sign, weight)
        # To rise at all is not enough: at prior mean −10 and gram 20 Newton goes to and fro between two equal heights.
        short = ~(then >= now + SUFFICIENT * share[:, 0] * slope - slack)
        if not bool(short.any()):
            break
        share[short] /= 2
    reach = 1 + (prior_mean + shift).abs().amax(-1)
    moved = step_shift.abs().amax(-1)
    # Where the terms of gram · dual cancel, rounding alone moves logits: then it is enough that there is nothing left to rise.
    at_rest = (moved <= TOLERANCE * reach) | ((slope <= slack) & (moved <= WORST * reach))
    noise = ROUNDING * _times(gram.abs(), dual.abs()).amax(-1)
    done = at_rest & solvable & step_shift.isfinite().all(-1) & (noise <= WORST * reach)
    return dual + share * step, done


def _log_posterior(dual: Tensor, shift: Tensor, prior_mean: Tensor, sign: Tensor, weight: float) -> Tensor:
    """log p(labels | logits) + log p(logits), up to a constant, at logits = prior_mean + shift and shift = gram · dual."""
    likelihood = torch.nn.functional.logsigmoid(sign * (prior_mean + shift))
    return weight * likelihood.sum(-1) - 0.5 * (dual * shift).sum(-1)


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector[..., None])[..., 0]


def _one_plus(root: Tensor, gram: Tensor) -> Tensor:
    """B = I + √W K √W, whose eigenvalues are at least 1 whatever the lesson."""
    b = root[..., :, None] * gram * root[..., None, :]
    b.diagonal(dim1=-2, dim2=-1).add_(1)
    return b
