"""A study with stimuli, served from either database."""

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from starlette.testclient import TestClient

from bayesteach.study.app import make_app
from bayesteach.study.server import prepare
from bayesteach.study.serving import Serving
from tests.study import small
from tests.study.people import Browser
from tests.study.postgres import postgres
from tests.study.times import Clock

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    try:
        with postgres() as base:
            yield base
    except (OSError, StopIteration, ImportError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no PostgreSQL can be started here: {error}")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    base, name = request.getfixturevalue("cluster"), f"study_{next(NUMBERS)}"
    engine = create_engine(
        f"{base}/postgres".replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"{base}/{name}"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small study's folder of the test's own."""
    return small.write(tmp_path / "study")


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """Makes what a server serves, with a clock that stands; closes it afterwards."""
    opened = []

    def make(folder: Path, url: str, **more: object) -> Serving:
        serving = replace(prepare(folder, url, **more).serving, clock=Clock())
        opened.append(serving)
        return serving

    yield make
    for serving in opened:
        serving.database.close()


@pytest.fixture
def here(folder: Path, url: str, serve: Callable[..., Serving]) -> Serving:
    return serve(folder, url)


@pytest.fixture
def local(folder: Path, sqlite: str, serve: Callable[..., Serving]) -> Serving:
    """On SQLite alone: what does not depend on the database."""
    return serve(folder, sqlite)


@pytest.fixture
def browse(here: Serving) -> Iterator[Callable[[], Browser]]:
    yield from browsers(here)


@pytest.fixture
def visit(local: Serving) -> Iterator[Callable[[], Browser]]:
    yield from browsers(local)


def browsers(serving: Serving) -> Iterator[Callable[[], Browser]]:
    opened = []
    app = make_app(serving)

    def browser() -> Browser:
        client = TestClient(app, follow_redirects=False, raise_server_exceptions=False)
        opened.append(client)
        return Browser(client, serving)

    yield browser
    for client in opened:
        client.close()
