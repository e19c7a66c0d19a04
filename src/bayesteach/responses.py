"""Responses: what people answered, one row an answer, from a CSV or from a Psych-DS folder.

The columns that an analysis knows by name are `participant`, `category`, `trial_type`, `saliency`, `examples`, `correct`, and
where there are any `condition` (or `arm`), `trial`, `target`, `completed`, `practice` and `attention`. All others are kept.

What conditions differ in can be told by a table of arms: `condition`, and a column for each factor of the design.
"""

import codecs
import csv
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesteach.errors import BadResponses

ACCEPTED = "a CSV file, or a Psych-DS folder (dataset_description.json, and data in data/…_data.csv)"
TRIAL_TYPES = ("adversarial_incorrect", "standard_incorrect", "standard_correct")
# saliency and examples in each condition of the paper.
CONDITIONS = {"control": (0, 0), "saliency": (1, 0), "examples": (0, 1), "both": (1, 1)}
# What a cell may hold in place of a value.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
LABELS = ("participant", "category", "trial_type", "condition", "arm", "trial", "target", "alternative")
YES_NO = ("correct", "saliency", "examples", "completed", "practice", "attention")
# Of these two a column can hold levels instead, such as none, rise and expected_mask.
GRADED = ("saliency", "examples")
_WORDS = {"1": 1.0, "1.0": 1.0, "yes": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "no": 0.0, "false": 0.0}


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """Answers, one row each: labels as text, what is yes or no as 1 and 0, numbers as numbers, NaN where nothing is known."""

    table: pd.DataFrame
    source: str
    digest: str
    # What the conditions differ in, where a table of arms has said so.
    factors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be a table of answers."""
        require(self.table, ("participant", "correct"), self.source)
        nobody = self.table["participant"].isna()
        if nobody.any():
            raise BadResponses(
                f"{self.source}: {int(nobody.sum())} rows have no participant, the first is row "
                f"{int(nobody.argmax()) + 1}. "
                "Say whose answers they are, or leave them out of the file."
            )
        if "trial" in self.table:
            _answered_once(self.table[self.table["trial"].notna()], self.source)


def read_responses(
    source: str | Path, columns: Mapping[str, str] | None = None, arms: pd.DataFrame | None = None
) -> Responses:
    """The responses in a file or folder. `columns` names, for columns of ours, the file's own: {"correct": "acc"}.

    `arms` has a row a condition, as a study's [[study.arms]]: condition, and a column a factor. A folder can hold it too.
    """
    if "://" in str(source):
        raise BadResponses(
            "responses: a study's database is read by bayesteach export STUDY OUT, in one consistent snapshot. Export "
            "it, and pass OUT."
        )
    place = Path(source)
    files = _psych_ds(place) if place.is_dir() else [place]
    read = {str(file): _read(file) for file in files}
    known = dict.fromkeys(name for table in read.values() for name in table)
    for ours, theirs in (columns or {}).items():
        if theirs not in known:
            raise BadResponses(f"{source}: there is no column {theirs!r} to read {ours} from. Found: {_list(known)}.")
    named = {file: _renamed(table, columns or {}) for file, table in read.items()}
    told = {file: table for file, table in named.items() if _is_of_arms(table)}
    if arms is None and told:
        arms = pd.concat(told.values(), ignore_index=True)
    tables = {file: _yes_no(_named(table), file) for file, table in named.items() if file not in told}
    digest = sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return _with_arms(_numbers(_joined(tables, str(source))), arms, str(source), digest)


def from_table(table: pd.DataFrame, source: str = "the table", arms: pd.DataFrame | None = None) -> Responses:
    """Responses that are in memory already, under our names; `arms` as in read_responses."""
    text = _as_text(table)
    digest = sha256(text.to_csv(index=False).encode()).hexdigest()
    return _with_arms(_numbers(_yes_no(_named(text), source)), arms, source, digest)


def require(table: pd.DataFrame, columns: tuple[str, ...], source: str) -> None:
    """The table has these columns."""
    missing = [name for name in columns if name not in table]
    if missing:
        word = "is no column" if len(missing) == 1 else "are no columns"
        like = next((name for name in map(str, table) if name.lower() == missing[0].lower()), "NAME")
        raise BadResponses(
            f"{source}: there {word} {', '.join(missing)}. Found: {_list(table)}. "
            f"If it has another name, say so: --column {missing[0]}={like}."
        )


def _is_of_arms(table: pd.DataFrame) -> bool:
    """A row a condition, and nothing of people or answers."""
    names = {"arm", "condition"} & set(table)
    return bool(names) and not {"participant", "correct", "trial"} & set(table) and table[min(names)].is_unique


def _with_arms(table: pd.DataFrame, arms: pd.DataFrame | None, source: str, digest: str) -> Responses:
    """With the factors of each row's condition, their levels in the order of the arms: the first is the reference."""
    if arms is None:
        return Responses(table, source, digest)
    told = _numbers(_yes_no(_as_text(arms.rename(columns={"arm": "condition"})), "arms")).set_index("condition")
    if "condition" not in table:
        raise BadResponses(f"{source}: there is no column condition, or arm, to tell by what each person was shown.")
    strangers = sorted(set(table["condition"].dropna()) - set(told.index))
    if strangers:
        raise BadResponses(
            f"{source}: {strangers[0]!r} is no arm of the study, whose arms are {_list(told.index)}. Pass the study that "
            "these answers are of."
        )
    for name in told:
        column = table["condition"].map(told[name])
        if not pd.api.types.is_numeric_dtype(told[name]):
            column = pd.Series(pd.Categorical(column, categories=list(dict.fromkeys(told[name].dropna()))))
        table = table.assign(**{str(name): column})
    return Responses(table, source, digest, tuple(map(str, told)))


