"""Images of a Hugging Face dataset, as the bytes that were stored: `hf:DATASET:SPLIT#ROW` names one of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bayesteach.errors import BadImage

_PREFIX = "hf:"


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One split of a dataset: the column of its images, and that of its labels, if it has one.

    classes  the names of the labels, where the dataset tells them
    """

    table: Any
    image: str
    label: str | None
    classes: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.table)

    def contents(self, row: int) -> bytes:
        """The bytes of one image, from the dataset or from the file that it names."""
        stored = self.table[row][self.image]
        data = stored and (stored["bytes"] or (Path(stored["path"]).read_bytes() if stored["path"] else None))
        if not data:
            raise BadImage(f"image: row {row} holds no image. Leave it out of the dataset.")
        return data

    def labels(self, *, named: bool) -> Iterator[str]:
        """The class of each row, by name where the dataset has names for its numbers; empty where it is withheld."""
        for value in self.table[self.label]:
            # −1 is what datasets write for a label that they keep to themselves.
            if value is None or value == -1:
                yield ""
            else:
                yield self.classes[value] if named and self.classes is not None else str(value)


def is_locator(path: str) -> bool:
    """Whether this names a row of a dataset, not a file."""
    return path.startswith(_PREFIX) and "#" in path


def locator(dataset: str, split: str, row: int) -> str:
    """The name under which a row is read again."""
    return f"{_PREFIX}{dataset}:{split}#{row}"


def named(dataset: Path | str) -> str:
    """A dataset's name: on the hub its own, in a folder the folder's."""
    return str(Path(dataset).absolute()) if Path(dataset).is_dir() else str(dataset)


def contents(path: str) -> bytes:
    """The bytes of the image that a locator names."""
    name, _, row = path.removeprefix(_PREFIX).rpartition("#")
    dataset, _, split = name.rpartition(":")
    if not (dataset and split and row.isdecimal()):
        raise BadImage(f"image: {path} is no row of a dataset, expected {_PREFIX}DATASET:SPLIT#ROW.")
    table = rows(dataset, split)
    if int(row) >= len(table):
        raise BadImage(f"image: {path} lies beyond the {len(table)} rows of the dataset. Collect the images anew.")
    try:
        return table.contents(int(row))
    except (BadImage, OSError) as error:
        raise BadImage(f"image: {path} cannot be read ({error}).") from error


@lru_cache(maxsize=8)
def rows(dataset: str, split: str) -> Rows:
    """A split of a dataset on the hub, or in a folder that `save_to_disk` wrote; loaded once."""
    try:
        import datasets  # noqa: PLC0415 — an extra, and slow to import
    except ImportError as error:
        raise BadImage(
            f"images: {dataset} is a Hugging Face dataset. Install what reads it: pip install 'bayesteach[huggingface]'."
        ) from error
    table = _loaded(datasets, dataset, split)
    features = table.features
    image = next((name for name, kind in features.items() if isinstance(kind, datasets.Image)), None)
    if image is None:
        raise BadImage(f"images: {dataset} has columns {', '.join(features)}, none of them of images.")
    named = next((name for name, kind in features.items() if isinstance(kind, datasets.ClassLabel)), None)
    return Rows(
        table.cast_column(image, datasets.Image(decode=False)),
        image,
        named or ("label" if "label" in features else None),
        tuple(features[named].names) if named else None,
    )


def _loaded(datasets: Any, dataset: str, split: str) -> Any:
    try:
        if not Path(dataset).is_dir():
            return datasets.load_dataset(dataset, split=split)
        found = datasets.load_from_disk(dataset)
    except Exception as error:  # whatever a hub, a proxy, a folder or a table can raise
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise BadImage(
            f"images: the split {split!r} of {dataset} could not be loaded ({reason}). Check both names; without a network, pass "
            "a folder that Dataset.save_to_disk wrote."
        ) from error
    if isinstance(found, datasets.DatasetDict):
        if split not in found:
            raise BadImage(f"images: {dataset} has splits {', '.join(found)}, found {split!r}. Pass one of them.")
        return found[split]
    return found
