"""People who answer by a table of coefficients: to test an analysis on known effects, and to plan a study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import expit

from bayesteach.errors import BadFormula, BadInput, BadResponses, OutOfRange
from bayesteach.responses import CONDITIONS, TRIAL_TYPES, require

# Table 1 of the paper: the interaction model's coefficients with their standard errors, in logits.
PUBLISHED: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "(Intercept)": (-1.06, 0.14),
        "trial_type[standard_incorrect]": (0.09, 0.10),
        "trial_type[standard_correct]": (4.64, 0.18),
        "saliency": (1.01, 0.12),
        "examples": (0.46, 0.12),
        "trial_type[standard_incorrect]:saliency": (-0.29, 0.13),
        "trial_type[standard_correct]:saliency": (-1.71, 0.22),
        "trial_type[standard_incorrect]:examples": (-0.24, 0.13),
        "trial_type[standard_correct]:examples": (-2.01, 0.21),
        "saliency:examples": (-0.53, 0.17),
        "trial_type[standard_incorrect]:saliency:examples": (0.11, 0.18),
        "trial_type[standard_correct]:saliency:examples": (1.18, 0.27),
    }
)
# χ² and degrees of freedom of the paper's tests.
PUBLISHED_TESTS: Mapping[tuple[str, str], tuple[float, int]] = MappingProxyType(
    {("explanation", "null"): (45.37, 2), ("interaction", "explanation"): (209.62, 7)}
)
# Not printed in the paper: with these its standard errors come out (30 categories; 0.146, 0.093, 0.119 for the terms 1, 2 and 4).
_SDS = MappingProxyType({"participant": 0.33, "category": 0.65})


@dataclass(frozen=True, slots=True)
class Effects:
    """What people answer by: a coefficient in logits for each term, and the standard deviation of each random intercept.

    A term is a product of columns: `saliency`, `trial_type[standard_correct]:saliency`. Terms that are not named are 0.
    """

    coefficients: Mapping[str, float]
    sds: Mapping[str, float]

    def __post_init__(self) -> None:
        """Refuse numbers that are none."""
        for term, value in self.coefficients.items():
            if not np.isfinite(value):
                raise OutOfRange(f"effects: {term} is {value}, expected a finite number of logits.")
        for group, value in self.sds.items():
            if not (np.isfinite(value) and value >= 0):
                raise OutOfRange(f"effects: sd({group}) is {value}, expected a standard deviation, 0 or above.")

    def logits(self, table: pd.DataFrame) -> Float[np.ndarray, " rows"]:
        """The log odds of a correct answer in every row, for a person and a category that are as most are."""
        total = np.zeros(len(table))
        for term, coefficient in self.coefficients.items():
            total += coefficient * _product(term, table)
        return total


PAPER_EFFECTS = Effects({term: estimate for term, (estimate, _) in PUBLISHED.items()}, dict(_SDS))


def read_effects(source: str | Path) -> Effects:
    """`paper`, or a CSV of term and estimate, as coefficients.csv is; of several models, that with most terms.

    Rows sd(participant) and sd(category) set the standard deviations; else a models.csv beside the file, else the paper's.
    """
    if str(source) == "paper":
        return PAPER_EFFECTS
    file = Path(source)
    try:
        table = pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"effects: {file} cannot be read ({' '.join(str(error).split())}). Pass paper, or a CSV of term and "
            "estimate."
        ) from None
    if not {"term", "estimate"} <= set(table):
        raise BadInput(f"effects: {file} has the columns {', '.join(table)}, expected term and estimate.")
    sds = dict(_SDS)
    if "model" in table:
        largest = table["model"].value_counts().index[0]
        table = table[table["model"] == largest]
        models = file.with_name("models.csv")
        if models.is_file():
            row = pd.read_csv(models).set_index("model").loc[largest]
            sds |= {group: float(row[f"sd_{group}"]) for group in sds if f"sd_{group}" in row}
    values = dict(zip(table["term"].astype(str), pd.to_numeric(table["estimate"], errors="coerce"), strict=True))
    sds |= {group: float(values.pop(f"sd({group})")) for group in sds if f"sd({group})" in values}
    return Effects({term: float(value) for term, value in values.items()}, sds)


def paper_trials(categories: int = 30) -> pd.DataFrame:
    """The paper's trials: one of each type in every category, less one of the type standard incorrect: 89 of 30 categories."""
    rows = [
        {"trial": f"{kind}_{i:02d}", "category": f"category_{i:02d}", "trial_type": kind}
        for i in range(1, categories + 1)
        for kind in TRIAL_TYPES
    ]
    trials = pd.DataFrame(rows)
    return trials[trials["trial"] != f"standard_incorrect_{categories:02d}"].reset_index(drop=True)


