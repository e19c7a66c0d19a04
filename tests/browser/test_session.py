"""People take the study in a real browser, and the server ends up with what they pressed."""

import pytest

from tests.browser.conftest import People
from tests.browser.pages import accessible, tells_nothing
from tests.browser.person import PAINTED, Person

SHOWN = {
    "control": (1, 0),
    "saliency": (2, 0),
    "examples": (1, 4),
    "both": (2, 8),
}


def test_a_whole_session_in_each_arm(people: People) -> None:
    seen: dict[str, tuple[int, int]] = {}
    # Places come in blocks of the four arms, and others may have taken some of this one: seven people meet all.
    for number in range(2 * len(SHOWN) - 1):
        by = ("key", "pointer")[number % 2]
        person = people(viewport={"width": (1280, 390)[number // 2 % 2], "height": 760})
        person.reach("trials")
        if person.arm in seen:
            continue
        page = person.page
        seen[person.arm] = (page.locator(".probe img").count(), page.locator(".examples img").count())
        tells_nothing(person)
        accessible(person)
        person.answer_all(by=by)
        assert person.finish()
        assert person.rows() == person.told["trials"]
        assert person.rows(phase="practice") == person.told["practice"]
        assert set(person.rows('"by"')) == {by}
        assert not any(person.rows("resumed"))
        assert person.server.ask("SELECT ending FROM participants WHERE id = ?", person.number) == [("complete",)]
        if len(seen) == len(SHOWN):
            break
    assert seen == SHOWN


def test_by_keyboard_alone(person: Person) -> None:
    page = person.page

    def tab_to(name: str) -> None:
        """Tab until what has the focus says so; what has it can be seen to have it."""
        for _ in range(40):
            page.keyboard.press("Tab")
            said, seen = page.evaluate(
                """() => {
                    const here = document.activeElement, box = here.closest(".choice") ?? here;
                    return [box.innerText, getComputedStyle(box).outlineStyle];
                }"""
            )
            assert seen != "none", said
            if name in said:
                return
        pytest.fail(f"no Tab leads to {name!r}")

    def go(name: str) -> None:
        tab_to(name)
        with page.expect_navigation():
            page.keyboard.press("Enter")

    person.open("/?mode=test")
    go("Begin")
    page.wait_for_selector("[data-ready]:visible")
    go("Continue")
    go("I agree")
    page.wait_for_selector("h1:text('What you will do')")
    ((person.number,),) = person.server.ask("SELECT max(id) FROM participants")
    go("Continue")
    person.answer(0, "practice")
    page.wait_for_selector("fieldset")
    tab_to("I would choose")
    page.keyboard.press("ArrowDown")
    tab_to("sometimes makes mistakes")
    page.keyboard.press("Space")
    go("Send")
    page.wait_for_selector("h1:text('The study begins')")
    go("Continue")
    # A button answers too, and is not a pointer.
    assert person.place() == 1
    tab_to("J")
    page.keyboard.press("Space")
    person.gone(1)
    person.told["trials"].append(1)
    person.answer_all()
    go("Send")
    go("Finish")
    page.wait_for_selector("#code")
    assert person.rows() == person.told["trials"]
    assert set(person.rows('"by"')) == {"key"}


def test_reload_in_the_middle(person: Person) -> None:
    person.reach("trials")
    for choice in (1, 0, 1):
        person.answer(choice)
    assert person.place() == 4
    person.page.reload()
    assert person.place() == 4
    person.answer_all()
    assert person.rows() == person.told["trials"]
    assert [place for place, resumed in enumerate(person.rows("resumed")) if resumed] == [3]


def test_the_network_is_lost_and_comes_back(person: Person) -> None:
    person.reach("trials")
    person.page.wait_for_load_state("networkidle")
    person.context.set_offline(True)
    for choice in (1, 1, 0, 0):
        person.answer(choice)
    person.page.wait_for_selector("#line:has-text('No connection')")
    person.page.wait_for_selector(PAINTED)
    accessible(person)
    assert person.rows() == []
    person.answer(1)
    # Five wait: the sixth trial does too.
    person.page.wait_for_selector("#rest-text")
    person.page.keyboard.press("Enter")
    person.page.wait_for_selector(".trial[aria-busy]")
    person.page.keyboard.press("f")
    person.context.set_offline(False)
    person.page.wait_for_selector(PAINTED)
    person.page.wait_for_selector("#line", state="hidden")
    person.answer_all()
    person.finish()
    assert person.rows() == person.told["trials"]


def test_a_crash_without_network_loses_nothing(person: Person) -> None:
    """Answers that had not been sent wait in the browser for the next page, which sends them as they were."""
    person.reach("trials")
    person.page.wait_for_load_state("networkidle")
    person.context.set_offline(True)
    for choice in (0, 1, 1):
        person.answer(choice)
    person.page.close(run_before_unload=False)
    assert person.rows() == []
    person.context.set_offline(False)
    person.page = person.new_page()
    person.open("/go")
    assert person.place() == 4
    assert person.rows() == [0, 1, 1]
    person.answer_all()
    assert person.rows() == person.told["trials"]


def test_a_second_window(person: Person) -> None:
    """The person goes on in the newer one; the older one is told, and its answer changes nothing."""
    person.reach("trials")
    old = person.page
    person.page = person.new_page()
    person.open("/go")
    person.answer(1)
    person.answer(1)
    assert person.place() == 3
    old.bring_to_front()
    old.keyboard.press("f")
    old.wait_for_selector("h1:text('You have gone on in another window')")
    assert person.rows() == [1, 1]
    person.page, newer = old, person.page
    accessible(person)
    newer.close()
    person.press("Go on here instead")
    assert person.place() == 3
    person.answer_all()
    assert person.rows() == person.told["trials"]


def test_people_who_share_a_computer(person: Person) -> None:
    """What one could not send is never sent as another's."""
    person.reach("trials", "/?participant=1&mode=test")
    person.page.wait_for_load_state("networkidle")
    person.context.set_offline(True)
    person.answer(1)
    person.answer(1)
    person.page.close(run_before_unload=False)
    person.context.set_offline(False)
    first, person.number = person.number, 0
    person.page = person.new_page()
    person.told = {"practice": [], "trials": []}
    person.reach("trials", "/?participant=2&mode=test")
    assert person.number != first
    assert person.place() == 1
    person.answer(0)
    assert person.place() == 2
    assert person.stored(1) == [0]
