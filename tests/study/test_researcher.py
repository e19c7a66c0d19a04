"""The researcher's pages: who may see them, what they tell, and what they do."""

import io
import re
import zipfile

import pytest
from sqlalchemy import select

from bayesteach.study.server import password
from bayesteach.study.tables import audit, participants, recruits, researchers, slots
from tests.study.people import body


@pytest.fixture
def researcher(here, browse):
    """A browser that is logged in."""
    browser = browse()
    enter(browser, password(here))
    return browser


def enter(browser, secret):
    browser.get("/researcher")
    browser.post("/researcher/login", name="researcher", password=secret)
    return browser


def home(browser, mode="live"):
    browser.get(f"/researcher?mode={mode}")
    return browser.html


def row(html, arm):
    """The flow of an arm: allocated, finished, at it now, dropped out, withdrew."""
    cells = re.search(rf'<th scope="row">{arm}</th>(.*?)</tr>', html)[1]
    return [int(number) for number in re.findall(r"<td>(\d+)</td>", cells)]


def test_nobody_comes_in_without_the_password(here, browse):
    secret = password(here)
    assert password(here) is None
    stranger = browse()
    assert stranger.get("/researcher").url.path == "/researcher/login"
    for wrong in ("", "researcher", secret[:-1], secret.lower() + "x"):
        enter(stranger, wrong)
        assert "That was not right" in stranger.html
    assert stranger.client.post("/researcher/status", data={"status": "closed"}).status_code == 303
    assert "<h2>People</h2>" in home(enter(stranger, secret))
    with here.database.read() as connection:
        assert secret not in connection.scalar(select(researchers.c.password))


def test_after_five_wrong_passwords_the_right_one_waits(here, browse):
    secret = password(here)
    browser = browse()
    for _ in range(5):
        enter(browser, "wrong")
    assert "That was not right" in enter(browser, secret).html
    here.clock.wait(seconds=31)
    assert "<h2>People</h2>" in enter(browser, secret).html


def test_a_new_password_ends_what_was_open(here, researcher):
    assert "<h2>People</h2>" in home(researcher)
    secret = password(here, anew=True)
    assert "<h2>People</h2>" not in home(researcher)
    assert "<h2>People</h2>" in home(enter(researcher, secret))


def test_the_flow_counts_people_by_arm(here, browse, researcher):
    done = browse().agree().to("done")
    gone = browse().agree().to("trials")
    withdrawn = browse().agree().to("trials")
    withdrawn.get("/withdraw")
    withdrawn.post("/withdraw")
    browse().agree().to("comprehension").understand(right=False)
    here.clock.wait(minutes=31)
    active = browse().agree().to("trials")
    browse().agree("/?mode=test").to("trials")
    assert done.step == "done"
    assert {gone.step, active.step} == {"trials"}
    html = home(researcher)
    total = [sum(column) for column in zip(*(row(html, arm) for arm in here.materials.arms), strict=True)]
    assert total == [4, 1, 1, 1, 1]
    assert "<strong>5</strong> agreed · 0 did not" in html
    test = home(researcher, "test")
    assert sum(row(test, arm)[0] for arm in here.materials.arms) == 1


def test_accuracy_is_hidden_until_the_study_is_closed_or_it_is_asked_for(here, browse, researcher):
    browse().agree().to("done")
    assert '<th scope="col">accuracy</th>' not in home(researcher)
    researcher.post("/researcher/accuracy", show="yes")
    assert '<th scope="col">accuracy</th>' in home(researcher)
    researcher.post("/researcher/accuracy", show="no")
    assert '<th scope="col">accuracy</th>' not in home(researcher)
    researcher.post("/researcher/status", status="closed")
    assert re.search(r"<td>\d+ %</td>", home(researcher))
    with here.database.read() as connection:
        noted = [(row.who, row.what, row.detail) for row in connection.execute(select(audit).order_by(audit.c.id))]
    assert ("researcher", "accuracy", "shown") in noted
    assert ("researcher", "status", "closed") in noted


