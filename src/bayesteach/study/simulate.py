"""Simulated people who take the study, marked as such for ever: through HTTP as a browser would, or by the database alone."""

import heapq
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

import httpx
import uvicorn
from sqlalchemy import func, select

from bayesteach.artifacts import Hidden
from bayesteach.errors import BadStudy
from bayesteach.study.app import make_app
from bayesteach.study.doors import DatabaseDoor, Door, HttpDoor
from bayesteach.study.serving import Serving
from bayesteach.study.sessions import PHASES
from bayesteach.study.tables import participants

# Seconds over a page of text, and the middle of the time for an answer.
_READS, _ANSWERS = 20.0, 4.0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What people do: whether one foresees the AI at a trial in an arm, and how likely one leaves before the end."""

    foresees: Callable[[int, Hidden, str], bool]
    leaves: Callable[[str], float]


def person(door: Door, here: Serving, behaviour: Behaviour, number: int, rng: Random) -> Iterator[float]:
    """One person's way, as the seconds that they take between what they do."""
    if not door.arrive():
        return
    while (step := door.step()) != "done":
        yield rng.uniform(0.5, 1.5) * _READS
        if step in PHASES:
            arm = door.arm() if step == "trials" else ""
            asked = door.questions()
            leaves = step == "trials" and rng.random() < behaviour.leaves(arm)
            last = rng.randrange(len(asked)) if leaves else len(asked)
            for index, question in enumerate(asked[:last]):
                seconds = rng.lognormvariate(0, 0.4) * _ANSWERS
                yield seconds
                right = behaviour.foresees(number, question.hidden, arm)
                choice = question.options.index(question.hidden.target if right else question.hidden.alternative)
                door.answer(index, choice, 1000 * seconds)
            if leaves:
                return
        door.move(_fields(here, step, rng))


def through_database(
    here: Serving, behaviour: Behaviour, people: int, *, seconds_apart: float = 60.0, seed: int = 0
) -> datetime:
    """So many people who come one after the other, in a time of their own that ends about now; returns its end."""
    rng = Random(seed)
    moment = here.clock() - timedelta(seconds=people * seconds_apart) - timedelta(hours=1)
    heap: list[tuple[datetime, int, Iterator[float]]] = []
    clock = _Clock(moment)
    timed = replace(here, clock=clock)
    for number in range(people):
        door = DatabaseDoor(timed)
        heap.append((moment, number, person(door, timed, behaviour, number, Random(rng.random()))))
        moment += timedelta(seconds=seconds_apart)
    heapq.heapify(heap)
    while heap:
        clock.moment, number, script = heapq.heappop(heap)
        waits = next(script, None)
        if waits is not None:
            heapq.heappush(heap, (clock.moment + timedelta(seconds=waits), number, script))
    return clock.moment


def through_http(
    here: Serving,
    behaviour: Behaviour,
    people: int,
    *,
    at_once: int = 8,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
) -> None:
    """So many people, some at once, through a server of their own on this machine."""
    rng = Random(seed)
    seeds = [rng.random() for _ in range(people)]
    with served(here) as base:

        def live(number: int) -> None:
            with httpx.Client(base_url=base, timeout=60) as client:
                for _ in person(HttpDoor(client, here), here, behaviour, number, Random(seeds[number])):
                    pass  # nobody waits
            done()

        crowd = ThreadPoolExecutor(at_once)
        try:
            list(crowd.map(live, range(people)))
        finally:
            # At Ctrl-C those who are at it finish, and nobody else begins.
            crowd.shutdown(cancel_futures=True)


def finishers(here: Serving) -> dict[str, int]:
    """How many simulated people have finished, by arm."""
    query = select(participants.c.arm, func.count()).where(
        participants.c.launch == here.launch.id,
        participants.c.mode == "simulated",
        participants.c.finished_at.is_not(None),
    )
    with here.database.read() as connection:
        found = {row[0]: row[1] for row in connection.execute(query.group_by(participants.c.arm))}
    return {arm: found.get(arm, 0) for arm in here.materials.arms}


@contextmanager
def served(here: Serving) -> Iterator[str]:
    """A server in this process, at an address that only this machine reaches."""
    server = uvicorn.Server(
        uvicorn.Config(make_app(here), port=0, log_level="warning", access_log=False, lifespan="off")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise BadStudy("simulate: the server did not start.")
        thread.join(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass(slots=True)
class _Clock:
    """A time that stands where it is set."""

    moment: datetime

    def __call__(self) -> datetime:
        return self.moment


def _fields(here: Serving, step: str, rng: Random) -> dict[str, str]:
    """What a person fills in: they have understood, and say something about themselves."""
    texts = here.materials.texts
    if step == "comprehension":
        return {question.name: str(question.answer) for question in texts.comprehension}
    if step == "demographics":
        found = {}
        for item in texts.demographics:
            if item.kind == "choice":
                found[item.name] = str(rng.randint(1, len(item.options)))
            elif item.kind == "number":
                found[item.name] = str(rng.randint(int(item.least or 18), min(int(item.most or 80), 80)))
        return found
    return {}
