"""Everything that a participant reads: Markdown and TOML in the study's folder, in any language."""

import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bayesteach.errors import BadStudy
from bayesteach.settings import Arm

FOLDER = "texts"
ARMS = "arms"
PAGES = (
    "landing",
    "device",
    "consent",
    "declined",
    "instructions",
    "comprehension",
    "demographics",
    "debrief",
    "saving",
    "done",
    "screened_out",
    "withdraw",
    "withdrawn",
    "full",
    "paused",
    "error",
)
_TABLES = ("study", "trials", "endings", "comprehension", "demographics")
# No HTML of the file's own reaches a page; links to anything but http and mailto are not made.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Question(_Words):
    """A question about the instructions. `answer` counts from 1."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    text: str = Field(min_length=1)
    options: tuple[str, ...] = Field(min_length=2)
    answer: int = Field(ge=1)

    @model_validator(mode="after")
    def _answer_is_there(self) -> "Question":
        if self.answer > len(self.options):
            raise ValueError(f"answer: found {self.answer}, but there are {len(self.options)} options")
        return self


class Item(_Words):
    """A question about the person, which may be left unanswered."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    text: str = Field(min_length=1)
    kind: Literal["choice", "number", "text"]
    options: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    @model_validator(mode="after")
    def _choices_are_there(self) -> "Item":
        if self.kind == "choice" and len(self.options) < 2:
            raise ValueError("options: a choice needs two or more")
        return self


class Ending(_Words):
    """What a person takes along: a completion code, and where a link leads, if anywhere."""

    code: str = ""
    redirect: str = Field("", pattern=r"^(https?://.*)?$")


T = TypeVar("T", bound=_Words)


@dataclass(frozen=True, slots=True)
class Texts:
    """All words of a study.

    tree           study.toml and trials.toml, English where the file does not say
    pages, arms    HTML, by the name of the page, and of the arm
    consent        the version of the consent text: its digest
    digests        of every file, by its path
    """

    tree: Mapping[str, Any]
    pages: Mapping[str, str]
    arms: Mapping[str, str]
    comprehension: tuple[Question, ...]
    demographics: tuple[Item, ...]
    endings: Mapping[str, Ending]
    consent: str
    digests: Mapping[str, str]


def write_texts(study: Path, arms: Sequence[Arm]) -> list[Path]:
    """Write what is missing in the folder of texts, in English, and say which files; what is there stays."""
    wanted = {f"{name}.md": _default(f"{name}.md") for name in PAGES}
    wanted |= {f"{name}.toml": _default(f"{name}.toml") for name in _TABLES}
    wanted |= {f"{ARMS}/{arm.name}.md": _of_arm(arm) for arm in arms}
    written = []
    for name, text in wanted.items():
        file = study / FOLDER / name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_with_codes(text), "utf-8")
            written.append(file)
    return written


def read_texts(study: Path, arms: Sequence[Arm]) -> Texts:
    """The texts of a study; a file that lacks, or cannot be read, is named."""
    base = study / FOLDER
    files = [*(f"{name}.md" for name in PAGES), *(f"{name}.toml" for name in _TABLES)]
    files += [f"{ARMS}/{arm.name}.md" for arm in arms]
    raw = {name: _read(base / name) for name in files}
    tables = {name: _toml(raw[f"{name}.toml"], base / f"{name}.toml") for name in _TABLES}
    english = {name: tomllib.loads(_default(f"{name}.toml")) for name in ("study", "trials")}
    tree = _over(english["study"], tables["study"])
    tree["trials"] = _over(english["trials"], tables["trials"])
    return Texts(
        tree=tree,
        pages={name: rendered(raw[f"{name}.md"]) for name in PAGES},
        arms={arm.name: rendered(raw[f"{ARMS}/{arm.name}.md"]) for arm in arms},
        comprehension=_rows(tables, "comprehension", Question, base),
        demographics=_rows(tables, "demographics", Item, base),
        endings=_endings(tables["endings"], base / "endings.toml"),
        consent=sha256(raw["consent.md"].encode()).hexdigest()[:12],
        digests={f"{FOLDER}/{name}": sha256(text.encode()).hexdigest() for name, text in raw.items()},
    )


def title(study: Path) -> str:
    """What the study is called."""
    file = study / FOLDER / "study.toml"
    said = _toml(_read(file), file) if file.exists() else {}
    return str(said.get("title", tomllib.loads(_default("study.toml"))["title"]))


def rendered(text: str) -> str:
    """Markdown as HTML, any HTML in it as text."""
    html: str = _MARKDOWN.render(text)
    return html


def _default(name: str) -> str:
    return (resources.files("bayesteach.study") / "default_texts" / name).read_text("utf-8")


def _of_arm(arm: Arm) -> str:
    """Instructions made of parts, by what the arm shows."""
    parts = ["arm"]
    parts += ["arm-map"] if arm.probe else []
    parts += ["arm-examples"] if arm.examples else []
    parts += ["arm-examples-map"] if arm.probe and arm.examples else []
    return "\n".join(_default(f"{part}.md") for part in (*parts, "arm-end"))


def _with_codes(text: str) -> str:
    """A code of its own wherever {random} stands: no two studies share one, and nobody guesses it."""
    while "{random}" in text:
        text = text.replace("{random}", secrets.token_hex(4).upper(), 1)
    return text


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except FileNotFoundError:
        raise BadStudy(
            f"texts: there is no {file}. bayesteach serve writes it anew if the study is not begun."
        ) from None
    except UnicodeDecodeError as error:
        raise BadStudy(f"texts: {file} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None


def _toml(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadStudy(f"texts: {file}: {error}. Mend the line.") from None


def _over(base: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in said.items():
        known = merged.get(key)
        merged[key] = _over(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return merged


def _rows(tables: Mapping[str, Any], name: str, kind: type[T], base: Path) -> tuple[T, ...]:
    rows = tables[name].get("question", [])
    try:
        found = tuple(kind.model_validate(row) for row in rows)
    except ValidationError as error:
        raise BadStudy(f"texts: {base / name}.toml: {_first(error)}") from None
    names = [getattr(row, "name", "") for row in found]
    if len(set(names)) < len(names):
        raise BadStudy(f"texts: {base / name}.toml: two questions have one name among {', '.join(names)}.")
    return found


def _endings(table: Mapping[str, Any], file: Path) -> dict[str, Ending]:
    known = ("complete", "screened_out", "declined", "withdrawn", "full")
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise BadStudy(f"texts: {file}: there is no ending {unknown[0]!r}, only {', '.join(known)}.")
    try:
        return {name: Ending.model_validate(table.get(name, {})) for name in known}
    except ValidationError as error:
        raise BadStudy(f"texts: {file}: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    wrong = error.errors()[0]
    where = ".".join(str(part) for part in wrong["loc"])
    return f"{where + ': ' if where else ''}found {wrong['input']!r}; {wrong['msg']}."
