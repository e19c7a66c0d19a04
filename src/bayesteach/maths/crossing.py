"""Laplace's approximation for logistic regression with crossed random intercepts, with its gradient and its Hessian.

    yᵢ ~ Binomial(nᵢ, σ(ηᵢ)),   η = X β + Z b,   b ~ N(0, D),   D = diag(v₁ I, v₂ I, …): one variance a factor

    ℓ(β, v) = log p(y | β, b̂) − ½ b̂ᵀ D⁻¹ b̂ − ½ log|D| − ½ log|H|,   H = Zᵀ W Z + D⁻¹

at the conditional mode b̂(β, v). Binomial coefficients are left out: rows count the same alone or collapsed.
With ρ = log v, w = nμ(1−μ), w′ = w(1−2μ), h = diag(Z H⁻¹ Zᵀ), c = h w′ and a = H⁻¹ Zᵀ c, and with the
derivatives of the mode, H ∂b̂/∂βₖ = −Zᵀ W xₖ and H ∂b̂/∂ρ_f = b̂_f / v_f, all of them follow in closed form.

Derivatives are by β and by *spread* = log(v + 0.05). Near 0 it moves as v does, so that variance 0 is no stationary point, as it
is by SD or log v; far from 0 it is log v, by which a likelihood is nearly a parabola.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from bayesteach.maths.arrow import Arrow, ArrowInverse

# A Newton step that moves no logit further needs no trial: as a logistic loss changes its curvature by at most e^|Δη|
# (Bach 2010, self-concordant analysis), up to 1.79 the objective rises for certain. Longer steps are halved until it does.
_REACH = 1.5
_MODE_STEPS = 200
# In logits, and in SDs of the effects, which matter where a variance is nearly 0. A step this short is not taken: it would change
# log|H| by its length times Σ h |w′|, and the rest of ℓ by its square.
_MODE_TOLERANCE = 1e-8
_SOFT = 0.05


def spreads_of(variances: Float[ndarray, " factors"]) -> Float[ndarray, " factors"]:
    """Variances as they are searched."""
    return np.log(variances + _SOFT)


def variances_of(spreads: Float[ndarray, " factors"]) -> Float[ndarray, " factors"]:
    """And back."""
    return np.exp(spreads) - _SOFT


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """Which groups each row belongs to: the matrix Z, with the largest factor first."""

    groups: tuple[Int[ndarray, " rows"], ...]
    sizes: tuple[int, ...]
    # Where a row falls in the table of the first factor by all others, and among the others in pairs.
    wings: tuple[Int[ndarray, " rows"], ...]
    links: tuple[Int[ndarray, " rows"], ...]

    @classmethod
    def of(cls, groups: Sequence[Int[ndarray, " rows"]], sizes: Sequence[int]) -> "Crossing":
        first, *others = groups
        starts = np.cumsum([0, *sizes[1:]])
        small = int(starts[-1])
        placed = [start + other for start, other in zip(starts[:-1], others, strict=True)]
        wings = tuple(first * small + place for place in placed)
        links = tuple(one * small + other for one, other in combinations(placed, 2))
        return cls(tuple(groups), tuple(sizes), wings, links)

    def only(self, rows: Bool[ndarray, " rows"]) -> "Crossing":
        """The same groups for some of the rows."""
        return Crossing(
            tuple(g[rows] for g in self.groups),
            self.sizes,
            tuple(wing[rows] for wing in self.wings),
            tuple(link[rows] for link in self.links),
        )

    @property
    def blocks(self) -> list[slice]:
        """Each factor's place in a vector over all groups."""
        return [slice(start, end) for start, end in pairwise(np.cumsum([0, *self.sizes]))]

    def sums(self, values: Float[ndarray, " rows"]) -> Float[ndarray, " groups"]:
        """Zᵀ x."""
        counts = [np.bincount(g, values, size) for g, size in zip(self.groups, self.sizes, strict=True)]
        return np.concatenate(counts)

    def per_row(self, values: Float[ndarray, " groups"]) -> Float[ndarray, " rows"]:
        """Z b."""
        first, *others = (values[block].take(g) for g, block in zip(self.groups, self.blocks, strict=True))
        for other in others:
            first += other
        return first

    def gram(self, weights: Float[ndarray, " rows"]) -> Arrow:
        """Zᵀ diag(w) Z."""
        large, small = self.sizes[0], sum(self.sizes[1:])
        if not small:
            return Arrow(self.sums(weights), np.zeros((large, 0)), np.zeros((0, 0)))
        table, head = np.zeros((large, small)), np.zeros((small, small))
        for wing in self.wings:
            table += np.bincount(wing, weights, large * small).reshape(large, small)
        for link in self.links:
            head += np.bincount(link, weights, small * small).reshape(small, small)
        return Arrow(table[:, : self.sizes[1]].sum(1), table, head + head.T + np.diag(table.sum(0)))

    def forms(self, inverse: ArrowInverse) -> tuple[Float[ndarray, " rows"], Float[ndarray, " groups"]]:
        """diag(Z H⁻¹ Zᵀ) and diag(H⁻¹)."""
        diagonal, side, core = inverse.entries()
        large = self.sizes[0]
        table = (2 * side + diagonal[large:]).ravel()
        forms = diagonal[:large].take(self.groups[0])
        for wing in self.wings:
            forms += table.take(wing)
        double = 2 * core.ravel()
        for link in self.links:
            forms += double.take(link)
        return forms, diagonal


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """Counts of ones among trials, the distinct rows of a design, and the row of it that each count was given at."""

    ones: Float[ndarray, " rows"]
    trials: Float[ndarray, " rows"]
    cells: Float[ndarray, "cells terms"]
    cell: Int[ndarray, " rows"]
    crossing: Crossing

    def project(self, values: Float[ndarray, " rows"]) -> Float[ndarray, " terms"]:
        """Xᵀ x."""
        return self.cells.T @ np.bincount(self.cell, values, len(self.cells))

    def mode(
        self,
        coefficients: Float[ndarray, " terms"],
        variances: Float[ndarray, " factors"],
        start: Float[ndarray, " groups"],
    ) -> "Mode":
        """The conditional mode b̂ and what holds there, by Newton's method (penalised IRLS)."""
        crossing = self.crossing
        precision = np.repeat(1 / variances, crossing.sizes)
        root = np.sqrt(precision)
        fixed = (self.cells @ coefficients).take(self.cell)

        def height(effects: ndarray, logit: ndarray) -> float:
            loss = self.trials @ (np.maximum(logit, 0) + np.log1p(np.exp(-np.abs(logit))))
            return float(self.ones @ logit - loss - 0.5 * (precision @ effects**2))

        effects = start
        for _ in range(_MODE_STEPS):
            logit = fixed + crossing.per_row(effects)
            tail = np.exp(-np.abs(logit))
            p = np.where(logit > 0, 1.0, tail) / (1 + tail)
            weights = self.trials * tail / (1 + tail) ** 2
            residuals = self.ones - self.trials * p
            inverse = crossing.gram(weights).plus_diagonal(precision).inverse()
            step = inverse.times(crossing.sums(residuals) - precision * effects)
            move = crossing.per_row(step)
            reach = float(np.abs(move).max())
            if max(reach, float(np.abs(step * root).max())) < _MODE_TOLERANCE:
                break
            share = 1.0
            if reach > _REACH:
                now = height(effects, logit)
                while share * reach > _REACH and height(effects + share * step, logit + share * move) < now:
                    share /= 2
            effects = effects + share * step
        value = height(effects, logit) + 0.5 * (float(np.log(precision).sum()) - inverse.log_determinant())
        return Mode(self, coefficients, variances, effects, p, weights, residuals, inverse, value, reach)


