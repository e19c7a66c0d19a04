"""A person before a browser: what they see, what they press, and what the server then has of them."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Response

# A trial whose pictures have been painted: from here on an answer counts.
PAINTED = ".trial:not([aria-busy])"
KEYS = ("f", "j")


@dataclass
class Server:
    """A study that is served, what the command said, and its database."""

    base: str
    study: Path
    said: str

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.study / 'study.db'}?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()


@dataclass
class Person:
    """`told` is what they have answered in each phase, in order; `troubles` what the browser complained of."""

    context: BrowserContext
    server: Server
    number: int = 0
    told: dict[str, list[int]] = field(default_factory=lambda: {"practice": [], "trials": []})
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page = self.new_page()

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", self._complained)
        return page

    def _complained(self, message: ConsoleMessage) -> None:
        # A request without a network, or that is refused, is told by the browser itself.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.troubles.append(message.text)

    def open(self, path: str) -> Response:
        response = self.page.goto(self.server.base + path)
        assert response is not None
        return response

    def press(self, button: str) -> None:
        """The button or link of that name, by pointer."""
        self.page.locator("a:visible, button:visible", has_text=button).first.click()

    def consent(self, link: str = "/") -> None:
        """From a link to the instructions."""
        self.open(link)
        self.press("Begin")
        self.press("Continue")
        self.press("I agree and take part")
        self.page.wait_for_selector("h1:text('What you will do')")
        ((self.number,),) = self.server.ask("SELECT max(id) FROM participants")

    def reach(self, phase: str, link: str = "/") -> None:
        """From a link to the first trial of a phase."""
        self.consent(link)
        self.press("Continue")
        if phase == "trials":
            self.answer_all("practice")
            self.pass_comprehension()
            self.press("Continue")
        self.page.wait_for_selector(PAINTED)

    def pass_comprehension(self) -> None:
        self.page.check("[name=task][value='2']")
        self.page.check("[name=mistakes][value='1']")
        self.press("Send")
        self.page.wait_for_selector("h1:text('The study begins')")

    def answer(self, choice: int, phase: str = "trials", *, by: str = "key") -> None:
        """Answer the trial on screen, and wait until it has gone."""
        place = self.place()
        if by == "key":
            self.page.keyboard.press(KEYS[choice])
        else:
            self.page.locator(".option").nth(choice).click()
        self.gone(place)
        self.told[phase].append(choice)

    def gone(self, place: int) -> None:
        """Wait until another trial is on screen, or none."""
        self.page.wait_for_function(
            "place => parseInt(document.querySelector('#count')?.textContent) !== place", arg=place
        )

    def answer_all(self, phase: str = "trials", *, by: str = "key") -> None:
        """Every trial that is left of a phase, and its breaks; sides by a fixed pattern."""
        while True:
            self.page.wait_for_selector(f"{PAINTED}, #rest-text, fieldset")
            if self.page.locator("fieldset").count():
                return
            if self.page.locator("#rest-text").count():
                self.page.keyboard.press("Enter")
                self.page.wait_for_selector("#rest-text", state="detached")
                continue
            place = len(self.told[phase])
            self.answer((place * place + self.number) % 3 % 2, phase, by=by)

    def finish(self) -> str:
        """From the demographics to the completion code."""
        self.press("Send")
        self.press("Finish")
        return self.page.locator("#code").inner_text()

    def place(self) -> int:
        """Which trial is on screen, from 1."""
        self.page.wait_for_selector(PAINTED)
        return int(self.page.locator("#count").inner_text().split()[0])

    @property
    def arm(self) -> str:
        ((arm,),) = self.server.ask("SELECT arm FROM participants WHERE id = ?", self.number)
        return str(arm)

    def stored(self, count: int) -> list[Any]:
        """The choices that the database has, once there are so many."""
        for _ in range(300):
            if len(self.rows()) >= count:
                break
            self.page.wait_for_timeout(100)
        return self.rows()

    def rows(self, columns: str = "choice", phase: str = "trials") -> list[Any]:
        """What the database has of them, in order."""
        query = f'SELECT {columns} FROM answers WHERE participant = ? AND phase = ? ORDER BY "index"'  # noqa: S608
        found = self.server.ask(query, self.number, phase)
        return [row[0] if len(row) == 1 else row for row in found]
