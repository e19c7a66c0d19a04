"""From a photo to the square that a network sees, and back to where that square lies in the photo."""

from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Generator, Tensor

from bayesteach.errors import OutOfRange

_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}

# Random resized crops as in the usual training of ImageNet networks: share of the area, and its proportions.
_AREA = (0.08, 1.0)
_RATIO = (3 / 4, 4 / 3)
_TRIES = 10

# A long strip of a photo, resized before its crop, could fill any memory: beyond so many pixels only the crop is made.
_LARGE = 50_000_000


@dataclass(frozen=True, slots=True)
class Geometry:
    """A resize, and a crop at the centre.

    size    height and width of what the network sees
    short   the photo's short side before the crop; None squashes the whole photo to `size`, as the paper does
    filter  nearest, bilinear, bicubic or lanczos
    """

    size: tuple[int, int]
    short: int | None
    filter: str = "bilinear"

    def __post_init__(self) -> None:
        if self.filter not in _FILTERS:
            raise OutOfRange(f"geometry: found filter {self.filter!r}, expected one of {', '.join(_FILTERS)}.")
        if min(self.size) < 1 or (self.short is not None and self.short < max(self.size)):
            raise OutOfRange(
                f"geometry: found size {self.size} and short side {self.short}; the short side must hold the crop. "
                "Raise the short side, or pass None to squash the photo."
            )

    def squashed(self) -> "Geometry":
        """The paper's: the whole photo, without its proportions."""
        return Geometry(self.size, None, self.filter)

    def crop(self, photo: Image.Image) -> Image.Image:
        """What the network sees, as a picture."""
        height, width = self.size
        if self.short is None:
            return photo.resize((width, height), _FILTERS[self.filter])
        resized = self._resized(photo.width, photo.height)
        if resized[0] * resized[1] > _LARGE:
            return photo.resize((width, height), _FILTERS[self.filter], box=self.box(photo.width, photo.height))
        large = photo.resize(resized, _FILTERS[self.filter])
        left, top = round((large.width - width) / 2), round((large.height - height) / 2)
        return large.crop((left, top, left + width, top + height))

    def pixels(self, photo: Image.Image) -> Float[Tensor, "3 height width"]:
        """What the network sees, in [0, 1]."""
        return _to_pixels(self.crop(photo))

    def box(self, width: int, height: int) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the crop in a photo of this size, in the photo's own pixels."""
        if self.short is None:
            return 0.0, 0.0, float(width), float(height)
        large_width, large_height = self._resized(width, height)
        x, y = width / large_width, height / large_height
        left, top = round((large_width - self.size[1]) / 2), round((large_height - self.size[0]) / 2)
        return left * x, top * y, min((left + self.size[1]) * x, width), min((top + self.size[0]) * y, height)

    def views(self, photo: Image.Image, count: int, rng: Generator) -> Float[Tensor, "count 3 height width"]:
        """Random resized crops, half of them mirrored: what a network sees while it is trained."""
        seen = []
        for _ in range(count):
            box = _random_box(photo.width, photo.height, rng)
            view = photo.resize((self.size[1], self.size[0]), _FILTERS[self.filter], box=box)
            if _uniform(rng) < 0.5:
                view = view.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            seen.append(_to_pixels(view))
        return torch.stack(seen) if seen else torch.empty(0, 3, *self.size)

    def _resized(self, width: int, height: int) -> tuple[int, int]:
        assert self.short is not None  # noqa: S101 — for the type checker: callers have looked
        if width <= height:
            return self.short, int(self.short * height / width)
        return int(self.short * width / height), self.short


def _random_box(width: int, height: int, rng: Generator) -> tuple[int, int, int, int]:
    area = width * height
    for _ in range(_TRIES):
        share = _AREA[0] + (_AREA[1] - _AREA[0]) * _uniform(rng)
        ratio = exp(log(_RATIO[0]) + (log(_RATIO[1]) - log(_RATIO[0])) * _uniform(rng))
        w, h = round(sqrt(area * share * ratio)), round(sqrt(area * share / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = int(_uniform(rng) * (width - w + 1)), int(_uniform(rng) * (height - h + 1))
            return left, top, left + w, top + h
    # No crop of these proportions fits: a long photo gives its centre.
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side, top + side


def _uniform(rng: Generator) -> float:
    return float(torch.rand((), generator=rng))


def _to_pixels(picture: Image.Image) -> Float[Tensor, "3 height width"]:
    return torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1).float().div_(255)
