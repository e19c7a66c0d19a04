"""embed: the features of every image of every source, once, and what the classifier answers to it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bayesteach.artifacts import Features, Seen, Shards, Skipped
from bayesteach.errors import BadImage, Empty
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, digest, model_digest, units
from bayesteach.vision.engines import BLOCK, Engine, plain_engine, unscreened
from bayesteach.vision.images import Entry

T = TypeVar("T")

# Photos decoded while the network works on the block before.
READERS = 2


@dataclass(frozen=True, slots=True)
class Group:
    """Images that are embedded together, by the classifier as it is or by the study's engine."""

    entries: tuple[Entry, ...]
    exact: bool


def embed(settings: Settings, context: Context, collected: Collected) -> Features:
    """Features and answers, in the order of the images.

    Images that may become probes or examples are embedded in fp32 torch; those that only enter sums, by the study's engine.
    """
    entries = list(collected.images)
    places = {entry.id: place for place, entry in enumerate(entries)}
    groups = _groups(settings, entries)
    where = torch.full((len(entries), 2), -1)
    answers, confidences = torch.zeros(len(entries), dtype=torch.long), torch.zeros(len(entries))
    parts: list[Mapping[str, Tensor]] = []
    advance = context.watch("embedding", len(entries))
    for number, (group, found) in enumerate(zip(groups, context.crew.each(context, embedded, groups), strict=True)):
        rows = torch.tensor([places[entry.id] for entry in group.entries])[found["readable"]]
        where[rows] = torch.stack([torch.full_like(rows, number), torch.arange(len(rows))], 1)
        best = context.classifier().logits(found["features"]).softmax(-1).max(-1)
        answers[rows], confidences[rows] = best.indices, best.values
        parts.append(found)
        advance(len(group.entries))
    whole = where[:, 0] >= 0
    if not whole.any():
        raise Empty(f"embed: none of {len(entries)} images can be read. Check the sources.")
    seen = tuple(
        Seen(entry.id, entry.split, entry.label, answer, round(confidence, 7))
        for entry, read, answer, confidence in zip(
            entries, whole.tolist(), answers.tolist(), confidences.tolist(), strict=True
        )
        if read
    )
    skipped = [_skipped(entry, context) for entry, read in zip(entries, whole.tolist(), strict=True) if not read]
    return Features(seen, Shards(tuple(parts), where[whole]), tuple(skipped))


def views_of(context: Context, entry: Entry, count: int, rng: Generator) -> Float[Tensor, "views cols"]:
    """The features of random crops and flips of one image, by the study's engine; kept, since they cost `count` passes."""
    classifier = context.classifier()

    def make() -> dict[str, Tensor]:
        pixels = classifier.augment(entry.photo(context.root), count, rng)
        return {"features": sums_engine(context).features(pixels)}

    parts = ("views", model_digest(classifier), context.engine().name, entry.id, count, rng.initial_seed())
    return context.remembered("views", parts, make)["features"]


def _groups(settings: Settings, entries: Sequence[Entry]) -> list[Group]:
    """All images, those that may enter a trial first; each group holds one kind only."""
    only = summed_only(settings)
    by_id = {entry.id: entry for entry in entries}
    return [
        Group(tuple(by_id[i] for i in ids), exact)
        for exact in (True, False)
        for ids in units([entry.id for entry in entries if (entry.split not in only) == exact])
    ]


def summed_only(settings: Settings) -> frozenset[str]:
    """The sources whose images enter no trial."""
    design = settings.design
    in_trials = {*design.standard, *design.adversarial, *design.mined, *design.pool, *settings.fit.held_out}
    return frozenset(set(settings.fit.train) - in_trials)


def sums_engine(context: Context) -> Engine:
    """Features have no screening: where the study's engine is int8, its fp32 serves."""
    return unscreened(context.engine())


def embedded(context: Context, group: Group) -> Mapping[str, Tensor]:
    """A unit of work: the features of those images of a group that can be read, and which these are."""
    classifier = context.classifier()
    engine = plain_engine(classifier) if group.exact else sums_engine(context)

    def make() -> dict[str, Tensor]:
        readable = torch.zeros(len(group.entries), dtype=torch.bool)
        found = []
        for block in _blocks(_pixels(group.entries, context), BLOCK):
            places = [place for place, _ in block]
            readable[places] = True
            found.append(engine.features(torch.stack([pixels for _, pixels in block])))
        empty = torch.empty(0, classifier.head.shape[1])
        return {"features": torch.cat([empty, *found]), "readable": readable}

    ids = digest(*(entry.id for entry in group.entries))
    return context.remembered("features", ("features", model_digest(classifier), engine.name, ids), make)


def _pixels(entries: Sequence[Entry], context: Context) -> Iterator[tuple[int, Tensor]]:
    """What the network sees of each photo that can be read, with its place; the next ones are decoded meanwhile."""
    classifier = context.classifier()

    def read(entry: Entry) -> Tensor | None:
        try:
            return classifier.pixels(entry.photo(context.root))
        except BadImage:
            return None

    with ThreadPoolExecutor(READERS) as readers:
        for part in _blocks(enumerate(entries), 2 * BLOCK):
            done: Iterable[Tensor | None] = readers.map(read, [entry for _, entry in part])
            yield from ((place, pixels) for (place, _), pixels in zip(part, done, strict=True) if pixels is not None)


def _blocks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while block := list(islice(rest, size)):
        yield block


def _skipped(entry: Entry, context: Context) -> Skipped:
    try:
        entry.photo(context.root)
    except BadImage as error:
        return Skipped(entry.path, str(error))
    return Skipped(entry.path, "it could not be read when the images were embedded")
