"""How a study begins: a commented study.toml, and for the embedded world its images."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesteach.errors import BadStudy
from bayesteach.settings import STUDY_FILE, Section, Settings, override, validated

if TYPE_CHECKING:
    from bayesteach.vision.images import Progress

_HEAD = """\
# A study of bayesteach. Lines that begin with "# key =" show what holds if you say nothing.
# bayesteach run makes what is missing or stale; bayesteach status says what is there.
"""


def write_study(folder: Path, said: Mapping[str, Any], overrides: Iterable[str] = ()) -> Path:
    """Write study.toml with what is said, all other settings as comments; a folder that has one is refused."""
    file = folder / STUDY_FILE
    if file.exists():
        raise BadStudy(f"{file} is there already. Edit it, or begin in another folder.")
    chosen = json.loads(json.dumps(said, default=str))
    for text in overrides:
        override(chosen, text)
    validated(chosen, "init")
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(commented(chosen), "utf-8")
    return file


def shortcuts(folder: Path, seed: int, progress: "Progress") -> dict[str, Any]:
    """The embedded world: its images are drawn into the folder."""
    from bayesteach.vision.shortcuts import write_world  # noqa: PLC0415 — torch takes a second

    write_world(folder / "images", seed=seed, progress=progress)
    return {
        "seed": seed,
        "model": {"name": "embedded"},
        "source": [{"name": name, "folder": f"images/{name}"} for name in ("train", "val", "adversarial")],
        "design": {"adversarial": ["adversarial"]},
        "highlight": {"masks": 256},
    }


# What every published head of ImageNet was trained on, however few of its images are at hand.
IMAGENET = {"fit": {"images": 1_281_167}}


def folders(model: Mapping[str, Any], train: Path, val: Path, adversarial: Path | None) -> dict[str, Any]:
    """Folders of images, one folder a class; without an adversarial one, confident errors of `val` are mined."""
    places = {"train": train, "val": val, **({"adversarial": adversarial} if adversarial else {})}
    for name, place in places.items():
        if not place.is_dir():
            raise BadStudy(f"{name}: there is no folder {place}. Check the path.")
    return {
        "model": dict(model),
        "source": [{"name": name, "folder": str(place.absolute())} for name, place in places.items()],
        "design": {"adversarial": ["adversarial"]} if adversarial else {"mined": ["val"]},
    }


def commented(said: Mapping[str, Any]) -> str:
    """study.toml: every setting with its meaning; those that are said stand, the others are comments with their default."""
    lines = [_HEAD]
    tables = []
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            tables += _table(name, kind, said.get(name, {}))
        elif name == "source":
            for source in said.get(name, ()):
                tables += ["", "[[source]]", *(f"{key} = {_toml(value)}" for key, value in source.items())]
        else:
            lines += [f"# {field.description}", _line(name, field.default, said)]
    return "\n".join([*lines, *tables]) + "\n"


def _table(name: str, kind: type[Section], said: Mapping[str, Any]) -> list[str]:
    lines = ["", f"[{name}]  # {kind.__doc__}"]
    for key, field in kind.model_fields.items():
        if key == "arms":
            lines += _arms(said.get(key))
        else:
            lines += [f"# {field.description}", _line(key, field.get_default(call_default_factory=True), said)]
    return lines


def _line(key: str, default: Any, said: Mapping[str, Any]) -> str:
    if key in said:
        return f"{key} = {_toml(said[key])}"
    return f"# {key} =" if default is None else f"# {key} = {_toml(default)}"


def _arms(said: Iterable[Mapping[str, Any]] | None) -> list[str]:
    """The conditions, as tables of their own: the default ones as comments."""
    arms = said if said is not None else [arm.model_dump() for arm in Settings().study.arms]
    mark = "# " if said is None else ""
    lines = ["# The conditions (paper: saliency yes/no × examples yes/no, §7)."]
    for arm in arms:
        lines += ["", f"{mark}[[study.arms]]"]
        lines += [f"{mark}{key} = {_toml(value)}" for key, value in arm.items() if value is not None]
    return lines


def _toml(value: Any) -> str:
    """JSON's strings, numbers and lists are TOML's too; tables are not."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
