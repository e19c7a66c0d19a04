"""What a classifier answers to the drawn world, where the right answer is known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bayesteach.vision.classifier import Classifier
from bayesteach.vision.shortcuts.categories import CATEGORIES
from bayesteach.vision.shortcuts.workers import spread
from bayesteach.vision.shortcuts.world import LABELS, Place, look

_BATCH = 64


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The pictures at some places, and the probability of each category in each."""

    places: tuple[Place, ...]
    backgrounds: tuple[str, ...]
    probabilities: np.ndarray

    @property
    def truth(self) -> np.ndarray:
        """The index of what is shown."""
        return np.array([LABELS.index(place.category) for place in self.places])

    @property
    def answer(self) -> np.ndarray:
        """The index of what is most probable."""
        return self.probabilities.argmax(1)

    @property
    def hits(self) -> np.ndarray:
        return self.answer == self.truth

    @property
    def accuracy(self) -> float:
        return float(self.hits.mean())

    def confidence(self, *, hits: bool) -> float:
        """The mean probability of the answers that are right, or of those that are wrong."""
        return float(self.probabilities.max(1)[self.hits == hits].mean())

    @property
    def lives_there(self) -> np.ndarray:
        """Whether the background shown is the home of the answer."""
        homes = [CATEGORIES[label].home for label in LABELS]
        return np.array([homes[k] == shown for k, shown in zip(self.answer, self.backgrounds, strict=True)])

    @property
    def confusion(self) -> np.ndarray:
        """How often each category (row) was answered with each (column)."""
        counts = np.zeros((len(LABELS), len(LABELS)), int)
        np.add.at(counts, (self.truth, self.answer), 1)
        return counts

    @property
    def mean_probabilities(self) -> np.ndarray:
        """The mean probability of each category (column) on pictures of each (row)."""
        return np.stack([self.probabilities[self.truth == k].mean(0) for k in range(len(LABELS))])


def answers(classifier: Classifier, places: Sequence[Place]) -> Answers:
    """The classifier's own answers to what is to be seen there."""
    backgrounds, parts, batch = [], [], []
    for k, sight in enumerate(spread(look, places)):
        backgrounds.append(sight.background)
        batch.append(torch.from_numpy(sight.picture.pixels).permute(2, 0, 1).float() / 255)
        if len(batch) == _BATCH or k == len(places) - 1:
            parts.append(classifier.probabilities(torch.stack(batch)))
            batch = []
    return Answers(tuple(places), tuple(backgrounds), torch.cat(parts).numpy())
