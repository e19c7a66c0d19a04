"""`bayesteach analyse`."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from bayesteach.cli.console import err, out, progress

if TYPE_CHECKING:
    from bayesteach.analysis.analyse import Analysis


def analyse(  # noqa: PLR0913, PLR0917 — one parameter an option
    data: Annotated[
        str | None, typer.Argument(help="Responses: a CSV, or a Psych-DS folder.", metavar="DATA", show_default=False)
    ] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A model, as 'correct ~ trial_type*saliency + (1|participant)', or 'name: …'; repeatable. [default: "
                "null, explanation and interaction, by what the conditions differ in]"
            ),
            metavar="FORMULA",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="A column under another name: correct=acc; repeatable.", metavar="OURS=THEIRS"),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(help="The study's folder: its [[study.arms]] say what conditions differ in.", metavar="DIR"),
    ] = None,
    who: Annotated[
        Literal["completers", "everyone"], typer.Option(help="Those who finished, or those who dropped out too.")
    ] = "completers",
    exclude: Annotated[
        Path | None, typer.Option(help="A CSV of participant and reason: people to leave out.", metavar="FILE")
    ] = None,
    bootstrap: Annotated[int, typer.Option(help="Draws for the intervals of accuracies.", min=100)] = 2000,
    resample: Annotated[
        Literal["participants", "trials"], typer.Option(help="What these draws draw.")
    ] = "participants",
    bootstrap_lrt: Annotated[
        int, typer.Option(help="Refits for a p of each likelihood-ratio test that holds with few participants.", min=0)
    ] = 0,
    bayes: Annotated[  # noqa: FBT002
        bool, typer.Option("--bayes", help="The largest model with weak priors too (bayesteach[bayes]).")
    ] = False,
    published: Annotated[bool, typer.Option("--published", help="The paper's numbers beside.")] = False,  # noqa: FBT002
    seed: Annotated[int, typer.Option(help="The same seed gives the same draws.", min=0)] = 0,
    preregister: Annotated[  # noqa: FBT002
        bool, typer.Option("--preregister", help="Write the plan down instead, before there are data.")
    ] = False,
    participants: Annotated[
        int | None, typer.Option(help="With --preregister: how many people will be analysed, in all.", min=2)
    ] = None,
    power: Annotated[
        Path | None,
        typer.Option(
            help="With --preregister: what bayesteach power wrote, to give reasons for that number.", metavar="DIR"
        ),
    ] = None,
    to: Annotated[Path, typer.Option("--out", help="Where to write.", metavar="DIR")] = Path("analysis"),
) -> None:
    """Fit hierarchical regressions to what people answered, test them, and write a report.

    DATA has the columns participant, category, trial_type, saliency,
    examples and correct. Where conditions differ in something else
    than saliency and examples, condition (or arm) names them. Writes report.html, tables (coefficients.csv,
    models.csv, comparisons.csv, accuracy.csv, effects.csv,
    sensitivity.csv), both figures and analysis.toml.
    """
    from bayesteach.analysis.analyse import Plan  # noqa: PLC0415 — pandas and formulaic take seconds
    from bayesteach.analysis.defaults import read_arms  # noqa: PLC0415
    from bayesteach.analysis.formulas import parse_all  # noqa: PLC0415
    from bayesteach.analysis.sample import read_exclusions  # noqa: PLC0415

    plan = Plan(
        formulas=parse_all(formula or []),
        who=who,
        exclude=read_exclusions(exclude) if exclude else {},
        bootstrap=bootstrap,
        resample=resample,
        bootstrap_lrt=bootstrap_lrt,
        bayes=bayes,
        published=published,
        seed=seed,
    )
    arms = read_arms(study) if study else None
    if preregister:
        from bayesteach.analysis.preregister import write_preregistration  # noqa: PLC0415

        if data is not None:
            raise typer.BadParameter("--preregister is for before there are data: leave DATA out.")
        out.print(
            f"The plan → {escape(str(write_preregistration(plan, to, participants, power, arms)))}", soft_wrap=True
        )
        return
    if participants is not None or power is not None:
        raise typer.BadParameter("--participants and --power belong to --preregister.")
    if data is None:
        raise typer.BadParameter("DATA is missing: a CSV of responses, or a Psych-DS folder.")

    from bayesteach.analysis.analyse import analyse as run  # noqa: PLC0415
    from bayesteach.analysis.report import write  # noqa: PLC0415
    from bayesteach.responses import read_responses  # noqa: PLC0415

    to.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    responses = read_responses(data, _columns(column or []), arms)
    with progress() as bar:
        task = bar.add_task("reading", total=None)
        found = run(
            responses, plan, lambda what, done, of: bar.update(task, description=what, completed=done, total=of)
        )
    files = write(found, to, _command())
    _tell(found, out)
    out.print(f"{len(files)} files → {escape(str(to))}: begin with {escape(str(files[-1]))}", soft_wrap=True)


def _columns(pairs: list[str]) -> dict[str, str]:
    """Our names with the file's."""
    for pair in pairs:
        if "=" not in pair.strip("="):
            raise typer.BadParameter(f"--column: found {pair!r}, expected OURS=THEIRS, as in correct=acc.")
    split = [pair.partition("=") for pair in pairs]
    return {ours.strip(): theirs.strip() for ours, _, theirs in split}


def _command() -> str:
    """The command as it was given."""
    return shlex.join(["bayesteach", *sys.argv[1:]])


def _tell(found: "Analysis", console: Console) -> None:
    """The findings in short, what to beware of, and who was left out."""
    from bayesteach.analysis.prose import set_aside, short, who  # noqa: PLC0415

    for sentence in short(found):
        console.print(f"• {escape(sentence)}", soft_wrap=True)
    console.print(f"[dim]{escape(who(found))} {escape(set_aside(found))}[/]", soft_wrap=True)
    for warning in found.warnings:
        err.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)
