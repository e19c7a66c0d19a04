"""What commands print with, and how they fail: one message and exit code 2."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from typer.core import TyperGroup

from bayesteach.errors import BayesteachError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
SECONDS = "seconds"


class OneMessage(TyperGroup):
    """Commands whose errors are one message and exit code 2; with --debug, a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever read the output has seen enough (`| head`): click ends without a word
        except (BayesteachError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            err.print(f"[bold red]Error[/] {escape(_reason(error))}", soft_wrap=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            err.print("Interrupted. What was finished is kept; the same command goes on from there.")
            ctx.exit(130)


def progress() -> Progress:
    """A bar with the time left."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )


def loading(model: str) -> AbstractContextManager[object]:
    """A spinner while a model loads; the embedded one, where it must be trained first, shows a bar of its own."""
    return nullcontext() if model == "embedded" else err.status(f"Loading {escape(model)}")


def _reason(error: Exception) -> str:
    if isinstance(error, BayesteachError):
        return str(error)
    return f"{getattr(error, 'filename', None) or 'system'}: {getattr(error, 'strerror', None) or error}."


def in_units(seconds: float) -> tuple[float, str]:
    """A time in the largest unit of which there are two or more."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return seconds / length, unit
    return seconds, SECONDS
