"""A study's answers as a Psych-DS data set, streamed from one consistent snapshot."""

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select

from bayesteach.errors import BadStudy
from bayesteach.study import psychds, records
from bayesteach.study.database import Database, now
from bayesteach.study.records import Cell, Launched
from bayesteach.study.tables import participants
from bayesteach.study.variables import UNITS, VARIABLES

_CHECKSUMS = "checksums.sha256"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: how many people, how many answers, and which recommendations of Psych-DS it does not follow."""

    folder: Path
    people: int
    answers: int
    warnings: tuple[psychds.Broken, ...]


def export(database: Database, title: str, folder: Path, *, mode: str = "live", launch: int | None = None) -> Exported:
    """Write the data set of one launch and mode; a folder that has anything in it is refused, and half a set is never left."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadStudy(f"export: {folder} is there already. Name a new folder, or remove it.")
    unfinished = folder.with_name(f".unfinished-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        with database.read() as connection:
            chosen = records.launched(connection, launch)
            people, rows, columns = _write_data(connection, chosen, mode, _slug(title), unfinished)
            if not people:
                raise BadStudy(_nobody(connection, chosen.row.id, mode))
            flow = records.flow(connection, chosen, mode)
        _write_words(unfinished, title, mode, chosen, flow, columns)
        broken = psychds.check(unfinished)
        wrong = [row for row in broken if row.level == "error"]
        if wrong:
            raise BadStudy(f"export: the data set breaks {wrong[0].rule} ({wrong[0].where}). This is a fault of ours.")
        _write_checksums(unfinished)
        if folder.exists():
            folder.rmdir()
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Exported(folder, people, rows, tuple(row for row in broken if row.level == "warning"))


def escaped(cell: Cell) -> Cell:
    """A text that a spreadsheet would take for a formula, with an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell


def _write_data(
    connection: Connection, chosen: Launched, mode: str, slug: str, folder: Path
) -> tuple[int, int, list[str]]:
    data = folder / "data"
    data.mkdir(parents=True)
    columns: dict[str, None] = {}
    counts = []
    tables = {
        "participants": records.people(connection, chosen, mode),
        "trials": records.trials(connection, chosen, mode),
        "stimuli": records.shown(connection, chosen),
    }
    for name, rows in tables.items():
        written, header = _write_csv(data / f"study-{slug}_description-{name}_data.csv", rows)
        columns |= dict.fromkeys(header)
        counts.append(written)
    return counts[0], counts[1], list(columns)


def _write_csv(file: Path, rows: Iterable[Mapping[str, Cell]]) -> tuple[int, Sequence[str]]:
    """Row by row as they come; a table without rows is no file."""
    count, header = 0, list[str]()
    stream = None
    try:
        for count, row in enumerate(rows, 1):  # noqa: B007 — the last number is how many there were
            if stream is None:
                stream = file.open("w", encoding="utf-8", newline="")
                writer = csv.writer(stream, lineterminator="\n")
                header = list(row)
                writer.writerow(header)
            writer.writerow([escaped(cell) for cell in row.values()])
    finally:
        if stream is not None:
            stream.close()
    return count, header


def _write_words(
    folder: Path, title: str, mode: str, chosen: Launched, flow: Mapping[str, int], columns: Sequence[str]
) -> None:
    marked = "" if mode == "live" else f" These are NOT people's answers: mode {mode}."
    description = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": title,
        "description": f"Which of two labels an image classifier chose, as people foresaw it.{marked}",
        "schemaVersion": f"Psych-DS {psychds.VERSION}",
        "keywords": ["explainable AI", "Bayesian Teaching", mode],
        "variableMeasured": [_variable(name, chosen) for name in columns],
    }
    (folder / psychds.DESCRIPTION).write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", "utf-8")
    people = "\n".join(f"- {name}: {number}" for name, number in flow.items())
    (folder / "README.md").write_text(
        f"# {title}\n\nA Psych-DS {psychds.VERSION} data set, exported by bayesteach at "
        f"{now().isoformat(timespec='seconds')}.{marked}\n\n"
        f"`data/…trials…` one row an answer; `…participants…` one row a person; `…stimuli…` one row a trial. What each column "
        f"means stands in {psychds.DESCRIPTION}. A cell that begins with =, +, -, @ or a tab has an apostrophe before it.\n\n"
        f"## People\n\n{people}\n\nAnalyse it: `bayesteach analyse {folder.name.removeprefix('.unfinished-')}`\n",
        "utf-8",
    )
    (folder / "CHANGES.md").write_text(
        f"# Changes\n\n- {now().date().isoformat()} exported, launch {chosen.row.id}\n", "utf-8"
    )
    (folder / psychds.IGNORE).write_text(f"{_CHECKSUMS}\n", "utf-8")
    (folder / "materials").mkdir()
    launched = {
        "launch": chosen.row.id,
        "at": chosen.row.at.isoformat(),
        "digest": chosen.row.digest,
        "arms": chosen.row.arms,
        "settings": chosen.row.settings,
        "files": chosen.row.digests,
    }
    (folder / "materials" / "launch.json").write_text(
        json.dumps(launched, indent=1, ensure_ascii=False) + "\n", "utf-8"
    )


def _variable(name: str, chosen: Launched) -> dict[str, str]:
    if name in chosen.names:
        meaning = f"The arm's level in the factor {name}."
    elif name.startswith("said_"):
        meaning = (
            f"What the person said to the question {name.removeprefix('said_')!r}; empty if they preferred not to say."
        )
    else:
        meaning = VARIABLES.get(name, f"A number that the stimuli carry: {name.replace('_', ' ')}.")
    unit = {"unitText": UNITS[name]} if name in UNITS else {}
    return {"@type": "PropertyValue", "name": name, "description": meaning, **unit}


def _write_checksums(folder: Path) -> None:
    lines = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        lines.append(f"{digest}  {file.relative_to(folder).as_posix()}\n")
    (folder / _CHECKSUMS).write_text("".join(lines), "utf-8")


def _nobody(connection: Connection, launch: int, mode: str) -> str:
    of_launch = select(participants.c.mode, func.count()).where(participants.c.launch == launch)
    found = connection.execute(of_launch.group_by(participants.c.mode)).all()
    if not found:
        return (
            "export: nobody has taken part yet. Give people the link of bayesteach serve, or try bayesteach simulate."
        )
    there = ", ".join(f"{number} {name}" for name, number in found)
    return (
        f"export: nobody of mode {mode} has taken part; there are: {there}. Say --mode {found[0][0]} to export these."
    )


def _slug(title: str) -> str:
    """A keyword's value: letters and digits alone."""
    return re.sub(r"[^a-zA-Z0-9]", "", title.title())[:40] or "study"