def _psych_ds(folder: Path) -> list[Path]:
    description = folder / "dataset_description.json"
    if not description.is_file():
        raise BadResponses(f"responses: {folder} holds no dataset_description.json. Pass {ACCEPTED}.")
    try:
        json.loads(description.read_text("utf-8-sig"))
    except ValueError as error:
        raise BadResponses(
            f"responses: {description} is not JSON ({error}). Mend it, or pass the CSV itself."
        ) from None
    files = sorted((folder / "data").rglob("*_data.csv"))
    if not files:
        raise BadResponses(f"responses: {folder} has no file data/…_data.csv. Pass {ACCEPTED}.")
    return files


def _read(file: Path) -> pd.DataFrame:
    """Every cell as text: participant 007 stays 007."""
    if not file.is_file():
        raise BadResponses(f"responses: there is no {file}. Pass {ACCEPTED}.")
    try:
        encoding = _encoding(file)
        with file.open(encoding=encoding, newline="") as stream:
            header = stream.readline()
            said = header.startswith("sep=")  # Excel's own first line
            header = stream.readline() if said else header
        separator = max(",;\t", key=header.count)
        names = [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header: nothing is cut off
            table = pd.read_csv(
                file,
                sep=separator,
                dtype=str,
                keep_default_na=False,
                na_values=list(MISSING),
                encoding=encoding,
                skiprows=int(said),
                index_col=False,
            )
    except (
        UnicodeError,
        pd.errors.ParserError,
        pd.errors.ParserWarning,
        pd.errors.EmptyDataError,
        csv.Error,
    ) as error:
        reason = " ".join(str(error).split())
        raise BadResponses(f"{file} cannot be read as a table ({reason}). Save it as CSV in UTF-8.") from None
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadResponses(f"{file}: two columns are called {twice[0]!r}. Give each its own name.")
    if table.empty or len(table.columns) != len(names):
        raise BadResponses(f"{file}: found no row that fits its header. Pass a file with one row an answer.")
    table.columns = pd.Index(names)
    return table.astype(object).where(table.notna(), None)


def _encoding(file: Path) -> str:
    """UTF-8, or UTF-16 where the file begins as Excel's Unicode text does."""
    with file.open("rb") as stream:
        return "utf-16" if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _renamed(table: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Under our names. A column that had one of them, and is not meant, is kept as NAME_in_file."""
    here = {ours: theirs for ours, theirs in columns.items() if theirs in table and ours != theirs}
    pushed = {ours: f"{ours}_in_file" for ours in here if ours in table and ours not in here.values()}
    return table.rename(columns={**pushed, **{theirs: ours for ours, theirs in here.items()}})


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """With condition, saliency and examples, each made from the others where the table lacks it."""
    if "condition" not in table and "arm" in table:
        table = table.assign(condition=table["arm"])
    if "condition" in table and not {"saliency", "examples"} & set(table):
        shown = [CONDITIONS.get(str(name).lower()) for name in table["condition"]]
        if all(shown):
            saliency, examples = zip(*(pair for pair in shown if pair), strict=True)
            table = table.assign(saliency=[str(x) for x in saliency], examples=[str(x) for x in examples])
    return table


def _yes_no(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """What is yes or no as 1 and 0."""
    for name in (name for name in YES_NO if name in table):
        words = _each(table[name], lambda cell: None if cell is None else _WORDS.get(cell.strip().lower(), cell))
        wrong = np.array([isinstance(cell, str) for cell in words])
        if wrong.any() and name in GRADED and _are_levels(table[name]):
            continue
        if wrong.any():
            row = int(wrong.argmax())
            raise BadResponses(
                f"{source}, row {row + 1} below the header: {name} is {table[name].iloc[row]!r}, expected 0 or 1, "
                f"yes or no, true or false. {int(wrong.sum())} of {len(table)} rows are like that."
            )
        table = table.assign(**{name: words.astype(float)})
    shown = [name for name in GRADED if name in table]
    if "condition" not in table and shown:
        codes, cases = pd.MultiIndex.from_frame(table[shown]).factorize(use_na_sentinel=False)
        names = np.array([_condition(dict(zip(shown, case, strict=True))) for case in cases], dtype=object)
        table = table.assign(condition=pd.Series(names[codes], index=table.index, dtype=object))
    return table


def _are_levels(column: pd.Series) -> bool:
    """Names of what was shown, with no number or yes among them that would make the rest a slip of the pen."""
    cells = pd.Series([str(cell).strip().lower() for cell in column.dropna().unique()], dtype=object)
    return not set(cells) & {"yes", "true", "false"} and bool(pd.to_numeric(cells, errors="coerce").isna().all())


def _condition(shown: Mapping[str, float | str]) -> str | None:
    """The name of what was shown: control, saliency, examples or both; or the levels of both, where they have names."""
    if any(pd.isna(value) for value in shown.values()):
        return None
    pair = (shown.get("saliency", 0.0), shown.get("examples", 0.0))
    named = next((name for name, shows in CONDITIONS.items() if shows == pair), None)
    return named or " · ".join(f"{name} {v:g}" if isinstance(v, float) else v for name, v in shown.items())


def _joined(tables: Mapping[str, pd.DataFrame], source: str) -> pd.DataFrame:
    """The tables of answers one below the other, with what others say of each participant and each trial beside them."""
    answers = [table for table in tables.values() if {"participant", "correct"} <= set(table)]
    if not answers:
        found = dict.fromkeys(name for table in tables.values() for name in table)
        require(pd.DataFrame(columns=list(found)), ("participant", "correct"), source)
        raise BadResponses(f"{source}: no one file has both participant and correct. Pass {ACCEPTED}.")
    whole = pd.concat(answers, ignore_index=True)
    for table in tables.values():
        for key in ("participant", "trial"):
            if "correct" not in table and key in table and key in whole and table[key].is_unique:
                new = [name for name in table if name not in whole]
                whole = whole.merge(table[[key, *new]], on=key, how="left")
    return whole


def _numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Columns that are no labels, and hold only numbers or only yes and no, as numbers."""
    for name in (name for name in table if name not in (*LABELS, *YES_NO)):
        cells = table[name].dropna()
        words = _each(table[name], lambda cell: _WORDS.get(str(cell).strip().lower(), cell))
        numbers = pd.to_numeric(words, errors="coerce")
        if len(cells) and numbers[cells.index].notna().all():
            table = table.assign(**{name: numbers.astype(float)})
    return table


def _answered_once(table: pd.DataFrame, source: str) -> None:
    again = table.duplicated(["participant", "trial"])
    if again.any():
        first = table[again].iloc[0]
        raise BadResponses(
            f"{source}: participant {first['participant']} has answered trial {first['trial']} more than once; "
            f"{int(again.sum())} "
            "rows repeat another's participant and trial. Keep one answer each."
        )


def _each(column: pd.Series, change: Callable[[Any], object]) -> pd.Series:
    """Every cell changed, in a column that stays one of objects: pandas would make None, once among text, something else."""
    codes, distinct = pd.factorize(column)
    changed = np.empty(len(distinct) + 1, dtype=object)
    changed[:] = [*map(change, distinct), change(None)]  # the last is for -1, what is missing
    return pd.Series(changed[codes], index=column.index, dtype=object)


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """As a file would hold it."""
    return pd.DataFrame({str(name): _each(table[name], _text) for name in table}).reset_index(drop=True)


def _text(cell: object) -> str | None:
    """A cell as a file would hold it."""
    if cell is None or (isinstance(cell, float) and cell != cell) or cell is pd.NA:  # noqa: PLR0124 — NaN is what differs from itself
        return None
    if isinstance(cell, bool):
        return str(int(cell))
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _list(names: Iterable[object]) -> str:
    return ", ".join(map(str, names)) or "nothing"
