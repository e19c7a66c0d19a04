"""The command line, one file a command: parse, call, print."""

from typing import Annotated

import typer

from bayesteach.cli.console import OneMessage
from bayesteach.cli.explain import explain

app = typer.Typer(
    cls=OneMessage,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def bayesteach(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,  # noqa: FBT002
) -> None:
    """Explain an image classifier by what would teach its answer."""
    _ = debug  # read by OneMessage


app.command()(explain)


def main() -> None:
    """The program `bayesteach`."""
    app()
