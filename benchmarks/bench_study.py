"""200 people at once on one server, at the pace of people and as fast as it goes, on SQLite and on PostgreSQL.

Client and server share this machine. At the pace of people: an answer every 6 s from each. Every answer is looked for afterwards.
With --crowd, 2,000 people as fast as it goes on two processes and PostgreSQL, and nothing else.
"""

import argparse
import asyncio
import random
import resource
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import create_engine, func, select, text

from bayesteach.study.server import prepare
from bayesteach.study.serving import SIMULATED, Serving
from bayesteach.study.tables import answers, participants
from report import write

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.study import small
from tests.study.people import body
from tests.study.postgres import free_port, postgres
from tests.study.server import server

PEOPLE, EACH, APART = 200, 12, 6.0
CROWD = 2000
# The need: 160 people with an answer in 6 s each.
NEED = 160 / APART


async def begin(client: httpx.AsyncClient, here: Serving) -> str:
    """One person up to the trials; the token for answers."""
    import re  # noqa: PLC0415

    def token(page: httpx.Response) -> dict[str, str]:
        return {"csrf": re.search(r'name="csrf" value="(\w+)"', page.text)[1]}  # type: ignore[index]

    await client.get("/", params={SIMULATED: here.launch.keys.sign(SIMULATED, 1)})
    form = token(await client.get("/consent"))
    await client.post("/consent", data={**form, "agree": "yes"})
    questions = {q.name: str(q.answer) for q in here.materials.texts.comprehension}
    form = token(await client.get("/go"))
    await client.post("/go/instructions", data=form)
    whole = (await client.get("/api/session")).json()
    await client.post("/api/answers", json=body(0, phase="practice"), headers={"X-CSRF": whole["csrf"]})
    for step in ("practice", "comprehension", "arm"):
        await client.post(f"/go/{step}", data={**form, **questions})
    return str((await client.get("/api/session")).json()["csrf"])


async def answer_all(client: httpx.AsyncClient, csrf: str, apart: float, times: list[float]) -> None:
    """All answers of one person; how long each took to be acknowledged."""
    await asyncio.sleep(random.random() * apart)
    for index in range(EACH):
        start = time.perf_counter()
        got = await client.post("/api/answers", json=body(index, index % 2), headers={"X-CSRF": csrf})
        times.append(time.perf_counter() - start)
        assert got.json() == {"next": index + 1}, got.text  # noqa: S101 — a benchmark of wrong answers is worth nothing
        await asyncio.sleep(max(0.0, apart * random.uniform(0.5, 1.5) - times[-1]) if apart else 0)


async def crowd(base: str, here: Serving, apart: float, people: int) -> tuple[list[float], float]:
    times: list[float] = []
    limits = httpx.Limits(max_connections=2)
    clients = [httpx.AsyncClient(base_url=base, timeout=300, limits=limits) for _ in range(people)]
    gate = asyncio.Semaphore(8)

    async def through_the_gate(client: httpx.AsyncClient) -> str:
        async with gate:
            return await begin(client, here)

    tokens = await asyncio.gather(*(through_the_gate(client) for client in clients))
    start = time.perf_counter()
    await asyncio.gather(*(answer_all(c, t, apart, times) for c, t in zip(clients, tokens, strict=True)))
    took = time.perf_counter() - start
    await asyncio.gather(*(client.aclose() for client in clients))
    return times, took


def measured(url: str, folder: Path, apart: float, workers: int, people: int = PEOPLE) -> dict[str, float]:
    here = prepare(folder, url).serving
    with server(folder, url, free_port(), "--workers", str(workers)) as running:
        times, took = asyncio.run(crowd(running.base, here, apart, people))
    with here.database.read() as connection:
        rows = connection.scalar(select(func.count()).select_from(answers).where(answers.c.phase == "trials")) or 0
        came = select(participants.c.id).where(participants.c.mode == "simulated")
        distinct = connection.scalar(
            select(func.count(answers.c.attempt.distinct())).where(answers.c.phase == "trials")
        )
        assert len(connection.scalars(came).all()) == people  # noqa: S101
    here.database.close()
    p50, p95, p99 = (1000 * float(x) for x in np.quantile(times, [0.5, 0.95, 0.99]))
    return {
        "answers a second": len(times) / took,
        "times the need of 160 people": len(times) / took / NEED,
        "p50 ms": p50,
        "p95 ms": p95,
        "p99 ms": p99,
        "rows lost": len(times) - (distinct or 0),
        "rows doubled": rows - (distinct or 0),
    }


@contextmanager
def databases(scratch: Path) -> Iterator[dict[str, str]]:
    """The address of an empty database of each kind, by a name that is made."""
    with postgres() as base:
        engine = create_engine(
            f"{base}/postgres".replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
        )

        class Fresh(dict[str, str]):
            def __missing__(self, key: str) -> str:
                name = f"study_{uuid.uuid4().hex[:8]}"
                if key.startswith("SQLite"):
                    return f"sqlite:///{scratch / name}.db"
                with engine.connect() as connection:
                    connection.execute(text(f"CREATE DATABASE {name}"))
                return f"{base}/{name}"

        yield Fresh()
        engine.dispose()


def crowded() -> None:
    """2,000 people, each with a connection that stays open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16384), most))
    with tempfile.TemporaryDirectory() as scratch, databases(Path(scratch)) as urls:
        folder = small.write(Path(scratch) / "study")
        start = time.perf_counter()
        found = measured(urls["PostgreSQL"], folder, 0.0, 2, CROWD)
        minutes = (time.perf_counter() - start) / 60
    write("crowd", {"people at once": CROWD, "answers each": EACH, "minutes in all": minutes, **found})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="a part of a case's name")
    parser.add_argument("--crowd", action="store_true", help="2,000 people at once, and nothing else")
    told = parser.parse_args()
    only = told.only
    if told.crowd:
        crowded()
        return
    results: dict[str, object] = {"people at once": PEOPLE, "answers each": EACH}
    with tempfile.TemporaryDirectory() as scratch, databases(Path(scratch)) as urls:
        folder = small.write(Path(scratch) / "study")
        for database in ("SQLite", "PostgreSQL"):
            for pace, apart, workers in (
                ("every 6 s", APART, 1),
                ("full speed", 0.0, 1),
                ("full speed, 2 processes", 0.0, 2),
            ):
                case = f"{database}, {pace}"
                if only in case:
                    for name, value in measured(urls[case], folder, apart, workers).items():
                        results[f"{case}: {name}"] = value
                        print(f"{case}: {name}", value, flush=True)
    write("study", results)


if __name__ == "__main__":
    main()
