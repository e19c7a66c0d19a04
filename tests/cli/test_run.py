"""init, run and status as a newcomer gives them."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.settings import read_settings

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def command(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: object):
        return CliRunner().invoke(app, [str(word) for word in words])

    return call


@pytest.fixture
def begin(command, images, tmp_path):
    """init on the images of the small study, in another folder."""

    def call(*more: object, recipe: str = "imagefolder", adversarial: bool = True):
        words = ["init", tmp_path / "new", "--recipe", recipe, "--model", "timm:test_resnet", "--checkpoint"]
        words += [images / "small.safetensors", "--labels", images / "labels.txt"]
        words += ["--train", images / "images" / "train", "--val", images / "images" / "val"]
        words += ["--adversarial", images / "images" / "adversarial"] if adversarial else []
        return command(*words, *more)

    return call


def test_a_study_of_ones_own_folders_begins_and_is_read_back(begin, images, tmp_path):
    done = begin("--seed", 5, "--preset", "paper", "--set", "teach.candidates=50")
    assert done.exit_code == 0, done.output
    settings = read_settings(tmp_path / "new")
    assert settings.seed == 5
    assert settings.preset == "paper"
    assert settings.teach.candidates == 50
    assert {s.name: s.folder for s in settings.source}["val"] == images / "images" / "val"
    assert settings.design.adversarial == ("adversarial",)
    assert settings.model.engine in {"torch", "openvino"}
    assert f"bayesteach run {tmp_path / 'new'}" in done.output
    again = begin()
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_without_an_adversarial_folder_errors_are_mined(begin, tmp_path):
    assert begin(adversarial=False).exit_code == 0
    settings = read_settings(tmp_path / "new")
    assert settings.design.adversarial == ()
    assert settings.design.mined == ("val",)


def test_a_head_of_imagenet_was_trained_on_all_of_it(begin, tmp_path):
    assert begin(recipe="imagenet").exit_code == 0
    assert read_settings(tmp_path / "new").fit.images == 1_281_167


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--recipe", "imagefolder"], "needs --train and --val"),
        (["--recipe", "imagenet", "--train", "a", "--val", "b"], "needs --adversarial"),
        (["--recipe", "imagefolder", "--train", "no", "--val", "nowhere"], "no folder no"),
        (["--recipe", "birds"], "'shortcuts', 'imagefolder'"),
    ],
)
def test_what_a_recipe_lacks_is_said(words, expected, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command("init", "new", *words)
    assert done.exit_code == 2
    assert expected in re.sub(r"[\s│]+", " ", done.stderr)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_run_says_what_it_wrote_and_where_and_then_that_it_is_there(begin, command, tmp_path):
    begin("--set", "design.categories=2", "--set", "highlight.masks=8", "--set", "teach.threshold=0.5")
    done = command("run", tmp_path / "new", "--until", "design")
    assert done.exit_code == 0, done.output
    for stage in ("collect", "embed", "fit", "design"):
        assert f"{stage}: " in done.stdout
        assert str(tmp_path / "new" / "artifacts" / stage) in done.stdout
    assert "6 trials of 2 categories" in done.stdout
    assert "teach" not in done.stdout
    assert "calibration error" in done.stdout
    again = command("run", tmp_path / "new", "--until", "design")
    assert again.stdout.count("as it was") == 4


def test_status_fits_into_80_columns_and_names_ages_settings_and_reasons(finished, command):
    done = command("status", finished, "--set", "teach.candidates=99")
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = re.sub(r"\s+", " ", done.stdout)
    assert "made just now" in text or "ago" in text
    assert "teach to be made: the setting teach changed" in text
    assert "compose to be made: highlight is to be made" in text or "compose to be made: teach" in text
    assert (
        "teach.threshold = 0.5; teach.candidates = 20" in text or "teach.candidates = 20; teach.threshold = 0.5" in text
    )
    assert "highlight.masks = 16" in text


@pytest.mark.parametrize("verb", ["run", "status"])
def test_a_folder_that_is_no_study_is_told_so(verb, command, tmp_path):
    done = command(verb, tmp_path)
    assert done.exit_code == 2
    assert "bayesteach init" in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "words"), [("--until", "paint", "collect, embed"), ("--set", "teach", "teach.candidates=500")]
)
def test_what_run_does_not_know_is_refused(option, value, words, finished, command):
    done = command("run", finished, option, value)
    assert done.exit_code == 2
    assert words in done.stderr


def test_in_a_terminal_a_run_shows_how_far_it_is_and_ends_cleanly_on_ctrl_c(images, tmp_path):
    """A real terminal: bars with counts and times; Ctrl-C leaves one sentence, exit code 130 and no lock."""
    folder = tmp_path / "study"
    subprocess.run(["cp", "-r", images, folder], check=True)
    parent, child = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "bayesteach", "run", str(folder), "--set", "highlight.masks=300"],
        stdin=child, stdout=child, stderr=child, cwd=ROOT, start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 — a job in the background ignores it
    )  # fmt: skip
    os.close(child)
    seen = b""
    end = time.monotonic() + 240
    while not re.search(rb"highlighting .*[1-9]\d*/\d+", seen) and time.monotonic() < end:
        if select.select([parent], [], [], 1)[0]:
            seen += os.read(parent, 65536)
    started.send_signal(signal.SIGINT)
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    assert started.wait() == 130
    text = seen.decode()
    assert re.search(r"embedding .*\d+/\d+", text)
    assert re.search(r"\d:\d\d:\d\d", text)
    assert "The same command goes on" in text or "the same command goes on" in text
    assert "Traceback" not in text
    done = CliRunner().invoke(app, ["run", str(folder), "--until", "teach"])
    assert done.exit_code == 0
    assert done.stdout.count("as it was") == 5