def arms() -> pd.DataFrame:
    """The paper's four conditions."""
    shown = [
        {"condition": name, "saliency": saliency, "examples": examples}
        for name, (saliency, examples) in CONDITIONS.items()
    ]
    return pd.DataFrame(shown)


def simulate(
    effects: Effects = PAPER_EFFECTS,
    participants: int = 160,
    trials: pd.DataFrame | None = None,
    conditions: pd.DataFrame | None = None,
    *,
    seed: int | Sequence[int] = 0,
) -> pd.DataFrame:
    """Responses of so many people in all, who go to the conditions in turn and answer every trial, in an order of their own.

    `trials` has the columns trial, category, trial_type, and any others that terms name; the paper's 89 where there are none.
    `conditions` has a row a condition: condition, and the columns that terms name of it; the paper's four where there are none.
    """
    trials = paper_trials() if trials is None else trials.reset_index(drop=True)
    conditions = arms() if conditions is None else conditions.reset_index(drop=True)
    absent = [name for name in ("trial", "category", "trial_type") if name not in trials]
    if absent:
        raise BadResponses(
            f"trials: there is no column {', '.join(absent)}. Found: {', '.join(map(str, trials)) or 'nothing'}."
        )
    if "condition" not in conditions or trials.empty or conditions.empty:
        raise BadResponses("simulate: expected one trial or more, and conditions with a column condition.")
    if participants < 1:
        raise OutOfRange(f"participants: found {participants}, expected at least one.")
    rng = np.random.default_rng(seed)
    people, shown = len(trials), np.tile(np.arange(len(trials)), (participants, 1))
    order = rng.permuted(shown, axis=1).ravel()
    person = np.repeat(np.arange(participants), people)
    width = len(str(participants))
    table = pd.concat(
        [
            pd.DataFrame({"participant": [f"p{i + 1:0{width}d}" for i in person]}),
            conditions.iloc[person % len(conditions)].reset_index(drop=True),
            pd.DataFrame({"order": np.tile(np.arange(1, people + 1), participants)}),
            trials.iloc[order].reset_index(drop=True),
        ],
        axis=1,
    )
    table["correct"] = answers(effects.logits(table), *_groups(effects, table), rng).astype(int)
    return table


def answers(
    logits: Float[np.ndarray, " rows"],
    groups: Sequence[np.ndarray],
    sds: Sequence[float] | Float[np.ndarray, " factors"],
    rng: np.random.Generator,
) -> Float[np.ndarray, " rows"]:
    """1 or 0 in every row, of people and categories drawn afresh."""
    for group, sd in zip(groups, sds, strict=True):
        logits = logits + sd * rng.standard_normal(int(group.max()) + 1)[group]
    return (rng.random(len(logits)) < expit(logits)).astype(np.float64)


def _groups(effects: Effects, table: pd.DataFrame) -> tuple[list[np.ndarray], list[float]]:
    for group in effects.sds:
        if group not in table:
            raise BadFormula(f"effects: sd({group}) names no column. Found: {', '.join(map(str, table))}.")
    return [pd.factorize(table[group])[0] for group in effects.sds], list(effects.sds.values())


def _product(term: str, table: pd.DataFrame) -> Float[np.ndarray, " rows"]:
    """A term's column: the product of indicators, trial_type[standard_correct], and of numbers, saliency."""
    product = np.ones(len(table))
    for factor in () if term == "(Intercept)" else term.split(":"):
        name, bracket, level = factor.partition("[")
        if name not in table:
            raise BadFormula(
                f"effects: the term {term!r} needs a column {name!r}. Found: {', '.join(map(str, table))}."
            )
        if bracket:
            product = product * (table[name].astype(str) == level.removesuffix("]")).to_numpy(dtype=np.float64)
        else:
            product = product * pd.to_numeric(table[name]).to_numpy(dtype=np.float64)
    return product


def read_trials(file: str | Path) -> pd.DataFrame:
    """Trials from a CSV of trial, category and trial_type."""
    try:
        trials = pd.read_csv(file, dtype=str)
    except (OSError, ValueError) as error:
        raise BadResponses(
            f"trials: {file} cannot be read ({' '.join(str(error).split())}). Pass a CSV of trial, category and "
            "trial_type."
        ) from None
    require(trials, ("trial", "category", "trial_type"), str(file))
    return trials
