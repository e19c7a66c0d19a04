"""What a stage works with besides its inputs: seeds, the classifier, finished units, whoever does them and whoever watches."""

import csv
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Protocol, runtime_checkable

from torch import Generator, Tensor

from bayesteach.errors import BadStudy
from bayesteach.settings import Settings
from bayesteach.stages.crew import ALONE, Crew
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.engines import Engine, Screened, make_engine

# From what is being done, and how much there is of it, to a function that is told of each bit done.
Watch = Callable[[str, int], Callable[[int], None]]

# Images whose features are one unit of work, at most about: 2 MB for 2049 features, 30 s of a ResNet-50 on two cores.
UNIT = 256


@runtime_checkable
class Memory(Protocol):
    """Units of work that were finished before: tensors by name, under a kind and a digest of all that they depend on."""

    def recall(self, kind: str, key: str) -> Mapping[str, Tensor] | None:
        """What was kept, if it was."""
        ...

    def keep(self, kind: str, key: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Keep it, whole or not at all; the same, as it is kept."""
        ...


@dataclass(slots=True)
class OneRun:
    """A memory that lasts as long as the process."""

    units: dict[tuple[str, str], Mapping[str, Tensor]] = field(default_factory=dict)

    def recall(self, kind: str, key: str) -> Mapping[str, Tensor] | None:
        return self.units.get((kind, key))

    def keep(self, kind: str, key: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        self.units[kind, key] = tensors
        return tensors


def unwatched(_what: str, _total: int) -> Callable[[int], None]:
    """For those who do not care how far it is."""
    return lambda _done: None


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The means of a stage.

    classifier, engine  called when they are needed: loading a network takes seconds
    root                the study's folder, where relative paths start
    crew                who does the units that cost hours
    """

    classifier: Callable[[], Classifier]
    engine: Callable[[], Engine | Screened]
    root: Path = Path()
    memory: Memory = field(default_factory=OneRun)
    watch: Watch = unwatched
    crew: Crew = ALONE

    @staticmethod
    def of(settings: Settings, root: Path, memory: Memory, watch: Watch = unwatched, crew: Crew = ALONE) -> "Context":
        """The means that a study's settings ask for."""
        model = settings.model

        @cache
        def classifier() -> Classifier:
            return Classifier.load(
                model.name,
                checkpoint=root / model.checkpoint if model.checkpoint else None,
                labels=root / model.labels if model.labels else None,
                geometry=model.geometry,
            )

        @cache
        def engine() -> Engine | Screened:
            return make_engine(classifier(), model.engine, model.precision)

        return Context(classifier, engine, root, memory, watch, crew)

    def remembered(
        self, kind: str, parts: Iterable[object], make: Callable[[], Mapping[str, Tensor]]
    ) -> Mapping[str, Tensor]:
        """A unit of work: recalled if all that it depends on is the same, else made and kept."""
        key = digest(*parts)
        found = self.memory.recall(kind, key)
        if found is None:
            found = self.memory.keep(kind, key, make())
        return found

    def table(self, name: str, columns: Collection[str]) -> list[dict[str, str]] | None:
        """The rows of a CSV that the researcher has put into the study's folder, if there is one; `columns` it must have."""
        file = self.root / name
        if not file.exists():
            return None
        try:
            rows = csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines())
            found = [{key: (value or "").strip() for key, value in row.items() if key} for row in rows]
        except (OSError, ValueError, csv.Error) as error:
            raise BadStudy(
                f"{file} cannot be read as a table ({error}). Save it as CSV in UTF-8, or remove it."
            ) from error
        lacking = set(columns) - set(rows.fieldnames or ())
        if lacking:
            raise BadStudy(f"{file} lacks the column {', '.join(sorted(lacking))}. Add it, or remove the file.")
        return found


@lru_cache(maxsize=4)
def model_digest(classifier: Classifier) -> str:
    """The classifier's digest: 0.1 s for a ResNet-50, so not once a unit."""
    return classifier.digest()


def digest(*parts: object) -> str:
    """A name for these values together."""
    return sha256("\n".join(str(part) for part in parts).encode()).hexdigest()[:32]


def rng(seed: int, stage: str, unit: str = "") -> Generator:
    """A stream of random numbers of its own for every unit, whatever the order in which they are done."""
    return Generator().manual_seed(int(digest(seed, stage, unit)[:15], 16))


def units(ids: Iterable[str]) -> list[list[str]]:
    """Images in groups of at most UNIT, halved by the bits of their digests: a new image changes the group that it comes into.

    By hexadecimal letters the groups of ImageNet had 20 images, which blocks of 32 pad.
    """
    return list(_halved(sorted(ids), 63))


def _halved(ids: list[str], bit: int) -> Iterator[list[str]]:
    """Groups in the order of the digests, which begin with these bits; the last bit halves nothing further."""
    if len(ids) <= UNIT or bit < 0:
        if ids:
            yield ids
        return
    place = bisect_left(ids, 1, key=lambda identity: int(identity[:16], 16) >> bit & 1)
    yield from _halved(ids[:place], bit - 1)
    yield from _halved(ids[place:], bit - 1)
