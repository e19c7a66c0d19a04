"""Who and what is analysed, and the account of everyone and everything that is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from bayesteach.analysis.formulas import Formula, level_order
from bayesteach.errors import BadResponses
from bayesteach.responses import Responses, require

Who = Literal["completers", "everyone"]
EVERYONE, SEVERAL, UNKNOWN = "all", "several", "unknown"
NO_COMPLETED = (
    "There is no column completed: who answered as many trials as the most that anyone answered counts as having "
    "finished."
)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The rows that are analysed, and for each condition how many people and answers were left out, and why.

    `flow` has a row a condition: started, dropped_out, excluded, analysed (people), and of those analysed the answers, and the
    rows left out because a value is missing.
    """

    table: pd.DataFrame
    who: Who
    rule: str
    flow: pd.DataFrame
    excluded: pd.DataFrame
    set_aside: Mapping[str, int]
    missing: Mapping[str, int]

    @property
    def participants(self) -> int:
        return int(self.table["participant"].nunique())

    @property
    def conditions(self) -> tuple[str, ...]:
        """Those that have answers, in the order of `flow`."""
        present = set(self.table["condition"])
        return tuple(name for name in self.flow["condition"] if name in present)


def choose_sample(
    responses: Responses, formulas: Sequence[Formula], who: Who = "completers", exclude: Mapping[str, str] | None = None
) -> Sample:
    """The sample of an analysis. `exclude` says of participants why they are left out; nobody is for performance.

    Rows of practice and attention are never analysed. All formulas are fitted to the same rows: those in which no column that any
    of them needs is missing.
    """
    needed = tuple(dict.fromkeys(column for formula in formulas for column in formula.columns))
    require(responses.table, needed, responses.source)
    table, set_aside = trials_of(responses.table)
    if table.empty:
        raise BadResponses(
            f"{responses.source}: every row is practice or an attention check. There is nothing to analyse."
        )
    table = table.assign(condition=_conditions(table))
    reasons = _reasons(table, exclude or {}, responses.source)
    finished, rule = _finished(table, formulas[0].outcome)
    people = pd.DataFrame({"condition": table.groupby("participant")["condition"].agg(_one)})
    people["reason"] = people.index.map(reasons)
    people["excluded"] = people["reason"].notna()
    people["dropped_out"] = ~people.index.isin(finished) & ~people["excluded"]
    people["analysed"] = ~people["excluded"] & ((who == "everyone") | ~people["dropped_out"])
    of_people = table[table["participant"].isin(people.index[people["analysed"]])]
    complete = of_people[list(needed)].notna().all(axis=1)
    kept = of_people[complete].reset_index(drop=True)
    if kept.empty:
        raise BadResponses(
            f"{responses.source}: no answers are left to analyse: of {len(people)} people "
            f"{int(people['dropped_out'].sum())} dropped out and "
            f"{int(people['excluded'].sum())} were excluded, and {int((~complete).sum())} rows miss a value. Check "
            "the file, or pass --who everyone."
        )
    lost = {column: int(of_people[column].isna().sum()) for column in needed if of_people[column].isna().any()}
    flow = _flow(people, table, of_people, complete)
    excluded = people[people["excluded"]].groupby(["reason", "condition"]).size().rename("people").reset_index()
    return Sample(kept, who, rule, flow, excluded, set_aside, lost)


def trials_of(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """Without rows of practice and attention, and how many of each there were."""
    counts, aside = {}, pd.Series(False, index=table.index)
    for kind in ("practice", "attention"):
        rows = pd.Series(False, index=table.index)
        if kind in table:
            rows |= table[kind] == 1
        if "trial_type" in table:
            rows |= table["trial_type"].astype(str).str.lower().isin([kind, f"{kind}_check"])
        counts[kind] = int((rows & ~aside).sum())
        aside |= rows
    return table[~aside].reset_index(drop=True), counts


def _conditions(table: pd.DataFrame) -> pd.Series:
    if "condition" not in table:
        return pd.Series(EVERYONE, index=table.index)
    return table["condition"].astype(object).where(table["condition"].notna(), UNKNOWN)


def _one(conditions: pd.Series) -> str:
    """The condition of a person."""
    found = set(conditions) - {UNKNOWN}
    return str(found.pop()) if len(found) == 1 else SEVERAL if found else UNKNOWN


def _finished(table: pd.DataFrame, outcome: str) -> tuple[set[str], str]:
    """Those who finished, and by which rule."""
    if "completed" in table:
        least = table.groupby("participant")["completed"].agg(lambda said: said.fillna(0).min())
        return set(least.index[least == 1]), "The column completed says who finished."
    answered = table[table[outcome].notna()].groupby("participant").size()
    most = int(answered.max()) if len(answered) else 0
    return set(answered.index[answered == most]), f"{NO_COMPLETED} That is {most} trials."


def _reasons(table: pd.DataFrame, exclude: Mapping[str, str], source: str) -> Mapping[str, str]:
    strangers = sorted(set(exclude) - set(table["participant"]))
    if strangers:
        raise BadResponses(
            f"exclusions: {len(strangers)} of {len(exclude)} participants are not in {source}, the first is "
            f"{strangers[0]!r}. Check the list."
        )
    return exclude


def _flow(people: pd.DataFrame, table: pd.DataFrame, of_people: pd.DataFrame, complete: pd.Series) -> pd.DataFrame:
    """The account, a row a condition."""
    names = sorted(set(people["condition"]) | set(table["condition"]), key=level_order)
    counts = people.groupby("condition")[["dropped_out", "excluded", "analysed"]].sum().reindex(names, fill_value=0)
    rows = of_people["condition"].groupby(of_people["condition"])
    flow = pd.DataFrame(
        {
            "condition": names,
            "started": people.groupby("condition").size().reindex(names, fill_value=0).to_numpy(),
            **{name: counts[name].to_numpy(dtype=np.int64) for name in ("dropped_out", "excluded", "analysed")},
            "answers": of_people[complete].groupby("condition").size().reindex(names, fill_value=0).to_numpy(),
            "rows_missing": rows.size().reindex(names, fill_value=0).to_numpy(),
        }
    )
    flow["rows_missing"] -= flow["answers"]
    return flow


def read_exclusions(file: str | Path) -> dict[str, str]:
    """Who is left out, and why, from a CSV of participant and reason."""
    try:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise BadResponses(
            f"exclusions: {file} cannot be read ({' '.join(str(error).split())}). Pass a CSV of participant and reason."
        ) from None
    require(table, ("participant", "reason"), str(file))
    return dict(zip(table["participant"], table["reason"], strict=True))
