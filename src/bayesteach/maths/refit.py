"""The head at its mode: a multinomial logistic regression on cached features."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize
from torch import Tensor

from bayesteach.errors import NotConverged
from bayesteach.maths import checks

# Images whose logits are in memory at a time: 65 MB for 1000 classes in float64.
_BLOCK = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """A head at the minimum of mean log loss + ½ λ ‖W‖², and how near to it."""

    head: Float[Tensor, "rows cols"]
    loss: float
    gradient_norm: float
    iterations: int


def refit_head(
    features: Float[Tensor, "images cols"],
    labels: Int[Tensor, " images"],
    start: Float[Tensor, "rows cols"],
    *,
    weight_decay: float = 1e-4,
    tolerance: float = 1e-6,
    max_iterations: int = 5000,
) -> Refit:
    """argmin_W  −mean log softmax(W z)_y + ½ λ ‖W‖², by L-BFGS from `start` until ‖gradient‖ ≤ tolerance.

    `features` hold the 1 of the bias, and λ = `weight_decay` counts per image: a prior precision τ is λ = τ / N.
    Whitening the features first was tried, and took as many steps on 400 correlated features.
    """
    checks.sizes("features", features, "images", "cols")
    checks.some("images", len(features))
    checks.sizes("labels", labels, len(features))
    checks.sizes("start", start, "classes", features.shape[1])
    checks.some("classes", len(start))
    checks.finite("features", features)
    checks.finite("start", start)
    checks.indices("labels", labels, len(start))
    checks.positive("weight_decay", weight_decay)
    checks.positive("tolerance", tolerance)
    checks.some("max_iterations", max_iterations)

    features, start = features.detach(), start.detach()
    shape = start.shape
    norm = np.inf

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal norm
        loss, gradient = _loss(features, labels, torch.from_numpy(flat).view(shape), weight_decay)
        norm = float(gradient.norm())
        return loss, gradient.flatten().numpy()

    def stop(_: np.ndarray) -> None:
        if norm <= tolerance:
            raise StopIteration

    found = minimize(
        objective,
        start.double().flatten().numpy(),
        jac=True,
        method="L-BFGS-B",
        callback=stop,
        options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": 0.0, "gtol": 0.0, "maxcor": 20},
    )
    head = torch.from_numpy(found.x).view(shape)
    loss, gradient = _loss(features, labels, head, weight_decay)
    refit = Refit(head, loss, float(gradient.norm()), int(found.nit))
    if refit.gradient_norm > tolerance:
        raise NotConverged(
            f"refit_head: gradient norm {refit.gradient_norm:.2g} after {refit.iterations} iterations, wanted {tolerance:.2g}. "
            f"The optimiser said: {found.message}. Raise max_iterations if it ran out of them; else raise weight_decay or the "
            "tolerance, or scale the features to about 1. The head so far is in .partial.",
            partial=refit,
        )
    return refit


def _loss(features: Tensor, labels: Tensor, head: Tensor, weight_decay: float) -> tuple[float, Tensor]:
    """Mean log loss plus decay, and its gradient, block by block."""
    gradient = weight_decay * head
    loss = 0.5 * weight_decay * float(head.square().sum())
    for z, y in zip(features.split(_BLOCK), labels.split(_BLOCK), strict=True):
        z, y = z.double(), y.long()
        log_p = (z @ head.mT).log_softmax(-1)
        loss -= float(log_p.gather(1, y[:, None]).sum()) / len(features)
        residual = log_p.exp_()
        residual[torch.arange(len(y)), y] -= 1
        gradient += residual.mT @ z / len(features)
    return loss, gradient
