"""measure: what a machine can tell of a study's explanations without asking people.

Of maps: whether they lie on the thing or on the background, where somebody has said which is which, and whether the answer comes
and goes with the pixels that they point at. Of examples: what they teach three learners, and how much these knew before.
"""

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from math import nan
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from bayesteach.artifacts import (
    Features,
    Lessons,
    MeasuredLesson,
    MeasuredMap,
    Measures,
    Posterior,
    SaliencyMaps,
    Trial,
    Trials,
)
from bayesteach.explain.faithfulness import faithfulness
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, model_digest, rng
from bayesteach.stages.explainers import Question
from bayesteach.stages.teach import told
from bayesteach.vision.engines import Engine, torch_engine
from bayesteach.vision.hugging_face import is_locator
from bayesteach.vision.masked import mask_prior
from bayesteach.vision.photos import open_photo

# Beside a source's folder, for each of its images a picture of the same name that is white where the thing is.
MASKS = "masks"
# Who is taught: the settings of `teach` that make each learner.
LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "discriminant": {"learner": "discriminant"},
    "knows the head": {"learner": "logistic", "knowledge": 1.0},
    "novice": {"learner": "logistic", "knowledge": 0.0},
}


def measure(
    settings: Settings,
    context: Context,
    collected: Collected,
    features: Features,
    posterior: Posterior,
    trials: Trials,
    lessons: Lessons,
    maps: SaliencyMaps,
) -> Measures:
    """Of all trials that count, neither for practice nor for attention."""
    asked = {trial.trial: trial for trial in trials.trials if trial.kind == "trial"}
    explainers = dict.fromkeys(row.explainer for row in maps.of)
    shown = [(t, name) for t in asked.values() for name in explainers if (t.probe, t.target, name) in maps.places]
    taught = [row for row in lessons.lessons if row.trial in asked]
    advance = context.watch("measuring", len(shown) + len(taught))
    engine = cache(lambda: torch_engine(context.classifier()))
    of_maps, of_lessons = [], []
    for trial, name in shown:
        found = maps.departures[maps.places[trial.probe, trial.target, name]]
        areas = _areas(settings, context, engine, collected, trial, found)
        where = on_thing(found, thing(context, collected, trial.probe))
        of_maps.append(MeasuredMap(trial.trial, trial.trial_type, name, *where, *areas))
        advance(1)
    for row in taught:
        trial, chosen = asked[row.trial], (*row.targets, *row.alternatives)
        pool = [seen for seen in trials.pool if seen.id in chosen]
        question = Question(trial, pool, collected, features, posterior)
        for name, learner in LEARNERS.items():
            own = settings.model_copy(update={"teach": settings.teach.model_copy(update=learner)})
            after = told(own, question, chosen)
            of_lessons.append(
                MeasuredLesson(
                    trial.trial, trial.trial_type, row.explainer, name, after.prior, after.posterior, after.taught
                )
            )
        advance(1)
    return Measures(tuple(of_maps), tuple(of_lessons))


def thing(context: Context, collected: Collected, image: str) -> Float[Tensor, "height width"] | None:
    """How much of each pixel that the network sees is the thing, if a picture of that lies beside the image's source."""
    path = collected.entries[image].path
    if is_locator(path):
        return None
    file = context.root / path
    # SOURCE/CLASS/NAME has its mask at masks/SOURCE/CLASS/NAME.
    beside = file.parents[2] / MASKS / file.relative_to(file.parents[2]) if len(file.parents) > 2 else file
    if beside == file or not beside.is_file():
        return None
    return context.classifier().pixels(open_photo(beside)).mean(0)


def on_thing(
    found: Float[Tensor, "height width"], mask: Float[Tensor, "height width"] | None
) -> tuple[float, float, float]:
    """The thing's area, its share of what shows, and its lift; NaN where there is no mask, or all is thing or background."""
    if mask is None or not 0 < float(mask.mean()) < 1:
        return nan, nan, nan
    shows = found.clamp_min(0)
    total = float(shows.sum())
    share = float((shows * mask).sum()) / total if total else nan
    lift = (found * mask).sum() / mask.sum() - (found * (1 - mask)).sum() / (1 - mask).sum()
    return float(mask.mean()), share, float(lift)


def _areas(
    settings: Settings,
    context: Context,
    engine: Callable[[], Engine],
    collected: Collected,
    trial: Trial,
    found: Tensor,
) -> tuple[float, float, float, float]:
    """Insertion and deletion by this map, and by one mask drawn at random: a unit of work."""

    def make() -> dict[str, Tensor]:
        classifier = context.classifier()
        pixels = classifier.pixels(collected.entries[trial.probe].photo(context.root))
        drawn = mask_prior(classifier).sample(1, rng(settings.seed, "measure", trial.probe))[0]
        curves = [faithfulness(engine(), pixels, importance, trial.target) for importance in (found, drawn)]
        return {"areas": torch.tensor([area for curve in curves for area in (curve.insertion_auc, curve.deletion_auc)])}

    contents = sha256(found.contiguous().numpy().tobytes()).hexdigest()
    parts = (model_digest(context.classifier()), settings.seed, trial.probe, trial.target, contents)
    insertion, deletion, any_insertion, any_deletion = context.remembered("areas", parts, make)["areas"].tolist()
    return insertion, deletion, any_insertion, any_deletion
