"""Small made-up studies for the hierarchical regression, each from its name and seed alone.

Only `Generator.random` of MT19937 is drawn from, whose stream is fixed: what R was once shown can be made again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, ndtri


@dataclass(frozen=True)
class World:
    """What fit_hierarchical takes, and what it was made with."""

    outcomes: np.ndarray
    design: np.ndarray
    groups: list[np.ndarray]
    trials: np.ndarray | None = None
    coefficients: np.ndarray = field(default_factory=lambda: np.zeros(0))
    standard_deviations: tuple[float, ...] = ()


class Dice:
    """Uniform, normal and whole numbers from one fixed stream."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.MT19937(seed))

    def uniform(self, *shape: int) -> np.ndarray:
        return self._rng.random(shape)

    def normal(self, *shape: int) -> np.ndarray:
        return ndtri(np.clip(self.uniform(*shape), 1e-12, 1 - 1e-12))

    def below(self, high: int, *shape: int) -> np.ndarray:
        return (self.uniform(*shape) * high).astype(np.int64)

    def shuffled(self, count: int) -> np.ndarray:
        return np.argsort(self.uniform(count), kind="stable")


def answered(
    dice: Dice,
    design: np.ndarray,
    groups: Sequence[np.ndarray],
    coefficients: Sequence[float],
    sds: Sequence[float],
    trials: np.ndarray | None = None,
) -> World:
    """People answer."""
    logits = design @ np.asarray(coefficients, float)
    for g, sd in zip(groups, sds, strict=True):
        logits = logits + sd * dice.normal(int(g.max()) + 1)[g]
    p = expit(logits)
    if trials is None:
        outcomes = (dice.uniform(len(p)) < p).astype(float)
    else:
        tossed = dice.uniform(len(p), int(trials.max())) < p[:, None]
        outcomes = (tossed & (np.arange(int(trials.max())) < trials[:, None])).sum(1).astype(float)
    return World(outcomes, design, list(groups), trials, np.asarray(coefficients, float), tuple(sds))


# PAPER §8, table 1: intercept, incorrect, correct, saliency, examples, and their products in the order of the reference fits.
PAPER = (-1.06, 0.09, 4.64, 1.01, 0.46, -0.29, -1.71, -0.24, -2.01, -0.53, 0.11, 1.18)
PAPER_SDS = (0.33, 0.65)


def interaction(trial_type: np.ndarray, saliency: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """The twelve columns of trial type × saliency × examples."""
    i, c, s, e = (np.asarray(x, float) for x in (trial_type == 1, trial_type == 2, saliency, examples))
    return np.stack([np.ones(len(s)), i, c, s, e, i * s, c * s, i * e, c * e, s * e, i * s * e, c * s * e], 1)


def study(
    seed: int,
    participants: int,
    coefficients: Sequence[float] = PAPER,
    sds: Sequence[float] = PAPER_SDS,
    categories: int = 30,
) -> World:
    """The paper's design: everybody meets every category in every trial type; conditions are drawn in turn."""
    dice = Dice(seed)
    place = np.indices((participants, categories, 3)).reshape(3, -1)
    participant, category, trial_type = place
    condition = participant % 4
    design = interaction(trial_type, condition % 2, condition // 2)
    return answered(dice, design, [participant, category], coefficients, sds)


def crossed(
    seed: int, rows: int, sizes: Sequence[int], sds: Sequence[float], terms: int = 4, intercept: float = 0.2
) -> World:
    """Numbers as covariates, groups at random: unbalanced, with empty cells."""
    dice = Dice(seed)
    design = np.concatenate([np.ones((rows, 1)), dice.normal(rows, terms - 1)], 1)
    # Squared uniforms: some groups many times as large as others.
    groups = [(dice.uniform(rows) ** 2 * size).astype(np.int64) for size in sizes]
    groups = [np.unique(g, return_inverse=True)[1].reshape(-1) for g in groups]
    coefficients = [intercept, *0.5 * dice.normal(terms - 1)]
    return answered(dice, design, groups, coefficients, sds)


def nested(seed: int) -> World:
    dice = Dice(seed)
    school = np.repeat(np.arange(12), 60)
    pupil = np.repeat(np.arange(72), 10)
    design = np.stack([np.ones(720), dice.normal(720), (pupil % 2).astype(float)], 1)
    return answered(dice, design, [pupil, school], (-0.3, 0.8, 0.5), (0.6, 0.9))


def counted(seed: int) -> World:
    dice = Dice(seed)
    design = np.stack([np.ones(150), dice.normal(150)], 1)
    return answered(
        dice, design, [dice.below(20, 150), dice.below(9, 150)], (0.4, -0.7), (0.8, 0.5), 1.0 + dice.below(12, 150)
    )


def with_trials(seed: int) -> World:
    """Participants, categories, and the images themselves."""
    dice = Dice(seed)
    participant, trial = np.indices((24, 60)).reshape(2, -1)
    category = trial // 4
    design = interaction(trial % 3, participant % 2, participant // 2 % 2)[:, :5]
    return answered(dice, design, [participant, category, trial], (*PAPER[:2], 2.0, 0.7, 0.3), (0.4, 0.5, 0.8))


def separated(seed: int) -> World:
    world = study(seed, 16)
    design, outcomes = world.design, world.outcomes.copy()
    outcomes[(design[:, 2] == 1) & (design[:, 3] == 0) & (design[:, 4] == 0)] = 1
    return World(outcomes, design, world.groups)


WORLDS: dict[str, Callable[[], World]] = {
    "paper, 40 people": lambda: study(1, 40),
    "paper, 16 people": lambda: study(2, 16),
    "paper, explanation": lambda: _terms(study(3, 24), 5),
    "people without categories": lambda: _factors(study(4, 20), 1),
    "unbalanced": lambda: crossed(5, 900, (60, 25), (0.7, 0.5)),
    "three factors": lambda: crossed(6, 1500, (50, 30, 20), (0.6, 0.9, 0.4)),
    "images too": lambda: with_trials(7),
    "nested": lambda: nested(8),
    "very different people": lambda: crossed(9, 1200, (30, 20), (3.0, 2.0)),
    "hardly different people": lambda: crossed(10, 3000, (40, 30), (0.12, 0.6)),
    "rare": lambda: crossed(11, 1500, (30, 20), (0.8, 0.6), intercept=-3.5),
    "few rows each": lambda: crossed(12, 400, (150, 30), (1.0, 0.7)),
    "counts": lambda: counted(13),
    "no differences": lambda: crossed(15, 1200, (40, 25), (0.0, 0.0)),
    "two and three groups": lambda: crossed(16, 300, (2, 3), (1.0, 0.8)),
    "hundreds of each": lambda: crossed(17, 2500, (900, 600), (1.0, 0.8)),
    "nearly always": lambda: crossed(18, 2500, (50, 30), (0.8, 0.5), intercept=5.0),
    "one small factor": lambda: crossed(14, 200, (5,), (1.0,)),
}


def _terms(world: World, count: int) -> World:
    return World(world.outcomes, world.design[:, :count], world.groups)


def _factors(world: World, count: int) -> World:
    return World(world.outcomes, world.design, world.groups[:count])
