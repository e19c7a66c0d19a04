"""Simulated people who answer by the model that the analysis fits."""

from collections.abc import Callable
from random import Random

import numpy as np
import pandas as pd
from scipy.special import expit

from bayesteach.analysis.simulate import Effects
from bayesteach.artifacts import Hidden
from bayesteach.study.materials import Materials

# How often simulated people see what is obvious: practice and attention trials.
_OBVIOUS = 0.97


def foresees(materials: Materials, model: Effects, people: int, seed: int) -> Callable[[int, Hidden, str], bool]:
    """Whether a person foresees the AI at a trial in an arm: by effects, and by people and categories who differ."""
    trials = [materials.hidden[shown.trial] for shown in materials.of_kind("trial")]
    table = pd.DataFrame(
        [
            {"trial": row.trial, "category": row.category, "trial_type": row.trial_type, "arm": arm.name, **arm.factors}
            for arm in materials.stimuli.arms
            for row in trials
        ]
    )
    logits = dict(zip(zip(table["trial"], table["arm"], strict=True), model.logits(table), strict=True))
    rng = np.random.default_rng(seed)
    sds = {group: model.sds.get(group, 0.0) for group in ("participant", "category")}
    persons = sds["participant"] * rng.standard_normal(people)
    categories = {name: sds["category"] * float(rng.standard_normal()) for name in sorted({t.category for t in trials})}

    def foresee(number: int, hidden: Hidden, arm: str) -> bool:
        chance = Random(f"{seed} {number} {hidden.trial}").random()  # the same whatever the order, and who came first
        if (hidden.trial, arm) not in logits:
            return chance < _OBVIOUS
        logit = logits[hidden.trial, arm] + persons[number] + categories[hidden.category]
        return bool(chance < expit(logit))

    return foresee
