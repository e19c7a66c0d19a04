"""Accuracy in each cell of the design, trial type by condition, with bootstrapped intervals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesteach.analysis.formulas import level_order
from bayesteach.analysis.sample import EVERYONE, Sample
from bayesteach.errors import BadResponses, OutOfRange

Resample = Literal["participants", "trials"]
COLUMNS = ("trial_type", "condition", "participants", "answers", "accuracy", "low", "high")


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """Cell means with 95 % percentile intervals over resampled participants, or trials; and each participant's own means.

    `cells` has the columns of accuracy.csv, `people` participant, trial_type, condition and accuracy.
    """

    cells: pd.DataFrame
    people: pd.DataFrame
    resample: Resample
    draws: int


def accuracy(
    sample: Sample, outcome: str, resample: Resample = "participants", draws: int = 2000, seed: int = 0
) -> Accuracy:
    """Accuracy by trial type and condition.

    Participants are drawn within their condition, and trials within their type, the same for all conditions. A cell of one
    participant, or one trial, has no interval.
    """
    if draws < 100:
        raise OutOfRange(f"bootstrap: found {draws} draws, expected 100 or more: ends of a 95 % interval need them.")
    table = sample.table.assign(trial_type=_kinds(sample.table), correct=sample.table[outcome].astype(float))
    cell = ["trial_type", "condition"]
    units, strata = ("participant", "condition") if resample == "participants" else ("trial", "trial_type")
    if resample == "trials":
        table = table.assign(trial=trial_key(table, required=True))
    counts = table.groupby([units, *cell], observed=True)["correct"].agg(["size", "sum"])
    size = counts["size"].unstack(cell, fill_value=0)  # noqa: PD010 — a pivot of two levels
    hits = counts["sum"].unstack(cell, fill_value=0.0)  # noqa: PD010
    means = _resampled(
        size.to_numpy(float), hits.to_numpy(float), _strata(table, units, strata, size.index), draws, seed
    )
    low, high = np.nanpercentile(means, [2.5, 97.5], axis=0)
    alone = (size > 0).sum(axis=0).to_numpy() < 2
    found = pd.DataFrame(
        {
            "trial_type": size.columns.get_level_values(0),
            "condition": size.columns.get_level_values(1),
            "participants": table.groupby(cell)["participant"].nunique().reindex(size.columns).to_numpy(),
            "answers": size.sum(axis=0).to_numpy(),
            "accuracy": (hits.sum(axis=0) / size.sum(axis=0)).to_numpy(),
            "low": np.where(alone, np.nan, low),
            "high": np.where(alone, np.nan, high),
        }
    )
    kinds = sorted(found["trial_type"].unique(), key=level_order)
    order = pd.MultiIndex.from_product([kinds, sample.conditions], names=cell)
    cells = found.set_index(cell).reindex(order).reset_index()
    cells = cells.fillna({"participants": 0, "answers": 0}).astype({"participants": int, "answers": int})
    people = table.groupby(["participant", *cell], observed=True)["correct"].mean().rename("accuracy").reset_index()
    return Accuracy(cells[list(COLUMNS)], people, resample, draws)


def trial_key(table: pd.DataFrame, *, required: bool = False) -> pd.Series | None:
    """What identifies a trial: its column, else category and trial type where nobody answered two alike."""
    if "trial" in table and table["trial"].notna().all():
        return table["trial"].astype(str)
    if {"category", "trial_type"} <= set(table):
        key = table["category"].astype(str) + " · " + table["trial_type"].astype(str)
        if not pd.DataFrame({"participant": table["participant"], "key": key}).duplicated().any():
            return key
    if required:
        raise BadResponses("trial: there is no column that tells trials apart. Name it: --column trial=NAME.")
    return None


def _kinds(table: pd.DataFrame) -> pd.Series:
    if "trial_type" not in table:
        return pd.Series(EVERYONE, index=table.index)
    return table["trial_type"].astype(object).where(table["trial_type"].notna(), "unknown")


def _strata(table: pd.DataFrame, units: str, strata: str, order: pd.Index) -> list[np.ndarray]:
    """The positions of the units that are drawn together; units of several strata are drawn as one more."""
    own = (
        table.groupby(units)[strata].agg(lambda values: values.iloc[0] if len(set(values)) == 1 else "").reindex(order)
    )
    return [np.flatnonzero(own.to_numpy() == name) for name in own.unique()]


def _resampled(
    size: Float[np.ndarray, "units cells"],
    hits: Float[np.ndarray, "units cells"],
    strata: list[np.ndarray],
    draws: int,
    seed: int,
) -> Float[np.ndarray, "draws cells"]:
    """The mean of every cell in every draw."""
    rng = np.random.default_rng(seed)
    times = np.zeros((draws, len(size)))
    for members in strata:
        times[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), size=draws)
    with np.errstate(invalid="ignore"):
        return np.asarray((times @ hits) / (times @ size))
