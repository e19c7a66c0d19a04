"""The API by its own description: whatever is sent, the answer is one of those that the description names."""

import tempfile
from pathlib import Path

import pytest
import schemathesis
from hypothesis import settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from bayesteach.study.app import make_app
from bayesteach.study.security import HEADERS
from bayesteach.study.server import prepare
from tests.study import small
from tests.study.conftest import browsers

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
_BASE = tempfile.TemporaryDirectory()
_HERE = prepare(small.write(Path(_BASE.name) / "s"), f"sqlite:///{_BASE.name}/study.db").serving
_APP = make_app(_HERE)
_SCHEMA = schemathesis.openapi.from_dict(_APP.openapi())
_SCHEMA.app = _APP


@pytest.fixture(scope="module")
def session():
    """Somebody who is at the trials: cookie and token."""
    for browser in browsers(_HERE):
        person = browser().agree("/?mode=test").to("trials")
        yield {"Cookie": f"session={person.client.cookies['session']}"}, person.session()["csrf"]
    _HERE.database.close()


@_SCHEMA.parametrize()
@settings(max_examples=30, deadline=None)
def test_strangers(case):
    answer = case.call()
    case.validate_response(answer, checks=CHECKS)
    assert answer.status_code in {200, 400, 401, 403, 405, 413, 422}
    assert HEADERS.keys() <= {name.title() for name in answer.headers}


@_SCHEMA.parametrize()
@settings(max_examples=30, deadline=None)
def test_somebody_at_the_trials(case, session):
    cookie, csrf = session
    answer = case.call(headers={**cookie, "X-CSRF": csrf})
    case.validate_response(answer, checks=CHECKS)
    if case.operation.path == "/api/answers" and answer.status_code == 422:
        assert set(answer.json()) == {"error", "detail"}


def test_the_description_is_of_the_whole_api():
    assert {*_APP.openapi()["paths"]} == {"/api/session", "/api/answers", "/health"}
