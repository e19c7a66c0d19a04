"""`bayesteach simulate`."""

from typing import Annotated, Literal

import typer
from rich.markup import escape

from bayesteach.cli.console import err, out, progress
from bayesteach.cli.run import StudyFolder
from bayesteach.cli.serve import Database


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
        from bayesteach.analysis.simulate import read_effects  # noqa: PLC0415 — torch takes a second
        from bayesteach.demo.people import foresees  # noqa: PLC0415
        from bayesteach.study import simulate as simulated  # noqa: PLC0415
        from bayesteach.study.database import default_url  # noqa: PLC0415
        from bayesteach.study.server import prepare  # noqa: PLC0415

        here = prepare(study, database or default_url(study)).serving
        people = foresees(here.materials, read_effects(effects), participants, seed)
    behaviour = simulated.Behaviour(people, lambda _: dropout)
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
