"""The participant's pages: a GET shows where the person is, a POST moves on."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bayesteach.study import sessions, steps
from bayesteach.study.allocation import is_full
from bayesteach.study.limits import spend
from bayesteach.study.serving import SESSION, VISIT, Serving, serving
from bayesteach.study.sessions import Session
from bayesteach.study.steps import Problem
from bayesteach.study.tables import study
from bayesteach.study.visits import Visit

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
Here = Annotated[Serving, Depends(serving)]


async def form(request: Request) -> dict[str, str]:
    """The fields of a form; a file among them is none."""
    return {name: value for name, value in (await request.form(max_fields=100)).items() if isinstance(value, str)}


Form = Annotated[dict[str, str], Depends(form)]


@router.get("/")
def landing(request: Request, here: Here) -> Response:
    """Where every link leads. Nothing is stored: link previews must not use up places."""
    arrived = here.visit_of(request)
    session = _theirs(request, here, arrived)
    if session is not None:
        return RedirectResponse("/go", 303)
    closed = _closed(here, arrived)
    response = closed if closed is not None else here.page("landing", mode=arrived.mode)
    here.set_cookie(request, response, VISIT, arrived.as_cookie())
    return response


@router.get("/device")
def device(request: Request, here: Here) -> Response:
    """What the browser must be able to do; its script looks, and sends nothing."""
    return here.page("device", mode=here.visit_of(request).mode)


@router.get("/consent")
def consent(request: Request, here: Here) -> Response:
    """The consent form."""
    arrived = here.visit_of(request)
    closed = _closed(here, arrived)
    if closed is not None:
        return closed
    response = here.page("consent", csrf=here.launch.keys.csrf(arrived.nonce), mode=arrived.mode)
    here.set_cookie(request, response, VISIT, arrived.as_cookie())
    return response


@router.post("/consent")
def decide(request: Request, here: Here, said: Form) -> Response:
    """Agreeing makes a participant; declining stores nothing."""
    arrived = here.visit_of(request)
    if not here.launch.keys.is_csrf(arrived.nonce, said.get("csrf", "")):
        raise here.error("error_csrf", 403)
    if said.get("agree") == "no":
        return RedirectResponse("/declined", 303)
    if said.get("agree") != "yes":
        raise here.error("error_input", 422)
    closed = _closed(here, arrived)
    if closed is not None:
        return closed
    with here.database.write() as connection:
        session = sessions.begin(connection, here.rules, arrived, here.recruit_digest(arrived), here.clock())
    if session is None:
        return _ended(here, "full")
    response = RedirectResponse("/go", 303)
    here.set_cookie(request, response, SESSION, session.code)
    return response


@router.get("/declined")
def declined(here: Here) -> Response:
    """The page of those who do not take part."""
    return _ended(here, "declined")


@router.get("/go")
def go(request: Request, here: Here) -> Response:
    """The page of the step that the person is at."""
    code = _code(request, here)
    with here.database.read() as connection:
        session = sessions.load(connection, code)
    if session is None:
        raise here.error("error_session", 401)
    return _page(here, session, request)


@router.post("/go/{step}")
def move(step: str, request: Request, here: Here, said: Form) -> Response:
    """On to the next step, if what this one asks for is there."""
    code = _code(request, here, said)
    problem: Problem | None = None
    with here.database.write() as connection:
        session = sessions.load(connection, code, to_change=True)
        if session is None:
            raise here.error("error_session", 401)
        if spend(connection, session, here.clock()):
            raise here.error("error_busy", 429)
        if session.launch == here.launch.id and session.ending is None and session.step == step:
            session, problem = steps.advance(connection, here.rules, session, said, here.clock())
    return RedirectResponse("/go", 303) if problem is None else _page(here, session, request, problem)


@router.get("/withdraw")
def leave(request: Request, here: Here) -> Response:
    """Asks once more before anything is deleted."""
    return here.page("withdraw", csrf=here.launch.keys.csrf(_code(request, here)))


@router.post("/withdraw")
def withdraw(request: Request, here: Here, said: Form) -> Response:
    """Everything that the person answered is deleted."""
    code = _code(request, here, said)
    with here.database.write() as connection:
        session = sessions.load(connection, code, to_change=True)
        if session is not None and session.ending in {None, "complete"}:
            sessions.withdraw(connection, session, here.clock())
    return RedirectResponse("/go", 303)


def _code(request: Request, here: Serving, said: dict[str, str] | None = None) -> str:
    """Whose request this is; a form must carry their token."""
    code = here.session_code(request)
    if code is None:
        raise here.error("error_session", 401)
    if said is not None and not here.launch.keys.is_csrf(code, said.get("csrf", "")):
        raise here.error("error_csrf", 403)
    return code


def _theirs(request: Request, here: Serving, arrived: Visit) -> Session | None:
    """The session of this browser, if it is that of the person whose link was opened."""
    code = here.session_code(request)
    if code is None:
        return None
    digest = here.recruit_digest(arrived)
    with here.database.read() as connection:
        session = sessions.load(connection, code)
        if session is None or session.mode != arrived.mode:
            return None
        if digest is not None:
            return session if sessions.recruited(connection, arrived.mode, digest) == code else None
        # A link that anybody could have: whoever is in the middle goes on; in test mode one may begin as often as one likes.
        return session if session.ending is None or arrived.mode == "live" else None


def _closed(here: Serving, arrived: Visit) -> HTMLResponse | None:
    """The page that people see who cannot be let in now. Tests and simulations always can, and who was let in before."""
    if arrived.mode != "live":
        return None
    digest, wanted = here.recruit_digest(arrived), here.materials.settings.study.participants
    with here.database.read() as connection:
        if digest is not None and sessions.recruited(connection, arrived.mode, digest) is not None:
            return None
        status = connection.scalar(select(study.c.status))
        full = is_full(connection, here.launch.id, wanted, here.rules.lease, here.clock())
    if status == "paused":
        return here.page("paused", status=503)
    return _ended(here, "full") if full or status == "closed" else None


def _page(here: Serving, session: Session, request: Request, problem: Problem | None = None) -> HTMLResponse:
    """What a step looks like."""
    if session.ending is not None:
        return _ended(here, session.ending, here.visit_of(request), session)
    if session.launch != here.launch.id:
        return _ended(here, "full", None, session)
    texts = here.materials.texts
    more: dict[str, Any] = {
        "csrf": here.launch.keys.csrf(session.code),
        "mode": session.mode,
        "problem": texts.tree["messages"][problem] if problem else None,
        "withdrawable": True,
    }
    template = step = session.step
    match step:
        case "practice" | "trials":
            template = "trials"
        case "arm":
            more["body"] = texts.arms[session.arm or ""]
        case "comprehension":
            # A second chance comes with the instructions; which answer is right stays here.
            more["questions"] = [{"name": q.name, "text": q.text, "options": q.options} for q in texts.comprehension]
            more["chance"] = session.failed + 1
            more["instructions"] = texts.pages["instructions"] if session.failed else ""
            if session.failed and problem is None:
                more["problem"] = texts.tree["messages"]["comprehension_again"]
        case "demographics":
            more["questions"] = texts.demographics
    return here.page(step, template=template, status=200 if problem is None else 422, **more)


_ENDINGS = {
    "complete": "done",
    "screened_out": "done",
    "withdrawn": "withdrawn",
    "declined": "declined",
    "full": "full",
}


def _ended(here: Serving, ending: str, arrived: Visit | None = None, session: Session | None = None) -> HTMLResponse:
    """The page of an ending, with its code and where a link leads."""
    found = here.materials.texts.endings[ending]
    known = dict(arrived.parameters) if arrived is not None else {}
    redirect = found.redirect
    for name, value in {"code": found.code, **known}.items():
        redirect = redirect.replace(f"{{{name}}}", value)
    body = here.materials.texts.pages["screened_out" if ending == "screened_out" else _ENDINGS[ending]]
    return here.page(
        "done" if ending in {"complete", "screened_out"} else ending,
        template=_ENDINGS[ending],
        body=body,
        code=found.code,
        redirect=redirect,
        ending=ending,
        csrf=here.launch.keys.csrf(session.code) if session else "",
        mode=session.mode if session else "live",
    )
