"""Photos on disk, explained one after the other into folders; what is finished is not done again."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from bayesteach.errors import BadImage, BadInput, Empty
from bayesteach.explain.explanation import Explanation, SamplerName, explain
from bayesteach.explain.faithfulness import Faithfulness, faithfulness
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.engines import Engine, Screened, unscreened
from bayesteach.vision.images import photos_below
from bayesteach.vision.masked import Baseline
from bayesteach.vision.photos import contents, decode

FACTS = "explanation.json"
DEFAULT = Path("explained")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of every photo. A finished explanation serves again if it was made for the same request and photo.

    masks   how many, or with a tolerance how many at most
    engine  auto, or the name of the engine that was asked for: under auto any serves, because the maps of all are true
    """

    targets: tuple[str, ...]
    alternative: str | None
    masks: int
    sampler: SamplerName
    tolerance: float | None
    baseline: Baseline
    seed: int
    engine: str
    faithfulness: bool

    def of(self, classifier: Classifier) -> dict[str, object]:
        """The request to a classifier, under its labels."""
        labels = sha256("\n".join(classifier.labels).encode()).hexdigest()
        return {"classifier": classifier.digest(), "labels": labels, **asdict(self), "targets": list(self.targets)}


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of one photo: its explanation, or that it was there already, or why it could not be read."""

    photo: Path
    place: Path
    explanation: Explanation | None = None
    unreadable: str | None = None

    @property
    def kind(self) -> str:
        """explained, kept or unreadable."""
        if self.unreadable is not None:
            return "unreadable"
        return "kept" if self.explanation is None else "explained"


def places(asked: Path, out: Path | None) -> list[tuple[Path, Path]]:
    """Each photo with the folder for its explanation: one photo's is `out`; below a folder, each has its own path under `out`.

    A photo's suffix is left off its folder's name where no other photo shares the rest.
    """
    if not asked.is_dir():
        if not asked.exists():
            raise BadImage(f"image: there is no photo or folder {asked}. Check the path.")
        return [(asked, out or DEFAULT / asked.stem)]
    out = out or DEFAULT
    # The pictures of explanations that stand in the folder itself are not photos of it.
    photos = [photo for photo in photos_below(asked) if out.absolute() not in photo.absolute().parents]
    if not photos:
        raise Empty(f"image: {asked} holds no pictures. Pass a photo, or a folder with photos.")
    stems = Counter(photo.with_suffix("") for photo in photos)
    named = (photo.with_suffix("") if stems[photo.with_suffix("")] == 1 else photo for photo in photos)
    return [(photo, out / name.relative_to(asked)) for photo, name in zip(photos, named, strict=True)]


def explain_photos(
    classifier: Classifier,
    weigher: Engine | Screened,
    photos: Sequence[tuple[Path, Path]],
    request: Request,
    progress: Callable[[int], None],
) -> Iterator[Outcome]:
    """Explain photos into places, in turn. `progress` is told how many masks of all photos' are done with."""
    asked_of_all = request.of(classifier)
    for photo, place in photos:
        try:
            data = contents(photo)
            asked = {"photo": sha256(data).hexdigest(), **asked_of_all}
            if _kept(place) == asked:
                progress(request.masks)
                yield Outcome(photo, place)
                continue
            picture = decode(data, str(photo))
        except BadImage as error:
            progress(request.masks)
            yield Outcome(photo, place, unreadable=str(error))
            continue
        with _writing(place):
            # Without its facts a place counts as unfinished: they go first, and come last.
            place.mkdir(parents=True, exist_ok=True)
            (place / FACTS).unlink(missing_ok=True)
        found = explain(
            classifier,
            picture,
            request.targets,
            alternative=request.alternative,
            masks=request.masks,
            sampler=request.sampler,
            tolerance=request.tolerance,
            baseline=request.baseline,
            seed=request.seed,
            engine=weigher,
            progress=progress,
        )
        progress(request.masks - found.masks)
        curves = _faithful(found, weigher) if request.faithfulness else None
        with _writing(place):
            areas = {}
            if curves is not None:
                curves.save(place, found.labels[0])
                areas = {"faithfulness": curves.areas}
            found.save(place, request=asked, **areas)
        yield Outcome(photo, place, explanation=found)


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(
            f"out: {place} cannot be written ({reason}). Pass another folder, or make room; what is finished is kept."
        ) from error


def _kept(place: Path) -> object:
    """The request that a finished explanation answered."""
    try:
        return json.loads((place / FACTS).read_text("utf-8"))["request"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _faithful(found: Explanation, weigher: Engine | Screened) -> Faithfulness:
    """The curves of the first class."""
    return faithfulness(unscreened(weigher), found.classifier.pixels(found.photo), found.maps[0], found.targets[0])
