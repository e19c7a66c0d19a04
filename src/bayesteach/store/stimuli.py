"""Stimuli on disk: `stimuli.json`, and `pictures/NAME.png`."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bayesteach.artifacts import Arm, Group, Hidden, Panel, Shown, Stimuli
from bayesteach.errors import BadStudy

FILE = "stimuli.json"
PICTURES = "pictures"


@dataclass(frozen=True, slots=True)
class PictureFolder(Mapping[str, bytes]):
    """The pictures of a folder by their names, read when asked for: thousands of them take no memory."""

    folder: Path
    names: frozenset[str]

    def __getitem__(self, name: str) -> bytes:
        if name not in self.names:
            raise KeyError(name)
        return (self.folder / f"{name}.png").read_bytes()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names


def write_stimuli(folder: Path, stimuli: Stimuli) -> None:
    """Pictures first, and stimuli.json last under its own name: a folder that has it is whole."""
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for name, picture in stimuli.pictures.items():
        (folder / PICTURES / f"{name}.png").write_bytes(picture)
    table = {key: [asdict(row) for row in getattr(stimuli, key)] for key in ("arms", "shown", "hidden")}
    unfinished = folder / f"{FILE}.unfinished"
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(table, file, indent=1, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / FILE)


def read_stimuli(folder: Path) -> Stimuli:
    """The stimuli of a folder; every picture that is shown is there."""
    file = folder / FILE
    if not file.is_file():
        raise BadStudy(f"stimuli: there is no {file}. Make it with bayesteach run, or check the folder.")
    try:
        table = json.loads(file.read_text("utf-8"))
        arms = tuple(Arm(**row) for row in table["arms"])
        shown = tuple(_shown(row) for row in table["shown"])
        hidden = tuple(Hidden(**row) for row in table["hidden"])
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadStudy(f"stimuli: {file} cannot be read ({reason}). Make it again with bayesteach run.") from error
    names = frozenset(path.stem for path in (folder / PICTURES).glob("*.png"))
    missing = sorted({name for trial in shown for name in pictures_of(trial)} - names)
    if missing:
        raise BadStudy(
            f"stimuli: {folder / PICTURES} lacks {len(missing)} pictures, the first {missing[0]}.png. "
            "Copy the whole folder, or make it again with bayesteach run."
        )
    return Stimuli(arms, shown, hidden, PictureFolder(folder / PICTURES, names))


def pictures_of(trial: Shown) -> Iterator[str]:
    """The names of all pictures that any arm shows in a trial."""
    yield trial.probe
    for panel in trial.panels.values():
        if panel.overlay is not None:
            yield panel.overlay
        for group in panel.groups:
            yield from group.images
            yield from group.overlays


def _shown(row: dict[str, Any]) -> Shown:
    panels = {
        arm: Panel(panel["overlay"], tuple(_group(group) for group in panel["groups"]))
        for arm, panel in row["panels"].items()
    }
    first, second = row["options"]
    return Shown(row["trial"], row["kind"], (first, second), row["probe"], panels)


def _group(row: dict[str, Any]) -> Group:
    return Group(row["heading"], tuple(row["images"]), tuple(row["overlays"]))
