"""The drawn world as folders of images, as other data sets come."""

import csv
import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from bayesteach.errors import BadInput, OutOfRange
from bayesteach.vision.images import Progress
from bayesteach.vision.shortcuts.training import RECIPE
from bayesteach.vision.shortcuts.workers import spread
from bayesteach.vision.shortcuts.world import LABELS, Place, Split, look, places

# What the splits are called on disk: `val` holds standard images.
FOLDERS: dict[Split, str] = {"train": "train", "standard": "val", "adversarial": "adversarial"}


def write_world(
    folder: Path,
    *,
    seed: int = 0,
    train: int = 100,
    standard: int = 80,
    adversarial: int = 25,
    progress: Progress = iter,
) -> None:
    """Write `train`, `val` and `adversarial`, each `CLASS/NUMBER.png`, with `masks` beside them and a table, `images.csv`.

    The numbers are of images in each category. `train` is the beginning of what the embedded classifier was trained on;
    of `val` and `adversarial` it has seen none, and each seed gives others. The folder is whole or it is not there.
    """
    if not 0 <= train <= RECIPE.each:
        raise OutOfRange(f"train: found {train}, expected 0 to {RECIPE.each}: the classifier was trained on so many.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"images: {folder} is there already. Choose another folder, or delete it.")
    where = [
        *places("train", train, RECIPE.seed),
        *places("standard", standard, seed),
        *places("adversarial", adversarial, seed),
    ]
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder.parent))
    try:
        for split in FOLDERS.values():
            for label in LABELS:
                (unfinished / split / label).mkdir(parents=True)
                (unfinished / "masks" / split / label).mkdir(parents=True)
        jobs = [_Job(unfinished, place) for place in where]
        with (unfinished / "images.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(("path", "label", "split", "background"))
            # Closed, the workers have stopped: nothing is written any more to what is taken away.
            with closing(spread(_write, jobs)) as rows:
                table.writerows(row for _, row in zip(progress(jobs), rows, strict=True))
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Job:
    folder: Path
    place: Place


def _write(job: _Job) -> tuple[str, str, str, str]:
    sight = look(job.place)
    split = FOLDERS[job.place.split]
    path = f"{split}/{job.place.category}/{job.place.number:04d}.png"
    for folder, values in ((job.folder, sight.picture.pixels), (job.folder / "masks", sight.picture.mask)):
        # Half the time of Pillow's own level, for files 2 % larger.
        Image.fromarray(values).save(folder / path, compress_level=3)
    return path, job.place.category, split, sight.background
