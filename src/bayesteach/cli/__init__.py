"""The command line, one file a command: parse, call, print."""

from importlib.metadata import version
from typing import Annotated

import typer

from bayesteach.cli.analyse import analyse
from bayesteach.cli.backup import backup, restore
from bayesteach.cli.console import OneMessage, out
from bayesteach.cli.demo import demo
from bayesteach.cli.explain import explain
from bayesteach.cli.export import export
from bayesteach.cli.init import init
from bayesteach.cli.measure import measure
from bayesteach.cli.plan import plan
from bayesteach.cli.power import power
from bayesteach.cli.run import OrLocal, run, status
from bayesteach.cli.serve import serve
from bayesteach.cli.simulate import simulate

app = typer.Typer(
    cls=OneMessage,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(asked: bool) -> bool:  # noqa: FBT001 — typer's signature
    if asked:
        out.print(f"bayesteach {version('bayesteach')}")
        raise typer.Exit
    return asked


@app.callback()
def bayesteach(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,  # noqa: FBT002
    show_version: Annotated[  # noqa: FBT002
        bool, typer.Option("--version", help="Say which version this is.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    """Explain an image classifier by what would teach its answer."""
    _ = debug, show_version  # read by OneMessage, and by _tell_version


for command in (
    demo,
    init,
    run,
    status,
    plan,
    measure,
    explain,
    serve,
    backup,
    restore,
    simulate,
    export,
    analyse,
    power,
):
    app.command(cls=OrLocal if command is run else None)(command)


def main() -> None:
    """The program `bayesteach`."""
    app()
