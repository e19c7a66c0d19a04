"""Insertion and deletion: does a classifier's answer come and go with the pixels that a map calls important?

The published protocol of RISE (Petsiuk, Das & Saenko 2018): pixels leave the image, or enter its blurred copy, a row's worth at a
time, the most important first; the area under the probability of the class is the score, low for deletion, high for insertion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.ndimage import gaussian_filter
from torch import Tensor

from bayesteach.maths import checks
from bayesteach.vision.engines import BLOCK, Engine

# RISE's blur: a Gaussian of standard deviation 5, cut to 11 × 11 pixels.
_KERNEL, _SIGMA = 11, 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Faithfulness:
    """The probability of a class as a share of the pixels has entered or left, most important first."""

    shares: Float[Tensor, " steps"]
    insertion: Float[Tensor, " steps"]
    deletion: Float[Tensor, " steps"]

    @property
    def insertion_auc(self) -> float:
        return area(self.insertion)

    @property
    def deletion_auc(self) -> float:
        return area(self.deletion)

    @property
    def areas(self) -> dict[str, float]:
        """Both areas, for JSON."""
        return {"insertion": round(self.insertion_auc, 6), "deletion": round(self.deletion_auc, 6)}

    def save(self, folder: Path, label: str) -> None:
        """Write faithfulness.csv and faithfulness.png."""
        rows = zip(self.shares.tolist(), self.insertion.tolist(), self.deletion.tolist(), strict=True)
        lines = [f"{share:.6f},{inserted:.6f},{deleted:.6f}" for share, inserted, deleted in rows]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "faithfulness.csv").write_text("\n".join(["share,insertion,deletion", *lines]) + "\n")
        figure = Figure(figsize=(5, 3.6), dpi=150, layout="constrained")
        axis = figure.add_subplot()
        curves = (("insertion", self.insertion, "#b35806"), ("deletion", self.deletion, "#542788"))
        for name, curve, colour in curves:
            axis.plot(self.shares, curve, color=colour, label=f"{name}, area {area(curve):.2f}")
            axis.fill_between(self.shares, curve, color=colour, alpha=0.12, linewidth=0)
        axis.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="share of pixels, most important first")
        axis.set_ylabel(fill(f"p of “{label}”", 40), parse_math=False)
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(folder / "faithfulness.png")


def faithfulness(
    engine: Engine,
    pixels: Float[Tensor, "3 height width"],
    importance: Float[Tensor, "height width"],
    target: int,
    progress: Callable[[int], None] | None = None,
    rows: int = 1,
) -> Faithfulness:
    """Both curves, so many rows' worth of pixels at a time. Equal importance is settled by a pixel's place."""
    height, width = importance.shape
    checks.sizes("pixels", pixels, 3, height, width)
    checks.finite("importance", importance)
    checks.index("target", target, len(engine.classifier.labels))
    order = importance.flatten().argsort(descending=True, stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order))
    step = rows * width
    steps = torch.arange(0, height * width + step, step).clamp_max(height * width).unique()

    def curve(first: Tensor, last: Tensor) -> Tensor:
        found = []
        for reached in steps.split(BLOCK):
            changed = (rank < reached[:, None]).view(-1, 1, height, width)
            features = engine.features(torch.where(changed, last, first))
            found.append(engine.classifier.logits(features).softmax(-1)[:, target])
            if progress is not None:
                progress(len(reached))
        return torch.cat(found)

    faded = torch.tensor(engine.classifier.mean)[:, None, None].expand_as(pixels)
    return Faithfulness(
        shares=steps.float() / (height * width),
        insertion=curve(_blurred(pixels, engine.classifier.mean), pixels),
        deletion=curve(pixels, faded),
    )


def area(curve: Float[Tensor, " steps"]) -> float:
    """The area under a curve over [0, 1], by trapezia."""
    return float((curve.double().sum() - curve[0].double() / 2 - curve[-1].double() / 2) / (len(curve) - 1))


def _blurred(pixels: Tensor, mean: tuple[float, float, float]) -> Tensor:
    """Blurred with the mean colour around the image, which is 0 once normalised."""
    spike = torch.zeros(_KERNEL, _KERNEL, dtype=torch.float64)
    spike[_KERNEL // 2, _KERNEL // 2] = 1
    kernel = torch.from_numpy(gaussian_filter(spike.numpy(), _SIGMA)).float().expand(3, 1, -1, -1)
    centre = torch.tensor(mean)[:, None, None]
    spread = torch.nn.functional.conv2d((pixels - centre)[None], kernel, padding=_KERNEL // 2, groups=3)[0]
    return spread + centre
