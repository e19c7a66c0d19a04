"""serve, simulate, export, backup and restore, as a user runs them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from bayesteach.cli import app
from tests.study import small
from tests.study.postgres import free_port
from tests.study.server import server

run = CliRunner()


@pytest.fixture
def folder(tmp_path):
    return small.write(tmp_path / "study")


@pytest.fixture
def database(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def said(*words):
    done = run.invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})
    return done.exit_code, " ".join(done.output.split())


@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_says_where_and_stops_at_ctrl_c(folder, database, workers):
    with server(folder, database, free_port(), "--workers", workers) as running:
        with httpx.Client(base_url=running.base, timeout=30) as client:
            assert "What will the AI choose?" in client.get("/?mode=test").text
            assert client.get("/health").json() == {"status": "ok"}
            login = client.get("/researcher", follow_redirects=True)
            csrf = re.search(r'name="csrf" value="(\w+)"', login.text)[1]
            secret = re.search(r"password (\S+)", running.said)[1]
            form = {"csrf": csrf, "name": "researcher", "password": secret}
            entered = client.post("/researcher/login", data=form, follow_redirects=True)
            assert "<h2>People</h2>" in entered.text
        assert f"{running.base.replace('127.0.0.1', 'localhost')}/researcher" in running.said
        assert str(folder / "texts") in running.said.replace("\n", "")
        assert running.interrupt() == 0
    assert "Stopped." in running.said
    assert "Traceback" not in running.said
    assert "127.0.0.1:" not in running.said.split("Ctrl-C")[1]
    with server(folder, database, free_port()) as again:
        assert "password" not in again.said
        assert again.interrupt() == 0
    with server(folder, database, free_port(), "--new-password") as again:
        assert re.search(r"password (\S+)", again.said)[1] != secret


def test_a_port_in_use_gets_one_message(folder, database):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, output = said("serve", folder, "--database", database, "--port", taken.getsockname()[1])
    assert code == 2
    assert "cannot be used" in output
    assert "--port" in output


def test_behind_a_proxy_cookies_are_for_https_alone(folder, database):
    for option, secure in (((), False), (("--behind-proxy",), True)):
        with server(folder, database, free_port(), *option) as running:
            answer = httpx.get(running.base, headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"})
            assert ("secure" in answer.headers["set-cookie"].lower()) == secure
            assert ("strict-transport-security" in answer.headers) == secure
            assert running.interrupt() == 0
        assert "203.0.113.9" not in running.said


def test_a_stopped_server_finishes_what_was_begun(folder, database):
    """SIGTERM, as a machine that shuts down sends it."""
    with server(folder, database, free_port()) as running:
        assert httpx.get(running.base).status_code == 200
        os.kill(running.process.pid, signal.SIGTERM)
        assert running.process.wait(30) in {0, -signal.SIGTERM}


@pytest.mark.parametrize("through", ["http", "database"])
def test_simulate_export_and_back_up(folder, database, tmp_path, through):
    code, output = said(
        "simulate", folder, "--participants", 8, "--through", through, "--dropout", 0, "--database", database
    )
    assert code == 0, output
    for arm in ("control", "saliency", "examples", "both"):
        assert f"{arm}: 2 finished" in output
    code, output = said("export", folder, tmp_path / "set", "--database", database)
    assert (code, "8 simulated" in output) == (2, True)
    code, output = said("export", folder, tmp_path / "set", "--database", database, "--mode", "simulated")
    assert code == 0, output
    assert "120 answers of 8 people (simulated)" in output
    assert json.loads((tmp_path / "set" / "dataset_description.json").read_text())["name"] == "What will the AI choose?"
    code, output = said("backup", folder, tmp_path / "b.db", "--database", database)
    assert code == 0, output
    code, output = said("restore", folder, tmp_path / "b.db", "--database", f"sqlite:///{tmp_path / 'new.db'}")
    assert code == 0, output
    code, output = said("restore", folder, tmp_path / "b.db", "--database", database)
    assert (code, "holds a study already" in output) == (2, True)


def test_simulated_people_answer_by_the_effects_they_are_given(folder, database, tmp_path):
    effects = tmp_path / "effects.csv"
    effects.write_text("term,estimate\n(Intercept),-20\nsaliency,40\nsd(participant),0\nsd(category),0\n")
    said(
        "simulate",
        folder,
        "--participants",
        8,
        "--effects",
        effects,
        "--through",
        "database",
        "--dropout",
        0,
        "--database",
        database,
    )
    said("export", folder, tmp_path / "set", "--database", database, "--mode", "simulated")
    from bayesteach.responses import read_responses  # noqa: PLC0415

    table = read_responses(tmp_path / "set").table
    own = table[(table["practice"] == 0) & (table["attention"] == 0)]
    assert own.groupby("saliency")["correct"].mean().to_dict() == {0.0: 0.0, 1.0: 1.0}


def test_wrong_effects_get_one_message(folder, database):
    code, output = said("simulate", folder, "--effects", "nothing.csv", "--database", database)
    assert (code, "effects: nothing.csv cannot be read" in output) == (2, True)


def test_the_help_of_every_command_is_quick_and_whole():
    for name in ("serve", "simulate", "export", "backup", "restore"):
        assert get_command(app).commands[name].help
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bayesteach", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "fastapi" not in done.stderr
    assert "sqlalchemy" not in done.stderr
