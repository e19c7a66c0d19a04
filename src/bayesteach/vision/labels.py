"""Class names, in the order of a classifier's logits."""

import csv
from pathlib import Path

from bayesteach.errors import BadClassifier

# The columns of a CSV of labels that hold the names, the first that is there.
_COLUMNS = ("label", "name", "simple", "class")


def imagenet_labels() -> tuple[str, ...]:
    """The 1000 classes of ImageNet: their first name, with what tells apart the two cranes and the two maillots."""
    from timm.data import ImageNetInfo  # noqa: PLC0415 — timm takes a second to import

    info = ImageNetInfo("imagenet-1k")
    full = [info.index_to_description(i) for i in range(1000)]
    first = [name.split(",")[0] for name in full]
    return tuple(name if first.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(first))


def read_labels(path: Path, classes: int) -> tuple[str, ...]:
    """The names of a text file, one a line, or of a CSV's column `label` (or name, simple, class)."""
    if not path.is_file():
        raise BadClassifier(f"labels: there is no file {path}. Check the path.")
    text = path.read_text(encoding="utf-8-sig")
    names = _from_csv(path, text) if path.suffix.lower() == ".csv" else [line.strip() for line in text.splitlines()]
    while names and not names[-1]:
        names.pop()
    if len(names) != classes:
        raise BadClassifier(
            f"labels: {path} has {len(names)} names, the classifier {classes} classes. Give one line a class."
        )
    return tuple(names)


def _from_csv(path: Path, text: str) -> list[str]:
    rows = list(csv.DictReader(text.splitlines()))
    header = list(rows[0]) if rows else []
    column = next((c for c in _COLUMNS if c in header), None)
    if column is None:
        raise BadClassifier(f"labels: {path} has columns {header}, expected one of {', '.join(_COLUMNS)}.")
    return [row[column].strip() for row in rows]
