"""A small study's folder in milliseconds: stimuli of coloured squares, kept as the stage compose keeps its own."""

import io
import random
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from bayesteach.artifacts import TRIAL_TYPES, Arm, Group, Hidden, Panel, Shown, Stimuli
from bayesteach.recipes import commented
from bayesteach.settings import Settings
from bayesteach.store.workspace import Workspace

CATEGORIES = ("cat", "dog", "owl", "yak")


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    stimuli: Stimuli


class _Album:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.pictures = rng, {}

    def add(self) -> str:
        file = io.BytesIO()
        Image.new("RGB", (32, 32), tuple(self.rng.randrange(256) for _ in range(3))).save(file, "PNG")
        name = f"{self.rng.getrandbits(96):024x}"
        self.pictures[name] = file.getvalue()
        return name


def stimuli(practice: int = 1, attention: int = 2, seed: int = 0) -> Stimuli:
    rng = random.Random(seed)
    album = _Album(rng)
    kinds = [("trial", category, kind) for category in CATEGORIES for kind in TRIAL_TYPES]
    kinds += [("practice", "ant", "standard_correct")] * practice + [
        ("attention", "bee", "standard_correct")
    ] * attention
    rng.shuffle(kinds)
    shown, hidden = [], []
    arms = Settings().study.arms
    for kind, category, trial_type in kinds:
        other = rng.choice([name for name in CATEGORIES if name != category])
        target, alternative = (category, other) if trial_type == "standard_correct" else (other, category)
        options = tuple(sorted((target, alternative)))
        name, overlay = f"{rng.getrandbits(96):024x}", album.add()
        groups = [(label, (album.add(), album.add()), (album.add(), album.add())) for label in options]
        panels = {
            arm.name: Panel(
                overlay if arm.probe else None,
                tuple(Group(h, i, o if arm.probe else ()) for h, i, o in groups) if arm.examples else (),
            )
            for arm in arms
        }
        shown.append(Shown(name, kind, options, album.add(), panels))
        covariates = {
            "confidence": rng.random(),
            "prior": 0.5,
            "posterior": rng.random(),
            "taught": rng.random(),
            "source": "val",
        }
        hidden.append(Hidden(name, target, alternative, category, trial_type, covariates))
    album.pictures["legend"] = album.pictures[album.add()]
    told = tuple(Arm(arm.name, {key: str(level) for key, level in arm.factors.items()}) for arm in arms)
    return Stimuli(told, tuple(shown), tuple(hidden), album.pictures)


def compose(folder: Path, made: Stimuli) -> None:
    """Put stimuli where the stage puts them."""
    Workspace(folder).save("compose", lambda: Composed(made), stage_version=1, key="k", inputs={}, settings={})


def write(folder: Path, **study: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(commented({"study": study}))
    compose(folder, stimuli())
    return folder
