"""A trial with its map and lesson, the one whose map has the least error: python examples/trial.py STUDY OUT.png."""

import io
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure, SubFigure
from PIL import Image

from bayesteach.artifacts import Hidden, Shown, Stimuli
from bayesteach.store.stimuli import read_stimuli

KIND = "adversarial_incorrect"
LEAST = 30.0


def main(study: Path, to: Path) -> None:
    stimuli = read_stimuli(study / "artifacts" / "compose" / "stimuli")
    pairs = zip(stimuli.shown, stimuli.hidden, strict=True)
    known = [(shown, hidden) for shown, hidden in pairs if shown.kind == "trial" and hidden.trial_type == KIND]
    shown, hidden = min(known, key=lambda pair: error(pair[1]))
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(10, 4.1), dpi=100, layout="constrained")
    parts: Any = figure.subfigures(1, 3, wspace=0.03)
    probe, first, second = parts
    draw(probe, f"Which did the AI answer:\n{shown.options[0]} or {shown.options[1]}?", pictures(stimuli, shown))
    for side, group in zip((first, second), shown.panels["both"].groups, strict=True):
        rows = [[stimuli.pictures[name] for name in names] for names in (group.images, group.overlays)]
        draw(side, f"examples of\n{group.heading}", rows)
    figure.savefig(to)
    print(f"{to}: {hidden.category}, answered {hidden.target}")


def error(hidden: Hidden) -> float:
    worth, noise = (float(hidden.covariates[name] or 0) for name in ("effective_samples", "map_noise"))
    return noise if worth >= LEAST else 1.0


def pictures(stimuli: Stimuli, shown: Shown) -> list[list[bytes]]:
    overlay = shown.panels["both"].overlay or shown.probe
    return [[stimuli.pictures[shown.probe]], [stimuli.pictures[overlay]]]


def draw(part: SubFigure, title: str, rows: list[list[bytes]]) -> None:
    part.suptitle(title, fontsize=11)
    axes = part.subplots(2, len(rows[0]), squeeze=False)
    for line, row in zip(axes, rows, strict=True):
        for axis, png in zip(line, row, strict=True):
            axis.imshow(Image.open(io.BytesIO(png)))
            axis.axis("off")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
