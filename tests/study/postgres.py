"""A PostgreSQL of the tests' own: the machine's, run by a user who is not root; else PyPI's pgserver."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def programs() -> Path | None:
    """Where initdb and pg_ctl are."""
    found = [Path(path).parent for path in (shutil.which("pg_ctl"),) if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in found if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


@contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty cluster, up to the last slash; it is gone afterwards."""
    place = programs()
    if place is None:
        yield from _pgserver()
        return
    user = _somebody()
    folder = Path(tempfile.mkdtemp(prefix="bayesteach-pg-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        port, data = free_port(), folder / "data"
        run = {"user": user, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        subprocess.run([place / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8"], check=True, **run)
        options = f"-p {port} -h 127.0.0.1 -k {folder} -c max_connections=200"
        log = folder / "log"
        subprocess.run([place / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start"], check=True, **run)
        try:
            yield f"postgresql://tester@127.0.0.1:{port}"
        finally:
            subprocess.run([place / "pg_ctl", "-D", data, "-m", "immediate", "stop"], check=False, **run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _pgserver() -> Iterator[str]:
    import pgserver  # noqa: PLC0415 — only where the machine has none

    with tempfile.TemporaryDirectory() as folder, pgserver.get_server(folder) as server:
        yield server.get_uri().rsplit("/", 1)[0]


def _somebody() -> str | None:
    """PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)
