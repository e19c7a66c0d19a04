"""design: which categories, which trials, and which images may be examples in them (the paper's §6)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from bayesteach.artifacts import TRIAL_TYPES, Category, Features, Kind, Seen, Trial, Trials, TrialType, Unfilled
from bayesteach.errors import Empty
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, digest, rng
from bayesteach.stages.own_tables import own_trials

MINED = "mined"
_PRACTICE: tuple[TrialType, ...] = ("standard_correct", "standard_incorrect", "adversarial_incorrect")


def design(settings: Settings, context: Context, collected: Collected, features: Features) -> Trials:
    """The trials of the study, from what the classifier answered; or those of trials.csv, if there is one."""
    classifier = context.classifier()
    candidates = _Candidates.of(
        settings, features.seen, len(classifier.labels), _mean_probability(settings, features, context)
    )
    own = own_trials(context, features.seen, classifier.index)
    if own is not None:
        pool = _Pool.of(settings, features.seen, collected.copies_of, classifier.labels)
        for trial in own:
            pool.reserve(trial.probe)
        return _made(own, pool, candidates, [])
    return designed(settings, candidates, collected.copies_of, features.seen, classifier.labels)


def from_predictions(
    settings: Settings, seen: Sequence[Seen], labels: Sequence[str], copies: Mapping[str, frozenset[str]] | None = None
) -> Trials:
    """The same from a table of predictions alone; ties between alternatives are settled without mean probabilities."""
    unknown = torch.zeros(len(labels), len(labels), dtype=torch.float64)
    return designed(settings, _Candidates.of(settings, seen, len(labels), unknown), copies or {}, seen, labels)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The images that could be probes, by category and trial type, and what decides between alternatives.

    confusion         counts, rows true, columns answered, on the standard images
    mean_probability  of each class (columns) on the standard images of each class (rows)
    """

    probes: Mapping[tuple[int, str], tuple[Seen, ...]]
    confusion: Int[np.ndarray, "classes classes"]
    mean_probability: Float[Tensor, "classes classes"]

    @classmethod
    def of(
        cls, settings: Settings, seen: Sequence[Seen], classes: int, mean_probability: Float[Tensor, "classes classes"]
    ) -> "_Candidates":
        wanted = settings.design
        confusion = np.zeros((classes, classes), dtype=np.int64)
        probes: dict[tuple[int, str], list[Seen]] = {}
        for one in seen:
            if one.source in wanted.standard:
                confusion[one.label, one.answer] += 1
            trial_type = _trial_type(settings, one)
            if trial_type is not None:
                probes.setdefault((one.label, trial_type), []).append(one)
        return cls({key: tuple(found) for key, found in probes.items()}, confusion, mean_probability)

    @property
    def accuracies(self) -> dict[int, tuple[float, int]]:
        """By class with standard images: how often it is answered when true, and on how many images."""
        totals = self.confusion.sum(1)
        return {int(c): (self.confusion[c, c] / totals[c], int(totals[c])) for c in np.flatnonzero(totals)}

    @cached_property
    def most_confusable(self) -> tuple[int, ...]:
        """By true class t the c ≠ t with the greatest C[t, c]; ties by C[c, t], mean probability of c on images of t, index."""
        found = []
        for true, (row, column) in enumerate(zip(self.confusion, self.confusion.T, strict=True)):
            order = np.lexsort((np.arange(len(row)), -self.mean_probability[true].numpy(), -column, -row))
            found.append(int(order[0] if order[0] != true else order[1]))
        return tuple(found)

    def least_confusable(self, true: int, among: Iterable[int]) -> int:
        """The other way round, for trials whose answer should be plain."""
        others = [c for c in among if c != true]
        return min(
            others,
            key=lambda c: (self.confusion[true, c], self.confusion[c, true], float(self.mean_probability[true, c]), c),
        )


@dataclass(eq=False)
class _Pool:
    """The images that may be examples, by class, as probes are taken out of it and classes come to be needed."""

    free: dict[int, set[str]]
    each: int
    copies: Mapping[str, frozenset[str]]
    rows: Mapping[str, Seen]
    labels: Sequence[str]
    needed: set[int] = field(default_factory=set)
    probes: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls, settings: Settings, seen: Sequence[Seen], copies: Mapping[str, frozenset[str]], labels: Sequence[str]
    ) -> "_Pool":
        wanted = settings.design
        rows = {
            one.id: one
            for one in seen
            if one.source in wanted.pool and (wanted.pool_filter == "none" or one.answer == one.label)
        }
        free: dict[int, set[str]] = {}
        for one in rows.values():
            free.setdefault(one.label, set()).add(one.id)
        return cls(free, settings.teach.each, copies, rows, labels)

    def lacks(self, probe: str, target: int, alternative: int) -> str | None:
        """Why no trial can have this probe and these options beside those there are; None if it can."""
        if probe in self.probes or self.copies.get(probe, frozenset()) & self.probes:
            return "its probe, or a near-copy of it, is the probe of another trial"
        removed = self._with_copies(probe)
        for label in (target, alternative, *sorted(self.needed)):
            left = len(self.free.get(label, set()) - removed)
            if left < self.each:
                return f"{self.labels[label]!r} has {left} images in the pool, a lesson needs {self.each}"
        return None

    def reserve(self, probe: str, *options: int) -> None:
        """Take a probe and its near-copies out, and remember which classes must keep enough images."""
        self.probes.add(probe)
        for identity in self._with_copies(probe) & self.rows.keys():
            self.free[self.rows[identity].label].discard(identity)
        self.needed.update(options)

    def _with_copies(self, probe: str) -> frozenset[str]:
        return self.copies.get(probe, frozenset()) | {probe}


