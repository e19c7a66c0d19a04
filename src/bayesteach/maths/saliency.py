"""The expected mask E[M | class] = Σ mᵢ Qᵢ / Σ Qᵢ, from a stream of weighted masks, with its error."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bayesteach.errors import BadInput, BadShape, NotFinite
from bayesteach.maths import checks

# Fewer say too little about how replicates vary: at 8 the error itself is known to within a quarter.
LEAST_REPLICATES = 8


@dataclass(slots=True, eq=False)
class _Sums:
    """Σ v and Σ v·m over some masks m with weights v, class by class."""

    weights: Float[Tensor, " classes"]
    masks: Float[Tensor, "classes pixels"]

    @classmethod
    def of(cls, weights: Float[Tensor, "n classes"], pixels: Float[Tensor, "n pixels"]) -> "_Sums":
        return cls(weights.sum(0), weights.mT @ pixels)

    @classmethod
    def zero(cls, classes: int, pixels: int) -> "_Sums":
        return cls(torch.zeros(classes, dtype=torch.float64), torch.zeros(classes, pixels, dtype=torch.float64))

    def add(self, other: "_Sums") -> None:
        self.weights += other.weights
        self.masks += other.masks

    def scale(self, factor: Float[Tensor, " classes"]) -> None:
        self.weights *= factor
        self.masks *= factor[:, None]


class ExpectedMask:
    """A running self-normalised average of masks, for many classes at once, in log space.

    Masks that depend on each other (Sobol points, a chain) are added under the number of their replicate: a set of masks that is
    independent of all other sets. A mask added without one is independent of all others.
    """

    def __init__(self, classes: int, size: int | tuple[int, int]) -> None:
        self.size = checks.sides(size)
        self.classes = classes
        checks.some("classes", classes)
        self.count = 0
        # Weights are kept relative to exp(peak), the greatest so far of each class: none can overflow, and not all underflow.
        self._peak = torch.full((classes,), -torch.inf, dtype=torch.float64)
        self._all = self._none()
        self._square_weights = torch.zeros(classes, dtype=torch.float64)
        # Of the independent masks: how many, Σw² and Σw²m, and Σw²m².
        self._independent = 0
        self._squares = self._none()
        self._square_masks = torch.zeros(classes, self.size[0] * self.size[1], dtype=torch.float64)
        self._replicates: dict[int, _Sums] = {}

    def add(
        self,
        masks: Float[Tensor, "n height width"],
        log_weights: Float[Tensor, "n classes"],
        replicate: int | None = None,
    ) -> "ExpectedMask":
        """Take in a batch: masks, and the log probability of each class under each mask."""
        checks.sizes("masks", masks, "n", *self.size)
        checks.floating("masks", masks)
        checks.sizes("log_weights", log_weights, len(masks), self.classes)
        checks.finite("masks", masks)
        _log_weights(log_weights)
        if not len(masks):
            return self
        log_weights = log_weights.detach().double()
        self._raise_peak(log_weights.amax(0))
        weights = torch.exp(log_weights - self._reference)
        # In float64, or the error of masks that hardly differ would cancel to nothing: 3 % of a ResNet-50's time.
        pixels = masks.detach().flatten(1).double()
        batch = _Sums.of(weights, pixels)
        squares = weights.square()
        self.count += len(masks)
        self._all.add(batch)
        self._square_weights += squares.sum(0)
        if replicate is None:
            self._independent += len(masks)
            self._squares.add(_Sums.of(squares, pixels))
            self._square_masks += squares.mT @ pixels.square()
        else:
            self._replicates.setdefault(replicate, self._none()).add(batch)
        return self

    def __add__(self, other: "ExpectedMask") -> "ExpectedMask":
        """What adding the masks of both would have given; replicates of the same number are one."""
        if (self.classes, self.size) != (other.classes, other.size):
            raise BadShape(
                f"expected mask: found {other.classes} classes at {other.size}, expected {self.classes} at {self.size}. "
                "Merge masks of the same image size and classes."
            )
        total = ExpectedMask(self.classes, self.size)
        for part in (self, other):
            total._raise_peak(part._peak)
            total._absorb(part)
        return total

    @property
    def map(self) -> Float[Tensor, "classes height width"]:
        """E[M | class]."""
        self._weighted()
        return (self._all.masks / self._all.weights[:, None]).unflatten(1, self.size)

    @property
    def standard_error(self) -> Float[Tensor, "classes height width"]:
        """The delta method for a ratio of sums over independent units, each a mask of its own or a replicate.

        With A = Σ w·m and B = Σ w over a unit, se² = Σ_units (A − map · B)² / (Σ w)², times k / (k − 1) for k units. It is too
        small while a few masks hold all the weight: look at `effective_samples` too.
        """
        self._weighted()
        if 0 < len(self._replicates) < LEAST_REPLICATES:
            raise BadInput(
                f"standard error: found {len(self._replicates)} replicates, expected at least {LEAST_REPLICATES}. Split the "
                "masks over more scrambles, or draw them independently."
            )
        if self._independent + len(self._replicates) < 2:
            return torch.full((self.classes, *self.size), torch.inf, dtype=torch.float64)
        mean = self._all.masks / self._all.weights[:, None]
        squares = self._square_masks - 2 * mean * self._squares.masks + mean.square() * self._squares.weights[:, None]
        variance = squares.clamp_min(0) * _unbiased(self._independent)
        if self._replicates:
            of_replicates = sum((r.masks - mean * r.weights[:, None]).square() for r in self._replicates.values())
            variance = variance + of_replicates * _unbiased(len(self._replicates))
        return (variance.sqrt() / self._all.weights[:, None]).unflatten(1, self.size)

    @property
    def effective_samples(self) -> Float[Tensor, " classes"]:
        """(Σ w)² / Σ w²: how many equally weighted masks these are worth."""
        self._weighted()
        return self._all.weights.square() / self._square_weights

    @property
    def _reference(self) -> Tensor:
        """The peak, or 0 for a class that no mask has shown yet: its weights are then 0, not NaN."""
        return self._peak.nan_to_num(neginf=0.0)

    def _none(self) -> _Sums:
        return _Sums.zero(self.classes, self.size[0] * self.size[1])

    def _raise_peak(self, seen: Tensor) -> None:
        peak = torch.maximum(self._peak, seen)
        if torch.equal(peak, self._peak):
            return
        factor = torch.where(peak > self._peak, torch.exp(self._peak - peak), torch.ones_like(peak))
        self._peak = peak
        for sums in (self._all, *self._replicates.values()):
            sums.scale(factor)
        self._squares.scale(factor.square())
        self._square_weights *= factor.square()
        self._square_masks *= factor.square()[:, None]

    def _absorb(self, part: "ExpectedMask") -> None:
        """Add what another holds, brought to this peak, which is not below its own."""
        factor = torch.where(part._peak.isfinite(), torch.exp(part._peak - self._reference), 0.0)
        self.count += part.count
        self._independent += part._independent
        pairs = [(self._all, part._all, factor), (self._squares, part._squares, factor.square())]
        for number, sums in part._replicates.items():
            pairs.append((self._replicates.setdefault(number, self._none()), sums, factor))
        for mine, its, by in pairs:
            mine.add(_Sums(its.weights * by, its.masks * by[:, None]))
        self._square_weights += part._square_weights * factor.square()
        self._square_masks += part._square_masks * factor.square()[:, None]

    def _weighted(self) -> None:
        checks.some("masks added", self.count)
        if not bool(self._peak.isfinite().all()):
            classes = (~self._peak.isfinite()).nonzero()[:, 0].tolist()
            raise BadInput(
                f"expected mask: every weight of classes {classes} is zero. Pass log probabilities (log_softmax), which do not "
                "underflow, and not the log of probabilities."
            )


def _log_weights(log_weights: Tensor) -> None:
    bad = log_weights.isnan() | (log_weights == torch.inf)
    if bool(bad.any()):
        first = tuple(int(i) for i in bad.nonzero()[0])
        raise NotFinite(
            f"log_weights: NaN or +infinite at index {first}. Pass the classifier's log probabilities (log_softmax)."
        )


def _unbiased(units: int) -> float:
    """k / (k − 1), so that uniform weights give the textbook standard error."""
    return units / (units - 1) if units > 1 else 1.0
