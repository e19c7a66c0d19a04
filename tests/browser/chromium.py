"""Where a Chromium is: the machine's own, else one that apt or Playwright installs."""

import os
import shutil
import subprocess
import sys

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# As root, as in a container, Chromium's sandbox cannot be set up; a graphics card made of software takes a core of its own.
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]


def chromium() -> str | None:
    """The path of a Chromium, or None for Playwright's own; in CI a machine without one fails."""
    if found := _found():
        return found
    said = []
    if apt := _apt():
        install = subprocess.run([*apt, "install", "-y", "-q", "chromium"], capture_output=True, text=True, check=False)
        if found := _found():
            return found
        said.append(install.stderr.strip()[-500:])
    own = subprocess.run(
        [sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"],
        capture_output=True,
        text=True,
        check=False,
    )
    if own.returncode == 0:
        return None
    said.append(own.stderr.strip()[-500:])
    message = "\n".join(["There is no Chromium, and neither apt nor Playwright could install one.", *said])
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def _found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _apt() -> list[str] | None:
    """How this user may run apt-get without being asked for a password."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return ["apt-get"]
    allowed = shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n", "apt-get"] if allowed and allowed.returncode == 0 else None
