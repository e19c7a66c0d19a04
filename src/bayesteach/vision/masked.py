"""A photo seen through masks."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bayesteach.errors import OutOfRange
from bayesteach.maths import checks
from bayesteach.maths.masks import MaskPrior
from bayesteach.vision.classifier import Classifier

Baseline = Literal["black", "mean"]


@dataclass(frozen=True, slots=True, eq=False)
class MaskedPhoto:
    """The pixels of a photo, and the colour that they fade to where a mask is 0."""

    pixels: Float[Tensor, "3 height width"]
    faded: Float[Tensor, "3 1 1"]

    @classmethod
    def of(
        cls, pixels: Float[Tensor, "3 height width"], classifier: Classifier, baseline: Baseline = "black"
    ) -> "MaskedPhoto":
        """Faded to black, as the paper has it, or to the mean colour of the training images, which is 0 once normalised."""
        checks.sizes("pixels", pixels, 3, *classifier.geometry.size)
        if baseline not in get_args(Baseline):
            raise OutOfRange(f"baseline: found {baseline!r}, expected one of {', '.join(get_args(Baseline))}.")
        colour = (0.0, 0.0, 0.0) if baseline == "black" else classifier.mean
        return cls(pixels, torch.tensor(colour)[:, None, None])

    def under(self, masks: Float[Tensor, "n height width"]) -> Float[Tensor, "n 3 height width"]:
        """mask · pixels + (1 − mask) · faded."""
        return torch.addcmul(self.faded, masks[:, None], self.pixels - self.faded)


def mask_prior(classifier: Classifier) -> MaskPrior:
    """The paper's masks at the size that the network sees: their length scale is a tenth of the side."""
    size = classifier.geometry.size
    return MaskPrior(size, length_scale=max(size) / 10)
