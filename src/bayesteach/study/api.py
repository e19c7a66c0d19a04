"""What the browser's runner asks for and sends: JSON, by the contract in docs/experiment.md. It never says what is correct."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from bayesteach.artifacts import Shown
from bayesteach.study import sessions
from bayesteach.study.answering import Answer, Conflict, take
from bayesteach.study.limits import spend
from bayesteach.study.plan import Asked
from bayesteach.study.serving import Instead, Serving, serving
from bayesteach.study.sessions import Session

router = APIRouter()
Here = Annotated[Serving, Depends(serving)]
LEGEND = "legend"


class Following(BaseModel):
    """An answer was taken; `next` is the index of the first trial without one."""

    next: int


class ShownGroup(BaseModel):
    """Examples under one heading."""

    heading: str
    images: list[str]
    overlays: list[str]


class ShownTrial(BaseModel):
    """A trial as the browser knows it."""

    index: int
    options: tuple[str, str]
    probe: str
    overlay: str | None
    groups: list[ShownGroup]


class Whole(BaseModel):
    """A phase: all its trials in the person's order, and where the person is.

    `session` tells people apart who share a browser: what one has not sent yet is never sent as another's.
    """

    session: str
    mode: Literal["live", "test", "simulated", "preview"]
    phase: Literal["practice", "trials"]
    csrf: str
    total: int
    next: int
    resumed: bool
    break_every: int
    texts: dict[str, str]
    legend: str | None
    trials: list[ShownTrial]


_REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"description": "This browser has no session."},
    409: {"description": "The person is elsewhere: `next`, `step` or `ending` says where."},
}
_REFUSED_POST: dict[int | str, dict[str, Any]] = {
    **_REFUSED,
    400: {"description": "The body cannot be decoded."},
    403: {"description": "The header X-CSRF is not this session's."},
    413: {"description": "The body is too large."},
    422: {"description": "The body is none of an answer."},
    429: {"description": "Too many requests: Retry-After says when."},
}


@router.get("/api/session", responses=_REFUSED)
def whole(request: Request, here: Here) -> Whole:
    """The phase that the person is at."""
    code = here.session_code(request)
    with here.database.read() as connection:
        session = sessions.load(connection, code) if code else None
        if session is None:
            raise Instead(_json({"error": "no session"}, 401))
        phase = sessions.phase_of(session)
        if phase is None or session.launch != here.launch.id:
            raise Instead(_elsewhere(session))
        asked = sessions.questions(connection, session)
        done = sessions.count(connection, session)
    texts = here.materials.texts.tree["trials"]
    arm = session.arm if phase == "trials" else None
    trials = [_trial(index, row, here.materials.shown[row.trial], arm) for index, row in enumerate(asked)]
    coloured = any(trial.overlay or any(group.overlays for group in trial.groups) for trial in trials)
    return Whole(
        session=here.launch.keys.digest("outbox", session.code)[:16],
        mode=session.mode,
        phase=phase,
        csrf=here.launch.keys.csrf(session.code),
        total=len(asked),
        next=done,
        resumed=done > 0,
        break_every=here.materials.settings.study.break_every if phase == "trials" else 0,
        texts={name: text for name, text in texts.items() if isinstance(text, str)},
        legend=_url(LEGEND) if coloured else None,
        trials=trials,
    )


@router.post("/api/answers", responses=_REFUSED_POST)
def answers(request: Request, here: Here, answer: Answer, x_csrf: Annotated[str, Header()] = "") -> Following:
    """One answer. Acknowledged means: it is on the disk."""
    code = here.session_code(request)
    if code is None:
        raise Instead(_json({"error": "no session"}, 401))
    if not here.launch.keys.is_csrf(code, x_csrf):
        raise Instead(_json({"error": "csrf"}, 403))
    with here.database.write() as connection:
        session = sessions.load(connection, code, to_change=True)
        if session is None:
            raise Instead(_json({"error": "no session"}, 401))
        wait = spend(connection, session, here.clock())
        if wait:
            raise Instead(_json({"error": "too many requests"}, 429, {"Retry-After": str(int(wait) + 1)}))
        taken = take(connection, here.rules, session, answer, here.clock())
    if taken is None:
        raise Instead(_elsewhere(session))
    if isinstance(taken, Conflict):
        raise Instead(_json({"next": taken.next}, 409))
    return Following(next=taken.next)


@router.get("/pictures/{name}.png", include_in_schema=False)
def picture(name: str, here: Here) -> Response:
    """A picture by its random name; it never changes."""
    if name not in here.materials.stimuli.pictures:
        return _json({"error": "no such picture"}, 404)
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(here.materials.stimuli.pictures[name], media_type="image/png", headers=headers)


@router.get("/health")
def health(here: Here) -> dict[str, str]:
    """For whoever watches over the server: the process answers, and so does its database."""
    with here.database.read() as connection:
        connection.exec_driver_sql("SELECT 1")
    return {"status": "ok"}


def _trial(index: int, row: Asked, shown: Shown, arm: str | None) -> ShownTrial:
    """What an arm shows of a trial; groups stand on the side of their option."""
    panel = shown.panels[arm] if arm is not None else None
    groups = panel.groups if panel is not None else ()
    ordered = tuple(reversed(groups)) if row.flipped else groups
    return ShownTrial(
        index=index,
        options=(row.left, row.right),
        probe=_url(shown.probe),
        overlay=_url(panel.overlay) if panel is not None and panel.overlay else None,
        groups=[
            ShownGroup(
                heading=group.heading,
                images=[_url(name) for name in group.images],
                overlays=[_url(name) for name in group.overlays],
            )
            for group in ordered
        ],
    )


def _elsewhere(session: Session) -> Response:
    where = {"ending": session.ending} if session.ending is not None else {"step": session.step}
    return _json(where, 409)


def _url(picture: str) -> str:
    return f"/pictures/{picture}.png"


def _json(content: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse(content, status, headers)
