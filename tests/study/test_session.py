"""A person's way through the study, page by page, on both databases."""

import re
import uuid

import pytest
from sqlalchemy import func, select

from bayesteach.study import sessions
from bayesteach.study.tables import answers, asked, audit, demographics, participants, recruits, slots
from tests.study import small
from tests.study.conftest import browsers
from tests.study.people import body

TABLES = (participants, recruits, slots, asked, answers, demographics)


def count(here, table, *where):
    with here.database.read() as connection:
        return connection.scalar(select(func.count()).select_from(table).where(*where))


def one(here, table):
    with here.database.read() as connection:
        return connection.execute(select(table)).one()


def test_a_whole_session(here, browse):
    browser = browse().agree("/?PROLIFIC_PID=abc&STUDY_ID=s&SESSION_ID=t")
    steps = ["instructions", "practice", "comprehension", "arm", "trials", "demographics", "debrief", "saving", "done"]
    assert browser.step == "instructions"
    for step in steps[1:]:
        browser.to(step)
    code = here.materials.texts.endings["complete"].code
    assert len(code) == 8
    assert code in browser.html
    person = one(here, participants)
    assert (person.ending, person.mode, person.platform) == ("complete", "live", "prolific")
    assert person.arm in here.materials.arms
    expected = len(here.materials.of_kind("trial")) + len(here.materials.of_kind("attention"))
    assert count(here, answers, answers.c.phase == "trials") == expected
    assert count(here, answers, answers.c.phase == "practice") == len(here.materials.of_kind("practice"))


def test_pages_before_consent_store_nothing(here, browse):
    before = [count(here, table) for table in TABLES]
    browser = browse()
    for page in ("/?PROLIFIC_PID=abc", "/device", "/consent"):
        assert browser.get(page).status_code == 200
    browser.post("/consent", agree="no")
    assert browser.step == "declined"
    assert here.materials.texts.endings["declined"].code in browser.html
    assert [count(here, table) for table in TABLES] == before == [0] * len(TABLES)


def test_reload_another_tab_and_another_browser_go_on_at_the_same_trial(here, browse):
    link = "/?PROLIFIC_PID=abc"
    browser = browse().agree(link).to("trials")
    whole = browser.session()
    for index in range(3):
        browser.send(body(index), whole["csrf"])
    again = browser.session()
    assert (again["next"], again["resumed"]) == (3, True)
    assert again["trials"] == whole["trials"]
    assert browser.get(link).url.path == "/go"
    other = browse().agree(link)
    assert other.step == "trials"
    assert other.session() == again
    assert count(here, participants) == 1


def test_an_answer_is_stored_once_and_never_changed(here, browse):
    browser = browse().agree().to("trials")
    csrf = browser.session()["csrf"]
    first = body(0, 1)
    assert browser.send(first, csrf).json() == {"next": 1}
    assert browser.send(first, csrf).json() == {"next": 1}
    other = browser.send(body(0, 0), csrf)
    assert (other.status_code, other.json()) == (409, {"next": 1})
    early = browser.send(body(2), csrf)
    assert (early.status_code, early.json()) == (409, {"next": 1})
    # The same attempt with another choice is still the answer that was given first.
    assert browser.send({**first, "choice": 0}, csrf).status_code == 200
    with here.database.read() as connection:
        rows = connection.execute(select(answers).where(answers.c.phase == "trials")).all()
    assert [(row.index, row.choice) for row in rows] == [(0, 1)]


def test_a_repeated_answer_is_acknowledged_also_after_its_phase(browse):
    browser = browse().agree().to("practice")
    whole = browser.session()
    sent = [body(index, phase="practice") for index in range(whole["total"])]
    for answer in sent:
        browser.send(answer, whole["csrf"])
    browser.get("/go")
    browser.post("/go/practice")
    late = browser.send(sent[-1], whole["csrf"])
    assert (late.status_code, late.json()) == (200, {"next": whole["total"]})
    unknown = browser.send(body(0, phase="practice"), whole["csrf"])
    assert (unknown.status_code, unknown.json()) == (409, {"step": "comprehension"})


def test_an_answer_of_another_phase_is_refused(here, browse):
    """A page of the practice that was left open cannot answer the first trial."""
    browser = browse().agree().to("trials")
    stale = browser.send(body(0, phase="practice"), browser.session()["csrf"])
    assert (stale.status_code, stale.json()) == (409, {"next": 0})
    assert count(here, answers, answers.c.phase == "trials") == 0


def test_nobody_leaves_a_phase_before_all_its_answers_have_arrived(browse):
    browser = browse().agree().to("trials")
    answer = browser.post("/go/trials")
    assert answer.status_code == 422
    assert browser.step == "trials"


