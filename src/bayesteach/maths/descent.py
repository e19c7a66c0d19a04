"""The head at its mode on a stream: what `refit_head` finds where all features fit into memory, for views that never will."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bayesteach.maths import checks


@dataclass(slots=True, eq=False)
class AveragedDescent:
    """Stochastic gradient descent on mean log loss + ½ λ ‖W‖² with a constant step, and the average of its second half.

    At a constant step W wanders about the mode; its average does not (Polyak and Juditsky 1992; Bach and Moulines 2013).

    head   where it is
    mean   the average of the heads after step total / 2: the estimate
    steps  how many were taken of `total`
    """

    head: Float[Tensor, "rows cols"]
    mean: Float[Tensor, "rows cols"]
    rate: float
    weight_decay: float
    total: int
    steps: int = 0

    @classmethod
    def of(
        cls,
        start: Float[Tensor, "rows cols"],
        features: Float[Tensor, "images cols"],
        *,
        weight_decay: float,
        total: int,
        batch: int,
    ) -> "AveragedDescent":
        """For so many steps from `start`, on batches of so many features like these.

        The loss bends at most by λ + ½ ‖E z zᵀ‖, and that of a batch by up to ½ max ‖z‖² / batch more: the step is half of one
        over the sum.
        """
        checks.sizes("features", features, "images", start.shape[1])
        checks.some("images", len(features))
        checks.positive("weight_decay", weight_decay)
        checks.some("total", total)
        checks.some("batch", batch)
        moment = torch.zeros(features.shape[1], features.shape[1], dtype=torch.float64)
        for z in features.split(8192):
            moment += z.double().mT @ z.double() / len(features)
        longest = float(features.square().sum(1).max()) / batch
        rate = 1 / (2 * weight_decay + float(torch.linalg.matrix_norm(moment, 2)) + longest)
        return cls(start.double().clone(), start.double().clone(), rate, weight_decay, total)

    def add(self, features: Float[Tensor, "images cols"], labels: Int[Tensor, " images"]) -> "AveragedDescent":
        """One step on these images."""
        z = features.double()
        residual = (z @ self.head.mT).softmax(-1)
        residual[torch.arange(len(labels)), labels] -= 1
        self.head -= self.rate * (residual.mT @ z / len(z) + self.weight_decay * self.head)
        self.steps += 1
        averaged = self.steps - self.total // 2
        if averaged <= 1:
            self.mean.copy_(self.head)
        else:
            self.mean += (self.head - self.mean) / averaged
        return self
