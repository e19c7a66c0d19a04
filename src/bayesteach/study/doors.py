"""How simulated people meet the study: by its pages, as a browser does, or by the database alone."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import httpx

from bayesteach.artifacts import Hidden
from bayesteach.errors import BadStudy
from bayesteach.study import sessions, steps
from bayesteach.study.answering import Answer, Taken, take
from bayesteach.study.serving import SESSION, SIMULATED, Serving
from bayesteach.study.sessions import Session
from bayesteach.study.visits import Visit


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
                steps.advance(connection, self.here.rules, session, fields, self.here.clock())

    def _load(self) -> Session:
        with self.here.database.read() as connection:
            session = sessions.load(connection, self.code)
        if session is None:
            raise BadStudy(f"simulate: there is no session {self.code} any more.")
        return session


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
