"""embed: the features of every image of every source, once, and what the classifier answers to it."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bayesteach.artifacts import Features, Seen, Skipped
from bayesteach.errors import BadImage, Empty
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, digest, model_digest, units
from bayesteach.vision.engines import BLOCK, Engine, plain_engine, unscreened
from bayesteach.vision.images import Entry

T = TypeVar("T")

# Photos decoded while the network works on the block before.
READERS = 2


def embed(settings: Settings, context: Context, collected: Collected) -> Features:
    """Features and answers, in the order of the images.

    Images that may become probes or examples are embedded in fp32 torch; those that only enter sums, by the study's engine.
    """
    summed_only = set(settings.fit.train) - _in_trials(settings)
    entries = list(collected.images)
    advance = context.watch("embedding", len(entries))
    places = {entry.id: place for place, entry in enumerate(entries)}
    features = torch.empty(len(entries), context.classifier().head.shape[1])
    whole = torch.zeros(len(entries), dtype=torch.bool)
    for exact in (True, False):
        group = [entry.id for entry in entries if (entry.split not in summed_only) == exact]
        for ids in units(group):
            found = _embedded([entries[places[i]] for i in ids], context, exact=exact)
            rows = torch.tensor([places[i] for i in ids])
            whole[rows] = found["readable"]
            features[rows[found["readable"]]] = found["features"]
            advance(len(ids))
    if not whole.any():
        raise Empty(f"embed: none of {len(entries)} images can be read. Check the sources.")
    skipped = [_skipped(entry, context) for entry, read in zip(entries, whole.tolist(), strict=True) if not read]
    if skipped:
        features = features[whole]
        entries = [entry for entry, read in zip(entries, whole.tolist(), strict=True) if read]
    return Features(_answers(entries, features, context), features, tuple(skipped))


def views_of(context: Context, entry: Entry, count: int, rng: Generator) -> Float[Tensor, "views cols"]:
    """The features of random crops and flips of one image, by the study's engine; kept, since they cost `count` passes."""
    classifier = context.classifier()

    def make() -> dict[str, Tensor]:
        pixels = classifier.augment(entry.photo(context.root), count, rng)
        return {"features": sums_engine(context).features(pixels)}

    parts = ("views", model_digest(classifier), context.engine().name, entry.id, count, rng.initial_seed())
    return context.remembered("views", parts, make)["features"]


def _in_trials(settings: Settings) -> set[str]:
    design = settings.design
    return {*design.standard, *design.adversarial, *design.mined, *design.pool, *settings.fit.held_out}


def sums_engine(context: Context) -> Engine:
    """Features have no screening: where the study's engine is int8, its fp32 serves."""
    return unscreened(context.engine())


def _embedded(entries: Sequence[Entry], context: Context, *, exact: bool) -> dict[str, Tensor]:
    classifier = context.classifier()
    engine = plain_engine(classifier) if exact else sums_engine(context)

    def make() -> dict[str, Tensor]:
        readable = torch.zeros(len(entries), dtype=torch.bool)
        found = []
        for block in _blocks(_pixels(entries, context), BLOCK):
            places = [place for place, _ in block]
            readable[places] = True
            found.append(engine.features(torch.stack([pixels for _, pixels in block])))
        empty = torch.empty(0, classifier.head.shape[1])
        return {"features": torch.cat([empty, *found]), "readable": readable}

    ids = digest(*(entry.id for entry in entries))
    return dict(context.remembered("features", ("features", model_digest(classifier), engine.name, ids), make))


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


def _answers(entries: Sequence[Entry], features: Float[Tensor, "images cols"], context: Context) -> tuple[Seen, ...]:
    best = [context.classifier().logits(part).softmax(-1).max(-1) for part in features.split(4096)]
    confidence = torch.cat([found.values for found in best]).tolist()
    answer = torch.cat([found.indices for found in best]).tolist()
    return tuple(
        Seen(entry.id, entry.split, entry.label, a, round(p, 7))
        for entry, a, p in zip(entries, answer, confidence, strict=True)
    )
