"""`bayesteach demo`."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from bayesteach.cli.console import out, progress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from bayesteach.stages.context import Watch


def demo(
    to: Annotated[Path, typer.Option("--out", help="Where everything goes.", metavar="DIR")] = Path("bayesteach-demo"),
    participants: Annotated[int, typer.Option(help="How many simulated people take the study.", min=16)] = 160,
    serve: Annotated[  # noqa: FBT002
        bool, typer.Option("--serve", help="Then leave the study running, to be taken in a browser.")
    ] = False,
    port: Annotated[int, typer.Option(help="With --serve.", min=0, max=65535)] = 8000,
    seed: Annotated[int, typer.Option(help="The one seed.", min=0)] = 0,
) -> None:
    """The whole paper in one go, on a drawn world and with simulated people.

    A classifier, its trials, lessons and maps; simulated people who take
    the real study; the three regressions; and one report.html. Stopped
    at any moment and run again, it goes on from there.
    """
    start = time.monotonic()
    out.print(
        f"[bold]bayesteach demo[/] → {escape(str(to))}. No download; Ctrl-C stops it, and the same command goes on.",
        soft_wrap=True,
    )
    with out.status("Waking up"):
        from bayesteach.demo.steps import STEPS, Demo  # noqa: PLC0415 — torch takes a second
        from bayesteach.vision.classifier import Classifier  # noqa: PLC0415
    # Where it must be trained first, it says so and shows a bar of its own.
    Classifier.load("embedded")
    made = Demo(to, participants, seed)
    for number, step in enumerate(STEPS, 1):
        begun = time.monotonic()
        with progress() as bar:
            now = bar.add_task(f"{number}/{len(STEPS)} {step.words}", total=None)
            said = step.do(made, _watch(bar, now, f"{number}/{len(STEPS)}"))
        took = time.monotonic() - begun
        out.print(f"[green]✓[/] {step.words} [dim]{took:.0f} s[/]", soft_wrap=True)
        out.print(f"  [dim]{escape(said)}[/]", soft_wrap=True)
    minutes, seconds = divmod(round(time.monotonic() - start), 60)
    out.print(f"Done in {minutes} min {seconds} s. Open:", soft_wrap=True)
    for what, file in (
        ("the whole story", made.report),
        ("every trial", to / "artifacts" / "compose" / "gallery.html"),
        ("the analysis in full", to / "analysis" / "report.html"),
        ("the answers, as Psych-DS", made.answers),
    ):
        out.print(f"  {escape(str(file))}  [dim]{what}[/]", soft_wrap=True)
    if not serve:
        out.print(f"Take the study yourself: bayesteach serve {escape(str(to))}", soft_wrap=True)
        return
    from bayesteach.cli.serve import serve as run  # noqa: PLC0415

    run(to, port=port)


def _watch(bar: "Progress", task: "TaskID", place: str) -> "Watch":
    """The one bar there is, for what is being done now."""

    def watch(what: str, total: int) -> Callable[[int], None]:
        bar.reset(task, description=f"{place} {what}", total=total)
        return lambda done: bar.advance(task, done)

    return watch
