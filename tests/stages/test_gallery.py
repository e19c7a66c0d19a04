"""The gallery in a real browser: what it filters, sorts and saves, and that it fits a phone."""

import base64
import html
import json
import os
import re
import shutil
import subprocess

import pytest

from bayesteach.stages.compose import Composed
from bayesteach.store.workspace import Workspace

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page(finished) -> str:
    return Workspace(finished).load("compose", Composed).gallery


@pytest.fixture
def told(page, tmp_path):
    """What a script says when it has run in the page, in a window so wide."""
    if BROWSER is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs Chromium")

    def run(script: str, width: int = 1200) -> object:
        # A frame has the width that it is given; a headless window has not less than 500.
        said = (
            f"<script>parent.document.body.dataset.told = btoa(JSON.stringify((() => {{{script}}})()))</script></body>"
        )
        frame = tmp_path / "frame.html"
        inside = html.escape(page.replace("</body>", said))
        frame.write_text(f'<body><iframe width={width} height=900 srcdoc="{inside}"></iframe></body>', "utf-8")
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", frame.as_uri()],
            capture_output=True, text=True, check=True, timeout=240,
        )  # fmt: skip
        (told,) = re.findall(r'data-told="([^"]*)"', done.stdout)
        return json.loads(base64.b64decode(told))

    return run


SET = "const set = (id, value) => { get(id).value = value; get(id).dispatchEvent(new Event('input')); };"
SEEN = "const seen = () => cards.filter(card => !card.hidden);"


def test_filters_leave_what_they_name(told):
    found = told(
        f"""{SET} {SEEN}
        const all = seen().length;
        set("type", "standard_correct");
        const types = seen().map(card => card.dataset.type), count = get("count").textContent;
        set("type", ""); set("find", cards[0].dataset.id);
        return {{all, types, count, ids: seen().map(card => card.dataset.id), first: cards[0].dataset.id}};"""
    )
    assert 0 < len(found["types"]) < found["all"]
    assert set(found["types"]) == {"standard_correct"}
    assert found["count"].startswith(f"{len(found['types'])} of {found['all']} trials")
    assert found["ids"] == [found["first"]]


def test_the_order_is_by_the_number_chosen(told):
    values = told(
        f"""{SET} set("order", "confidence");
        return [...document.querySelectorAll("article")].map(card => +card.dataset.confidence);"""
    )
    assert values == sorted(values)
    assert len(set(values)) > 1


def test_ticked_trials_are_saved_as_a_table(told):
    found = told(
        """let saved; URL.createObjectURL = blob => { saved = blob; return "#"; };
        HTMLAnchorElement.prototype.click = function () { this.clicked = true; };
        const parts = [], Real = Blob;
        window.Blob = class extends Real { constructor(p, o) { super(p, o); parts.push(...p); } };
        document.querySelectorAll(".discard")[1].click();
        get("save").click();
        const card = cards[1], count = get("count").textContent;
        return {text: parts.join(""), id: card.dataset.id, faded: card.classList.contains("out"), count};"""
    )
    assert found["text"] == f"trial\n{found['id']}\n"
    assert found["faded"]
    assert found["count"].endswith("1 to discard")


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_is_wider_than_the_window(width, told):
    found = told("return [document.documentElement.scrollWidth, innerWidth];", width)
    assert found[0] <= found[1]
    assert found[1] <= width


def test_the_page_is_one_file(page):
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
