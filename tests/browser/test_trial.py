"""One trial: what is on screen, when the clock starts, and which presses count."""

import threading
from collections.abc import Callable

from playwright.sync_api import Route

from tests.browser.conftest import People
from tests.browser.person import PAINTED, Person


def test_the_clock_starts_when_every_picture_is_painted(person: Person) -> None:
    """Until then nothing of the trial is seen, and no press counts."""
    page = person.page
    # Of the first trials' pictures one is late; its own time on the way is counted as loading, not as answering.
    page.route("**/pictures/*.png", held_once(lambda: page.wait_for_timeout(900)))
    person.consent()
    person.press("Continue")
    page.wait_for_selector(".trial[aria-busy]", state="attached")
    assert not page.locator(".option").first.is_visible()
    assert not page.locator(".probe img").first.is_visible()
    page.keyboard.press("f")
    page.wait_for_selector(PAINTED)
    assert page.locator(".probe img").evaluate("image => image.complete && image.naturalWidth > 0")
    page.keyboard.press("j")
    person.gone(1)
    page.wait_for_selector("fieldset")
    ((choice, rt, load, hidden),) = person.rows("choice, rt, load_ms, hidden_ms", "practice")
    assert choice == 1
    assert load >= 900
    assert hidden == 0
    assert rt > 0


def test_a_picture_that_fails_is_fetched_again(person: Person) -> None:
    failures = iter([503, "abort", 503])

    def fails_at_first(route: Route) -> None:
        how = next(failures, None)
        if how is None:
            route.continue_()
        elif how == "abort":
            route.abort()
        else:
            route.fulfill(status=how)

    person.page.route("**/pictures/*.png", fails_at_first)
    person.reach("practice")
    assert next(failures, None) is None
    person.answer_all("practice")
    person.pass_comprehension()
    assert person.rows(phase="practice") == person.told["practice"]


def test_an_answer_that_the_server_could_not_take_is_sent_again(person: Person) -> None:
    """The same attempt: also where it was stored and only the acknowledgement was lost."""
    lost = threading.Semaphore(2)
    attempts = []

    def loses_the_acknowledgement(route: Route) -> None:
        attempts.append(route.request.post_data_json["attempt"])
        if lost.acquire(blocking=False):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    person.reach("trials")
    person.page.route("**/api/answers", loses_the_acknowledgement)
    person.answer_all()
    assert person.rows() == person.told["trials"]
    assert len(set(attempts)) == len(person.told["trials"]) == len(attempts) - 2
    assert len(set(attempts[:3])) == 1


def test_presses_that_are_no_answers(person: Person) -> None:
    """Shortcuts, other keys, a key that is held down from the trial before, and the second half of a double click."""
    person.reach("trials")
    keyboard = person.page.keyboard
    for press in ("Control+f", "Alt+j", "Meta+f", "g", "Enter", "ArrowLeft"):
        keyboard.press(press)
    keyboard.down("j")
    person.gone(1)
    assert person.place() == 2
    keyboard.down("j")
    keyboard.down("j")
    keyboard.up("j")
    assert person.place() == 2
    person.page.locator(".option").first.dblclick()
    person.gone(2)
    assert person.place() == 3
    person.answer(1)
    # In another script the key that stands where F stands, and a capital, are F too.
    ask = "how => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, ...how}))"
    person.page.wait_for_selector(PAINTED)
    person.page.evaluate(ask, {"key": "ب", "code": "KeyF"})
    person.gone(4)
    person.page.wait_for_selector(PAINTED)
    person.page.evaluate(ask, {"key": "J", "code": "KeyC"})
    person.gone(5)
    person.page.wait_for_selector("#rest-text")
    assert person.stored(5) == [1, 0, 1, 0, 1]


def test_simulated_participants_of_jspsych_are_for_tests_alone(people: People) -> None:
    for mode in ("visual", "data-only"):
        person = people()
        person.reach("practice", "/?mode=test")
        person.open(f"/go?simulate={mode}")
        person.page.wait_for_selector("fieldset")
        assert len(person.rows(phase="practice")) == 1
    person = people()
    person.reach("practice")
    person.open("/go?simulate=visual")
    person.page.wait_for_selector(PAINTED)
    person.page.wait_for_timeout(1500)
    assert person.rows(phase="practice") == []


def held_once(hold: Callable[[], None]) -> Callable[[Route], None]:
    """A handler that lets the first picture wait."""
    first = threading.Semaphore(1)

    def handle(route: Route) -> None:
        if first.acquire(blocking=False):
            hold()
        route.continue_()

    return handle
