"""collect: which images there are, under which labels, and which of them are near-copies of one another."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayesteach.errors import BadImage, Empty
from bayesteach.settings import Settings, Source
from bayesteach.stages.context import Context, digest, units
from bayesteach.vision import near_copies
from bayesteach.vision.hugging_face import is_locator
from bayesteach.vision.images import Entry, ImageSet


@dataclass(frozen=True, slots=True)
class NearCopy:
    """Two images that look the same."""

    id: str
    other: str


@dataclass(frozen=True, eq=False)
class Collected:
    """The images of every source, under its name as their split; paths below the study's folder are relative to it."""

    images: ImageSet
    near_copies: tuple[NearCopy, ...]

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """By id."""
        return {entry.id: entry for entry in self.images}

    @cached_property
    def copies_of(self) -> dict[str, frozenset[str]]:
        """By id, those that look the same."""
        found: dict[str, set[str]] = {}
        for pair in self.near_copies:
            found.setdefault(pair.id, set()).add(pair.other)
            found.setdefault(pair.other, set()).add(pair.id)
        return {identity: frozenset(others) for identity, others in found.items()}

    @property
    def summary(self) -> str:
        copies = f"; {len(self.near_copies)} pairs of near-copies" if self.near_copies else ""
        return self.images.summary + copies


def collect(settings: Settings, context: Context) -> Collected:
    """The images of every source of the study."""
    if not settings.source:
        raise Empty(
            "source: the study has no images. Add [[source]] tables to study.toml, each with a name and a folder."
        )
    index = context.classifier().index
    images = ImageSet(())
    for source in settings.source:
        images += _read(source, index, context, strict=settings.collect.strict)
    images = replace(
        images,
        **{part: _relative(getattr(images, part), context.root) for part in ("entries", "disputed", "unreadable")},
    )
    bits = settings.collect.near_copies
    return Collected(images, () if bits < 0 else _near_copies(images, bits, context))


def _read(source: Source, index: Callable[[str], int], context: Context, *, strict: bool) -> ImageSet:
    def progress(found: Sequence[Any]) -> Iterable[Any]:
        advance = context.watch(f"reading {source.name}", len(found))
        for item in found:
            yield item
            advance(1)

    if source.folder is not None:
        return ImageSet.from_folder(
            context.root / source.folder, index, split=source.name, strict=strict, progress=progress
        )
    if source.csv is not None:
        found = ImageSet.from_csv(context.root / source.csv, index, strict=strict, progress=progress)
    else:
        found = ImageSet.from_hugging_face(
            source.dataset or "", index, split=source.split, strict=strict, progress=progress
        )
    return replace(found, entries=tuple(replace(entry, split=source.name) for entry in found))


def _relative(rows: tuple[Any, ...], root: Path) -> tuple[Any, ...]:
    """A study that is moved as a whole keeps its images."""
    base = root.absolute()

    def moved(path: str) -> str:
        return (
            path if is_locator(path) or not Path(path).is_relative_to(base) else Path(path).relative_to(base).as_posix()
        )

    return tuple(replace(row, path=moved(row.path)) for row in rows)


def _near_copies(images: ImageSet, bits: int, context: Context) -> tuple[NearCopy, ...]:
    entries = {entry.id: entry for entry in images}
    advance = context.watch("looking for near-copies", len(entries))
    hashes: dict[str, int] = {}

    def hashed(ids: list[str]) -> dict[str, torch.Tensor]:
        # As int64, which safetensors has, with 0 for what could not be read: embed will say so.
        return {"hashes": torch.tensor([_hash(entries[i], context.root) for i in ids], dtype=torch.int64)}

    for ids in units(list(entries)):
        found = context.remembered("hashes", ["phash", digest(*ids)], partial(hashed, ids))["hashes"]
        hashes |= zip(ids, found.tolist(), strict=True)
        advance(len(ids))
    readable = [i for i in sorted(hashes) if hashes[i] != 0]
    array = np.array([hashes[i] for i in readable], dtype=np.int64).view(np.uint64)
    pairs = ((readable[i], readable[j]) for i, j in near_copies.candidates(array, bits))
    return tuple(
        NearCopy(i, j)
        for i, j in pairs
        if near_copies.alike(entries[i].photo(context.root), entries[j].photo(context.root))
    )


def _hash(entry: Entry, root: Path) -> int:
    try:
        return int(np.uint64(near_copies.perceptual_hash(entry.photo(root))).view(np.int64))
    except BadImage:
        return 0
