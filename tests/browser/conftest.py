"""A served study, a browser, and people before it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.person import Person, Server
from tests.study.server import server as server_process

People = Callable[..., Person]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = chromium()
    # Not pytest-playwright's: its event loop runs until the session ends, in the way of every later test that needs one.
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=ARGUMENTS)


@contextmanager
def serving(study: Path) -> Iterator[Server]:
    """The command itself, on a port that is free."""
    with server_process(study, f"sqlite:///{study / 'study.db'}", 0) as process:
        yield Server(process.base, study, process.said)


@pytest.fixture(scope="package")
def server(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    study = tmp_path_factory.mktemp("served") / "study"
    shutil.copytree(finished, study)
    settings = study / "study.toml"
    told = settings.read_text().replace("# break_every = 25", "break_every = 5")
    settings.write_text(told.replace("# trials_per_person =", "trials_per_person = 7"))
    with serving(study) as served:
        yield served


@pytest.fixture
def people(browser: Browser, server: Server) -> Iterator[People]:
    """Somebody new each time, with a browser profile of their own; whatever a page complains of fails the test."""
    made: list[Person] = []

    def person(at: Server = server, **options: Any) -> Person:
        options = {"viewport": {"width": 1280, "height": 720}, **options}
        made.append(Person(browser.new_context(**options), at))
        return made[-1]

    yield person
    for someone in made:
        someone.context.close()
    assert [trouble for someone in made for trouble in someone.troubles] == []


@pytest.fixture
def person(people: People) -> Person:
    return people()
