"""Bad input gets one error of the tree that says what was found, where, and what to do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bayesteach import errors
from tests.bad_input import CASES


@pytest.fixture(scope="session")
def outcomes() -> dict[str, tuple[list[str], str]]:
    """In a process without the tests' shape checks, which would speak first."""
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "tests.bad_input"], capture_output=True, text=True, check=True, cwd=root
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_with_its_reason(name, outcomes):
    _, error, words = CASES[name]
    classes, message = outcomes[name]
    assert classes[:1] == [error], message
    assert "BayesteachError" in classes
    assert "ValueError" in classes
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_tree_in_the_docstring_is_the_tree():
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type)]
    drawn = {line.split("── ")[-1].split()[0] for line in errors.__doc__.splitlines() if "── " in line}
    assert drawn | {"BayesteachError"} == {cls.__name__ for cls in classes}
    assert all(issubclass(cls, errors.BayesteachError) for cls in classes)
