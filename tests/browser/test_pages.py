"""Every page, at the width of a phone and of a desk: no axe violations, nothing beyond the edge, nothing inline."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.browser.conftest import People, serving
from tests.browser.pages import accessible, tells_nothing
from tests.browser.person import PAINTED, Person, Server


def test_every_page_of_a_participant(people: People) -> None:
    person = people()
    page = person.page
    person.open("/")
    accessible(person)
    person.press("Begin")
    page.wait_for_selector("[data-ready]:visible")
    accessible(person)
    person.press("Continue")
    accessible(person)
    person.press("I do not agree")
    accessible(person)
    assert person.open("/nowhere").status == 404
    accessible(person)
    person.consent()
    accessible(person)
    person.press("Continue")
    page.wait_for_selector(PAINTED)
    accessible(person)
    person.answer_all("practice")
    accessible(person)
    page.check("[name=task][value='1']")
    page.check("[name=mistakes][value='1']")
    person.press("Send")
    page.wait_for_selector("[role=alert]")
    accessible(person)
    person.pass_comprehension()
    accessible(person)
    person.press("Continue")
    for choice in (0, 1, 0, 1, 1):
        person.answer(choice)
    page.wait_for_selector("#rest-text")
    accessible(person)
    page.keyboard.press("Enter")
    person.answer_all()
    accessible(person)
    person.press("Send")
    page.wait_for_selector("h1:text('Thank you')")
    page.click("summary")
    accessible(person)
    person.press("Finish")
    page.wait_for_selector("#code")
    accessible(person)
    person.open("/withdraw")
    accessible(person)
    page.check("[name=sure]")
    person.press("Withdraw, and delete my answers")
    page.wait_for_selector("h1:text('You have withdrawn')")
    accessible(person)
    assert person.rows() == []


def test_every_page_of_a_researcher(people: People, server: Server) -> None:
    """By day and by night."""
    found = re.search(r"name researcher, password (\S+)", server.said)
    assert found, server.said
    for scheme in ("light", "dark"):
        person = people(color_scheme=scheme)
        person.open("/researcher/login")
        accessible(person)
        person.page.fill("[name=name]", "researcher")
        person.page.fill("[name=password]", "wrong")
        person.press("Log in")
        person.page.wait_for_selector("[role=alert]")
        accessible(person)
        person.page.fill("[name=name]", "researcher")
        person.page.fill("[name=password]", found[1])
        person.press("Log in")
        person.page.wait_for_selector("h2:text('People')")
        accessible(person)
    # One trial of one arm, as its people see it.
    person.page.select_option("[name=arm]", "both")
    person.page.select_option("[name=trial]", index=1)
    person.page.click("button:text-is('Preview')")  # a link to the rows of mode preview stands above it
    person.page.wait_for_selector(PAINTED)
    assert person.page.locator(".examples img").count() == 8
    assert "never count" in person.page.locator(".test").inner_text()


def test_a_browser_that_cannot_show_pictures_is_told(person: Person) -> None:
    person.page.route("**/static/check.png", lambda route: route.fulfill(body=b"no picture"))
    person.open("/device")
    person.page.wait_for_selector("[data-check=pictures]:visible")
    assert not person.page.locator("a.button").is_visible()
    accessible(person)


def test_without_a_script_it_says_so(people: People) -> None:
    person = people(java_script_enabled=False)
    person.open("/device")
    assert "needs JavaScript" in person.page.locator("main").inner_text()


@pytest.fixture(scope="module")
def leftward(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same study in a script that runs from right to left."""
    study = tmp_path_factory.mktemp("leftward") / "study"
    shutil.copytree(server.study, study, ignore=shutil.ignore_patterns("study.db*"))
    words = study / "texts" / "study.toml"
    told = words.read_text("utf-8").replace('dir = "ltr"', 'dir = "rtl"').replace('lang = "en"', 'lang = "ar"')
    words.write_text(told, "utf-8")
    with serving(study) as served:
        yield served


@pytest.mark.verify
def test_left_stays_left_where_texts_run_from_right_to_left(leftward: Server, people: People) -> None:
    arms = set()
    for _ in range(7):
        person = people(leftward)
        person.reach("trials")
        arms.add(person.arm)
        assert person.page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        tells_nothing(person)
        accessible(person)
        person.answer(0)
        assert person.stored(1) == [0]
    assert len(arms) == 4