def test_a_step_that_one_is_not_at_leads_to_where_one_is(browse):
    browser = browse().agree()
    for step in ("debrief", "trials", "nowhere", "done"):
        browser.post(f"/go/{step}")
        assert browser.step == "instructions"


def test_two_chances_to_understand(here, browse):
    browser = browse().agree().to("comprehension")
    browser.understand(right=False)
    assert browser.step == "comprehension"
    assert here.materials.texts.tree["messages"]["comprehension_again"] in browser.html
    assert "Which of the two the AI chose" in browser.html or "instructions" in browser.html
    browser.understand(right=False)
    assert here.materials.texts.endings["screened_out"].code in browser.html
    person = one(here, participants)
    assert (person.ending, person.arm, person.failed) == ("screened_out", None, 2)
    assert browser.session() == {"ending": "screened_out"}


def test_a_double_click_is_no_second_chance(here, browse):
    browser = browse().agree().to("comprehension")
    wrong = {q.name: str(q.answer % len(q.options) + 1) for q in here.materials.texts.comprehension}
    form = {"csrf": browser.csrf, "chance": "1", **wrong}
    for _ in range(3):
        browser.client.post("/go/comprehension", data=form)
    assert one(here, participants).failed == 1
    assert browser.get("/go").status_code == 200
    assert 'name="chance" value="2"' in browser.html
    assert browser.understand().status_code == 200
    assert browser.step == "arm"


def test_withdrawal_deletes_what_was_answered(here, browse):
    browser = browse().agree("/?PROLIFIC_PID=abc").to("debrief")
    browser.get("/withdraw")
    browser.post("/withdraw", sure="yes")
    assert browser.step == "withdrawn"
    assert here.materials.texts.endings["withdrawn"].code in browser.html
    for table in (answers, asked, demographics):
        assert count(here, table) == 0
    assert one(here, recruits).parameters is None
    assert count(here, slots, slots.c.participant.is_not(None)) == 0
    assert browser.send(body(0)).status_code in {403, 409}
    # The same link leads to the same end: nobody takes part twice.
    assert browse().agree("/?PROLIFIC_PID=abc").step == "withdrawn"


def test_demographics_may_be_left_out_and_must_make_sense(here, browse):
    browser = browse().agree().to("demographics")
    for wrong in ({"age": "seven"}, {"age": "7"}, {"gender": "9"}, {"gender": "x"}):
        assert browser.post("/go/demographics", **wrong).status_code == 422
    browser.post("/go/demographics", age="44", gender="2", comments="=1+1")
    assert browser.step == "debrief"
    with here.database.read() as connection:
        said = {row.question: row.answer for row in connection.execute(select(demographics))}
    assert (said["age"], said["gender"], said["education"], said["comments"]) == ("44", "Man", None, "=1+1")


def test_modes_never_mix(here, browse):
    browse().agree("/?mode=test").to("trials")
    browse().agree("/?mode=test&PROLIFIC_PID=abc").to("trials")
    browse().agree("/?PROLIFIC_PID=abc").to("trials")
    with here.database.read() as connection:
        modes = [row.mode for row in connection.execute(select(participants.c.mode).order_by(participants.c.id))]
        held = connection.execute(select(slots.c.mode).where(slots.c.participant.is_not(None))).scalars().all()
    assert modes == ["test", "test", "live"]
    assert sorted(held) == ["live", "test", "test"]


@pytest.mark.parametrize(
    ("link", "platform"),
    [
        ("/?PROLIFIC_PID=p1", "prolific"),
        ("/?survey_code=77", "sona"),
        ("/?workerId=w&assignmentId=a&hitId=h", "mturk"),
        ("/?participant=7", "lab"),
    ],
)
def test_recruiters_numbers_are_kept_apart(local, visit, link, platform):
    visit().agree(link)
    with local.database.read() as connection:
        person = connection.execute(select(participants)).one()
        row = connection.execute(select(recruits)).one()
    number = re.split("[=&]", link)[1]
    assert person.platform == platform
    assert number in row.parameters.values()
    assert re.fullmatch("[0-9a-f]{64}", row.digest)
    assert number not in {str(value) for value in person._mapping.values()}


def test_the_codes_of_recruiters_go_back_in_the_link(local, visit, folder, sqlite, serve):
    file = folder / "texts" / "endings.toml"
    text = file.read_text().replace('redirect = ""', 'redirect = "https://example.org/{code}?s={survey_code}"', 1)
    file.write_text(text)
    local = serve(folder, sqlite)
    for browser in browsers(local):
        person = browser().agree("/?survey_code=77").to("done")
        code = local.materials.texts.endings["complete"].code
        assert f'href="https://example.org/{code}?s=77"' in person.html


