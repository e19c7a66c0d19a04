"""Commands as a user gives them, in a process of their own where that matters."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.vision.torchvision_import import import_torchvision
from tests.explain.test_explanation import photo

# A network of timm's that is made for tests: a hundredth of a ResNet-50's work.
MODEL = "timm:test_resnet"


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Path:
    import_torchvision()
    import timm  # noqa: PLC0415 — after torchvision

    torch.manual_seed(0)
    model = timm.create_model("test_resnet", num_classes=5)
    file = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_file(model.state_dict(), file)
    return file


@pytest.fixture
def run(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setenv("BAYESTEACH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")

    def command(*words: object, model: bool = True):
        more = ["--model", MODEL, "--checkpoint", str(checkpoint), "--engine", "torch"] if model else []
        return CliRunner().invoke(app, ["explain", *map(str, words), *more])

    return command


@pytest.fixture
def photos(tmp_path) -> Path:
    folder = tmp_path / "photos"
    (folder / "inner").mkdir(parents=True)
    photo().save(folder / "a.png")
    photo(80, 200).save(folder / "inner" / "b.jpg")
    photo(50, 50).save(folder / "inner" / "b.png")
    return folder


def facts(folder: Path) -> dict:
    return json.loads((folder / "explanation.json").read_text("utf-8"))


def test_one_photo_is_explained_where_asked(run, photos, tmp_path):
    done = run(photos / "a.png", "--masks", 40, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert np.load(tmp_path / "out" / "saliency.npy").shape == (160, 160)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "saliency.npy",
        "saliency_error.npy",
        "overlay.png",
        "explanation.json",
    }
    assert str(tmp_path / "out") in done.output
    assert "mostly noise" in done.output.replace("\n", " ")


def test_two_classes_are_set_against_each_other(run, photos, tmp_path):
    done = run(photos / "a.png", "--masks", 8, "--target", 3, "--alternative", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert [row["index"] for row in facts(tmp_path)["explained"]] == [3, 1]
    assert np.load(tmp_path / "saliency.npy").shape == (2, 160, 160)


def test_a_folder_goes_on_from_where_it_stopped(run, photos, tmp_path):
    (photos / "torn.jpg").write_bytes((photos / "inner" / "b.jpg").read_bytes()[:300])
    first = run(photos, "--masks", 8, "--out", tmp_path / "out")
    assert first.exit_code == 0, first.output
    assert "3 explained, 0 kept, 1 unreadable" in first.output
    assert "torn.jpg" in first.output
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.npy")}
    assert {path.parent.relative_to(tmp_path / "out").as_posix() for path in made} == {
        "a",
        "inner/b.jpg",
        "inner/b.png",
    }

    (tmp_path / "out" / "a" / "explanation.json").unlink()
    second = run(photos, "--masks", 8, "--out", tmp_path / "out")
    assert "1 explained, 2 kept, 1 unreadable" in second.output
    again = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.npy")}
    assert {path.parent.name for path in made if made[path] != again[path]} == {"a"}

    other = run(photos, "--masks", 9, "--out", tmp_path / "out")
    assert "3 explained, 0 kept" in other.output

    photo(60, 60).save(photos / "a.png")  # another photo under the same name
    changed = run(photos, "--masks", 9, "--out", tmp_path / "out")
    assert "1 explained, 2 kept" in changed.output


def test_faithfulness_is_measured_when_asked(run, photos, tmp_path):
    done = run(photos / "a.png", "--masks", 8, "--faithfulness", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert set(facts(tmp_path)["faithfulness"]) == {"insertion", "deletion"}
    assert (tmp_path / "faithfulness.csv").exists()
    assert (tmp_path / "faithfulness.png").exists()


def test_squash_shows_the_whole_photo(run, photos, tmp_path):
    run(photos / "a.png", "--masks", 4, "--geometry", "squash", "--out", tmp_path)
    assert facts(tmp_path)["crop"] == [0, 0, 96, 72]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.png"], "missing.png cannot be read"),
        (["{photos}/a.png", "--target", "unicorn"], "class: found 'unicorn', which is none of the 5 labels"),
        (["{photos}/a.png", "--target", "9"], "expected an index from 0 to 4"),
        (["{photos}/a.png", "--labels", "nowhere.txt"], "labels: there is no file nowhere.txt"),
        (["{photos}/a.png", "--precision", "int8"], "found torch int8, expected one of"),
        (["{empty}"], "holds no pictures"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(run, photos, tmp_path, words, message):
    (tmp_path / "empty").mkdir()
    done = run(*(word.format(photos=photos, empty=tmp_path / "empty") for word in words), "--masks", 4)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_an_alternative_needs_a_target(run, photos):
    done = run(photos / "a.png", "--alternative", "1")
    assert done.exit_code == 2
    assert "--alternative needs --target" in done.output


def test_a_model_that_is_not_known_is_named(run, photos):
    done = run(photos / "a.png", "--model", "resnet50", model=False)
    assert done.exit_code == 2
    assert "found 'resnet50'" in done.output


def test_debug_shows_the_traceback(photos):
    words = [sys.executable, "-m", "bayesteach", "--debug", "explain", "missing.png", "--model", "nothing"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_help_names_every_option():
    done = CliRunner().invoke(app, ["explain", "--help"], env={"COLUMNS": "200"})
    for option in ("model", "checkpoint", "target", "alternative", "masks", "baseline", "seed", "out", "faithfulness"):
        assert f"--{option}" in done.output


def test_interrupted_keeps_what_is_finished(checkpoint, photos, tmp_path):
    out = tmp_path / "out"
    words = [sys.executable, "-m", "bayesteach", "explain", photos, "--masks", "2000", "--out", out]
    words += ["--model", MODEL, "--checkpoint", checkpoint, "--engine", "torch"]
    process = subprocess.Popen([*map(str, words)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (out / "a" / "explanation.json").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted" in said
    assert "Traceback" not in said
    assert facts(out / "a")["masks"] == 2000
    with Image.open(out / "a" / "overlay.png") as picture:
        picture.load()
