"""The web application of one study."""

from importlib import resources
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from bayesteach.study import api, pages, researcher
from bayesteach.study.security import HEADERS, Guarded
from bayesteach.study.serving import Instead, Serving

# What the build of the package makes of frontend/ (hatch_build.py).
STATIC = Path(str(resources.files("bayesteach.study") / "static"))


def make_app(here: Serving) -> FastAPI:
    """The participant's pages, the browser's API, and the researcher's pages."""
    app = FastAPI(title="bayesteach", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.serving = here
    app.include_router(pages.router)
    app.include_router(api.router)
    app.include_router(researcher.router)
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    app.add_middleware(Guarded)
    app.add_exception_handler(Instead, _instead)
    app.add_exception_handler(HTTPException, _missing)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(Exception, _failed)
    return app


def _instead(_: Request, error: Exception) -> Response:
    return error.response if isinstance(error, Instead) else Response(status_code=500)


def _wants_json(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _told(request: Request, what: str, status: int) -> Response:
    here: Serving = request.app.state.serving
    if _wants_json(request):
        return JSONResponse({"error": what.removeprefix("error_")}, status)
    return here.error(what, status).response


def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    what = "error_server" if status >= 500 else "error_missing" if status in {404, 405} else "error_input"
    response = _told(request, what, status)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


def _unreadable(request: Request, error: Exception) -> Response:
    """What was sent is not repeated: it could be anything."""
    if not _wants_json(request) or not isinstance(error, RequestValidationError):
        return _told(request, "error_input", 422)
    places = [".".join(str(part) for part in wrong["loc"][1:]) + ": " + wrong["msg"] for wrong in error.errors()]
    return JSONResponse({"error": "input", "detail": places[:5]}, 422)


def _failed(request: Request, _: Exception) -> Response:
    """Outside of all middleware, so the headers are put on here."""
    response = _told(request, "error_server", 500)
    response.headers.update({**HEADERS, "Cache-Control": "no-store"})
    return response
