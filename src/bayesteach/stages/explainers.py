"""Who explains: for each name that an arm can give, how its examples are chosen, and how its maps are made.

An explainer of examples is a function (settings, context, question) -> TaughtLesson | Refused; one of maps is a function
(settings, context, photo, labels) -> Maps. Add it to the table, and arms can name it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from bayesteach.artifacts import Features, Posterior, Refused, Seen, TaughtLesson, Trial
from bayesteach.errors import BadSettings
from bayesteach.explain.explanation import explain
from bayesteach.maths.samplers import Verdict
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A trial that wants examples, and all that they can be chosen by; `pool` holds the images of its two classes."""

    trial: Trial
    pool: Sequence[Seen]
    collected: Collected
    features: Features
    posterior: Posterior


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """The maps of some classes of one photo: departures from what a mask shows on average, and the doubt in them."""

    departures: Float[Tensor, "labels height width"]
    doubts: Float[Tensor, "labels height width"]
    effective_samples: Float[Tensor, " labels"]
    noise: Float[Tensor, " labels"]
    verdicts: tuple[Verdict | None, ...]


Examples = Callable[[Settings, Context, Question], TaughtLesson | Refused]
Saliency = Callable[[Settings, Context, Image.Image, Sequence[int]], Maps]


def expected_mask(settings: Settings, context: Context, photo: Image.Image, labels: Sequence[int]) -> Maps:
    """Bayesian Teaching's maps: the expected mask of each class, over masks that all photos share."""
    found = explain(
        context.classifier(),
        photo,
        labels,
        masks=settings.highlight.masks,
        sampler=settings.highlight.sampler,
        tolerance=settings.highlight.tolerance,
        baseline=settings.highlight.baseline,
        seed=settings.seed,
        engine=context.engine(),
    )
    return Maps(
        departures=(found.maps - found.prior_mean).float(),
        doubts=found.doubt.float(),
        effective_samples=found.effective_samples,
        noise=torch.tensor(found.noise, dtype=torch.float64),
        verdicts=found.verdicts,
    )


def known(table: Mapping[str, object], name: str, where: str) -> None:
    """Refuse a name that no explainer has."""
    if name not in table:
        raise BadSettings(f"study.arms: found {where} = {name!r}, expected one of {', '.join(table)}.")
