"""`bayesteach plan`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bayesteach.cli.console import SECONDS, in_units, loading, out, progress
from bayesteach.cli.run import Change, Preset, StudyFolder, watch_with

if TYPE_CHECKING:
    from bayesteach.scale.plan import Plan


def plan(
    study: StudyFolder,
    workers: Annotated[
        int | None,
        typer.Option(help="As run --ray does it, with so many workers of one processor each.", min=1, metavar="N"),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Other hardware: images a second of a worker. [default: measured]", min=1e-3),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option(help="As if there were so many, in the same shares; ImageNet has 1338667.", min=1, metavar="N"),
    ] = None,
    preset: Preset = None,
    change: Change = None,
) -> None:
    """How long a study will take, and how much disk and memory.

    Some seconds of each kind of work are done on this machine, and
    nothing of it is kept; the rest is arithmetic. What can take hours
    is counted; design, lessons without views, and pictures are minutes.
    """
    import torch  # noqa: PLC0415 — it takes a second

    from bayesteach.scale import plan as planned  # noqa: PLC0415
    from bayesteach.scale.rates import PHOTOS, measure_rates  # noqa: PLC0415
    from bayesteach.settings import read_settings  # noqa: PLC0415
    from bayesteach.stages.arms import check_arms  # noqa: PLC0415
    from bayesteach.stages.context import Context, OneRun  # noqa: PLC0415

    settings = read_settings(study, change or (), preset)
    check_arms(settings, study)
    places = planned.listed(settings, study)
    if workers is not None:
        torch.set_num_threads(1)
    counts = {name: len(some) for name, some in places.items()}
    scope = planned.scope(settings, planned.enlarged(counts, images) if images is not None else counts)
    photos = planned.sample(places, PHOTOS, study)
    with progress() as bar:
        context = Context.of(settings, study, OneRun(), watch_with(bar))
        with loading(settings.model.name):
            classifier = context.classifier()
        rates = measure_rates(settings, context, photos, list(scope.pictures), by_engine=scope.by_engine)
    if rate is not None:
        rates = planned.assumed(rates, settings, rate)
    head = classifier.head.shape
    found = planned.plan(settings, scope, rates, (head[0], head[1]), classifier.geometry.size, workers or 1)
    out.print(_table(found, workers or 1))
    out.print("disk    " + ", ".join(f"{name} {_size(size)}" for name, size in found.disk.items()))
    whose = "a worker" if workers is not None else "the process"
    out.print(f"memory  {_size(found.worker)} {whose}, {_size(found.planner)} the one that starts the run")
    out.print(f"[dim]{escape(_told(len(photos), workers, rate, images))}[/]", soft_wrap=True)


def _table(found: "Plan", workers: int) -> Table:
    table = Table("stage", "of what", "a second", "time", "by", box=None, pad_edge=False)
    for step in found.steps:
        by = f"{workers} workers" if step.shared and workers > 1 else "one process"
        pace = f"{step.count / step.seconds:,.1f}" if step.seconds else ""
        table.add_row(step.stage, f"{step.count:,} {step.what}", pace, _time(step.seconds), by)
    table.add_row("[bold]all[/]", "", "", f"[bold]{_time(found.seconds)}[/]")
    return table


def _told(photos: int, workers: int | None, rate: float | None, images: int | None) -> str:
    """What the figures rest on."""
    told = [f"Measured on this machine with {photos} of the study's images"]
    if rate is not None:
        told.append(f"ASSUMED, not measured: {rate:g} images a second through the network")
    if workers is not None and workers > 1:
        told.append(f"ASSUMED: each of {workers} workers is as fast as this one was alone")
    if images is not None:
        told.append(f"as if there were {images:,} images")
    return "; ".join(told) + "."


def _time(seconds: float) -> str:
    count, unit = in_units(seconds)
    return f"{count:.0f} s" if unit == SECONDS else f"{count:.1f} {unit}"


def _size(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
