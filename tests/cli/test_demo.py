"""`bayesteach demo` and `bayesteach measure` as a newcomer meets them."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.demo import steps
from bayesteach.demo.steps import Demo, Step
from bayesteach.errors import BadStudy
from bayesteach.vision.classifier import Classifier

FIRST, SECOND = "draw a world", "write the report"


@pytest.fixture
def two_steps(monkeypatch):
    """The command alone: what its steps do is tested with them."""
    done: list[Demo] = []

    def first(demo: Demo, watch) -> str:
        watch("drawing", 3)(3)
        done.append(demo)
        return "[seven] pictures"

    monkeypatch.setattr(steps, "STEPS", (Step(FIRST, first), Step(SECOND, lambda demo, _: str(demo.report))))
    monkeypatch.setattr(Classifier, "load", staticmethod(lambda *_: None))
    return done


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_it_says_what_it_did_and_what_to_open(two_steps, tmp_path):
    done = run("demo", "--out", tmp_path / "here", "--participants", 24, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert two_steps == [Demo(tmp_path / "here", 24, 3)]
    for words in (f"✓ {FIRST}", "[seven] pictures", f"✓ {SECOND}", "report.html", "gallery.html", "bayesteach serve"):
        assert words in done.output
    assert done.output.index(FIRST) < done.output.index(SECOND) < done.output.index("Open:")


def test_ctrl_c_is_one_line_and_goes_on_next_time(two_steps, tmp_path, monkeypatch):
    def stopped(_demo, _watch) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "STEPS", (steps.STEPS[0], Step("stopped", stopped)))
    done = run("demo", "--out", tmp_path)
    assert done.exit_code == 130
    assert "the same command goes on from there" in done.output
    assert f"✓ {FIRST}" in done.output


def test_what_is_wrong_is_one_message(two_steps, tmp_path, monkeypatch):
    def refuses(_demo, _watch) -> str:
        raise BadStudy("there holds another study")

    monkeypatch.setattr(steps, "STEPS", (Step("refuses", refuses),))
    done = run("demo", "--out", tmp_path)
    assert done.exit_code == 2
    assert "there holds another study" in done.output
    assert "Traceback" not in done.output


def test_too_few_people_are_refused():
    assert run("demo", "--participants", 4).exit_code == 2


def test_measure_writes_its_tables_and_shows_their_means(finished, tmp_path):
    study = Path(shutil.copytree(finished, tmp_path / "study"))
    done = run("measure", study)
    assert done.exit_code == 0, done.output
    means = pd.read_csv(study / "measures" / "means.csv")
    assert set(means["measure"]) >= {"insertion_gain", "taught", "lift"}
    for words in ("insertion_gain", "knows the head", "adversarial incorrect"):
        assert words in " ".join(done.output.split())
    assert run("measure", study, "--out", tmp_path / "there").exit_code == 0
    assert (tmp_path / "there" / "lessons.svg").is_file()


def test_measure_of_a_study_that_is_not_made_says_so(images, tmp_path):
    study = Path(shutil.copytree(images, tmp_path / "study"))
    done = run("measure", study)
    assert done.exit_code == 2
    assert "bayesteach run" in done.output
