"""compose: what participants will see, at one size, under random names; and a gallery of it for the researcher."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite

import torch
from PIL import Image
from torch import Generator

from bayesteach.artifacts import (
    Arm,
    Group,
    Hidden,
    Lessons,
    Page,
    Panel,
    SaliencyMaps,
    Shown,
    Stimuli,
    TaughtLesson,
    Trial,
    Trials,
)
from bayesteach.errors import Empty
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, rng
from bayesteach.stages.gallery import gallery
from bayesteach.stages.own_explainers import column
from bayesteach.stages.own_tables import excluded
from bayesteach.vision.overlay import legend, tinted

# Pictures are shown at least this large.
_LEAST = 224
LEGEND = "legend"


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """The stimuli, and one HTML page with all of them and their numbers."""

    stimuli: Stimuli
    gallery: Page

    @property
    def summary(self) -> str:
        """What a run says of it."""
        kinds = [shown.kind for shown in self.stimuli.shown]
        pictures = f"{len(self.stimuli.pictures)} pictures; look at them in gallery.html"
        return f"{kinds.count('trial')} trials in {len(self.stimuli.arms)} arms, {pictures}"


def compose(
    settings: Settings, context: Context, collected: Collected, trials: Trials, lessons: Lessons, maps: SaliencyMaps
) -> Composed:
    """The pictures of every trial that has its lessons and was not discarded in exclude.csv."""
    refused = {row.trial for row in lessons.refused}
    discarded = excluded(context)
    kept = [trial for trial in trials.trials if trial.trial not in refused | discarded]
    if not kept:
        raise Empty(
            f"compose: of {len(trials.trials)} trials none is left; {len(refused)} have no lesson. Lower teach.threshold."
        )
    noise = rng(settings.seed, "compose")
    # The order of trials in the file is random: it tells neither type nor category.
    kept = [kept[place] for place in torch.randperm(len(kept), generator=noise).tolist()]
    labels = context.classifier().labels
    taught = {(row.trial, row.explainer): row for row in lessons.lessons}
    album = _Album(context, collected, maps, settings.compose.size or _size(context), noise)
    arms = settings.study.arms
    shown, hidden = [], []
    advance = context.watch("composing", len(kept))
    for trial in kept:
        name = _token(noise)
        probe = album.plain(trial.probe)
        overlays = {name: album.overlay(trial.probe, trial.target, name) for name in _names(arm.probe for arm in arms)}
        panels = {}
        groups = _Groups(album, trial, labels, noise)
        for arm in arms:
            lesson = taught[trial.trial, arm.examples] if arm.examples is not None else None
            panels[arm.name] = Panel(
                overlay=overlays[arm.probe] if arm.probe is not None else None,
                groups=groups.of(lesson, arm.probe) if lesson is not None else (),
            )
        options = sorted((labels[trial.target], labels[trial.alternative]))
        shown.append(Shown(name, trial.kind, (options[0], options[1]), probe, panels))
        hidden.append(
            _hidden(name, trial, labels, [taught[trial.trial, n] for n in _names(arm.examples for arm in arms)], maps)
        )
        advance(1)
    pictures = {**album.pictures, LEGEND: _png(legend())}
    stimuli = Stimuli(
        tuple(Arm(arm.name, {factor: str(level) for factor, level in arm.factors.items()}) for arm in arms),
        tuple(shown),
        tuple(hidden),
        pictures,
    )
    return Composed(stimuli, Page(gallery(settings, stimuli, trials, lessons, discarded, labels)))


@dataclass(slots=True, eq=False)
class _Album:
    """Pictures as they are made, each under a random name of its own."""

    context: Context
    collected: Collected
    maps: SaliencyMaps
    size: int
    noise: Generator
    pictures: dict[str, bytes] = field(default_factory=dict)

    def plain(self, image: str) -> str:
        """What the network sees of an image."""
        return self._add(self._crop(image))

    def overlay(self, image: str, label: int, explainer: str) -> str:
        """The same under its map for a label."""
        place = self.maps.places[image, label, explainer]
        crop = self._crop(image)
        box = (0.0, 0.0, float(crop.width), float(crop.height))
        return self._add(tinted(crop, box, self.maps.departures[place], self.maps.doubts[place]))

    def _crop(self, image: str) -> Image.Image:
        crop = self.context.classifier().geometry.crop(self.collected.entries[image].photo(self.context.root))
        scale = self.size / max(crop.size)
        return crop.convert("RGB").resize(
            (round(crop.width * scale), round(crop.height * scale)), Image.Resampling.LANCZOS
        )

    def _add(self, picture: Image.Image) -> str:
        name = _token(self.noise)
        self.pictures[name] = _png(picture)
        return name


@dataclass(slots=True, eq=False)
class _Groups:
    """The examples of one trial under their headings; a picture that several arms show is made once."""

    album: _Album
    trial: Trial
    labels: Sequence[str]
    noise: Generator
    made: dict[tuple[str, int, str | None], str] = field(default_factory=dict)
    order: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

    def of(self, lesson: TaughtLesson, maps: str | None) -> tuple[Group, ...]:
        """In the order of the options; within a group at random, since the lesson puts the best first."""
        groups = []
        sides = ((self.trial.target, lesson.targets), (self.trial.alternative, lesson.alternatives))
        for label, images in sorted(sides, key=lambda side: self.labels[side[0]]):
            shuffled = self._shuffled(lesson.explainer, label, images)
            plain = tuple(self._picture(image, label, None) for image in shuffled)
            overlays = tuple(self._picture(image, label, maps) for image in shuffled) if maps is not None else ()
            groups.append(Group(self.labels[label], plain, overlays))
        return tuple(groups)

    def _shuffled(self, explainer: str, label: int, images: tuple[str, ...]) -> tuple[str, ...]:
        if (explainer, label) not in self.order:
            places = torch.randperm(len(images), generator=self.noise).tolist()
            self.order[explainer, label] = tuple(images[place] for place in places)
        return self.order[explainer, label]

    def _picture(self, image: str, label: int, explainer: str | None) -> str:
        key = (image, label, explainer)
        if key not in self.made:
            self.made[key] = (
                self.album.plain(image) if explainer is None else self.album.overlay(image, label, explainer)
            )
        return self.made[key]


def _names(explainers: Iterable[str | None]) -> list[str]:
    """Each once, in their order."""
    return list(dict.fromkeys(name for name in explainers if name is not None))


def _hidden(
    name: str, trial: Trial, labels: Sequence[str], lessons: Sequence[TaughtLesson], maps: SaliencyMaps
) -> Hidden:
    covariates: dict[str, float | str | None] = {
        "design_trial": trial.trial,
        "probe": trial.probe,
        "source": trial.source,
        "confidence": trial.confidence,
    }
    for row in lessons:
        prefix = "" if row.explainer == "lesson" else f"{column(row.explainer)}_"
        covariates |= {
            f"{prefix}prior": row.prior,
            f"{prefix}posterior": row.posterior,
            f"{prefix}taught": row.taught,
            f"{prefix}rank": float(row.rank),
            f"{prefix}candidates": float(row.candidates),
        }
    for shown in maps.of:
        if (shown.image, shown.label) == (trial.probe, trial.target):
            prefix = "" if shown.explainer == "expected_mask" else f"{column(shown.explainer)}_"
            # An explainer that weighs no masks has neither.
            if isfinite(shown.effective_samples):
                covariates |= {
                    f"{prefix}effective_samples": shown.effective_samples,
                    f"{prefix}map_noise": shown.noise,
                    f"{prefix}map_verdict": str(shown.verdict),
                }
    return Hidden(
        name, labels[trial.target], labels[trial.alternative], labels[trial.category], trial.trial_type, covariates
    )


def _size(context: Context) -> int:
    side = max(context.classifier().geometry.size)
    return side * ceil(_LEAST / side)


def _token(noise: Generator) -> str:
    """96 random bits."""
    return "".join(f"{int(word):08x}" for word in torch.randint(2**32, (3,), generator=noise))


def _png(picture: Image.Image) -> bytes:
    """Pixels alone: a PNG written by Pillow from a new picture carries no metadata."""
    file = io.BytesIO()
    # With optimize=True it takes five times as long, for 3 %.
    picture.save(file, "PNG")
    return file.getvalue()
