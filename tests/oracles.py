"""The slow, obvious versions, in float64."""

import itertools

import mpmath
import numpy as np
import torch
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from torch import Tensor


def doubles(*shape: int, rng: torch.Generator) -> Tensor:
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def with_bias(features: Tensor) -> Tensor:
    return torch.cat([features, torch.ones(*features.shape[:-1], 1, dtype=features.dtype)], -1)


def covariance_of_vec(row_scale: Tensor, col_scale: Tensor) -> Tensor:
    """The covariance of W's stacked columns."""
    return torch.kron(col_scale @ col_scale.mT, row_scale @ row_scale.mT)


def curvature(features: Tensor, head: Tensor) -> tuple[Tensor, Tensor]:
    """E[z zᵀ] and E[diag(p) − p pᵀ], image by image."""
    p = (features @ head.mT).softmax(1)
    feature_factor = torch.stack([torch.outer(z, z) for z in features]).mean(0)
    class_factor = torch.stack([torch.diag(q) - torch.outer(q, q) for q in p]).mean(0)
    return feature_factor, class_factor


def mean_sigmoid(mean: float, sd: float) -> float:
    """E[σ(f)] by adaptive quadrature, split where σ turns and where the integrand peaks."""
    points = sorted(
        {mean + sd * k for k in (-12, -6, -2, 0, 2, 6, 12)} | {mean + sd * sd + sd * k for k in (-8, 0, 8)} | {-9, 0, 9}
    )

    def integrand(f: float) -> float:
        return float(expit(f) * np.exp(-0.5 * ((f - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi)))

    return sum(quad(integrand, a, b, epsabs=0, epsrel=1e-13, limit=200)[0] for a, b in itertools.pairwise(points))


def taught(
    prior_mean: Tensor, prior_covariance: Tensor, examples: Tensor, is_target: Tensor, weight: Tensor, probe: Tensor
) -> tuple[float, float]:
    """The learner in weight space: L-BFGS for the mode, the whole Hessian, and the probe's logit N(mean, sd²)."""
    precision = np.linalg.inv(prior_covariance.numpy())
    x, m, w = examples.numpy(), prior_mean.numpy(), weight.numpy()
    sign = np.where(is_target.numpy(), 1.0, -1.0)

    def loss(d: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (x @ d)
        off = d - m
        value = -(w * log_expit(margin)).sum() + 0.5 * off @ precision @ off
        return value, -x.T @ (w * sign * expit(-margin)) + precision @ off

    # In coordinates where the prior is white, and polished by Newton: L-BFGS alone stops at about 1e-6.
    d = minimize(loss, m, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 5000}).x

    def hessian(d: np.ndarray) -> np.ndarray:
        p = expit(x @ d)
        return (x.T * (w * p * (1 - p))) @ x + precision

    for _ in range(5):
        d = d - np.linalg.solve(hessian(d), loss(d)[1])
    z = probe.numpy()
    return float(z @ d), float(np.sqrt(z @ np.linalg.solve(hessian(d), z)))


def gaussian_process(side: int, length_scale: float, sd: float) -> Tensor:
    """The covariance of a square field, pixel by pixel."""
    place = torch.cartesian_prod(*(torch.arange(side, dtype=torch.float64),) * 2)
    return sd**2 * torch.exp(-0.5 * torch.cdist(place, place).square() / length_scale**2)


def conditional(covariance: Tensor, known: Tensor, values: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
    """The Gaussian of some coordinates of N(0, covariance) given others."""
    gain = covariance[asked][:, known] @ torch.linalg.inv(covariance[known][:, known])
    return gain @ values, covariance[asked][:, asked] - gain @ covariance[known][:, asked]


def taught_in_many_digits(
    prior_mean: Tensor, gram: Tensor, cross: Tensor, is_target: list[bool], probe_mean: Tensor, probe_white: Tensor
) -> tuple[float, float]:
    """The learner from a lesson's products, by damped Newton with 80 digits: the probe's logit N(mean, sd²)."""
    with mpmath.workdps(80):
        size = len(is_target)
        k = mpmath.matrix(gram.double().tolist())
        m, c = mpmath.matrix(prior_mean.double().tolist()), mpmath.matrix(cross.double().tolist())
        y = mpmath.matrix([1 if t else 0 for t in is_target])
        eye, dual = mpmath.eye(size), mpmath.zeros(size, 1)

        def p(a):
            return (m + k * a).apply(lambda f: 1 / (1 + mpmath.exp(-f)))

        def height(a):
            f = m + k * a
            return (
                sum(-mpmath.log1p(mpmath.exp(-f[i] if is_target[i] else f[i])) for i in range(size))
                - (a.T * k * a)[0] / 2
            )

        for _ in range(400):
            w = mpmath.diag([q * (1 - q) for q in p(dual)])
            step = mpmath.lu_solve(eye + w * k, w * k * dual + y - p(dual)) - dual
            slope, share = ((y - p(dual) - dual).T * k * step)[0], mpmath.mpf(1)
            while height(dual + share * step) < height(dual) + share * slope / 1000 and share > mpmath.mpf(10) ** -60:
                share /= 2
            dual += share * step
            if mpmath.norm(k * step, mpmath.inf) < mpmath.mpf(10) ** -30:
                break
        w = mpmath.diag([q * (1 - q) for q in p(dual)])
        variance = (
            mpmath.mpf(float(probe_white.double().square().sum())) - (c.T * mpmath.lu_solve(eye + w * k, w * c))[0]
        )
        return float(probe_mean) + float((c.T * dual)[0]), float(mpmath.sqrt(variance))


def incidence(groups: list[np.ndarray]) -> np.ndarray:
    """Z: a column of zeros and ones for each group of each factor."""
    return np.concatenate([np.eye(int(g.max()) + 1)[g] for g in groups], 1)


def laplace(
    outcomes: np.ndarray,
    trials: np.ndarray,
    design: np.ndarray,
    groups: list[np.ndarray],
    coefficients: np.ndarray,
    sds: np.ndarray,
) -> float:
    """Laplace's log-likelihood of a logistic regression with random intercepts, by dense Newton steps in standardised effects."""
    loadings = incidence(groups) * np.repeat(sds, [int(g.max()) + 1 for g in groups])
    fixed, u = design @ coefficients, np.zeros(loadings.shape[1])

    def height(u: np.ndarray) -> float:
        logits = fixed + loadings @ u
        return float(outcomes @ log_expit(logits) + (trials - outcomes) @ log_expit(-logits) - u @ u / 2)

    for _ in range(200):
        p = expit(fixed + loadings @ u)
        hessian = (loadings.T * (trials * p * (1 - p))) @ loadings + np.eye(len(u))
        step = np.linalg.solve(hessian, loadings.T @ (outcomes - trials * p) - u)
        if np.abs(step).max() < 1e-12:
            break
        share = 1.0
        while height(u + share * step) < height(u) and share > 1e-6:
            share /= 2
        u = u + share * step
    return height(u) - float(np.linalg.slogdet(hessian)[1]) / 2


def hierarchical(
    outcomes: np.ndarray, trials: np.ndarray, design: np.ndarray, groups: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Coefficients, standard errors, standard deviations and log-likelihood by differences of the dense Laplace alone."""
    terms = design.shape[1]

    def loss(place: np.ndarray) -> float:
        return -laplace(outcomes, trials, design, groups, place[:terms], np.exp(place[terms:]))

    def differences(place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        steps = 1e-3 * np.eye(len(place))
        pairs = itertools.product(steps, repeat=2)
        hessian = [
            (loss(place + a + b) - loss(place + a - b) - loss(place - a + b) + loss(place - a - b)) for a, b in pairs
        ]
        # Five points: what three leave of third derivatives would be 1e-6.
        gradient = [
            (8 * (loss(place + a) - loss(place - a)) - loss(place + 2 * a) + loss(place - 2 * a)) for a in steps
        ]
        return np.array(gradient) / 12e-3, np.reshape(hessian, (len(place), -1)) / 4e-6

    place = minimize(loss, np.concatenate([np.zeros(terms), np.full(len(groups), -0.5)]), method="BFGS").x
    for _ in range(2):
        gradient, hessian = differences(place)
        place = place - np.linalg.solve(hessian, gradient)
    errors = np.sqrt(np.diag(np.linalg.inv(differences(place)[1])))
    return place[:terms], errors[:terms], np.exp(place[terms:]), -loss(place)
