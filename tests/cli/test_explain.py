"""Commands as a user gives them, in a process of their own where that matters."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from PIL import Image
from safetensors.torch import save_file
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.cli.console import OneMessage
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
        more = ["--model", MODEL, "--checkpoint", str(checkpoint)] if model else []
        if not {"--engine", "--precision"} & set(words):
            more += ["--engine", "torch"]
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


def test_an_alternative_is_set_against_the_answer_and_targets_are_as_many_as_asked(run, photos, tmp_path):
    run(photos / "a.png", "--masks", 4, "--out", tmp_path / "plain")
    (answer,) = facts(tmp_path / "plain")["explained"]
    other = (answer["index"] + 1) % 5
    done = run(photos / "a.png", "--masks", 4, "--alternative", other, "--out", tmp_path / "against")
    assert done.exit_code == 0, done.output
    assert [row["index"] for row in facts(tmp_path / "against")["explained"]] == [answer["index"], other]
    run(photos / "a.png", "--masks", 4, "--target", 4, "--target", 0, "--alternative", 2, "--out", tmp_path / "three")
    assert [row["index"] for row in facts(tmp_path / "three")["explained"]] == [4, 0, 2]
    assert np.load(tmp_path / "three" / "saliency.npy").shape == (3, 160, 160)


def test_a_precision_alone_picks_its_engine(run, photos, tmp_path):
    done = run(photos / "a.png", "--masks", 4, "--precision", "bf16", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert facts(tmp_path)["engine"] == "openvino-bf16"
    assert "engine openvino-bf16" in done.output


def test_auto_keeps_what_any_engine_made_and_another_engine_by_name_does_not(run, photos, tmp_path, monkeypatch):
    monkeypatch.setattr("bayesteach.vision.choice.choose_engine", lambda *_: ("torch", "fp32"))
    words = (photos / "inner", "--masks", 4, "--out", tmp_path / "out", "--engine", "auto")
    assert "2 explained, 0 kept" in run(*words).output
    monkeypatch.setattr("bayesteach.vision.choice.choose_engine", lambda *_: ("torch", "bf16"))
    assert "0 explained, 2 kept" in run(*words).output
    assert "2 explained, 0 kept" in run(*words[:-1], "torch").output


def test_other_class_names_make_another_explanation(run, photos, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("ant\nbee\ncat $5 and $6 [red]\ndog\n" + "a very long name of a class, " * 8 + "\n")
    words = (photos / "a.png", "--masks", 4, "--target", 2, "--alternative", 4, "--out", tmp_path / "out")
    run(*words)
    done = run(*words, "--labels", names)
    assert "cat $5 and $6 [red]" in done.output
    assert facts(tmp_path / "out")["explained"][0]["label"] == "cat $5 and $6 [red]"


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


def test_explanations_inside_the_folder_are_no_photos_of_it(run, photos, monkeypatch):
    monkeypatch.chdir(photos)
    assert "3 explained, 0 kept, 0 unreadable" in run(".", "--masks", 4).output
    assert "0 explained, 3 kept, 0 unreadable" in run(".", "--masks", 4).output


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
        (["missing.png", "--model", "nothing"], "there is no photo or folder missing.png"),  # before anything is loaded
        (["{photos}/a.png", "--out", "{photos}/a.png"], "a.png cannot be written (File exists). Pass another folder"),
        (["{photos}/a.png", "--seed", "99999999999999999999"], "seed: found 99999999999999999999, expected"),
        (["{photos}/a.png", "--target", "unicorn"], "class: found 'unicorn', which is none of the 5 labels"),
        (["{photos}/a.png", "--target", "9"], "expected an index from 0 to 4"),
        (["{photos}/a.png", "--labels", "nowhere.txt"], "labels: there is no file nowhere.txt"),
        (["{photos}/a.png", "--engine", "torch", "--precision", "int8"], "found torch int8, expected one of"),
        (["{empty}"], "holds no pictures"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(run, photos, tmp_path, words, message):
    (tmp_path / "empty").mkdir()
    done = run(*(word.format(photos=photos, empty=tmp_path / "empty") for word in words), "--masks", 4)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_a_full_disk_is_one_message_and_costs_only_the_photo_at_hand(run, photos, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file beyond 50 kB: the arrays do not fit, as on a disk that is full.
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        done = run(photos / "a.png", "--masks", 4, "--out", tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.exit_code == 2
    assert "out cannot be written" in done.output
    assert not (tmp_path / "out" / "explanation.json").exists()
    assert run(photos / "a.png", "--masks", 4, "--out", tmp_path / "out").exit_code == 0
    assert np.load(tmp_path / "out" / "saliency.npy").shape == (160, 160)


def test_a_photo_that_cannot_be_read_is_exit_code_2(run, tmp_path):
    (tmp_path / "text.jpg").write_text("hello")
    done = run(tmp_path / "text.jpg", "--masks", 4, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "text.jpg cannot be read as a photo" in done.output
    assert not (tmp_path / "out").exists()


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


def test_nothing_is_said_to_whoever_stopped_reading():
    command = typer.Typer(cls=OneMessage, pretty_exceptions_enable=False)
    command.callback()(lambda: None)

    @command.command()
    def told() -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    done = CliRunner().invoke(command, ["told"])
    assert (done.exit_code, done.output) == (1, "")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_keeps_what_is_finished_and_goes_on_from_there(run, how, checkpoint, photos, tmp_path):
    out = tmp_path / "out"
    words = [sys.executable, "-m", "bayesteach", "explain", photos, "--masks", "300", "--out", out]
    words += ["--model", MODEL, "--checkpoint", checkpoint, "--engine", "torch"]
    process = subprocess.Popen([*map(str, words)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (out / "a" / "explanation.json").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, how)
    _, said = process.communicate(timeout=60)
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "Interrupted" in said
        assert "Traceback" not in said
    finished = {place: (place / "saliency.npy").stat().st_mtime_ns for place in out.rglob("*") if _whole(place)}
    assert out / "a" in finished
    assert len(finished) < 3

    assert run(photos, "--masks", 300, "--out", out).exit_code == 0
    assert sum(map(_whole, out.rglob("*"))) == 3
    assert all((place / "saliency.npy").stat().st_mtime_ns == then for place, then in finished.items())


def _whole(place: Path) -> bool:
    if not (place / "explanation.json").is_file():
        return False
    with Image.open(place / "overlay.png") as picture:
        picture.load()
    return facts(place)["masks"] == 300


def test_masks_are_weighed_until_the_tolerance_or_the_most_and_the_paper_is_a_word_away(run, photos, tmp_path):
    out = tmp_path / "out"
    asked = [photos / "a.png", "--out", out, "--tolerance", "0.001", "--max-masks", "256"]
    assert run(*asked).exit_code == 0
    assert [facts(out)[name] for name in ("masks", "sampler", "tolerance")] == [256, "learned", 0.001]
    assert "kept" in run(*asked).output
    assert "kept" not in run(photos / "a.png", "--out", out, "--masks", "256", "--sampler", "prior").output
    assert [facts(out)[name] for name in ("masks", "sampler", "tolerance")] == [256, "prior", None]
    assert facts(out)["explained"][0]["verdict"] in {"converged", "rough", "noise"}
    refused = run(photos / "a.png", "--masks", "4096")
    assert "expected at most 2048 to learn from" in " ".join(refused.output.split())
