"""Photos on disk, explained one after the other into folders; what is finished is not done again."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from bayesteach.errors import BadImage, Empty
from bayesteach.explain.explanation import Explanation, explain
from bayesteach.explain.faithfulness import faithfulness
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.engines import Engine, Screened
from bayesteach.vision.images import photos_below
from bayesteach.vision.masked import Baseline
from bayesteach.vision.photos import contents, decode

FACTS = "explanation.json"
DEFAULT = Path("explained")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of every photo. A finished explanation serves again if it was made for the same request and photo."""

    classifier: str
    targets: tuple[str, ...]
    masks: int
    baseline: Baseline
    seed: int
    engine: str
    faithfulness: bool

    def of(self, data: bytes) -> dict[str, object]:
        """The request for one photo, as it is kept beside its explanation."""
        return {"photo": sha256(data).hexdigest(), **asdict(self), "targets": list(self.targets)}


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
        return [(asked, out or DEFAULT / asked.stem)]
    photos = photos_below(asked)
    if not photos:
        raise Empty(f"image: {asked} holds no pictures. Pass a photo, or a folder with photos.")
    stems = Counter(photo.with_suffix("") for photo in photos)
    named = (photo.with_suffix("") if stems[photo.with_suffix("")] == 1 else photo for photo in photos)
    return [(photo, (out or DEFAULT) / name.relative_to(asked)) for photo, name in zip(photos, named, strict=True)]


def explain_photos(
    classifier: Classifier,
    weigher: Engine | Screened,
    photos: Sequence[tuple[Path, Path]],
    request: Request,
    progress: Callable[[int], None],
) -> Iterator[Outcome]:
    """Explain photos into places, in turn. `progress` is told how many masks of all photos' are done with."""
    for photo, place in photos:
        try:
            data = contents(photo)
            asked = request.of(data)
            if _kept(place) == asked:
                progress(request.masks)
                yield Outcome(photo, place)
                continue
            picture = decode(data, str(photo))
        except BadImage as error:
            progress(request.masks)
            yield Outcome(photo, place, unreadable=str(error))
            continue
        found = explain(
            classifier,
            picture,
            request.targets,
            masks=request.masks,
            baseline=request.baseline,
            seed=request.seed,
            engine=weigher,
            progress=progress,
        )
        # Without its facts a place counts as unfinished: they go first, and come last.
        (place / FACTS).unlink(missing_ok=True)
        found.save(place, request=asked, **(_faithful(found, weigher, place) if request.faithfulness else {}))
        yield Outcome(photo, place, explanation=found)


def _kept(place: Path) -> object:
    """The request that a finished explanation answered."""
    try:
        return json.loads((place / FACTS).read_text("utf-8"))["request"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _faithful(found: Explanation, weigher: Engine | Screened, place: Path) -> dict[str, object]:
    """Curves of the first class, drawn and written; their areas."""
    engine = weigher.true if isinstance(weigher, Screened) else weigher
    pixels = found.classifier.pixels(found.photo)
    curves = faithfulness(engine, pixels, found.maps[0], found.targets[0])
    curves.save(place, found.labels[0])
    return {"faithfulness": {"insertion": round(curves.insertion_auc, 6), "deletion": round(curves.deletion_auc, 6)}}
