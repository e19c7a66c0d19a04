"""What holds of every page."""

import re

from axe_playwright_python.sync_playwright import Axe

from tests.browser.person import PAINTED, Person

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}


def accessible(person: Person) -> None:
    """No axe violations at the width of a phone and of a desk; nothing beyond the edge from 320 to 2560 pixels."""
    page = person.page
    before = page.viewport_size
    page.wait_for_load_state("load")  # the stylesheet too
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 760})
        found = Axe().run(page, options=RULES)
        assert found.violations_count == 0, f"{page.url} at {width}: {found.generate_report()}"
    for width in (320, 2560):
        page.set_viewport_size({"width": width, "height": 760})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{page.url} at {width}"
    if before is not None:
        page.set_viewport_size(before)


def tells_nothing(person: Person) -> None:
    """In a trial, texts for pictures name no class, addresses say nothing, and examples stand on the side of their option."""
    page = person.page
    page.wait_for_selector(PAINTED)
    options = [re.sub(r"\s*[FJ]$", "", text) for text in page.locator(".option").all_inner_texts()]
    assert page.locator(".examples h2 span").all_inner_texts() in ([], options)
    read = "images => images.map(image => [image.alt, image.title, image.src])"
    for alt, title, source in page.locator("img").evaluate_all(read):
        assert not any(re.search(rf"\b{option}\b", f"{alt} {title}", re.IGNORECASE) for option in options)
        assert source.startswith("blob:")
    for both in (".option", ".examples"):
        lefts = page.locator(both).evaluate_all("all => all.map(one => one.getBoundingClientRect().left)")
        assert lefts == sorted(lefts)
