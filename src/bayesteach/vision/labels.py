"""Class names, in the order of a classifier's logits."""

import csv
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from bayesteach.errors import BadClassifier
from bayesteach.vision.torchvision_import import import_torchvision

# The columns of a CSV of labels that hold the names, the first that is there.
_COLUMNS = ("label", "name", "simple", "class")


def imagenet_labels() -> tuple[str, ...]:
    """The 1000 classes of ImageNet: their first name, with what tells apart the two cranes and the two maillots."""
    info = _imagenet()
    full = [info.index_to_description(i) for i in range(1000)]
    first = [name.split(",")[0] for name in full]
    return tuple(name if first.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(first))


def imagenet_aliases() -> tuple[tuple[str, ...], ...]:
    """What else the classes of ImageNet are called: their WordNet number, their whole description, and each name in it."""
    info = _imagenet()
    full = [info.index_to_description(i) for i in range(1000)]
    return tuple((info.index_to_label_name(i), name, *name.split(", ")) for i, name in enumerate(full))


def _imagenet() -> Any:
    import_torchvision()
    from timm.data import ImageNetInfo  # noqa: PLC0415 — after torchvision; and it takes a second

    return ImageNetInfo("imagenet-1k")


def find(wanted: str, labels: Sequence[str], aliases: Sequence[Sequence[str]] = ()) -> int:
    """The class of this name: as it is written, then without regard to case, then by its first synonym or an alias."""
    if wanted in labels:
        return labels.index(wanted)
    plain = wanted.strip().lower()
    for names in ([(name,) for name in labels], [(name.split(",")[0],) for name in labels], aliases):
        found = [i for i, called in enumerate(names) if plain in (name.lower() for name in called)]
        if len(found) == 1:
            return found[0]
        if found:
            meant = " or ".join(f"{labels[i]!r}, class {i}" for i in found[:5])
            raise BadClassifier(f"class: found {wanted!r}, which {len(found)} classes are called. Pass {meant}.")
    within = [name for name in labels if plain and plain in name.lower()]
    # As a word first: a cat is meant rather than an oystercatcher.
    near = sorted(within, key=lambda name: plain not in name.lower().split())[:5] or get_close_matches(plain, labels, 5)
    hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    raise BadClassifier(f"class: found {wanted!r}, which is none of the {len(labels)} labels.{hint}")


def read_labels(path: Path, classes: int) -> tuple[str, ...]:
    """The names of a text file, one a line, or of a CSV's column `label` (or name, simple, class)."""
    if not path.is_file():
        raise BadClassifier(f"labels: there is no file {path}. Check the path.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadClassifier(f"labels: {path} cannot be read ({error}). Save it as text in UTF-8.") from error
    names = _from_csv(path, text) if path.suffix.lower() == ".csv" else [line.strip() for line in text.splitlines()]
    while names and not names[-1]:
        names.pop()
    if len(names) != classes:
        raise BadClassifier(
            f"labels: {path} has {len(names)} names, the classifier {classes} classes. Give one line a class."
        )
    return tuple(names)


def _from_csv(path: Path, text: str) -> list[str]:
    table = csv.DictReader(text.splitlines())
    header = table.fieldnames or ()
    column = next((c for c in _COLUMNS if c in header), None)
    if column is None:
        raise BadClassifier(
            f"labels: {path} has columns {', '.join(header) or 'none'}; expected one of {', '.join(_COLUMNS)}."
        )
    names = []
    for row in table:
        if not (name := (row[column] or "").strip()):
            raise BadClassifier(f"labels: {path} line {table.line_num} has no {column}. Give every class its name.")
        names.append(name)
    return names
