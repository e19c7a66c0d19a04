"""`bayesteach simulate`."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from bayesteach.cli.console import err, out, progress
from bayesteach.cli.run import StudyFolder
from bayesteach.cli.serve import Database

if TYPE_CHECKING:
    from bayesteach.artifacts import Hidden
    from bayesteach.study.materials import Materials

# How often simulated people see what is obvious: practice and attention trials.
_OBVIOUS = 0.97


def simulate(
    study: StudyFolder,
    participants: Annotated[int, typer.Option(help="How many people come.", min=1, max=100_000)] = 160,
    effects: Annotated[
        str, typer.Option(help="What they answer by: paper, or a CSV of term and estimate.", metavar="NAME")
    ] = "paper",
    through: Annotated[
        Literal["http", "database"],
        typer.Option(help="As browsers do, by a server of its own; or faster, in a time of its own, minutes apart."),
    ] = "http",
    dropout: Annotated[float, typer.Option(help="How many leave in the middle.", min=0, max=1)] = 0.1,
    at_once: Annotated[int, typer.Option(help="With http: how many at the same time.", min=1, max=64)] = 8,
    seed: Annotated[int, typer.Option(help="The same seed gives the same people.", min=0)] = 0,
    database: Database = None,
) -> None:
    """Let simulated people take the real study.

    What they answer is marked as simulated for ever, and kept apart
    from that of people: export it with --mode simulated.
    """
    with err.status("Reading the study"):
        from bayesteach.study import simulate as simulated  # noqa: PLC0415 — torch takes a second
        from bayesteach.study.database import default_url  # noqa: PLC0415
        from bayesteach.study.server import prepare  # noqa: PLC0415

        here = prepare(study, database or default_url(study)).serving
        foresees = _foresees(here.materials, effects, participants, seed)
    behaviour = simulated.Behaviour(foresees, lambda _: dropout)
    if through == "http":
        with progress() as bar:
            task = bar.add_task("people", total=participants)
            simulated.through_http(
                here, behaviour, participants, at_once=at_once, seed=seed, done=lambda: bar.advance(task)
            )
    else:
        with err.status(f"{participants} people"):
            simulated.through_database(here, behaviour, participants, seed=seed)
    for arm, number in simulated.finishers(here).items():
        out.print(f"{escape(arm)}: {number} finished")
    out.print(f"Next: bayesteach export {escape(str(study))} OUT --mode simulated", soft_wrap=True)


def _foresees(materials: "Materials", effects: str, people: int, seed: int) -> "Callable[[int, Hidden, str], bool]":
    """Whether a person foresees the AI, by the model that the analysis fits: effects, people and categories who differ."""
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415
    from scipy.special import expit  # noqa: PLC0415

    from bayesteach.analysis.simulate import read_effects  # noqa: PLC0415

    model = read_effects(effects)
    trials = [materials.hidden[shown.trial] for shown in materials.of_kind("trial")]
    table = pd.DataFrame(
        [
            {"trial": row.trial, "category": row.category, "trial_type": row.trial_type, "arm": arm.name, **arm.factors}
            for arm in materials.stimuli.arms
            for row in trials
        ]
    )
    logits = dict(zip(zip(table["trial"], table["arm"], strict=True), model.logits(table), strict=True))
    rng = np.random.default_rng(seed)
    sds = {group: model.sds.get(group, 0.0) for group in ("participant", "category")}
    persons = sds["participant"] * rng.standard_normal(people)
    categories = {name: sds["category"] * float(rng.standard_normal()) for name in sorted({t.category for t in trials})}

    def foresees(number: int, hidden: "Hidden", arm: str) -> bool:
        chance = Random(f"{seed} {number} {hidden.trial}").random()  # the same whatever the order, and who came first
        if (hidden.trial, arm) not in logits:
            return chance < _OBVIOUS
        logit = logits[hidden.trial, arm] + persons[number] + categories[hidden.category]
        return bool(chance < expit(logit))

    return foresees
