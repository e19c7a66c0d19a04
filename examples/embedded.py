"""The drawn world and what its classifier answers: prints a table by split, and writes out/embedded.png.

Above, each category at home; below, somewhere else, with the answer of the classifier where it is wrong.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from bayesteach import Classifier
from bayesteach.vision.shortcuts import LABELS, look, places
from bayesteach.vision.shortcuts.report import Answers, answers

mpl.use("agg")
from matplotlib import pyplot as plt

OUT = Path("out")
EACH = 60
COLUMNS = 9


def main() -> None:
    classifier = Classifier.load("embedded")
    standard = answers(classifier, places("standard", EACH))
    adversarial = answers(classifier, places("adversarial", EACH))
    print(f"{'split':12} {'images':>6} {'right':>6} {'p of right answers':>19} {'p of wrong answers':>19}")
    for name, found in (("standard", standard), ("adversarial", adversarial)):
        said = f"{found.confidence(hits=True):19.2f} {found.confidence(hits=False):19.2f}"
        print(f"{name:12} {len(found.places):6} {found.accuracy:6.1%} {said}")
    wrong = ~adversarial.hits
    print(f"{adversarial.lives_there[wrong].mean():.0%} of the wrong adversarial answers live on the background shown")
    errors = [int((~standard.hits[standard.truth == k]).sum()) for k in range(len(LABELS))]
    print(f"errors on {EACH} standard images of a category: {min(errors)} to {max(errors)}")
    for label, row in zip(LABELS, standard.confusion, strict=True):
        row[LABELS.index(label)] = 0
        print(f"  {label:14} most often taken for {LABELS[int(row.argmax())]} ({row.max()} of {EACH})")
    OUT.mkdir(exist_ok=True)
    contact_sheet(adversarial, OUT / "embedded.png")


def contact_sheet(adversarial: Answers, file: Path) -> None:
    rows = -(-len(LABELS) // COLUMNS)
    figure, axes = plt.subplots(2 * rows, COLUMNS, figsize=(COLUMNS * 1.02, 2 * rows * 1.17), dpi=120)
    for ax in axes.flat:
        ax.axis("off")
    for k, label in enumerate(LABELS):
        home = next(s for s in map(look, places("standard", 9, categories=[label])[4:]) if s.at_home)
        away = next(j for j in np.flatnonzero((adversarial.truth == k) & ~adversarial.hits))
        answer = int(adversarial.answer[away])
        p = adversarial.probabilities[away, answer]
        shown = ((home, label), (look(adversarial.places[away]), f"{LABELS[answer]} {p:.2f}"))
        for part, (sight, title) in enumerate(shown):
            ax = axes[k // COLUMNS + part * rows, k % COLUMNS]
            ax.imshow(sight.picture.pixels, interpolation="lanczos")
            ax.set_title(title, fontsize=7, pad=2, color=("black", "#b03020")[part])
    figure.subplots_adjust(0.005, 0.005, 0.995, 0.975, 0.04, 0.16)
    figure.savefig(file, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
