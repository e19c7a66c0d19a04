"""Whatever a person, a network and a researcher do, in any order: what was acknowledged is there, once, and unchanged."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import delete, select
from starlette.testclient import TestClient

from bayesteach.study.app import make_app
from bayesteach.study.server import prepare
from bayesteach.study.sessions import PHASES, STEPS
from bayesteach.study.tables import answers, asked, participants
from tests.study import small
from tests.study.people import Browser, body
from tests.study.times import Clock

_BASE = tempfile.TemporaryDirectory()
_FOLDER = small.write(Path(_BASE.name) / "s", trials_per_person=3)
_SERVING = replace(prepare(_FOLDER, f"sqlite:///{_BASE.name}/study.db").serving, clock=Clock())


class Life(RuleBasedStateMachine):
    """One person with two windows open, a server that is started anew, and the model of what must be stored."""

    def __init__(self):
        super().__init__()
        with _SERVING.database.write() as connection:
            connection.execute(delete(participants))
        self.known = {}
        self.sent = []
        self.ended = False
        self.cookies = None
        self.start()
        self.windows[0].agree("/?PROLIFIC_PID=life")
        self.cookies = dict(self.windows[0].client.cookies)
        self.start()

    def start(self):
        """A new process: nothing of the old one is left but the database and the browser's cookies."""
        app = make_app(replace(_SERVING))
        self.windows = [
            Browser(TestClient(app, follow_redirects=False, cookies=self.cookies), _SERVING) for _ in range(2)
        ]

    @property
    def person(self):
        with _SERVING.database.read() as connection:
            return connection.execute(select(participants)).one()

    @rule(window=st.integers(0, 1), choice=st.integers(0, 1), ahead=st.integers(-1, 1))
    def answer(self, window, choice, ahead):
        """The next trial, one before it, or one after it."""
        whole = self.windows[window].session()
        if "next" not in whole:
            return
        index = whole["next"] + ahead
        if index < 0:
            return
        sent = body(index, choice, phase=whole["phase"])
        got = self.windows[window].send(sent, whole["csrf"])
        self.sent.append((whole["phase"], sent, whole["csrf"]))
        if ahead == 0 and index < whole["total"]:
            assert got.json() == {"next": index + 1}
            self.known[whole["phase"], index] = (sent["attempt"], choice)
        else:
            assert (got.status_code, got.json()) == (409, {"next": whole["next"]})

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), window=st.integers(0, 1))
    def send_again(self, data, window):
        """An outbox that does not know whether its answer arrived."""
        phase, sent, csrf = data.draw(st.sampled_from(self.sent))
        got = self.windows[window].send(sent, csrf)
        stored = self.known.get((phase, sent["index"]), (None,))[0] == sent["attempt"]
        if stored and not self.ended:
            assert got.status_code == 200
        elif not stored:
            # It was refused before; by now its turn may have come.
            if got.status_code == 200:
                self.known[self.person.step, sent["index"]] = (sent["attempt"], sent["choice"])
            else:
                assert got.status_code == 409

    @rule(window=st.integers(0, 1))
    def go_on(self, window):
        browser = self.windows[window]
        browser.get("/go")
        before = self.person.step
        if before == "comprehension":
            browser.understand()
        elif before != "done":
            browser.post(f"/go/{before}")
        after = self.person.step
        if before in PHASES and after != before:
            wanted = {"practice": 1, "trials": 3 + 2}[before]
            assert sum(phase == before for phase, _ in self.known) == wanted
        assert STEPS.index(after) - STEPS.index(before) in {0, 1}

    @rule(window=st.integers(0, 1), step=st.sampled_from(STEPS))
    def jump(self, window, step):
        """A form of another step: nothing happens."""
        before = self.person.step
        self.windows[window].get("/go")
        if step != before:
            self.windows[window].post(f"/go/{step}")
            assert self.person.step == before

    @rule()
    def kill_the_server(self):
        self.start()

    @rule(minutes=st.sampled_from([1, 45]))
    def wait(self, minutes):
        _SERVING.clock.wait(minutes=minutes)

    @rule()
    def reload_the_link(self):
        assert self.windows[0].get("/?PROLIFIC_PID=life").url.path == "/go"

    @precondition(lambda self: not self.ended)
    @rule(sure=st.integers(0, 9))
    def withdraw(self, sure):
        if sure:
            return
        self.windows[0].get("/withdraw")
        self.windows[0].post("/withdraw", sure="yes")
        self.known.clear()
        self.ended = True

    @invariant()
    def what_was_acknowledged_is_there(self):
        with _SERVING.database.read() as connection:
            rows = connection.execute(select(answers)).all()
            drawn = connection.execute(select(asked)).all()
        assert {(row.phase, row.index): (row.attempt, row.choice) for row in rows} == self.known
        assert {(row.phase, row.index) for row in rows} <= {(row.phase, row.index) for row in drawn}
        if self.person.ending is None:
            for phase in PHASES:
                indices = sorted(row.index for row in rows if row.phase == phase)
                assert indices == list(range(len(indices)))

    def teardown(self):
        for window in self.windows:
            window.client.close()
        _SERVING.clock.wait(hours=2)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=settings.default.max_examples, stateful_step_count=25, deadline=None)
