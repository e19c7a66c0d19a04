"""A person at a browser, as far as one goes without JavaScript: links, forms, and the JSON that the runner uses."""

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from starlette.testclient import TestClient

from bayesteach.study.serving import Serving


def body(index: int, choice: int = 0, **changes: Any) -> dict[str, Any]:
    """An answer as the runner posts it."""
    return {
        "phase": "trials",
        "index": index,
        "attempt": str(uuid.uuid4()),
        "choice": choice,
        "rt": 900.5,
        "by": "key",
        "resumed": False,
        "viewport": [1280, 800],
        "pixel_ratio": 1.0,
        "load_ms": 12.5,
        "hidden_ms": 0.0,
        **changes,
    }


@dataclass
class Browser:
    client: TestClient
    serving: Serving
    html: str = ""
    csrf: str = field(default="")

    def get(self, path: str) -> Any:
        return self._see(self.client.get(path, follow_redirects=True))

    def post(self, path: str, **fields: str) -> Any:
        answer = self.client.post(path, data={"csrf": self.csrf, **fields})
        return (
            self._see(self.client.get(answer.headers["location"])) if answer.status_code == 303 else self._see(answer)
        )

    def _see(self, answer: Any) -> Any:
        self.html = answer.text
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.html)
        self.csrf = found[1] if found else ""
        return answer

    @property
    def step(self) -> str:
        return re.search(r'data-step="([a-z_]+)"', self.html)[1]

    def agree(self, link: str = "/") -> "Browser":
        self.get(link)
        self.get("/consent")
        self.post("/consent", agree="yes")
        return self

    def session(self) -> dict[str, Any]:
        return self.client.get("/api/session").json()

    def send(self, answer: dict[str, Any], csrf: str | None = None) -> Any:
        return self.client.post("/api/answers", json=answer, headers={"X-CSRF": self.csrf if csrf is None else csrf})

    def answer_all(self, choice: int = 0) -> None:
        whole = self.session()
        for index in range(whole["next"], whole["total"]):
            assert self.send(body(index, choice, phase=whole["phase"]), whole["csrf"]).json() == {"next": index + 1}

    def understand(self, *, right: bool = True) -> Any:
        questions = self.serving.materials.texts.comprehension
        wrong = {q.name: str(q.answer % len(q.options) + 1) for q in questions}
        return self.post("/go/comprehension", **({q.name: str(q.answer) for q in questions} if right else wrong))

    def to(self, step: str) -> "Browser":
        """On until this step."""
        while self.step != step:
            at = self.step
            if at in {"practice", "trials"}:
                self.answer_all()
                self.get("/go")
            if at == "comprehension":
                self.understand()
            else:
                self.post(f"/go/{at}")
            assert self.step != at, self.html
        return self
