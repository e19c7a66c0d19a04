"""What a study will take, in time, disk and memory: how much there is to do by its settings, times what each of it takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from bayesteach.errors import BadImage, Empty
from bayesteach.scale.rates import MASKED, Rates
from bayesteach.settings import Settings, Source
from bayesteach.stages.embed import summed_only
from bayesteach.vision import hugging_face
from bayesteach.vision.images import Entry, photos_below, place_beside, table_rows
from bayesteach.vision.photos import contents, decode

# Bytes of an image's names, labels and answer in the process that plans: 540 were seen with 200,000 images, and a table that is
# read or written holds its text and rows beside them.
_NAMES = 1500
_FLOAT = 4


@dataclass(frozen=True, slots=True)
class Scope:
    """How much there is to do, at most: settings say how many trials are wanted, not how many can be filled.

    exact, fast  images that are embedded by the classifier as it is, and by the study's engine
    pictures     by explainer, how many pictures are mapped
    views        random views of examples that are embedded, and `refit` those of training images
    """

    exact: int
    fast: int
    train: int
    held_out: int
    trials: int
    pictures: Mapping[str, int]
    views: int
    refit: int

    @property
    def images(self) -> int:
        """All of them."""
        return self.exact + self.fast

    @property
    def by_engine(self) -> bool:
        """Whether anything is embedded by the study's engine."""
        return self.fast + self.views + self.refit > 0


@dataclass(frozen=True, slots=True)
class Step:
    """Some work: how much of what, seconds, and whether workers share it."""

    stage: str
    count: int
    what: str
    seconds: float
    shared: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, and bytes by what they are: on the disk, and in the memory of the process that plans, and of a worker."""

    steps: tuple[Step, ...]
    disk: Mapping[str, float]
    planner: float
    worker: float

    @property
    def seconds(self) -> float:
        """Of all steps, one after the other."""
        return sum(step.seconds for step in self.steps)


def listed(settings: Settings, root: Path) -> dict[str, list[str]]:
    """By source, where its images are; nothing is read but lists."""
    found = {source.name: list(_places(source, root)) for source in settings.source}
    if not any(found.values()):
        raise Empty("source: the study has no images to plan for. Check the [[source]] tables of study.toml.")
    return found


def sample(places: Mapping[str, Sequence[str]], count: int, root: Path) -> list[Entry]:
    """At most so many images that can be read, evenly over all sources."""
    every = [(place, source) for source, some in places.items() for place in some]
    chosen = every[:: max(1, len(every) // count)][:count]
    found = []
    for place, source in chosen:
        try:
            data = contents(place if hugging_face.is_locator(place) else root / place)
            decode(data, place)
        except BadImage:
            continue
        found.append(Entry(sha256(data).hexdigest(), place, 0, source))
    if not found:
        raise Empty(f"source: none of {len(chosen)} images that were tried can be read. Check the sources.")
    return found


def scope(settings: Settings, counts: Mapping[str, int]) -> Scope:
    """By its settings, for so many images of each source."""
    design, teach, only = settings.design, settings.teach, summed_only(settings)
    fast = sum(count for name, count in counts.items() if name in only)
    train = sum(counts[name] for name in settings.fit.train)
    trials = 3 * design.categories + design.practice + design.attention
    wanted: dict[str, set[str | None]] = {}
    for arm in settings.study.arms:
        if arm.probe is not None:
            wanted.setdefault(arm.probe, set()).add(arm.examples)
    pictures = {name: trials * (1 + 2 * teach.each * len(lessons - {None})) for name, lessons in wanted.items()}
    return Scope(
        exact=sum(counts.values()) - fast,
        fast=fast,
        train=train,
        held_out=sum(counts[name] for name in set(settings.fit.held_out) - set(settings.fit.train)),
        trials=trials,
        pictures=pictures,
        views=trials * teach.rescored * 2 * teach.each * teach.views,
        refit=train * settings.fit.refit_views if settings.fit.refit else 0,
    )


def enlarged(counts: Mapping[str, int], images: int) -> dict[str, int]:
    """So many images in all, in the same shares."""
    share = images / sum(counts.values())
    return {name: round(count * share) for name, count in counts.items()}


def assumed(rates: Rates, settings: Settings, rate: float) -> Rates:
    """The same, on hardware whose worker passes so many images a second through the network."""
    masked = {MASKED: settings.highlight.masks / rate} if MASKED in rates.pictures else {}
    return replace(rates, exact=1 / rate, fast=1 / rate, pictures={**rates.pictures, **masked})


def plan(
    settings: Settings, scope: Scope, rates: Rates, shape: tuple[int, int], size: tuple[int, int], workers: int = 1
) -> Plan:
    """For a head of this shape, and a network that sees pictures of this size."""
    cols, pixels = shape[1], size[0] * size[1]
    # Nine shrinkages are tried on one half of the held-out images, and the other half judges; the discriminant tries six twice.
    judging = scope.held_out / 2 * rates.judged * (1 + settings.fit.draws / 900)
    steps = [
        Step("collect", scope.images, "images read", scope.images * rates.read, shared=False),
        Step("embed", scope.images, "images", scope.exact * rates.exact + scope.fast * rates.fast, shared=True),
        Step("fit", scope.train, "images added up", scope.train * rates.summed, shared=True),
        Step("fit", scope.held_out, "held-out images judged", judging + 14 * rates.solved, shared=False),
    ]
    if scope.refit:
        steps.append(Step("fit", scope.refit, "views for the refit", scope.refit * rates.fast, shared=False))
    if scope.views:
        steps.append(Step("teach", scope.views, "views", scope.views * rates.fast, shared=False))
    for name, count in scope.pictures.items():
        masks = f" × {settings.highlight.masks} masks" if name == MASKED else f" by {name}"
        steps.append(Step("highlight", count, f"pictures{masks}", count * rates.pictures[name], shared=True))
    mapped = sum(scope.pictures.values())
    features = _FLOAT * cols * scope.images
    maps = 2 * _FLOAT * pixels * mapped
    return Plan(
        steps=tuple(replace(step, seconds=step.seconds / workers) if step.shared else step for step in steps),
        # Maps are in their units and in the artifact; a picture is at most three bytes a pixel, with its map and without.
        disk={"features": features, "maps": 2 * maps, "pictures": 2 * 3 * pixels * (mapped + scope.trials)},
        planner=rates.memory
        + _NAMES * scope.images
        + 2 * maps
        + 2 * _FLOAT * cols * scope.held_out / 2
        + (_FLOAT * cols * scope.train if settings.fit.refit else 0),
        worker=rates.memory,
    )


def _places(source: Source, root: Path) -> Iterator[str]:
    if source.folder is not None:
        yield from (str(path) for path in photos_below(root / source.folder))
    elif source.csv is not None:
        table = root / source.csv
        yield from (place_beside(table, (row["path"] or "").strip()) for _, row in table_rows(table))
    else:
        name = hugging_face.named(source.dataset or "")
        for number in range(len(hugging_face.rows(name, source.split))):
            yield hugging_face.locator(name, source.split, number)
