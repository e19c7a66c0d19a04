"""The program itself: its version, its help, and what it loads for them."""

import subprocess
import sys
from importlib.metadata import version

import bayesteach

# What takes seconds to load, or gigabytes.
HEAVY = {"torch", "timm", "pandas", "scipy", "matplotlib", "fastapi", "sqlalchemy"}


def loaded_by(*words: str) -> tuple[str, set[str]]:
    """What a command says, and the packages that Python loads for it."""
    done = subprocess.run([sys.executable, "-X", "importtime", *words], capture_output=True, text=True, check=True)
    names = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "bayesteach" in names
    return done.stdout, names


def test_the_version_is_said_without_loading_torch():
    said, loaded = loaded_by("-m", "bayesteach", "--version")
    assert said == f"bayesteach {version('bayesteach')}\n"
    assert not loaded & HEAVY


def test_help_loads_nothing_heavy():
    code = """
from typer.main import get_command
from typer.testing import CliRunner
from bayesteach.cli import app
for name in ("", *get_command(app).commands):
    done = CliRunner().invoke(app, [*name.split(), "--help"], prog_name="bayesteach")
    assert done.exit_code == 0 and f"Usage: bayesteach {name}".strip() in done.output, done.output
print("shown")
"""
    said, loaded = loaded_by("-c", code)
    assert said == "shown\n"
    assert not loaded & HEAVY


def test_a_studys_server_needs_no_torch():
    _, loaded = loaded_by("-c", "import bayesteach.study.server, bayesteach.study.export, bayesteach.study.backup")
    assert "sqlalchemy" in loaded
    assert not loaded & {"torch", "timm", "pandas", "scipy", "matplotlib"}


def test_every_public_name_is_there():
    for name in bayesteach.__all__:
        assert getattr(bayesteach, name).__doc__ or name == "PAPER_EFFECTS"


def test_explain_is_the_function_also_after_the_package_of_that_name_was_imported():
    code = "import bayesteach.explain.explanation; from bayesteach import explain; print(explain.__module__, callable(explain))"
    said, _ = loaded_by("-c", code)
    assert said == "bayesteach.explain.explanation True\n"
