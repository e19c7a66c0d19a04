"""The plan of an analysis in words, for a registry, before there are data."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from bayesteach.analysis.analyse import Plan
from bayesteach.analysis.bayes import PRIORS
from bayesteach.analysis.defaults import models_of
from bayesteach.analysis.report import templates, versions
from bayesteach.analysis.simulate import arms
from bayesteach.errors import BadInput

FILE = "preregistration.md"


def write_preregistration(
    plan: Plan,
    folder: Path,
    participants: int | None = None,
    power: Path | None = None,
    conditions: pd.DataFrame | None = None,
) -> Path:
    """preregistration.md in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    file.write_text(preregistration(plan, participants, power, conditions), "utf-8")
    return file


def preregistration(
    plan: Plan, participants: int | None = None, power: Path | None = None, conditions: pd.DataFrame | None = None
) -> str:
    """Formulas, exclusions, tests and sample size. `power` is a folder of `bayesteach power`, with reasons for the size.

    `conditions` are those of the study, a row each: condition, and a column for each factor; the paper's where there are none.
    """
    if plan.exclude:
        raise BadInput(
            "--exclude names people, and there are none before the data. State the rule in the text instead."
        )
    conditions = arms() if conditions is None else conditions
    plan = replace(plan, formulas=plan.formulas or models_of(conditions))
    found = None if power is None else _power(power, participants)
    return (
        templates()
        .get_template("preregistration.md")
        .render(
            plan=plan,
            factors=[name for name in conditions if name != "condition"],
            conditions=conditions.astype(str).to_dict("records"),
            pairs=[(large.name, small.name) for small, large in zip(plan.formulas, plan.formulas[1:], strict=False)],
            largest=plan.formulas[-1].name,
            participants=participants,
            power=found,
            priors=PRIORS,
            version=versions()["bayesteach"],
        )
    )


def _power(folder: Path, participants: int | None) -> list[dict[str, object]]:
    """The rows of power.csv at the planned size."""
    file = folder / "power.csv"
    if not file.is_file():
        raise BadInput(
            f"power: {folder} holds no power.csv. Run bayesteach power --participants {participants or 160} --out "
            f"{folder} first."
        )
    table = pd.read_csv(file)
    sizes = sorted(table["participants"].unique())
    if participants not in sizes:
        raise BadInput(
            f"power: {file} is of {', '.join(map(str, sizes))} participants, and the plan is {participants}. "
            "Name one of them with --participants, or simulate that size too."
        )
    return [
        {str(name): value for name, value in row.items()}
        for row in table[table["participants"] == participants].to_dict("records")
    ]
