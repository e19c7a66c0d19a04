"""highlight: saliency of every probe for its target, and of every example for the label that it stands under (§5, §7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor

from bayesteach.artifacts import Lessons, MapOf, SaliencyMaps, Trials
from bayesteach.explain.attributions import grad_cam, occlusion
from bayesteach.maths.samplers import Verdict
from bayesteach.settings import Settings
from bayesteach.stages.attributed import attributed, on_one_scale
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, model_digest
from bayesteach.stages.explainers import Saliency, expected_mask, known
from bayesteach.stages.own_explainers import digest, is_own, load
from bayesteach.vision.images import Entry

ATTRIBUTIONS = {"grad_cam": grad_cam, "occlusion": occlusion}
MAPS: dict[str, Saliency] = {
    "expected_mask": expected_mask,
    **{name: attributed(name, attribution) for name, attribution in ATTRIBUTIONS.items()},
}
# Verdicts by the number that they are remembered under.
WORDS: tuple[Verdict | None, ...] = (None, *get_args(Verdict))


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, and the labels under which an explainer is to map it."""

    explainer: str
    entry: Entry
    labels: tuple[int, ...]


def maps_of(name: str, root: Path) -> Saliency:
    """The explainer of maps of this name, ours or the user's own."""
    if is_own(name):
        return attributed(name, load(name, root))
    known(MAPS, name, "probe")
    return MAPS[name]


def highlight(
    settings: Settings, context: Context, collected: Collected, trials: Trials, lessons: Lessons
) -> SaliencyMaps:
    """The maps that the arms show, each an image under a label."""
    wanted = wanted_maps(settings, trials, lessons)
    advance = context.watch("highlighting", sum(len(labels) for labels in wanted.values()))
    rows: list[MapOf] = []
    departures: list[Tensor] = []
    doubts: list[Tensor] = []
    pictures = [Picture(name, collected.entries[image], tuple(labels)) for (name, image), labels in wanted.items()]
    done = context.crew.each(context, partial(mapped, settings), pictures)
    for picture, made in zip(pictures, map(dict, done), strict=True):
        found_of = zip(picture.labels, made["effective_samples"], made["noise"], made["verdicts"], strict=True)
        for label, effective, noise, word in found_of:
            verdict = WORDS[int(word)]
            rows.append(MapOf(picture.entry.id, label, picture.explainer, float(effective), float(noise), verdict))
        departures.append(made["departures"])
        doubts.append(made["doubts"])
        advance(len(picture.labels))
    empty = torch.empty(0, *context.classifier().geometry.size)
    found = SaliencyMaps(tuple(rows), torch.cat([empty, *departures]), torch.cat([empty, *doubts]))
    return on_one_scale(found, frozenset(name for name, _ in wanted if name in ATTRIBUTIONS or is_own(name)))


def wanted_maps(settings: Settings, trials: Trials, lessons: Lessons) -> dict[tuple[str, str], list[int]]:
    """By explainer and image, the labels that some arm shows a map for; trials without a lesson are in no arm."""
    refused = {row.trial for row in lessons.refused}
    wanted: dict[tuple[str, str], list[int]] = {}

    def want(name: str, image: str, label: int) -> None:
        labels = wanted.setdefault((name, image), [])
        if label not in labels:
            labels.append(label)

    taught = {(row.trial, row.explainer): row for row in lessons.lessons}
    kept = [trial for trial in trials.trials if trial.trial not in refused]
    for arm in settings.study.arms:
        if arm.probe is None:
            continue
        for trial in kept:
            want(arm.probe, trial.probe, trial.target)
            lesson = taught.get((trial.trial, arm.examples)) if arm.examples is not None else None
            for label, images in (
                ((trial.target, lesson.targets), (trial.alternative, lesson.alternatives)) if lesson else ()
            ):
                for image in images:
                    want(arm.probe, image, label)
    return wanted


def mapped(settings: Settings, context: Context, picture: Picture) -> Mapping[str, Tensor]:
    """A unit of work: an image, its labels, and all that its maps depend on."""
    name, labels = picture.explainer, list(picture.labels)

    def make() -> dict[str, Tensor]:
        photo = picture.entry.photo(context.root)
        found = maps_of(name, context.root)(settings, context, photo, labels)
        return {
            "departures": found.departures,
            "doubts": found.doubts,
            "effective_samples": found.effective_samples,
            "noise": found.noise,
            "verdicts": torch.tensor([WORDS.index(verdict) for verdict in found.verdicts]),
        }

    parts = (
        name,
        digest(name, context.root) if is_own(name) else "",
        model_digest(context.classifier()),
        context.engine().name,
        settings.highlight.model_dump_json(),
        settings.seed,
        picture.entry.id,
        labels,
    )
    return context.remembered("maps", parts, make)