def test_the_next_person_in_a_laboratory_begins_anew(local, visit):
    browser = visit().agree("/?participant=7").to("trials")
    browser.agree("/?participant=8")
    assert browser.step == "instructions"
    browser.agree("/?participant=7")
    assert browser.step == "trials"


def test_a_full_study_has_room_again_when_somebody_is_gone(tmp_path, sqlite, serve):
    local = serve(small.write(tmp_path / "few", participants=1), sqlite)
    for browser in browsers(local):
        first = browser().agree("/?participant=1").to("trials")
        late = browser()
        late.get("/?participant=2")
        assert late.step == "full"
        assert browser().agree("/?mode=test").step == "instructions"
        local.clock.wait(minutes=31)
        second = browser().agree("/?participant=2")
        assert second.step == "instructions"
        # Whoever was let in is not turned away, however late.
        assert first.to("done").step == "done"
        assert second.to("done").step == "done"


def test_requests_without_a_token_or_a_session_are_refused(here, browse):
    stranger = browse()
    assert stranger.send(body(0)).status_code == 401
    assert stranger.client.get("/api/session").status_code == 401
    assert stranger.get("/go").status_code == 401
    browser = browse().agree().to("trials")
    assert browser.send(body(0), "").status_code == 403
    assert browser.send(body(0), "0" * 32).status_code == 403
    assert browser.client.post("/go/trials", data={}).status_code == 403
    assert browser.client.post("/withdraw", data={"csrf": "é"}).status_code == 403
    assert count(here, answers, answers.c.phase == "trials") == 0
    browser.client.cookies.clear()
    browser.client.cookies.set("session", "forged.abc.def")
    assert browser.client.get("/go").status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"choice": 2},
        {"rt": -1},
        {"rt": "NaN"},
        {"index": -1},
        {"attempt": "x"},
        {"by": "voice"},
        {"viewport": [1]},
        {"extra": 1},
        {"rt": None},
    ],
)
def test_a_bad_body_is_refused_and_not_repeated(local, visit, wrong):
    browser = visit().agree().to("trials")
    csrf = browser.session()["csrf"]
    refused = browser.send({**body(0), **wrong}, csrf)
    assert refused.status_code == 422
    assert browser.send(body(0), csrf).json() == {"next": 1}


def test_a_session_that_asks_too_often_waits(local, visit):
    browser = visit().agree().to("trials")
    csrf = browser.session()["csrf"]
    taken = [browser.send(body(9999), csrf) for _ in range(80)]
    assert {answer.status_code for answer in taken} == {409, 429}
    assert int(taken[-1].headers["retry-after"]) >= 1
    # Another person from the same address is not held up.
    other = visit().agree().to("trials")
    assert other.send(body(0), other.session()["csrf"]).status_code == 200
    local.clock.wait(seconds=30)
    assert browser.send(body(0), csrf).status_code == 200


def test_headers_of_every_response(local, visit):
    browser = visit()
    for path in ("/", "/consent", "/nowhere", "/api/session", "/health", "/pictures/x.png", "/static/x.js"):
        headers = browser.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == ("no-cache" if path.startswith("/static/") else "no-store")
        assert "server" not in headers
    cookie = browser.client.get("/").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_pages_carry_no_inline_script_or_style(local, visit):
    browser = visit()
    pages = [browser.get(path).text for path in ("/", "/device", "/consent", "/declined", "/nowhere")]
    browser.agree()
    pages += [browser.to(step).html for step in sessions.STEPS]
    for page in pages:
        assert not re.search(r"<script(?![^>]* src=)", page)
        assert not re.search(r"<style| style=| on[a-z]+=|javascript:", page)


def test_nothing_tells_where_a_person_was(here, browse):
    """No address in any row of the database."""
    browse().agree("/?PROLIFIC_PID=abc").to("done")
    with here.database.read() as connection:
        for table in (*TABLES, audit):
            for row in connection.execute(select(table)):
                assert "testclient" not in str(row)
                assert "127.0.0.1" not in str(row)


def test_a_large_request_is_refused(local, visit):
    browser = visit().agree()
    assert browser.client.post("/go/instructions", content=b"x" * 100_000).status_code == 413


def test_a_uuid_in_capitals_is_the_same_attempt(local, visit):
    browser = visit().agree().to("trials")
    csrf = browser.session()["csrf"]
    attempt = uuid.uuid4()
    assert browser.send(body(0, attempt=str(attempt)), csrf).status_code == 200
    assert browser.send(body(0, attempt=str(attempt).upper()), csrf).status_code == 200
