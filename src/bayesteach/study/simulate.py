"""Simulated people who take the study, marked as such for ever: through HTTP as a browser would, or by the database alone."""

import heapq
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Protocol, runtime_checkable

import httpx
import uvicorn
from sqlalchemy import func, select

from bayesteach.artifacts import Hidden
from bayesteach.errors import BadStudy
from bayesteach.study import sessions
from bayesteach.study.answering import Answer, Taken, take
from bayesteach.study.app import make_app
from bayesteach.study.serving import SESSION, SIMULATED, Serving
from bayesteach.study.sessions import PHASES, Session
from bayesteach.study.tables import participants
from bayesteach.study.visits import Visit

# Seconds over a page of text, and the middle of the time for an answer.
_READS, _ANSWERS = 20.0, 4.0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What people do: whether one foresees the AI at a trial in an arm, and how likely one leaves before the end."""

    foresees: Callable[[int, Hidden, str], bool]
    leaves: Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Question:
    """A trial as the simulation knows it: what a browser gets, and what stands behind it."""

    options: tuple[str, str]
    hidden: Hidden


@runtime_checkable
class Door(Protocol):
    """How a person meets the study."""

    def arrive(self) -> bool:
        """Agree to take part; whether one is let in."""

    def step(self) -> str:
        """Where one is; `done` at the end."""

    def arm(self) -> str:
        """The arm, which no browser is told."""

    def questions(self) -> Sequence[Question]:
        """All trials of this phase."""

    def answer(self, index: int, choice: int, rt: float) -> None:
        """One answer, acknowledged."""

    def move(self, fields: dict[str, str]) -> None:
        """Send the form of the page."""


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


@dataclass(slots=True, eq=False)
class HttpDoor:
    """By the pages and the JSON that a browser gets, and nothing else; only the arm is looked up."""

    client: httpx.Client
    here: Serving
    csrf: str = ""
    at: str = ""

    def arrive(self) -> bool:
        """Landing, consent, and the first page."""
        token = self.here.launch.keys.sign(SIMULATED, 1)
        self._read(self.client.get("/", params={SIMULATED: token}))
        self._read(self.client.get("/consent"))
        answer = self.client.post("/consent", data={"csrf": self.csrf, "agree": "yes"})
        return answer.headers.get("location") == "/go"

    def step(self) -> str:
        """As the page says."""
        self._read(self.client.get("/go"))
        return self.at

    def arm(self) -> str:
        """From the database."""
        code = self.here.launch.keys.read(SESSION, self.client.cookies[SESSION])
        with self.here.database.read() as connection:
            session = sessions.load(connection, code)
        return (session.arm if session is not None else None) or ""

    def questions(self) -> Sequence[Question]:
        """By the picture of the probe, which belongs to one trial."""
        whole = self.client.get("/api/session").raise_for_status().json()
        self.csrf = whole["csrf"]
        by_probe = {f"/pictures/{shown.probe}.png": shown.trial for shown in self.here.materials.stimuli.shown}
        hidden = self.here.materials.hidden
        return [
            Question((trial["options"][0], trial["options"][1]), hidden[by_probe[trial["probe"]]])
            for trial in whole["trials"]
        ]

    def answer(self, index: int, choice: int, rt: float) -> None:
        """As the runner posts it."""
        body = _answer(self.at, index, choice, rt).model_dump(mode="json")
        self.client.post("/api/answers", json=body, headers={"X-CSRF": self.csrf}).raise_for_status()

    def move(self, fields: dict[str, str]) -> None:
        """As a form."""
        answer = self.client.post(f"/go/{self.at}", data={"csrf": self.csrf, **fields})
        if answer.status_code != httpx.codes.SEE_OTHER:
            answer.raise_for_status()

    def _read(self, page: httpx.Response) -> None:
        step = re.search(r'<body[^>]* data-step="([a-z_]+)"', page.raise_for_status().text)
        csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
        self.at = step[1] if step else ""
        self.csrf = csrf[1] if csrf else self.csrf


@dataclass(slots=True, eq=False)
class DatabaseDoor:
    """The same state machine without a server: for many people in little time, in a time of their own."""

    here: Serving
    code: str = ""

    def arrive(self) -> bool:
        """A session."""
        visit = Visit("", "simulated", "direct", None, {})
        with self.here.database.write() as connection:
            session = sessions.begin(connection, self.here.rules, visit, None, self.here.clock())
        self.code = session.code if session is not None else ""
        return session is not None

    def step(self) -> str:
        """As stored."""
        return self._load().step

    def arm(self) -> str:
        """As stored."""
        return self._load().arm or ""

    def questions(self) -> Sequence[Question]:
        """As stored."""
        with self.here.database.read() as connection:
            asked = sessions.questions(connection, self._load())
        return [Question((row.left, row.right), self.here.materials.hidden[row.trial]) for row in asked]

    def answer(self, index: int, choice: int, rt: float) -> None:
        """One transaction, as the API's."""
        with self.here.database.write() as connection:
            session = sessions.load(connection, self.code, to_change=True)
            if session is None:
                return
            taken = take(
                connection, self.here.rules, session, _answer(session.step, index, choice, rt), self.here.clock()
            )
        if not isinstance(taken, Taken):
            raise BadStudy(f"simulate: the answer {index} of {self.code} was refused.")

    def move(self, fields: dict[str, str]) -> None:
        """One transaction, as the page's."""
        with self.here.database.write() as connection:
            session = sessions.load(connection, self.code, to_change=True)
            if session is not None:
                sessions.advance(connection, self.here.rules, session, fields, self.here.clock())

    def _load(self) -> Session:
        with self.here.database.read() as connection:
            session = sessions.load(connection, self.code)
        if session is None:
            raise BadStudy(f"simulate: there is no session {self.code} any more.")
        return session


@dataclass(slots=True)
class _Clock:
    """A time that stands where it is set."""

    moment: datetime

    def __call__(self) -> datetime:
        return self.moment


def _answer(step: str, index: int, choice: int, rt: float) -> Answer:
    return Answer(
        phase="practice" if step == "practice" else "trials",
        index=index,
        attempt=uuid.uuid4(),
        choice=1 if choice else 0,
        rt=rt,
        by="key",
        resumed=False,
        viewport=(1280, 800),
        pixel_ratio=1.0,
        load_ms=0.0,
        hidden_ms=0.0,
    )


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
