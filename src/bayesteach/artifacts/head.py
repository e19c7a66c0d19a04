"""What is known of a classifier: its features and answers, the posterior of its head, and who learns from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Float
from torch import Tensor

from bayesteach.artifacts.seen import Seen, Skipped
from bayesteach.artifacts.shards import Shards
from bayesteach.maths.curvature import HeadPosterior
from bayesteach.maths.discriminant import DiscriminantLearner


@dataclass(frozen=True, eq=False)
class Features:
    """The features of every image, with the 1 of the bias, and the classifier's answers, in one order."""

    seen: tuple[Seen, ...]
    features: Shards
    skipped: tuple[Skipped, ...]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each image is, by its id."""
        return {seen.id: place for place, seen in enumerate(self.seen)}

    @property
    def summary(self) -> str:
        """What a run says of it."""
        hits = sum(seen.answer == seen.label for seen in self.seen)
        skipped = f"; {len(self.skipped)} could not be read, the first {self.skipped[0].path}" if self.skipped else ""
        return f"{len(self.seen)} images, {hits / len(self.seen):.1%} answered as labelled{skipped}"

    def of(self, ids: tuple[str, ...] | list[str]) -> Float[Tensor, "images cols"]:
        """The features of some images."""
        return self.features[[self.places[i] for i in ids]]


@dataclass(frozen=True, slots=True)
class Judged:
    """How well a head foresees the labels of held-out images."""

    head: str
    images: int
    top1: float
    top5: float
    log_loss: float
    calibration_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What is known of the classifier's head, and the learner who knows nothing of it but how images vary.

    judged  the deterministic head beside the Bayesian one, on images that chose nothing of either
    """

    head: HeadPosterior
    discriminant: DiscriminantLearner
    discriminant_shrinkage: float
    judged: tuple[Judged, ...]

    @property
    def summary(self) -> str:
        """What a run says of it."""
        heads = "; ".join(
            f"{row.head} head top-1 {row.top1:.1%}, top-5 {row.top5:.1%}, log loss {row.log_loss:.3f}, "
            f"calibration error {row.calibration_error:.3f}"
            for row in self.judged
        )
        few = self.head.images < 10 * self.head.mean.shape[1]
        scarce = (
            f"; N = {self.head.images:,.0f} is below ten a feature: say fit.images if the head saw more" if few else ""
        )
        return f"{heads} on {self.judged[0].images} held-out images; shrinkage {self.head.shrinkage:g}{scarce}"
