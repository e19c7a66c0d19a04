"""`bayesteach serve`."""

from typing import Annotated

import typer
from rich.markup import escape

from bayesteach.cli.console import err, out
from bayesteach.cli.run import StudyFolder

Database = Annotated[
    str | None,
    typer.Option(
        help="Where answers are kept: sqlite:///FILE or postgresql://USER@HOST/NAME. [default: study.db in the folder]",
        metavar="URL",
        envvar="BAYESTEACH_DATABASE",
    ),
]


def serve(
    study: StudyFolder,
    database: Database = None,
    host: Annotated[str, typer.Option(help="0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Server processes.", min=1, max=64)] = 1,
    behind_proxy: Annotated[  # noqa: FBT002
        bool, typer.Option("--behind-proxy", help="A proxy before it speaks HTTPS: believe X-Forwarded-Proto.")
    ] = False,
    new_password: Annotated[  # noqa: FBT002
        bool, typer.Option("--new-password", help="Print a new password for the researcher's page.")
    ] = False,
    new_launch: Annotated[  # noqa: FBT002
        bool, typer.Option("--new-launch", help="The materials changed on purpose: begin again with the new ones.")
    ] = False,
) -> None:
    """Put the study on the web, and keep every answer.

    Prints the participants' link, the researcher's page, and once the
    researcher's password. Ctrl-C stops it; started again, everybody
    goes on where they were.
    """
    with err.status("Reading the study"):
        from bayesteach.study.database import default_url  # noqa: PLC0415 — torch takes a second
        from bayesteach.study.server import listen, password, prepare, scripts_are_there  # noqa: PLC0415
        from bayesteach.study.server import serve as run  # noqa: PLC0415

        scripts_are_there()
        ready = prepare(study, database or default_url(study), anew=new_launch)
    at = listen(host, port)
    shown_once = password(ready.serving, anew=new_password)
    everywhere = {"127.0.0.1", "0.0.0.0", "::"}  # noqa: S104 — what they are called, not where we listen
    base = f"http://{'localhost' if host in everywhere else host}:{at.getsockname()[1]}"

    def tell() -> None:
        for file in ready.written[:1]:
            out.print(f"Texts         {escape(str(file.parent))}: edit them before the study begins", soft_wrap=True)
        out.print(f"Participants  {base}/  (try it: {base}/?mode=test)", soft_wrap=True)
        out.print(f"Researcher    {base}/researcher", soft_wrap=True)
        if shown_once is not None:
            secret = f"password [bold]{escape(shown_once)}[/]"
            out.print(f"              name researcher, {secret} (shown this once: write it down)", soft_wrap=True)
        out.print(f"Answers       {escape(ready.serving.database.place)}", soft_wrap=True)
        out.print("[dim]Ctrl-C stops the server; nothing is lost.[/]")

    run(ready, at, tell, workers, behind_proxy=behind_proxy)
    out.print("Stopped.")
