"""A study's answers as a Psych-DS data set, streamed from one consistent snapshot."""

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import LABEL_STYLE_TABLENAME_PLUS_COL, Connection, and_, func, select

from bayesteach.errors import BadStudy
from bayesteach.study import psychds
from bayesteach.study.database import Database, now
from bayesteach.study.tables import answers, asked, demographics, launches, participants, stimuli
from bayesteach.study.variables import UNITS, VARIABLES

Cell = str | int | float | None
_CHECKSUMS = "checksums.sha256"
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: how many people, how many answers, and which recommendations of Psych-DS it does not follow."""

    folder: Path
    people: int
    answers: int
    warnings: tuple[psychds.Broken, ...]


@dataclass(frozen=True, slots=True)
class _Launch:
    """What an export needs to know of a launch: its factors by arm, and the covariates of its trials."""

    row: Any
    factors: Mapping[str, Mapping[str, str]]
    names: tuple[str, ...]
    covariates: tuple[str, ...]


def export(database: Database, title: str, folder: Path, *, mode: str = "live", launch: int | None = None) -> Exported:
    """Write the data set of one launch and mode; a folder that has anything in it is refused, and half a set is never left."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadStudy(f"export: {folder} is there already. Name a new folder, or remove it.")
    unfinished = folder.with_name(f".unfinished-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        with database.read() as connection:
            chosen = _launch(connection, launch)
            people, rows, columns = _write_data(connection, chosen, mode, _slug(title), unfinished)
            if not people:
                raise BadStudy(_nobody(connection, mode))
            counts = _counts(connection, chosen.row.id, mode)
        _write_words(unfinished, title, mode, chosen, counts, columns)
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


def trials(connection: Connection, chosen: _Launch, mode: str) -> Iterator[dict[str, Cell]]:
    """One row an answer, in each person's order."""
    query = (
        select(participants, asked, answers, stimuli)
        .set_label_style(LABEL_STYLE_TABLENAME_PLUS_COL)
        .select_from(answers)
        .join(participants, participants.c.id == answers.c.participant)
        .join(
            asked,
            and_(
                asked.c.participant == answers.c.participant,
                asked.c.phase == answers.c.phase,
                asked.c.index == answers.c.index,
            ),
        )
        .join(stimuli, and_(stimuli.c.launch == participants.c.launch, stimuli.c.trial == asked.c.trial))
        .where(participants.c.launch == chosen.row.id, participants.c.mode == mode)
        .order_by(participants.c.id, answers.c.phase, answers.c.index)
    )
    for row in connection.execution_options(yield_per=_AT_ONCE).execute(query):
        yield _trial(row, chosen)


def _trial(row: Any, chosen: _Launch) -> dict[str, Cell]:
    picked = row.asked_right if row.answers_choice else row.asked_left
    arm = row.participants_arm
    factors = chosen.factors.get(arm, {}) if row.answers_phase == "trials" else {}
    return {
        "participant": row.participants_code,
        "mode": row.participants_mode,
        "order": row.answers_index + 1,
        "trial": row.asked_trial,
        "practice": int(row.stimuli_kind == "practice"),
        "attention": int(row.stimuli_kind == "attention"),
        "target": row.stimuli_target,
        "alternative": row.stimuli_alternative,
        "category": row.stimuli_category,
        "trial_type": row.stimuli_trial_type,
        "arm": arm,
        **{name: factors.get(name) for name in chosen.names},
        "left": row.asked_left,
        "right": row.asked_right,
        "side": "right" if row.answers_choice else "left",
        "choice": picked,
        "correct": int(picked == row.stimuli_target),
        "rt": round(row.answers_rt, 3),
        "by": row.answers_by,
        "resumed": int(row.answers_resumed),
        "viewport_width": row.answers_viewport_width,
        "viewport_height": row.answers_viewport_height,
        "pixel_ratio": row.answers_pixel_ratio,
        "load_ms": round(row.answers_load_ms, 3),
        "hidden_ms": round(row.answers_hidden_ms, 3),
        **{name: row.stimuli_covariates.get(name) for name in chosen.covariates},
    }


def people(connection: Connection, chosen: _Launch, mode: str) -> Iterator[dict[str, Cell]]:
    """One row a person who agreed and did not withdraw."""
    of_launch = and_(participants.c.launch == chosen.row.id, participants.c.mode == mode)
    query = select(demographics).join(participants).where(of_launch)
    said: dict[int, dict[str, str | None]] = {}
    for row in connection.execute(query):
        said.setdefault(row.participant, {})[row.question] = row.answer
    questions = sorted({name for found in said.values() for name in found})
    answered = select(answers.c.participant, func.count().label("n")).where(answers.c.phase == "trials")
    counted = answered.group_by(answers.c.participant).subquery()
    query = select(participants, func.coalesce(counted.c.n, 0).label("answered"))
    query = query.outerjoin(counted, counted.c.participant == participants.c.id)
    query = query.where(of_launch, participants.c.ending.is_distinct_from("withdrawn")).order_by(participants.c.id)
    for row in connection.execute(query):
        factors = chosen.factors.get(row.arm or "", {})
        yield {
            "participant": row.code,
            "mode": row.mode,
            "platform": row.platform,
            "arm": row.arm,
            **{name: factors.get(name) for name in chosen.names},
            "completed": int(row.finished_at is not None),
            "ending": row.ending,
            "answered": row.answered,
            "comprehension_failed": row.failed,
            "consent": row.consent,
            "started": row.consented_at.date().isoformat(),
            "minutes": _minutes(row.consented_at, row.finished_at),
            **{f"said_{name}": said.get(row.id, {}).get(name) for name in questions},
        }


def shown(connection: Connection, chosen: _Launch) -> Iterator[dict[str, Cell]]:
    """One row a trial of the launch."""
    query = select(stimuli).where(stimuli.c.launch == chosen.row.id).order_by(stimuli.c.kind, stimuli.c.trial)
    for row in connection.execute(query):
        yield {
            "trial": row.trial,
            "kind": row.kind,
            "target": row.target,
            "alternative": row.alternative,
            "category": row.category,
            "trial_type": row.trial_type,
            **{name: row.covariates.get(name) for name in chosen.covariates},
        }


def _launch(connection: Connection, number: int | None) -> _Launch:
    query = select(launches).order_by(launches.c.id.desc()).limit(1)
    row = connection.execute(query if number is None else query.where(launches.c.id == number)).first()
    if row is None:
        raise BadStudy("export: this database holds no study yet. Begin with bayesteach serve, or check --database.")
    factors = {arm["name"]: arm["factors"] for arm in row.arms}
    found = connection.scalars(select(stimuli.c.covariates).where(stimuli.c.launch == row.id))
    covariates = tuple(dict.fromkeys(name for cells in found for name in cells))
    return _Launch(row, factors, tuple(dict.fromkeys(n for levels in factors.values() for n in levels)), covariates)


def _write_data(
    connection: Connection, chosen: _Launch, mode: str, slug: str, folder: Path
) -> tuple[int, int, list[str]]:
    data = folder / "data"
    data.mkdir(parents=True)
    columns: dict[str, None] = {}
    counts = []
    tables = {
        "participants": people(connection, chosen, mode),
        "trials": trials(connection, chosen, mode),
        "stimuli": shown(connection, chosen),
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
    folder: Path, title: str, mode: str, chosen: _Launch, counts: Mapping[str, int], columns: Sequence[str]
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
    flow = "\n".join(f"- {name}: {number}" for name, number in counts.items())
    (folder / "README.md").write_text(
        f"# {title}\n\nA Psych-DS {psychds.VERSION} data set, exported by bayesteach at "
        f"{now().isoformat(timespec='seconds')}.{marked}\n\n"
        f"`data/…trials…` one row an answer; `…participants…` one row a person; `…stimuli…` one row a trial. What each column "
        f"means stands in {psychds.DESCRIPTION}. A cell that begins with =, +, -, @ or a tab has an apostrophe before it.\n\n"
        f"## People\n\n{flow}\n\nAnalyse it: `bayesteach analyse {folder.name.removeprefix('.unfinished-')}`\n",
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


def _variable(name: str, chosen: _Launch) -> dict[str, str]:
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


def _counts(connection: Connection, launch: int, mode: str) -> dict[str, int]:
    where = (participants.c.launch == launch, participants.c.mode == mode)

    def number(*more: Any) -> int:
        return connection.scalar(select(func.count()).select_from(participants).where(*where, *more)) or 0

    return {
        "agreed": number(),
        "did not understand the instructions": number(participants.c.ending == "screened_out"),
        "allocated": number(participants.c.arm.is_not(None)),
        "finished": number(participants.c.finished_at.is_not(None)),
        "withdrew (their answers are deleted)": number(participants.c.ending == "withdrawn"),
    }


def _nobody(connection: Connection, mode: str) -> str:
    found = connection.execute(select(participants.c.mode, func.count()).group_by(participants.c.mode)).all()
    there = ", ".join(f"{number} {name}" for name, number in found) or "nobody"
    return f"export: nobody of mode {mode} has taken part; there are: {there}. Say --mode to export others."


def _minutes(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round((end - start).total_seconds() / 60, 2)


def _slug(title: str) -> str:
    """A keyword's value: letters and digits alone."""
    return re.sub(r"[^a-zA-Z0-9]", "", title.title())[:40] or "study"
