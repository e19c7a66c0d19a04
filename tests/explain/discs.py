"""A classifier that looks for one thing, so that one knows where its maps must lie."""

import torch
from torch import nn

from bayesteach import Classifier, Geometry

SIZE = 48


class LooksForRed(nn.Module):
    """Class 0 if there is red anywhere, class 1 if there is blue, class 2 if neither."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)
        with torch.no_grad():
            self.fc.weight.copy_(torch.tensor([[12.0, 0.0], [0.0, 12.0], [0.0, 0.0]]))
            self.fc.bias.copy_(torch.tensor([-4.0, -4.0, 0.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        red = (x[:, 0] - x[:, 1] - x[:, 2]).relu()
        blue = (x[:, 2] - x[:, 0] - x[:, 1]).relu()
        return self.fc(torch.stack([red, blue], 1).mean((2, 3)) * 8)


def classifier(size: int = SIZE) -> Classifier:
    return Classifier.from_module(
        LooksForRed(),
        head="fc",
        preprocess=Geometry((size, size), size),
        mean=(0.0, 0.0, 0.0),
        std=(1.0, 1.0, 1.0),
        labels=["red thing", "blue thing", "nothing"],
        name="red or blue",
    )