def designed(
    settings: Settings,
    candidates: _Candidates,
    copies: Mapping[str, frozenset[str]],
    seen: Sequence[Seen],
    labels: Sequence[str],
) -> Trials:
    """Categories of evenly spaced ranks by accuracy, among those that can have all three trial types.

    A category whose trials do not fit beside the others' is listed, and the ranks are drawn again without it.
    """
    accuracies = candidates.accuracies
    ranked = sorted(accuracies, key=lambda c: (accuracies[c][0], c))
    unfilled: list[Unfilled] = []
    able = []
    alone = _Pool.of(settings, seen, copies, labels)
    for category in ranked:
        lacking = [lack for kind in TRIAL_TYPES if (lack := _lack(candidates, alone, category, kind))]
        unfilled += lacking
        if not lacking:
            able.append(category)
    while True:
        pool = _Pool.of(settings, seen, copies, labels)
        chosen = _evenly(able, settings.design.categories)
        trials: list[Trial] = []
        lost = []
        for category in chosen:
            found = [_fill(settings, candidates, pool, category, kind, "trial") for kind in TRIAL_TYPES]
            lacking = [one for one in found if isinstance(one, Unfilled)]
            trials += [one for one in found if isinstance(one, Trial)]
            if lacking:
                unfilled += lacking
                lost.append(category)
        if not lost:
            break
        able = [category for category in able if category not in lost]
    if not trials:
        reasons = "; ".join(sorted({f"{row.trial_type}: {row.reason}" for row in unfilled})[:3])
        raise Empty(
            f"design: no category has all three trial types ({reasons}). Add images to the sources, name adversarial or mined "
            "sources in design, or widen design.pool."
        )
    if len(chosen) < settings.design.categories:
        unfilled.append(
            Unfilled(
                -1, "", f"{settings.design.categories} categories were wanted, {len(chosen)} have all three trial types"
            )
        )
    spare = [category for category in ranked if category not in chosen]
    extra, lacking = _extras(settings, candidates, pool, spare)
    return _made([*trials, *extra], pool, candidates, [*unfilled, *lacking])


def _made(trials: Sequence[Trial], pool: _Pool, candidates: _Candidates, unfilled: Sequence[Unfilled]) -> Trials:
    accuracies = candidates.accuracies
    chosen = {trial.category for trial in trials if trial.kind == "trial"}
    options = {label for trial in trials for label in (trial.target, trial.alternative)}
    images = [pool.rows[i] for label in sorted(options) for i in sorted(pool.free.get(label, ()))]
    rows = [
        Category(c, float(accuracy), images, c in chosen)
        for c, (accuracy, images) in sorted(accuracies.items(), key=lambda item: (item[1][0], item[0]))
    ]
    return Trials(tuple(trials), tuple(images), tuple(rows), tuple(unfilled))


def _trial_type(settings: Settings, seen: Seen) -> TrialType | None:
    """What an image could be the probe of. A mined error is no standard error: the two never share an image."""
    wanted = settings.design
    wrong = seen.answer != seen.label
    if seen.source in wanted.adversarial or _is_mined(settings, seen):
        return "adversarial_incorrect" if wrong else None
    if seen.source in wanted.standard:
        return "standard_incorrect" if wrong else "standard_correct"
    return None


def _is_mined(settings: Settings, seen: Seen) -> bool:
    wanted = settings.design
    return seen.source in wanted.mined and seen.answer != seen.label and seen.confidence >= wanted.mined_confidence


def _evenly(ranked: Sequence[int], count: int) -> list[int]:
    """So many of a list, evenly spaced, its ends included."""
    if len(ranked) <= count:
        return list(ranked)
    return [ranked[int(place)] for place in np.linspace(0, len(ranked) - 1, count).round()]


