"""A checker of Psych-DS data sets, rule by rule, by version 1.5.1 of its schema (psych-ds/psych-DS, schema_model).

It does not know whether properties of objects in the metadata are schema.org's own, and reads no side files with metadata.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

VERSION = "1.5.1"
DESCRIPTION = "dataset_description.json"
IGNORE = ".psychds-ignore"
KEYWORDS = ("study", "site", "subject", "session", "task", "condition", "trial", "stimulus", "description")
_NAME = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.(csv|tsv)")
_NAMESPACE = re.compile(r"https?://schema\.org/?")
_REQUIRED = ("name", "description", "variableMeasured")
_RECOMMENDED = ("author", "citation", "license", "funder", "url", "identifier", "privacyPolicy", "keywords")
_FOLDERS = ("analysis", "results", "materials", "documentation")
Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a data set breaks, by the schema's own name for it, and where."""

    rule: str
    level: Level
    where: str


def check(folder: Path) -> list[Broken]:
    """All that is broken. A data set is valid if nothing of it is an error."""
    found = list(_layout(folder))
    if not (folder / DESCRIPTION).is_file():
        return found
    description, problem = _json(folder / DESCRIPTION)
    if problem is not None:
        return [*found, problem]
    found += _described(description)
    files = [file for file in _data_files(folder) if _NAME.fullmatch(file.name)]
    columns: dict[str, str] = {}
    for file in files:
        where = file.relative_to(folder).as_posix()
        names, problems = _table(file, where)
        found += problems
        columns |= dict.fromkeys(names, where)
    return [*found, *_dictionary(description, columns)]


def errors(folder: Path) -> list[Broken]:
    """What makes a data set invalid."""
    return [broken for broken in check(folder) if broken.level == "error"]


def _layout(folder: Path) -> Iterator[Broken]:
    """Which files there are, and how they are called."""
    if not (folder / DESCRIPTION).is_file():
        yield Broken("MISSING_DATASET_DESCRIPTION", "error", DESCRIPTION)
        for file in folder.rglob(DESCRIPTION):
            yield Broken("WRONG_METADATA_LOCATION", "warning", file.relative_to(folder).as_posix())
    for name in ("README", "CHANGES"):
        if not any((folder / f"{name}{suffix}").is_file() for suffix in (".md", ".txt")):
            yield Broken(f"MISSING_{name}_DOC", "warning", name)
    if not (folder / "data").is_dir():
        yield Broken("MISSING_DATA_DIRECTORY", "error", "data")
    elif not any(_NAME.fullmatch(file.name) for file in _data_files(folder)):
        yield Broken("MISSING_DATAFILE", "error", "data")
    for name in _FOLDERS:
        if not (folder / name).is_dir():
            yield Broken(f"MISSING_{name.upper()}_DIRECTORY", "warning", name)
    if not (folder / IGNORE).is_file():
        yield Broken("MISSING_PSYCHDSIGNORE", "warning", IGNORE)
    yield from _names(folder)


def _names(folder: Path) -> Iterator[Broken]:
    ignored = (folder / IGNORE).read_text("utf-8").split() if (folder / IGNORE).is_file() else []
    known = {DESCRIPTION, IGNORE, "README.md", "README.txt", "CHANGES.md", "CHANGES.txt"}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        where = file.relative_to(folder).as_posix()
        if any(fnmatch(where, pattern) for pattern in ignored):
            continue
        if file.stat().st_size == 0:
            yield Broken("FILE_EMPTY", "warning", where)
        if where.startswith("data/") and file.suffix in {".csv", ".tsv"}:
            if not _NAME.fullmatch(file.name):
                yield Broken("FILENAME_KEYWORD_FORMATTING_ERROR", "error", where)
            elif any(pair.split("-")[0] not in KEYWORDS for pair in file.stem.split("_")[:-1]):
                yield Broken("FILENAME_UNOFFICIAL_KEYWORD_WARNING", "warning", where)
        elif where.startswith("data/") and file.stem.endswith("_data") and file.suffix != ".json":
            yield Broken("EXTENSION_MISMATCH", "error", where)
        elif where not in known and where.split("/")[0] not in (*_FOLDERS, "data"):
            yield Broken("FILE_NOT_CHECKED", "warning", where)


