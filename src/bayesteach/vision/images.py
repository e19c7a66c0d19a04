"""Which images, under which labels: from folders, CSV files and Hugging Face datasets, told apart by what is in them."""

import csv
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from PIL import Image

from bayesteach.errors import BadImage, BadInput, Empty
from bayesteach.vision import hugging_face
from bayesteach.vision.photos import contents, decode

_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".jp2")
# What programs leave beside photos; a Mac's archive brings a second tree under the second name.
_HIDDEN = (".", "__MACOSX")

# From the name of a class to its index, as Classifier.index.
Index = Callable[[str], int]
# Something to watch a sequence go by with, as rich.progress.track.
Progress = Callable[[Sequence[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One image under its label.

    id     the SHA-256 of its bytes: the same picture under another name is the same image
    path   a file, or a row of a Hugging Face dataset, for `open_photo`
    label  the index of its class
    split  the part of the data that it comes from
    """

    id: str
    path: str
    label: int
    split: str

    def photo(self, root: Path | None = None) -> Image.Image:
        """The photo itself, if it still is what was collected; a relative path starts at `root`."""
        data = contents(self.path if root is None or hugging_face.is_locator(self.path) else root / self.path)
        if sha256(data).hexdigest() != self.id:
            raise BadImage(f"image: {self.path} has changed since it was collected. Collect the images anew.")
        return decode(data, self.path)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An image that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImageSet:
    """Images with one label each, no two the same, in the order of their sources and by path within each.

    Sets add up. An image that comes again under its label counts once, as it came first; one that comes under two labels could
    teach both sides of a lesson, so it serves neither and is listed.

    disputed    images under several labels, one entry for each label
    unreadable  what could not be read when the set was made
    """

    entries: tuple[Entry, ...]
    disputed: tuple[Entry, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @staticmethod
    def of(entries: Iterable[Entry], unreadable: Iterable[Unreadable] = ()) -> "ImageSet":
        """The set of these, each image once."""
        first: dict[tuple[str, int], Entry] = {}
        for entry in entries:
            first.setdefault((entry.id, entry.label), entry)
        labels = defaultdict(list)
        for entry in first.values():
            labels[entry.id].append(entry)
        return ImageSet(
            tuple(same[0] for same in labels.values() if len(same) == 1),
            tuple(
                sorted((e for same in labels.values() if len(same) > 1 for e in same), key=lambda e: (e.id, e.label))
            ),
            tuple({bad.path: bad for bad in unreadable}.values()),
        )

    @staticmethod
    def from_folder(
        root: Path | str, index: Index, *, split: str | None = None, strict: bool = False, progress: Progress = iter
    ) -> "ImageSet":
        """The images in `ROOT/CLASS/`, where each folder has the name of a class, as ImageNet's have; hidden files are left out.

        split   how to call this part of the data; the folder's own name if not given
        strict  stop at the first image that cannot be read
        """
        root = Path(root).absolute()
        if not root.is_dir():
            raise BadImage(f"images: there is no folder {root}. Check the path.")
        found = []
        for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(_HIDDEN)):
            files = sorted(
                path
                for path in folder.iterdir()
                if path.suffix.lower() in _SUFFIXES and not path.name.startswith(_HIDDEN)
            )
            if files:
                label = _label(folder.name, index, str(folder))
                found += [(str(path), label, split or root.name) for path in files]
        if not found:
            raise Empty(f"images: {root} has no folders with images. Expected ROOT/CLASS/*.jpg, one folder a class.")
        return _digested(found, strict=strict, progress=progress)

    @staticmethod
    def from_csv(
        path: Path | str, index: Index, *, split: str | None = None, strict: bool = False, progress: Progress = iter
    ) -> "ImageSet":
        """The images of a table with the columns path and label, and maybe split; paths start at the table's own folder.

        split   how to call this part of the data where the table does not say; the table's own name if not given
        strict  stop at the first image that cannot be read
        """
        path = Path(path).absolute()
        found, known = [], cache(index)
        for line, row in table_rows(path):
            file, label = (row["path"] or "").strip(), (row["label"] or "").strip()
            if not file or not label:
                raise BadImage(f"images: {path} line {line} has path {file!r} and label {label!r}. Fill in both.")
            file = place_beside(path, file)
            part = (row.get("split") or "").strip() or split or path.stem
            found.append((file, _label(label, known, f"{path} line {line}"), part))
        return _digested(sorted(found), strict=strict, progress=progress)

    @staticmethod
    def from_hugging_face(
        dataset: Path | str, index: Index | None, *, split: str, strict: bool = False, progress: Progress = iter
    ) -> "ImageSet":
        """The images of a dataset on the hub, or in a folder that `save_to_disk` wrote; the first column of images is read.

        index   from the dataset's names to classes; None where its numbers are the classifier's own
        split   the dataset's own name for its part: train, validation
        strict  stop at the first image that cannot be read
        """
        name = hugging_face.named(dataset)
        rows = hugging_face.rows(name, split)
        if rows.label is None:
            raise BadImage(f"images: {name} has no column of labels. Name one `label`, or make it a ClassLabel.")
        found, known = [], cache(index or _number)
        for row, label in enumerate(rows.labels(named=index is not None)):
            where = hugging_face.locator(name, split, row)
            if not label:
                raise BadImage(f"images: {where} has no label. Use a split with labels, or filter the dataset.")
            found.append((where, _label(label, known, where), split))
        if not found:
            raise Empty(f"images: the split {split!r} of {name} has no rows.")
        return _digested(found, strict=strict, progress=progress)

    def __add__(self, other: "ImageSet") -> "ImageSet":
        return ImageSet.of(
            (*self.entries, *self.disputed, *other.entries, *other.disputed), (*self.unreadable, *other.unreadable)
        )

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def select(self, *, labels: Collection[int] | None = None, splits: Collection[str] | None = None) -> "ImageSet":
        """The images with one of these labels, from one of these splits; what was left out stays listed."""
        kept = (e for e in self if (labels is None or e.label in labels) and (splits is None or e.split in splits))
        return ImageSet(tuple(kept), self.disputed, self.unreadable)

    def read(self, *, strict: bool = False) -> "Reading":
        """Their photos, one at a time."""
        return Reading(self.entries, strict=strict)

    @property
    def summary(self) -> str:
        """How many there are, and by name what was left out."""
        parts = [f"{len(self)} images of {len({e.label for e in self})} classes"]
        if self.disputed:
            listed = _listed([f"{e.path} as class {e.label}" for e in self.disputed])
            parts.append(f"{len({e.id for e in self.disputed})} left out for having several labels ({listed})")
        if self.unreadable:
            listed = _listed([bad.path for bad in self.unreadable])
            parts.append(f"{len(self.unreadable)} left out that could not be read ({listed})")
        return "; ".join(parts)


@dataclass(slots=True, eq=False)
class Reading:
    """A pass over photos, which are read as they are asked for; each `for` starts anew.

    unreadable  those that could not be read, up to now
    strict      stop at the first of them
    """

    entries: Sequence[Entry]
    strict: bool = False
    unreadable: list[Unreadable] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[Entry, Image.Image]]:
        self.unreadable.clear()
        for entry in self.entries:
            try:
                photo = entry.photo()
            except BadImage as error:
                if self.strict:
                    raise
                self.unreadable.append(Unreadable(entry.path, str(error)))
                continue
            yield entry, photo


def table_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a table of images, with the lines that they end on."""
    try:
        table = csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())
        rows = [(table.line_num, row) for row in table]
    except (OSError, ValueError, csv.Error) as error:
        raise BadImage(f"images: {path} cannot be read as a table ({error}). Pass a CSV in UTF-8.") from error
    if not rows:
        raise Empty(f"images: {path} has no rows. Expected a header path,label and a line for each image.")
    if not {"path", "label"} <= set(table.fieldnames or ()):
        raise BadImage(f"images: {path} has columns {', '.join(table.fieldnames or ())}; expected path and label.")
    return rows


def place_beside(table: Path, image: str) -> str:
    """Where an image is that a table names: a row of a dataset, or a file, from the table's own folder."""
    return image if hugging_face.is_locator(image) else str(table.parent / image)


def photos_below(folder: Path) -> list[Path]:
    """Every picture file below a folder, in the order of their paths; hidden files are left out."""
    found = []
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(_HIDDEN) for part in path.relative_to(folder).parts)
        if path.suffix.lower() in _SUFFIXES and path.is_file() and not hidden:
            found.append(path)
    return found


def _digested(found: list[tuple[str, int, str]], *, strict: bool, progress: Progress) -> ImageSet:
    entries, unreadable = [], []
    for path, label, split in progress(found):
        try:
            entries.append(Entry(sha256(contents(path)).hexdigest(), path, label, split))
        except BadImage as error:
            if strict:
                raise
            unreadable.append(Unreadable(path, str(error)))
    if not entries:
        raise BadImage(f"images: none of {len(found)} can be read. The first: {unreadable[0].reason}")
    return ImageSet.of(entries, unreadable)


def _number(label: str) -> int:
    if not label.isdecimal():
        raise BadImage(f"Found {label!r}, which is no number. Pass index=classifier.index.")
    return int(label)


def _label(name: str, index: Index, where: str) -> int:
    try:
        return index(name)
    except BadInput as error:
        raise BadImage(f"images: {where} is not under a class of the classifier. {error}") from error


def _listed(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f", and {len(names) - most} more" if len(names) > most else "")