def _options(candidates: _Candidates, seen: Seen) -> tuple[int, int]:
    """Target and alternative: the answer, and the truth, or where they are one the class most confusable with it."""
    return seen.answer, seen.label if seen.answer != seen.label else candidates.most_confusable[seen.label]


def _lack(candidates: _Candidates, pool: _Pool, category: int, trial_type: TrialType) -> Unfilled | None:
    """Why this trial cannot be, whatever else is chosen."""
    found = candidates.probes.get((category, trial_type), ())
    if not found:
        return Unfilled(category, trial_type, "there is no such image")
    reasons = [pool.lacks(one.id, *_options(candidates, one)) for one in found]
    return Unfilled(category, trial_type, str(reasons[0])) if all(reasons) else None


def _fill(
    settings: Settings, candidates: _Candidates, pool: _Pool, category: int, trial_type: TrialType, kind: Kind
) -> Trial | Unfilled:
    """A trial with a probe drawn at random among those that fit, or why there is none."""
    found = sorted(candidates.probes.get((category, trial_type), ()), key=lambda seen: seen.id)
    noise = rng(settings.seed, "design", f"{category}/{trial_type}")
    reason = "there is no such image"
    for place in torch.randperm(len(found), generator=noise).tolist():
        target, alternative = _options(candidates, found[place])
        lacking = pool.lacks(found[place].id, target, alternative)
        if lacking is None:
            return _trial(settings, pool, found[place], (target, alternative), trial_type, kind)
        reason = lacking
    return Unfilled(category, trial_type, reason)


def _trial(
    settings: Settings, pool: _Pool, seen: Seen, options: tuple[int, int], trial_type: TrialType, kind: Kind
) -> Trial:
    pool.reserve(seen.id, *options)
    return Trial(
        trial=digest(seen.id, *options)[:10],
        kind=kind,
        trial_type=trial_type,
        category=seen.label,
        target=options[0],
        alternative=options[1],
        probe=seen.id,
        source=MINED if _is_mined(settings, seen) and trial_type == "adversarial_incorrect" else seen.source,
        confidence=seen.confidence,
    )


def _extras(
    settings: Settings, candidates: _Candidates, pool: _Pool, spare: Sequence[int]
) -> tuple[list[Trial], list[Unfilled]]:
    """Practice and attention trials, from categories that the study does not use."""
    trials: list[Trial] = []
    lacking: list[Unfilled] = []
    used: set[int] = set()
    order = torch.randperm(len(spare), generator=rng(settings.seed, "design", "spare")).tolist()
    shuffled = [spare[place] for place in order]
    for number in range(settings.design.practice):
        trial_type = _PRACTICE[number % len(_PRACTICE)]
        made = next(
            (
                found
                for category in shuffled
                if category not in used
                and isinstance(found := _fill(settings, candidates, pool, category, trial_type, "practice"), Trial)
            ),
            None,
        )
        if made is None:
            lacking.append(
                Unfilled(-1, trial_type, f"practice trial {number + 1}: no category beyond the study's can fill it")
            )
        else:
            used.add(made.category)
            trials.append(made)
    for number in range(settings.design.attention):
        plain = _plain(settings, candidates, pool, [category for category in shuffled if category not in used])
        if plain is None:
            lacking.append(
                Unfilled(
                    -1, "standard_correct", f"attention trial {number + 1}: no category beyond the study's can fill it"
                )
            )
        else:
            used.add(plain.category)
            trials.append(plain)
    return trials, lacking


def _plain(settings: Settings, candidates: _Candidates, pool: _Pool, categories: Sequence[int]) -> Trial | None:
    """The surest hit of the first of these categories that has one, beside the class least like it."""
    full = [label for label, free in sorted(pool.free.items()) if len(free) >= pool.each]
    for category in categories:
        hits = sorted(candidates.probes.get((category, "standard_correct"), ()), key=lambda s: (-s.confidence, s.id))
        for seen in hits:
            if any(label != category for label in full):
                options = (category, candidates.least_confusable(category, full))
                if pool.lacks(seen.id, *options) is None:
                    return _trial(settings, pool, seen, options, "standard_correct", "attention")
    return None


def _mean_probability(settings: Settings, features: Features, context: Context) -> Float[Tensor, "classes classes"]:
    """Row t: the mean probability of each class on the standard images of class t."""
    classifier = context.classifier()
    classes = len(classifier.labels)
    total = torch.zeros(classes, classes, dtype=torch.float64)
    standard = [place for place, seen in enumerate(features.seen) if seen.source in settings.design.standard]
    labels = torch.tensor([features.seen[place].label for place in standard], dtype=torch.long)
    for start in range(0, len(standard), 4096):
        p = classifier.logits(features.features[standard[start : start + 4096]]).softmax(-1).double()
        total.index_add_(0, labels[start : start + 4096], p)
    return total / torch.bincount(labels, minlength=classes).clamp_min(1)[:, None]