def test_odd_answers_are_flagged(here, browse, researcher):
    browser = browse().agree().to("trials")
    whole = browser.session()
    for index in range(whole["total"]):
        browser.send(body(index, 1, rt=120.0), whole["csrf"])
    html = home(researcher)
    assert f"{whole['total']} answers in less than 300 ms" in html


def test_pausing_and_closing_let_nobody_new_in(browse, researcher):
    inside = browse().agree("/?participant=1").to("trials")
    home(researcher)
    researcher.post("/researcher/status", status="paused")
    assert browse().get("/").status_code == 503
    waiting = browse()
    waiting.get("/consent")
    assert waiting.step == "paused"
    assert browse().agree("/?mode=test").step == "instructions"
    assert inside.to("demographics").step == "demographics"
    home(researcher)
    researcher.post("/researcher/status", status="closed")
    late = browse()
    late.get("/")
    assert late.step == "full"
    assert inside.to("done").step == "done"
    home(researcher)
    researcher.post("/researcher/status", status="open")
    assert browse().agree().step == "instructions"


def test_somebody_let_in_before_a_pause_comes_back_in_another_browser(browse, researcher):
    browse().agree("/?PROLIFIC_PID=a").to("trials")
    home(researcher)
    researcher.post("/researcher/status", status="paused")
    assert browse().agree("/?PROLIFIC_PID=a").step == "trials"
    assert browse().get("/?PROLIFIC_PID=b").status_code == 503


def test_a_preview_shows_any_arm_and_any_trial_and_counts_for_nothing(here, researcher):
    shown = here.materials.stimuli.shown
    for arm in here.materials.arms:
        for trial in (shown[0], shown[-1], next(row for row in shown if row.kind == "practice")):
            home(researcher)
            researcher.post("/researcher/preview", arm=arm, trial=trial.trial)
            assert researcher.step == "trials"
            first = researcher.session()["trials"][0]
            assert first["probe"] == f"/pictures/{trial.probe}.png"
            assert (first["overlay"] is not None) == (trial.panels[arm].overlay is not None)
            assert len(first["groups"]) == len(trial.panels[arm].groups)
    home(researcher)
    researcher.post("/researcher/preview", arm="both", trial="")
    assert researcher.step == "arm"
    assert researcher.to("done").step == "done"
    with here.database.read() as connection:
        assert set(connection.scalars(select(participants.c.mode))) == {"preview"}
        assert connection.execute(select(slots)).all() == []


def test_numbers_of_recruiters_are_purged_and_still_unique(here, browse, researcher):
    browse().agree("/?PROLIFIC_PID=abc").to("done")
    home(researcher)
    researcher.post("/researcher/purge")
    with here.database.read() as connection:
        assert connection.execute(select(recruits.c.parameters)).scalars().all() == [None]
    assert browse().agree("/?PROLIFIC_PID=abc").step == "done"


def test_the_data_set_can_be_downloaded(browse, researcher):
    home(researcher)
    csrf = researcher.csrf
    nobody = researcher.client.post("/researcher/export", data={"csrf": csrf, "mode": "live"})
    assert (nobody.status_code, "nobody has taken part yet" in nobody.text) == (409, True)
    browse().agree().to("done")
    packed = researcher.client.post("/researcher/export", data={"csrf": csrf, "mode": "live"}).content
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert "dataset_description.json" in names


def test_forms_without_the_token_do_nothing(here, researcher):
    for path in ("status", "accuracy", "purge", "preview", "export", "logout"):
        assert researcher.client.post(f"/researcher/{path}", data={"status": "closed", "csrf": "x"}).status_code == 403
    assert "is <strong>open</strong>" in home(researcher)


def test_the_pages_carry_no_inline_script_or_style(researcher):
    html = home(researcher)
    assert not re.search(r"<script|<style| style=| on[a-z]+=|javascript:", html)
