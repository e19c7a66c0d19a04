"""Symmetric matrices with one large diagonal block, as crossed random intercepts make them.

    A = [ diag(shaft)  wing ]      C = head − wingᵀ diag(shaft)⁻¹ wing,   the Schur complement of the shaft
        [   wingᵀ      head ]

Everything below costs what the small block C costs: thousands of participants on the shaft are free beside thirty categories.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg import cho_solve, solve_triangular


@dataclass(frozen=True, slots=True, eq=False)
class Arrow:
    """[[diag(shaft), wing], [wingᵀ, head]]."""

    shaft: Float[ndarray, " large"]
    wing: Float[ndarray, "large small"]
    head: Float[ndarray, "small small"]

    def plus_diagonal(self, diagonal: Float[ndarray, " size"]) -> "Arrow":
        large = len(self.shaft)
        return Arrow(self.shaft + diagonal[:large], self.wing, self.head + np.diag(diagonal[large:]))

    def inverse(self) -> "ArrowInverse":
        """The inverse of a positive definite arrow; numpy's LinAlgError if it is not."""
        bent = self.wing / self.shaft[:, None]
        root = np.linalg.cholesky(self.head - self.wing.T @ bent)
        return ArrowInverse(1 / self.shaft, bent, root)


@dataclass(frozen=True, slots=True, eq=False)
class ArrowInverse:
    """A⁻¹ = diag(reciprocal, 0) + V C⁻¹ Vᵀ, with V = [−bent; I] and C = root rootᵀ; never formed."""

    reciprocal: Float[ndarray, " large"]
    bent: Float[ndarray, "large small"]
    root: Float[ndarray, "small small"]

    def log_determinant(self) -> float:
        """log |A|."""
        return float(2 * np.log(np.diag(self.root)).sum() - np.log(self.reciprocal).sum())

    def times(self, vectors: Float[ndarray, "size *columns"]) -> Float[ndarray, "size *columns"]:
        """A⁻¹ x, for a vector or the columns of a matrix."""
        large = len(self.reciprocal)
        above = (self.reciprocal * vectors[:large].T).T
        if not len(self.root):
            return above
        below = cho_solve((self.root, True), vectors[large:] - self.bent.T @ vectors[:large], check_finite=False)
        return np.concatenate([above - self.bent @ below, below])

    def entries(self) -> tuple[Float[ndarray, " size"], Float[ndarray, "large small"], Float[ndarray, "small small"]]:
        """Of A⁻¹: its diagonal, the block between shaft and head, and the head."""
        half = self._half()
        core = half @ half.T
        side = -self.bent @ core
        return np.concatenate([self.reciprocal - np.einsum("ij,ij->i", side, self.bent), np.diag(core)]), side, core

    def trace_products(self, arrows: list[Arrow]) -> Float[ndarray, "arrows arrows"]:
        """tr(A⁻¹ Dₖ A⁻¹ Dₗ) for every pair of arrows D.

        With A⁻¹ = R + V C⁻¹ Vᵀ it is tr(R Dₖ R Dₗ) + 2 tr(C⁻¹ Vᵀ Dₖ R Dₗ V) + tr(C⁻¹ Vᵀ Dₖ V C⁻¹ Vᵀ Dₗ V).
        """
        count, half = len(arrows), self._half()
        wings = np.empty((count, *self.bent.shape))
        heads = np.empty((count, *half.shape))
        for k, arrow in enumerate(arrows):
            on_shaft = arrow.wing - arrow.shaft[:, None] * self.bent  # the shaft's rows of Dₖ V
            on_head = arrow.head - arrow.wing.T @ self.bent
            wings[k] = np.sqrt(self.reciprocal)[:, None] * (on_shaft @ half)
            heads[k] = half.T @ (on_head - self.bent.T @ on_shaft) @ half
        shafts = np.array([arrow.shaft * self.reciprocal for arrow in arrows])
        wings, heads = wings.reshape(count, -1), heads.reshape(count, -1)
        return shafts @ shafts.T + 2 * wings @ wings.T + heads @ heads.T

    def _half(self) -> Float[ndarray, "small small"]:
        """C⁻¹ = half halfᵀ."""
        if not len(self.root):
            return self.root
        return solve_triangular(self.root, np.eye(len(self.root)), lower=True, check_finite=False).T
