"""Scoring lessons in the span of their examples, beside the paper's procedure and a competent one, both in weight space.

The paper's: two rows of weights (2 × 2049), torch's L-BFGS, the 4098 × 4098 Hessian row by row through autograd, its Cholesky
factor, 100 draws. Only some rows of the Hessian are timed, and the rest extrapolated. The competent one: the difference of the
rows alone (2049), L-BFGS from the prior mean in whitened coordinates, the analytic Hessian XᵀSX + prior precision, one Cholesky
factor, and the same closed form for the answer. It is run on four lessons, and a lesson's time is their mean.
"""

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from torch import Tensor

from bayesteach import CurvatureSums, KroneckerGaussian, Learner, Pool
from bayesteach.maths.logistic_normal import mean_sigmoid
from report import once, seconds, write

FEATURES, CLASSES, LESSONS, IMAGES = 2049, 1000, 200, 1_281_167
HESSIAN_ROWS = 24
rng = torch.Generator().manual_seed(0)


def features(count: int, mixing: Tensor) -> Tensor:
    """Features like those of a ResNet: positive, correlated, skewed, with the 1 of the bias."""
    z = (torch.randn(count, mixing.shape[0], generator=rng, dtype=torch.float64) @ mixing).relu() * 0.5
    return torch.cat([z, torch.ones(count, 1, dtype=torch.float64)], 1)


def posterior(mixing: Tensor) -> KroneckerGaussian:
    head = 0.04 * torch.randn(CLASSES, FEATURES, generator=rng, dtype=torch.float64)
    sums = CurvatureSums(CLASSES, FEATURES)
    for _ in range(6):
        z = features(1000, mixing)
        sums.add(z, (z @ head.mT).softmax(1))
    return sums.posterior(head, n=IMAGES)


class PapersProcedure:
    """One lesson the paper's way; the seconds that it would take."""

    def __init__(self, head: KroneckerGaussian) -> None:
        rows = head.row_scale[:2] @ head.row_scale[:2].mT
        self.row_precision = torch.linalg.inv(rows)
        self.col_precision = torch.linalg.inv(head.col_scale @ head.col_scale.mT)
        self.prior = head.mean[:2].clone()

    def seconds(self, examples: Tensor, labels: Tensor, weight: float, probe: Tensor) -> float:
        weights = self.prior.clone().requires_grad_(True)

        def loss(w: Tensor) -> Tensor:
            off = w - self.prior
            quadratic = 0.5 * ((self.row_precision @ off @ self.col_precision) * off).sum()
            return weight * torch.nn.functional.cross_entropy(examples @ w.mT, labels, reduction="sum") + quadratic

        def optimise() -> None:
            optimiser = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

            def closure() -> Tensor:
                optimiser.zero_grad()
                value = loss(weights)
                value.backward()
                return value

            optimiser.step(closure)

        def hessian_rows() -> None:
            (gradient,) = torch.autograd.grad(loss(weights), weights, create_graph=True)
            for i in range(HESSIAN_ROWS):
                torch.autograd.grad(gradient.flatten()[i], weights, retain_graph=True)

        dense = torch.kron(self.row_precision, self.col_precision)

        def draws() -> None:
            factor = torch.linalg.cholesky(torch.linalg.inv(dense))
            w = (
                weights.detach().flatten()
                + torch.randn(100, 2 * FEATURES, generator=rng, dtype=torch.float64) @ factor.mT
            )
            (w.view(100, 2, FEATURES) @ probe).softmax(1).mean(0)

        return once(optimise) + once(hessian_rows) * 2 * FEATURES / HESSIAN_ROWS + once(draws)


class CompetentProcedure:
    """One lesson as well as weight space allows: P(target | probe, lesson)."""

    def __init__(self, learner: Learner) -> None:
        self.mean = learner.mean.numpy()
        self.scale = learner.scale.numpy()
        covariance = learner.scale @ learner.scale.mT
        self.precision = torch.linalg.inv(covariance)

    def probability(self, examples: Tensor, is_target: Tensor, weight: float, probe: Tensor) -> float:
        sign = np.where(is_target.numpy(), 1.0, -1.0)
        white, offset = examples.numpy() @ self.scale, examples.numpy() @ self.mean

        def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
            margin = sign * (offset + white @ u)
            value = -weight * log_expit(margin).sum() + 0.5 * u @ u
            return value, u - white.T @ (weight * sign * expit(-margin))

        u = minimize(
            loss, np.zeros(len(self.mean)), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
        ).x
        p = torch.from_numpy(expit(offset + white @ u))
        hessian = (examples.mT * (weight * p * (1 - p))) @ examples + self.precision
        solved = torch.cholesky_solve(probe[:, None], torch.linalg.cholesky(hessian))[:, 0]
        mean = probe @ torch.from_numpy(self.mean + self.scale @ u)
        return float(mean_sigmoid(mean, (probe @ solved).sqrt()))


def compare(views: int, lessons: int, mixing: Tensor, head: KroneckerGaussian, *, papers: bool) -> dict[str, object]:
    learner = Learner.between(head, 0, 1)
    images = min(4 * lessons, 800)
    targets, alternatives = (features(images // 2 * views, mixing).view(-1, views, FEATURES) for _ in range(2))
    pool = Pool.of(targets, alternatives)
    probe = features(1, mixing)[0]
    members = torch.cat(
        [torch.randint(0, images // 2, (lessons, 2), generator=rng) + side * (images // 2) for side in (0, 1)], 1
    )

    pupil = learner.facing(probe, pool)
    ours = seconds(lambda: pupil.predict(members), repeats=7 if views == 1 else 2) / lessons
    cold = seconds(lambda: learner.facing(probe, pool).predict(members), repeats=3 if views == 1 else 1) / lessons

    competent = CompetentProcedure(learner)
    few = members[:4]
    answers: list[float] = []

    def in_weight_space() -> None:
        answers[:] = [
            competent.probability(
                pool.features[m].flatten(0, 1), pool.is_target[m].repeat_interleave(views), 1 / views, probe
            )
            for m in few
        ]

    theirs = seconds(in_weight_space, repeats=2) / len(few)
    name = f"{lessons} lessons of 4 × {views} views: "
    results: dict[str, object] = {
        name + "ratio to competent weight space": theirs / ours,
        name + "ratio to competent weight space, pool whitened anew": theirs / cold,
        name + "largest difference of probabilities": float(
            (torch.tensor(answers) - pupil.predict(few).probability).abs().max()
        ),
    }
    if papers:
        m = members[0]
        paper = PapersProcedure(head).seconds(
            pool.features[m].flatten(0, 1), (~pool.is_target[m]).long().repeat_interleave(views), 1 / views, probe
        )
        results |= {
            name + "ratio to the paper's procedure": paper / ours,
            name + "ratio to the paper's procedure, pool whitened anew": paper / cold,
            name + "lessons that the paper's procedure was timed on": 1,
            name + "rows of its Hessian that were timed": f"{HESSIAN_ROWS} of {2 * FEATURES}",
        }
    return results


def main() -> None:
    mixing = torch.randn(FEATURES - 1, FEATURES - 1, generator=rng, dtype=torch.float64) / FEATURES**0.5
    mixing *= torch.linspace(1.5, 0.3, FEATURES - 1, dtype=torch.float64)[:, None]
    head = posterior(mixing)
    results = compare(1, LESSONS, mixing, head, papers=True)
    # 200 lessons with 128 views are the same work 20 times: 20 lessons say what one costs.
    results |= compare(128, 20, mixing, head, papers=True)
    write("lessons", results)


if __name__ == "__main__":
    main()
