"""`bayesteach power`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bayesteach.cli.console import out, progress


def power(
    participants: Annotated[
        str, typer.Option(help="How many people, in all conditions together: one size or several.")
    ] = "40,80,160",
    effects: Annotated[
        str,
        typer.Option(
            help="What people answer by: paper, or a CSV of term and estimate (coefficients.csv serves).",
            metavar="paper|FILE",
        ),
    ] = "paper",
    simulations: Annotated[int, typer.Option(help="Simulated studies of each size.", min=1)] = 500,
    trials: Annotated[
        Path | None,
        typer.Option(help="A CSV of trial, category, trial_type. [default: the paper's 89]", metavar="FILE"),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            help="A study folder, for its [[study.arms]]. [default: the paper's four conditions]", metavar="DIR"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same studies.", min=0)] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes at once. [default: all cores]", min=1)] = None,
    to: Annotated[Path, typer.Option("--out", help="Where to write, and what to go on from.", metavar="DIR")] = Path(
        "power"
    ),
) -> None:
    """How likely a study of this size is to find each effect.

    Simulates studies, fits the models null, explanation and
    interaction to each, and writes power.csv and power.svg/.png: for every
    coefficient the power, and how often a significant estimate has the
    wrong sign (type S) and how much it exaggerates (type M); for both
    likelihood-ratio tests the power.

    Interrupted, the same command goes on where it stopped.
    """
    from bayesteach.analysis.defaults import read_arms  # noqa: PLC0415
    from bayesteach.analysis.power_runs import simulate_power  # noqa: PLC0415 — pandas and scipy take seconds
    from bayesteach.analysis.simulate import read_effects, read_trials  # noqa: PLC0415

    sizes = _sizes(participants)
    with progress() as bar:
        task = bar.add_task("simulated studies", total=len(sizes) * simulations)
        table = simulate_power(
            to,
            read_effects(effects),
            sizes,
            simulations,
            trials=read_trials(trials) if trials else None,
            conditions=read_arms(study) if study else None,
            seed=seed,
            workers=workers,
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("Power, %")
    for size in sizes:
        shown.add_column(str(size), justify="right")
    for name in dict.fromkeys(table["name"]):
        rows = table[table["name"] == name].set_index("participants")
        shown.add_row(name.replace("[", r"\["), *(f"{100 * rows['power'][size]:.0f}" for size in sizes))
    out.print(shown)
    out.print(f"power.csv, power.svg, power.png → {escape(str(to))}", soft_wrap=True)


def _sizes(text: str) -> list[int]:
    """40,80,160."""
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise typer.BadParameter(
            f"--participants: found {text!r}, expected whole numbers with commas, as in 40,80,160."
        ) from None