@dataclass(frozen=True, slots=True, eq=False)
class Mode:
    """The conditional mode at some coefficients and variances: ℓ there, and its derivatives by (β, spread)."""

    responses: Responses
    coefficients: Float[ndarray, " terms"]
    variances: Float[ndarray, " factors"]
    effects: Float[ndarray, " groups"]
    p: Float[ndarray, " rows"]
    weights: Float[ndarray, " rows"]
    residuals: Float[ndarray, " rows"]
    inverse: ArrowInverse
    log_likelihood: float
    reach: float

    def gradient(self) -> Float[ndarray, " parameters"]:
        """∂ℓ/∂β = Xᵀ(r − ½c + ½ W Z a),  ∂ℓ/∂ρ_f = ½ (b_fᵀb_f / v_f − q_f + (tr_f H⁻¹ − a_fᵀb_f) / v_f)."""
        crossing, v = self.responses.crossing, self.variances
        forms, diagonal = crossing.forms(self.inverse)
        third = forms * self.weights * (1 - 2 * self.p)
        pull = self.inverse.times(crossing.sums(third))
        by_coefficients = self.responses.project(
            self.residuals - 0.5 * third + 0.5 * self.weights * crossing.per_row(pull)
        )
        per_group = diagonal + self.effects * (self.effects - pull)
        by_log_variance = 0.5 * (np.array([per_group[b].sum() for b in crossing.blocks]) / v - crossing.sizes)
        return np.concatenate([by_coefficients, by_log_variance * (v + _SOFT) / v])

    def hessian(self) -> Float[ndarray, "parameters parameters"]:
        """∂²ℓ/∂φ∂φᵀ by φ = (β, spread), exactly.

        With η_k = ∂η/∂φₖ along the mode, Ḣ_k = ∂H/∂φₖ and ρ = log v, it is  −xₖᵀ W η_l  (or, by ρ, b̂ᵀ ∂b̂/∂φ_l / v)  plus
        −½ { Σ (h w″ − w′ Z a) η_k η_l + [k = ρ_f] a_fᵀ ∂b̂_f/∂φ_l / v_f + [l = ρ_g] … − tr(H⁻¹ Ḣ_k H⁻¹ Ḣ_l) } .
        """
        responses, crossing, v = self.responses, self.responses.crossing, self.variances
        blocks, terms = crossing.blocks, responses.cells.shape[1]
        parameters = terms + len(v)
        forms, diagonal = crossing.forms(self.inverse)
        second = self.weights * (1 - 2 * self.p)
        fourth = self.weights * (1 - 6 * self.p * (1 - self.p))
        pull = self.inverse.times(crossing.sums(forms * second))

        forces = np.zeros((len(self.effects), parameters))
        for k in range(terms):
            forces[:, k] = -crossing.sums(self.weights * responses.cells[:, k].take(responses.cell))
        for f, block in enumerate(blocks):
            forces[block, terms + f] = self.effects[block] / v[f]
        moves = self.inverse.times(forces)

        slopes = np.empty((parameters, len(self.p)))
        arrows = []
        for k in range(parameters):
            slopes[k] = crossing.per_row(moves[:, k])
            if k < terms:
                slopes[k] += responses.cells[:, k].take(responses.cell)
            arrow = crossing.gram(second * slopes[k])
            if k >= terms:
                drop = np.zeros(len(self.effects))
                drop[blocks[k - terms]] = -1 / v[k - terms]
                arrow = arrow.plus_diagonal(drop)
            arrows.append(arrow)

        bend = forms * fourth - second * crossing.per_row(pull)
        hessian = -0.5 * ((slopes * bend) @ slopes.T - self.inverse.trace_products(arrows))
        for k in range(terms):
            x = responses.cells[:, k].take(responses.cell) * self.weights
            hessian[k] -= slopes @ x
        per_group = diagonal + self.effects * (self.effects - pull)
        bent = np.zeros(parameters)
        for f, block in enumerate(blocks):
            k = terms + f
            half_pull = 0.5 * pull[block] @ moves[block] / v[f]
            hessian[k] += self.effects[block] @ moves[block] / v[f] - half_pull
            hessian[:, k] -= half_pull
            # By ρ so far. With ρ(spread), −½ Σ(…) of ρ's own and then the gradient by ρ times ρ″ = −0.05 (v + 0.05) / v².
            total = per_group[block].sum() / v[f]
            hessian[k, k] -= 0.5 * total
            bent[k] = -0.5 * (total - crossing.sizes[f]) * _SOFT * (v[f] + _SOFT) / v[f] ** 2
        scale = np.concatenate([np.ones(terms), (v + _SOFT) / v])
        return hessian * scale * scale[:, None] + np.diag(bent)