def _data_files(folder: Path) -> list[Path]:
    return sorted(file for file in (folder / "data").rglob("*") if file.suffix in {".csv", ".tsv"} and file.is_file())


def _json(file: Path) -> tuple[dict[str, Any], Broken | None]:
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return {}, Broken("JSON_ENCODING_ERROR", "error", file.name)
    try:
        found = json.loads(text)
    except ValueError:
        return {}, Broken("INVALID_JSON_FORMATTING", "error", file.name)
    if not isinstance(found, dict):
        return {}, Broken("INVALID_JSONLD_FORMATTING", "error", file.name)
    return found, None


def _described(description: dict[str, Any]) -> Iterator[Broken]:
    """What a data set says of itself."""
    context = description.get("@context", "")
    if not (isinstance(context, str) and _NAMESPACE.fullmatch(context)):
        yield Broken("UNKNOWN_NAMESPACE", "warning", f"@context {context!r}")
    kind = description.get("@type", description.get("type"))
    if kind is None:
        yield Broken("MISSING_DATASET_TYPE", "error", DESCRIPTION)
    elif not re.fullmatch(r"(https?://schema\.org/)?Dataset", str(kind)):
        yield Broken("INCORRECT_DATASET_TYPE", "error", f"@type {kind!r}")
    for key in _REQUIRED:
        if not _said(description, key):
            yield Broken("JSON_KEY_REQUIRED", "error", key)
    for key in _RECOMMENDED:
        if not _said(description, key):
            yield Broken("JSON_KEY_RECOMMENDED", "warning", key)
    for row in _objects(description):
        if "@type" not in row and "type" not in row:
            yield Broken("OBJECT_TYPE_MISSING", "warning", str(row.get("name", row))[:60])


def _said(description: dict[str, Any], key: str) -> bool:
    """A property has schema.org's name, short where the context says so, or long."""
    context = str(description.get("@context", ""))
    short = bool(_NAMESPACE.fullmatch(context)) and bool(description.get(key))
    return short or any(description.get(f"{start}://schema.org/{key}") for start in ("http", "https"))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict):
            yield inner
        if isinstance(inner, (dict, list)):
            yield from _objects(inner)


def _table(file: Path, where: str) -> tuple[list[str], list[Broken]]:
    """The columns of a file, and what is wrong with its rows."""
    found: list[Broken] = []
    header: list[str] = []
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = csv.reader(stream, delimiter="\t" if file.suffix == ".tsv" else ",", strict=True)
            header = next(rows, [])
            if not any(name.strip() for name in header):
                return [], [Broken("CSV_HEADER_MISSING", "error", where)]
            if len(set(header)) < len(header):
                found.append(Broken("CSV_HEADER_REPEATED", "error", where))
            key = header.index("row_id") if "row_id" in header else None
            seen: set[str] = set()
            for number, row in enumerate(rows, 2):
                if len(row) != len(header):
                    found.append(Broken("CSV_HEADER_LENGTH_MISMATCH", "error", f"{where}, row {number}"))
                    break
                if key is not None and row[key] in seen:
                    found.append(Broken("ROWID_VALUES_NOT_UNIQUE", "error", f"{where}, row {number}"))
                    break
                seen |= {row[key]} if key is not None else set()
    except OSError:
        return header, [*found, Broken("FILE_NOT_READ", "error", where)]
    except (csv.Error, UnicodeDecodeError):
        return header, [*found, Broken("CSV_FORMATTING_ERROR", "error", where)]
    return header, found


def _dictionary(description: dict[str, Any], columns: dict[str, str]) -> Iterator[Broken]:
    """Every column is in the dictionary, and the dictionary names no other."""
    key = next((name for name in description if name.endswith("variableMeasured")), "")
    measured = description.get(key, [])
    rows = measured if isinstance(measured, list) else [measured]
    named = {str(row.get("name")) if isinstance(row, dict) else str(row) for row in rows}
    for name, where in columns.items():
        if name not in named:
            yield Broken("CSV_COLUMN_MISSING_FROM_METADATA", "error", f"{name} in {where}")
    for name in sorted(named - set(columns)):
        yield Broken("VARIABLE_MISSING_FROM_CSV_COLUMNS", "error", name)
