"""The server as a user starts it: a process, which can be killed."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROGRAM = (sys.executable, "-m", "bayesteach")


class Server:
    """`bayesteach serve` on a port of its own; what it prints is kept."""

    def __init__(self, folder: Path, url: str, port: int, *options: str, program: Sequence[str] = PROGRAM) -> None:
        command = [*program, "serve", str(folder), "--database", url, "--port", str(port), *options]
        # A group of its own: kill -9 takes all its processes, as a machine that loses power does.
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "COLUMNS": "300", "PYTHONUNBUFFERED": "1"},
        )
        self.said = ""
        self.base = ""
        for line in self.process.stdout:
            self.said += line
            if found := re.search(r"Participants +(http://\S+?)/ ", line):
                self.base = found[1].replace("localhost", "127.0.0.1")
            if "Ctrl-C" in line:
                break
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()

    def _drain(self) -> None:
        with self.process.stdout as lines:
            for line in lines:
                self.said += line

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()

    def interrupt(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(30)
        self.reader.join()
        return code


@contextmanager
def server(folder: Path, url: str, port: int, *options: str, program: Sequence[str] = PROGRAM) -> Iterator[Server]:
    started = Server(folder, url, port, *options, program=program)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.kill()
