"""The researcher's pages: what happens, pause and close, export, and a look at every arm and trial."""

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select, update
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bayesteach.errors import BadStudy
from bayesteach.study import overview, researchers, sessions
from bayesteach.study.audit import note
from bayesteach.study.export import export
from bayesteach.study.pages import Form, Here
from bayesteach.study.serving import SESSION, Instead, Serving
from bayesteach.study.tables import audit, recruits, study

router = APIRouter(prefix="/researcher", default_response_class=HTMLResponse, include_in_schema=False)
COOKIE = "researcher"
_HOURS = 12 * 3600
_NOTES = 50
MODES = ("live", "test", "simulated", "preview")


def who(request: Request, here: Here) -> str:
    """The researcher whose browser this is; others are sent to the login."""
    found = here.launch.keys.read(COOKIE, request.cookies.get(COOKIE), _HOURS)
    if isinstance(found, dict):
        with here.database.read() as connection:
            if found.get("stamp") == researchers.stamp(connection, str(found.get("name"))):
                return str(found["name"])
    raise Instead(RedirectResponse("/researcher/login", 303))


Name = Annotated[str, Depends(who)]


def sent(here: Here, name: Name, said: Form) -> dict[str, str]:
    """A form of this researcher's own."""
    if not here.launch.keys.is_csrf(f"researcher {name}", said.get("csrf", "")):
        raise here.error("error_csrf", 403)
    return said


Sent = Annotated[dict[str, str], Depends(sent)]


@router.get("/login")
def login(here: Here) -> Response:
    """Asks for the password."""
    return _page(here, "login", csrf=here.launch.keys.csrf("login"), wrong=False, name=researchers.FIRST)


@router.post("/login")
def enter(request: Request, here: Here, said: Form) -> Response:
    """Lets in whoever knows it."""
    name = said.get("name", "")[:64]
    if not here.launch.keys.is_csrf("login", said.get("csrf", "")):
        raise here.error("error_csrf", 403)
    with here.database.write() as connection:
        right = researchers.check(connection, name, said.get("password", "")[:256], here.clock())
        stamp = researchers.stamp(connection, name)
    if not right:
        return _page(here, "login", 403, csrf=here.launch.keys.csrf("login"), wrong=True, name=name)
    response = RedirectResponse("/researcher", 303)
    here.set_cookie(request, response, COOKIE, {"name": name, "stamp": stamp})
    return response


@router.post("/logout")
def leave(_: Sent) -> Response:
    """Forgets who this browser is."""
    response = RedirectResponse("/researcher/login", 303)
    response.delete_cookie(COOKIE)
    return response


@router.get("")
def home(here: Here, name: Name, mode: str = "live") -> Response:
    """The flow, the flags, the health, and what can be done."""
    mode = mode if mode in MODES else "live"
    moment, launch, lease = here.clock(), here.launch.id, here.rules.lease
    with here.database.read() as connection:
        state = connection.execute(select(study)).one()
        seen = state.status == "closed" or state.shows_accuracy
        flows = overview.flows(connection, launch, mode, here.materials.arms, lease, moment, accuracy=seen)
        more: dict[str, Any] = {
            "arrivals": overview.arrivals(connection, launch, mode, lease, moment),
            "flags": overview.flags(connection, launch, mode),
            "notes": connection.execute(select(audit).order_by(audit.c.id.desc()).limit(_NOTES)).all(),
            "numbers": len(
                connection.execute(select(recruits.c.participant).where(recruits.c.parameters.is_not(None))).all()
            ),
        }
    return _page(
        here,
        "home",
        name=name,
        csrf=here.launch.keys.csrf(f"researcher {name}"),
        mode=mode,
        modes=MODES,
        status=state.status,
        shows_accuracy=state.shows_accuracy,
        seen=seen,
        flows=flows,
        wanted=here.materials.settings.study.participants,
        health=overview.health(here.database, launch, mode, moment),
        arms=here.materials.arms,
        trials=[(row.trial, row.kind, here.materials.hidden[row.trial]) for row in here.materials.stimuli.shown],
        database=here.database.place,
        **more,
    )


@router.post("/status")
def set_status(here: Here, name: Name, said: Sent) -> Response:
    """Opens, pauses or closes the study. Those who were let in can finish in any case."""
    status = said.get("status")
    if status not in {"open", "paused", "closed"}:
        raise here.error("error_input", 422)
    with here.database.write() as connection:
        connection.execute(update(study).values(status=status))
        note(connection, name, "status", status)
    return RedirectResponse("/researcher", 303)


@router.post("/accuracy")
def show_accuracy(here: Here, name: Name, said: Sent) -> Response:
    """Shows accuracy by condition before the study is closed, or hides it again; either is noted."""
    wanted = said.get("show") == "yes"
    with here.database.write() as connection:
        connection.execute(update(study).values(shows_accuracy=wanted))
        note(connection, name, "accuracy", "shown" if wanted else "hidden")
    return RedirectResponse("/researcher", 303)


@router.post("/purge")
def purge(here: Here, name: Name, _: Sent) -> Response:
    """Deletes all that recruiters said of people. Digests stay, so that nobody takes part twice."""
    with here.database.write() as connection:
        gone = connection.execute(
            update(recruits).where(recruits.c.parameters.is_not(None)).values(parameters=None)
        ).rowcount
        note(connection, name, "purge", f"the numbers of {gone} people")
    return RedirectResponse("/researcher", 303)


@router.post("/preview")
def preview(request: Request, here: Here, name: Name, said: Sent) -> Response:
    """Shows an arm as a participant sees it, from its instructions or from a trial on. What is answered counts for nothing."""
    arm, trial = said.get("arm", ""), said.get("trial") or None
    if arm not in here.materials.arms or (trial is not None and trial not in here.materials.shown):
        raise here.error("error_input", 422)
    with here.database.write() as connection:
        session = sessions.preview(connection, here.rules, arm, trial, here.clock())
        note(connection, name, "preview", f"{arm} {trial or ''}".strip())
    response = RedirectResponse("/go", 303)
    here.set_cookie(request, response, SESSION, session.code)
    return response


@router.post("/export")
def download(here: Here, name: Name, said: Sent) -> Response:
    """The data set as one ZIP file."""
    mode = said.get("mode", "live")
    title = str(here.materials.texts.tree["title"])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "dataset"
        try:
            export(here.database, title, folder, mode=mode, launch=here.launch.id)
        except BadStudy as error:
            raise Instead(_page(here, "message", 409, message=str(error))) from None
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(folder.rglob("*")):
                file.write(path, path.relative_to(folder))
    with here.database.write() as connection:
        note(connection, name, "export", mode)
    headers = {"Content-Disposition": f'attachment; filename="{mode}.zip"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)


def _page(here: Serving, page: str, code: int = 200, **context: Any) -> HTMLResponse:
    template = here.templates.get_template(f"researcher/{page}.html")
    return HTMLResponse(template.render({"study_title": here.materials.texts.tree["title"], **context}), code)
