"""`bayesteach run` and `bayesteach status`."""

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand

from bayesteach.cli.console import SECONDS, err, in_units, out, progress

if TYPE_CHECKING:
    from rich.progress import Progress

    from bayesteach.pipeline import Made
    from bayesteach.stages.context import Watch

StudyFolder = Annotated[Path, typer.Argument(help="The study's folder, with its study.toml.", metavar="STUDY")]
Change = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, as teach.candidates=500; repeatable.", metavar="KEY=VALUE")
]
Preset = Annotated[
    Literal["default", "paper"] | None, typer.Option(help="Whose numbers hold. [default: as study.toml says]")
]


class OrLocal(TyperCommand):
    """A command whose --ray may stand without an address, which Typer's options cannot: then it is this machine."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for place in reversed([place for place, word in enumerate(args) if word == "--ray"]):
            if not args[place + 1 : place + 2] or args[place + 1].startswith("-"):
                args.insert(place + 1, os.environ.get("RAY_ADDRESS", "local"))
        return super().parse_args(ctx, args)


def run(
    study: StudyFolder,
    until: Annotated[str | None, typer.Option(help="Stop after this stage.", metavar="STAGE")] = None,
    preset: Preset = None,
    change: Change = None,
    remake: Annotated[
        list[str] | None, typer.Option(help="Make this stage anew, whatever is there; repeatable.", metavar="STAGE")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            help="Embed, fit and highlight on a Ray cluster: at HOST:PORT; auto, that of this machine; alone, a new one here.",
            metavar="[ADDRESS]",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="With --ray: units at a time. [default: as there is room]", min=1, metavar="N")
    ] = None,
) -> None:
    """Make what is missing or stale, stage by stage.

    collect, embed, fit, design, teach, highlight, compose. Stopped at
    any moment and run again, it goes on from there. Ends with
    artifacts/compose/gallery.html.
    """
    from bayesteach.pipeline import Run, named, up_to  # noqa: PLC0415 — torch and timm take seconds
    from bayesteach.scale.cluster import cluster  # noqa: PLC0415
    from bayesteach.settings import read_settings  # noqa: PLC0415
    from bayesteach.stages.crew import ALONE  # noqa: PLC0415
    from bayesteach.store.workspace import Workspace  # noqa: PLC0415

    settings = read_settings(study, change or (), preset)
    up_to(until)
    for name in remake or ():
        named(name)
    if ray is None and workers is not None:
        raise typer.BadParameter("--workers says how many work on a cluster: say --ray too.")
    crews = cluster(ray, study, settings, workers) if ray is not None else nullcontext(ALONE)
    with crews as crew, progress() as bar:
        work = Run(Workspace(study), settings, watch_with(bar), crew)
        for made in work.make(until, tuple(remake or ())):
            if made.fresh:
                bar.console.print(f"[dim]{made.stage.name}: as it was[/]")
            elif made.manifest is not None:
                bar.console.print(
                    f"[bold]{made.stage.name}[/]: {escape(made.manifest.summary)} → {escape(str(made.folder))}",
                    soft_wrap=True,
                )


def status(study: StudyFolder, preset: Preset = None, change: Change = None) -> None:
    """What a study has made, when, from which settings, and what a run would make anew and why."""
    from bayesteach.pipeline import Run  # noqa: PLC0415 — torch and timm take seconds
    from bayesteach.settings import read_settings  # noqa: PLC0415
    from bayesteach.store.workspace import Workspace  # noqa: PLC0415

    settings = read_settings(study, change or (), preset)
    model = settings.model
    out.print(
        escape(
            f"{model.name}, {model.geometry} geometry, engine {model.engine} {model.precision}, {settings.preset} preset"
        )
    )
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    with err.status("Looking at what is there"):
        known = list(Run(Workspace(study), settings).status())
    for made in known:
        table.add_row(made.stage.name, "\n".join(_lines(made)))
    out.print(table)


def _lines(made: "Made") -> Iterator[str]:
    """A stage in a few lines: its state and age, what it is, and what it was made from beside the defaults."""
    from bayesteach.settings import departures  # noqa: PLC0415

    manifest = made.manifest
    state = "[green]up to date[/]" if made.fresh else f"[yellow]to be made: {escape(made.reason)}[/]"
    if manifest is None:
        yield state
        return
    age = datetime.now(UTC) - datetime.fromtimestamp(made.folder.stat().st_mtime, UTC)
    yield f"{state} · made {_age(age.total_seconds())} in {manifest.seconds:.0f} s"
    yield escape(manifest.summary)
    told = "; ".join(departures(manifest.settings))
    yield f"[dim]{escape(told) if told else 'all settings as by default'}[/]"


def _age(seconds: float) -> str:
    count, unit = in_units(seconds)
    return "just now" if unit == SECONDS else f"{count:.0f} {unit} ago"


def watch_with(bar: "Progress") -> "Watch":
    """A bar for what is being done now; the one before goes."""

    def watch(what: str, total: int) -> Callable[[int], None]:
        for old in bar.task_ids:
            bar.remove_task(old)
        task = bar.add_task(what, total=total)
        return lambda done: bar.advance(task, done)

    return watch
