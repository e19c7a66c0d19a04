"""What breaks in the middle: nothing half is kept, and the person goes on."""

import sqlite3
import threading
import time

import pytest
from sqlalchemy import func, select, text

from bayesteach.study import answering
from bayesteach.study.export import export
from bayesteach.study.simulate import Behaviour, finishers, through_database
from bayesteach.study.tables import answers
from tests.study.conftest import browsers
from tests.study.people import body


def stored(here):
    with here.database.read() as connection:
        return connection.scalar(select(func.count()).select_from(answers).where(answers.c.phase == "trials"))


def test_a_fault_within_a_transaction_leaves_nothing_of_it(here, browse, monkeypatch):
    browser = browse().agree().to("trials")
    csrf, answer = browser.session()["csrf"], body(0)

    def broken(*_):
        raise RuntimeError("the machine has a fault")

    with monkeypatch.context() as patch:
        patch.setattr(answering, "touch", broken)
        failed = browser.send(answer, csrf)
        assert (failed.status_code, failed.json()) == (500, {"error": "server"})
    assert stored(here) == 0
    assert browser.send(answer, csrf).json() == {"next": 1}
    assert stored(here) == 1


def test_a_page_that_fails_says_so_without_a_traceback(here, browse, monkeypatch):
    browser = browse().agree()
    with monkeypatch.context() as patch:
        patch.setattr("bayesteach.study.sessions.load", lambda *_, **__: 1 / 0)
        failed = browser.get("/go")
        assert failed.status_code == 500
        assert "Nothing that you have sent is lost" in failed.text
        assert "ZeroDivision" not in failed.text
        assert failed.headers["x-content-type-options"] == "nosniff"
    assert browser.get("/go").status_code == 200


def test_a_database_that_somebody_else_writes_is_waited_for(local, visit):
    browser = visit().agree().to("trials")
    csrf = browser.session()["csrf"]
    other = sqlite3.connect(local.database.engine.url.database, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    def let_go():
        time.sleep(0.3)
        other.execute("ROLLBACK")
        other.close()

    waiting = threading.Thread(target=let_go)
    waiting.start()
    assert browser.send(body(0), csrf).json() == {"next": 1}
    waiting.join()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_connections_that_the_database_has_cut_are_made_anew(here, browse):
    browser = browse().agree().to("trials")
    csrf = browser.session()["csrf"]
    for index in range(3):
        with here.database.engine.connect() as connection:
            others = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            connection.execute(text("SELECT pg_terminate_backend(pid) FROM " + others))  # noqa: S608 — nobody else has a word in it
        assert browser.send(body(index), csrf).json() == {"next": index + 1}


def test_two_windows_that_answer_at_the_same_moment(here, browse):
    """One of them is first; the other is told where the person is."""
    browser = browse().agree().to("trials")
    csrf = browser.session()["csrf"]
    for index in range(5):
        got = []
        threads = [
            threading.Thread(target=lambda choice=choice: got.append(browser.send(body(index, choice), csrf)))  # noqa: B023
            for choice in (0, 1)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answer.status_code for answer in got) == [200, 409]
        assert {answer.json()["next"] for answer in got} == {index + 1}
    assert stored(here) == 5


def test_a_study_as_the_pipeline_makes_it(finished, sqlite, serve, tmp_path):
    """From the stage compose to a data set, with nothing of the tests' own in between."""
    here = serve(finished, sqlite)
    through_database(here, Behaviour(lambda *_: True, lambda _: 0.0), 4, seconds_apart=0)
    assert finishers(here) == dict.fromkeys(here.materials.arms, 1)
    assert export(here.database, "T", tmp_path / "set", mode="simulated").people == 4
    for browser in browsers(here):
        person = browser().agree("/?mode=test").to("trials")
        for trial in person.session()["trials"]:
            assert person.client.get(trial["probe"]).headers["content-type"] == "image/png"
        assert person.client.get("/pictures/legend.png").status_code == 200
