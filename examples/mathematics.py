"""The mathematics on a toy whose right answers are known: writes out/mathematics.png.

A head is fitted to three clouds of points; its posterior makes a learner; the learner is taught the best and the worst lesson
about one probe. Beside it, masks from the prior, and the expected mask of a classifier that only looks for a bright disc.
"""

from pathlib import Path

import matplotlib as mpl
import torch

import bayesteach as bt

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

OUT = Path("out")
COLOURS = ("#0072B2", "#D55E00", "#009E73")
CENTRES = torch.tensor([[-1.2, -0.6], [1.2, -0.6], [0.0, 1.2]], dtype=torch.float64)


def main() -> None:
    rng = torch.Generator().manual_seed(0)
    figure, axes = plt.subplots(1, 4, figsize=(16, 4.4), layout="constrained")
    lessons(axes[0], axes[1], rng)
    masks(axes[2], rng)
    saliency(axes[3], rng)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "mathematics.png", dpi=110)
    print(f"Wrote {OUT / 'mathematics.png'}")


def lessons(best_axes: Axes, worst_axes: Axes, rng: torch.Generator) -> None:
    """Two lessons about one probe, and what a novice who starts from each concludes."""
    labels = torch.arange(3).repeat_interleave(80)
    points = CENTRES[labels] + 0.8 * torch.randn(240, 2, generator=rng, dtype=torch.float64)
    features = torch.cat([points, torch.ones(240, 1, dtype=torch.float64)], 1)
    head = bt.refit_head(features, labels, torch.zeros(3, 3, dtype=torch.float64)).head
    sums = bt.CurvatureSums(3, 3).add(features, (features @ head.mT).softmax(1))
    posterior = sums.posterior(head)

    probe = torch.tensor([-0.35, -0.2, 1.0], dtype=torch.float64)
    pool = bt.Pool.of(features[labels == 0], features[labels == 1])
    learner = bt.Learner.between(posterior, 0, 1, knowledge=0.0, prior_strength=0.1)
    tried = bt.best_of(learner, probe, pool, rng, candidates=2000)
    found = bt.exchange(learner, probe, pool, rng)
    assert found.lesson is not None
    swapped = bt.Learner.between(posterior, 1, 0, knowledge=0.0, prior_strength=0.1)
    other_way = bt.Pool(pool.features, ~pool.is_target, pool.ids)
    worst = bt.exchange(swapped, probe, other_way, rng).lesson
    assert worst is not None

    for axes, members, probability, name in (
        (best_axes, found.lesson.members, found.lesson.probability, "The best lesson"),
        (worst_axes, worst.members, 1 - worst.probability, "The worst lesson"),
    ):
        for c, colour in enumerate(COLOURS):
            x, y = points[labels == c].T.numpy()
            axes.scatter(x, y, s=9, color=colour, alpha=0.35, linewidths=0)
        for i in members:
            x, y = pool.features[i, 0, :2].tolist()
            axes.scatter(x, y, s=130, color=COLOURS[0 if pool.is_target[i] else 1], edgecolors="black", zorder=3)
        axes.scatter(float(probe[0]), float(probe[1]), s=220, marker="*", color="black", zorder=4)
        axes.set_title(f"{name}: P(blue | ★) = {probability:.2f}")
        axes.set(xticks=[], yticks=[], aspect="equal")
    print(f"Best lesson: P = {found.lesson.probability:.3f}, taught {found.lesson.taught:+.2f} log odds;")
    print(f"best of 2000 random ones: {tried.best_probability:.3f}; before any lesson: {found.lesson.prior:.3f}.")


def masks(axes: Axes, rng: torch.Generator) -> None:
    """Nine masks from the paper's prior."""
    drawn = bt.MaskPrior().sample(9, rng)
    grid = torch.nn.functional.pad(drawn, (4, 4, 4, 4), value=0.5).view(3, 3, 232, 232)
    axes.imshow(grid.transpose(1, 2).reshape(696, 696), cmap="gray", vmin=0, vmax=1)
    axes.set_title("Masks: σ of a Gaussian process")
    axes.set(xticks=[], yticks=[])


def saliency(axes: Axes, rng: torch.Generator) -> None:
    """The expected mask of a classifier that says "disc" as far as it sees the disc."""
    place = torch.arange(224.0)
    disc = ((place[:, None] - 90) ** 2 + (place - 140) ** 2 < 35**2).float()
    prior = bt.MaskPrior()
    expected = bt.ExpectedMask(classes=1, size=224)
    for drawn in prior.stream(2000, rng):
        seen = (drawn * disc).sum((1, 2)) / disc.sum()
        expected.add(drawn, (4 * seen - 4)[:, None])
    image = axes.imshow(expected.map[0], cmap="cividis", vmin=0, vmax=1)
    axes.contour(disc, levels=[0.5], colors="white", linewidths=1)
    axes.set_title(f"Expected mask, error ±{float(expected.standard_error.mean()):.3f}")
    axes.set(xticks=[], yticks=[])
    axes.figure.colorbar(image, ax=axes, shrink=0.8)


if __name__ == "__main__":
    main()
