"""What one process of this machine takes for each kind of work, measured by doing some of it."""

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Generator

from bayesteach.artifacts import Shards
from bayesteach.maths.curvature import choose_shrinkage
from bayesteach.settings import Settings
from bayesteach.stages.context import Context, OneRun
from bayesteach.stages.embed import Group, embedded
from bayesteach.stages.fit import Part, summed
from bayesteach.stages.highlight import Picture, mapped
from bayesteach.vision.engines import BLOCK
from bayesteach.vision.images import Entry
from bayesteach.vision.near_copies import perceptual_hash

# The explainer whose cost is its masks, of which so many are tried.
MASKED, _MASKS = "expected_mask", 4 * BLOCK
# Photos that are tried at most, and seconds after which no more are begun.
PHOTOS, _LONG = 8 * BLOCK, 5.0
_ROWS, _HELD_OUT = 4096, 256


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds of one process, and its memory.

    read      to read an image and look for its near-copies
    exact     to embed an image by the classifier as it is, and `fast` by the study's engine
    summed    to add up a training image
    judged    to try shrinkages on a held-out image, and `solved` to try them on none
    pictures  by explainer, to map a picture
    memory    bytes at most, meanwhile
    """

    read: float
    exact: float
    fast: float
    summed: float
    judged: float
    solved: float
    pictures: Mapping[str, float]
    memory: float


def measure_rates(
    settings: Settings, context: Context, photos: Sequence[Entry], explainers: Sequence[str], *, by_engine: bool
) -> Rates:
    """Some seconds of each; embedding by the study's engine only where it is asked for."""
    classes, cols = context.classifier().head.shape
    advance = context.watch("measuring", 5 + len(explainers))
    some = [photos[start : start + BLOCK] for start in range(0, len(photos), BLOCK)]

    def told(seconds: float) -> float:
        advance(1)
        return seconds

    def embed(exact: bool, block: Sequence[Entry]) -> None:  # noqa: FBT001 — as the group has it
        embedded(_afresh(context), Group(tuple(block), exact))

    def read(block: Sequence[Entry]) -> None:
        for entry in block:
            perceptual_hash(entry.photo(context.root))

    noise = Generator().manual_seed(0)
    z = torch.nn.functional.pad(torch.randn(_ROWS, cols - 1, generator=noise).relu(), (0, 1), value=1.0)
    labels, head = torch.arange(_ROWS) % classes, context.classifier().head
    part, sums = Part(Shards.of(z), labels), []
    adding = told(_seconds(lambda: sums.append(summed(head, context, part))) / _ROWS)
    curvature = sums[0].curvature

    def judge(images: int) -> None:
        choose_shrinkage(curvature, head, z[:images], labels[:images], noise)

    few, many = (_seconds(partial(judge, count)) for count in (1, 1 + _HELD_OUT))
    return Rates(
        read=told(_each(read, some)),
        exact=told(_each(partial(embed, True), some)),
        fast=told(_each(partial(embed, False), some) if by_engine else 0.0),
        summed=adding,
        judged=told(max(0.0, many - few) / _HELD_OUT),
        solved=few,
        pictures={name: told(_picture(settings, context, photos[0], name)) for name in explainers},
        memory=float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024),
    )


def _picture(settings: Settings, context: Context, entry: Entry, name: str) -> float:
    """One map of one picture; of the masks of a map, a few that stand for all."""
    masks = settings.highlight.masks
    tried = min(masks, _MASKS) if name == MASKED else masks
    less = settings.model_copy(update={"highlight": settings.highlight.model_copy(update={"masks": tried})})
    work = partial(mapped, less, picture=Picture(name, entry, (0,)))
    work(_afresh(context))
    return _seconds(lambda: work(_afresh(context))) * masks / tried


def _afresh(context: Context) -> Context:
    """The same means, which remember nothing."""
    return replace(context, memory=OneRun())


def _each(work: Callable[[Sequence[Entry]], None], blocks: Sequence[Sequence[Entry]]) -> float:
    """Seconds an image; the first block warms up, if there are more."""
    work(blocks[0])
    done, took = 0, 0.0
    for block in blocks[1:] or blocks:
        took += _seconds(partial(work, block))
        done += len(block)
        if took > _LONG:
            break
    return took / done


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
