"""The network that learns the drawn world: residual, small, with global pooling and a linear head."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
STEM = (16, 32, 32)
WIDTHS = (32, 64, 128)


class Residual(nn.Module):
    """relu(x + two convolutions of x), with a projection of x where the size changes."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = _convolution(inner, outer, 3, stride)
        self.second = _convolution(outer, outer, 3, 1)
        self.shortcut = nn.Identity() if inner == outer and stride == 1 else _convolution(inner, outer, 1, stride)
        self.relu = nn.ReLU()

    def forward(self, x: Float[Tensor, "images inner height width"]) -> Float[Tensor, "images outer h w"]:
        return self.relu(self.second(self.relu(self.first(x))) + self.shortcut(x))


class ShortcutNet(nn.Module):
    """Normalised pixels to logits. It shrinks eightfold in the stem, which keeps training affordable on a processor."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        sizes = (3, *STEM)
        self.stem = nn.Sequential(
            *(
                layer
                for k, (inner, outer) in enumerate(zip(sizes, STEM, strict=False))
                for layer in (_convolution(inner, outer, 5 if k == 0 else 3, 2), nn.ReLU())
            )
        )
        inners = (STEM[-1], *WIDTHS)
        self.blocks = nn.Sequential(
            *(
                Residual(inner, outer, 1 if k == 0 else 2)
                for k, (inner, outer) in enumerate(zip(inners, WIDTHS, strict=False))
            )
        )
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(WIDTHS[-1], classes)

    def forward(self, x: Float[Tensor, "images 3 height width"]) -> Float[Tensor, "images classes"]:
        return self.head(self.pool(self.blocks(self.stem(x))))


def normalised(pixels: Float[Tensor, "images 3 height width"]) -> Float[Tensor, "images 3 height width"]:
    """Pixels in [0, 1] as the network wants them."""
    mean, std = (torch.tensor(values)[:, None, None] for values in (MEAN, STD))
    return ((pixels - mean) / std).contiguous(memory_format=torch.channels_last)


def _convolution(inner: int, outer: int, kernel: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inner, outer, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outer))
