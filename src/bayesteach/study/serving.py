"""What every request needs: the database, the materials, the launch, and the pages."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random, SystemRandom
from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse, Response

from bayesteach.study.database import Database, now
from bayesteach.study.launch import Launch
from bayesteach.study.materials import Materials
from bayesteach.study.sessions import Rules
from bayesteach.study.visits import Visit, from_cookie, visit


class Instead(Exception):
    """Another response than the one that a route is for: whoever raises it is done."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


SESSION, VISIT, SIMULATED = "session", "visit", "simulated"
# A month: a study page that was left open over a holiday still works.
_MONTH = 30 * 24 * 3600


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("bayesteach.study"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Serving:
    """One process of a study's server. Nothing here changes: what changes is in the database."""

    database: Database
    materials: Materials
    launch: Launch
    clock: Callable[[], datetime] = now
    rng: Random = field(default_factory=SystemRandom)
    templates: Environment = field(default_factory=_environment)

    @property
    def rules(self) -> Rules:
        """What the state machine needs."""
        return Rules(self.materials, self.launch.id, self.rng)

    def page(self, name: str, *, status: int = 200, **more: Any) -> HTMLResponse:
        """A participant's page, with its own text unless another `body` is given."""
        texts = self.materials.texts
        context = {
            "texts": texts.tree,
            "body": texts.pages.get(name, ""),
            "csrf": "",
            "step": name,
            "study_title": texts.tree["title"],
            "lang": texts.tree["lang"],
            "dir": texts.tree["dir"],
            "mode": "live",
            "withdrawable": False,
        }
        html = self.templates.get_template(f"participant/{more.pop('template', name)}.html").render(context | more)
        return HTMLResponse(html, status)

    def error(self, what: str, status: int) -> Instead:
        """The page that says what went wrong."""
        return Instead(self.page("error", status=status, message=self.materials.texts.tree["messages"][what]))

    def visit_of(self, request: Request) -> Visit:
        """The visit in the cookie, or that which the link asks for."""
        found = from_cookie(self.launch.keys.read(VISIT, request.cookies.get(VISIT), _MONTH))
        return found if found is not None and not request.query_params else self.arriving(request)

    def arriving(self, request: Request) -> Visit:
        """The visit that this link asks for, as new."""
        simulated = self.launch.keys.read(SIMULATED, request.query_params.get(SIMULATED)) is not None
        return visit(request.query_params, secrets.token_hex(8), simulated)

    def session_code(self, request: Request) -> str | None:
        """Whose browser this is, if it has agreed before."""
        code = self.launch.keys.read(SESSION, request.cookies.get(SESSION), _MONTH)
        return code if isinstance(code, str) else None

    def set_cookie(self, request: Request, response: Response, name: str, value: object) -> None:
        """A signed cookie that scripts cannot read and other sites cannot send along with a form."""
        response.set_cookie(
            name,
            self.launch.keys.sign(name, value),
            max_age=_MONTH,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )

    def recruit_digest(self, arrived: Visit) -> str | None:
        """What tells a recruited person from all others, without telling who they are."""
        if arrived.number is None:
            return None
        return self.launch.keys.digest("recruit", f"{arrived.platform}\n{arrived.number}")


def serving(request: Request) -> Serving:
    """The process's own, for FastAPI."""
    found: Serving = request.app.state.serving
    return found
