"""A study's server: one process, or several that share nothing but the database."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from bayesteach.errors import BadStudy
from bayesteach.settings import read_settings
from bayesteach.study.app import STATIC, make_app
from bayesteach.study.database import connect
from bayesteach.study.launch import existing, launch
from bayesteach.study.materials import read_materials
from bayesteach.study.researchers import FIRST, first_password, new_password
from bayesteach.study.serving import Serving
from bayesteach.study.texts import write_texts

# Where further processes, which start from nothing, find what they serve.
_STUDY, _URL = "BAYESTEACH_SERVE_STUDY", "BAYESTEACH_SERVE_DATABASE"


@dataclass(frozen=True, slots=True)
class Ready:
    """A study that can be served: its materials are whole, its database is up to date, and missing texts are written."""

    study: Path
    url: str
    serving: Serving
    written: tuple[Path, ...]


def prepare(study: Path, url: str, *, anew: bool = False) -> Ready:
    """Write missing texts, read the materials, bring the database up to date, and lock."""
    written = write_texts(study, read_settings(study).study.arms)
    materials = read_materials(study)
    database = connect(url)
    try:
        begun = launch(database, materials, anew=anew)
    except BadStudy:
        database.close()
        raise
    return Ready(study, url, Serving(database, materials, begun), tuple(written))


def password(serving: Serving, *, anew: bool = False) -> str | None:
    """The researcher's password, if there was none, or if another is wanted: it can be shown this once only."""
    with serving.database.write() as connection:
        return new_password(connection, FIRST) if anew else first_password(connection)


def application() -> FastAPI:
    """The app of a further process."""
    study, url = Path(os.environ[_STUDY]), os.environ[_URL]
    materials = read_materials(study)
    database = connect(url)
    return make_app(Serving(database, materials, existing(database, materials)))


def listen(host: str, port: int) -> socket.socket:
    """The address, taken; one that is not to be had is refused."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        taken.listen(2048)  # whoever comes before the server is ready waits for it
    except OSError as error:
        taken.close()
        raise BadStudy(
            f"serve: {host}:{port} cannot be used ({error.strerror}). Another server may be running: stop it, or say --port."
        ) from None
    return taken


def scripts_are_there(static: Path = STATIC) -> None:
    """Whether the files for browsers are there, which the installation of the package builds."""
    if not (static / "study.js").is_file():
        raise BadStudy(
            f"serve: {static} lacks study.js, so no browser could show a trial. "
            "Install the package again: pip install --editable . in its sources builds it."
        )


def serve(
    ready: Ready, at: socket.socket, tell: Callable[[], None], workers: int = 1, *, behind_proxy: bool = False
) -> None:
    """Serve until stopped, and `tell` once Ctrl-C is listened to. No log of who asked for what: no addresses are kept."""
    options = {
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        # Only the scheme matters to us; the address of the person is never read.
        "proxy_headers": behind_proxy,
        "forwarded_allow_ips": "*" if behind_proxy else None,
        "timeout_graceful_shutdown": 10,
        "timeout_keep_alive": 75,  # seconds; people answer every few, and a connection that is new each time costs them time
        "lifespan": "off",
    }
    with suppress(KeyboardInterrupt):  # how it is stopped
        if workers == 1:
            _Telling(uvicorn.Config(make_app(ready.serving), **options), tell).run([at])  # type: ignore[arg-type]
        else:
            ready.serving.database.close()
            os.environ[_STUDY], os.environ[_URL] = str(ready.study), ready.url
            here = f"{__name__}:{application.__name__}"
            several = Multiprocess(uvicorn.Config(here, factory=True, workers=workers, **options), [at])  # type: ignore[arg-type]
            tell()
            several.run()


class _Telling(uvicorn.Server):
    """A server that tells when it has begun."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], None]) -> None:
        super().__init__(config)
        self.tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.tell()
