"""The drawn world and a small part of ImageNet, from init to the gallery."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from bayesteach.artifacts import TRIAL_TYPES
from bayesteach.cli import app
from bayesteach.pipeline import BY_NAME
from bayesteach.store.workspace import Workspace
from tests.vision.imagenet import ROOT, needs_imagenet


def command(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def load(folder, stage: str):
    return Workspace(folder).load(stage, BY_NAME[stage].output)


def checked(folder) -> None:
    """Every trial of the study is whole, and its gallery is there."""
    stimuli, trials = load(folder, "compose").stimuli, load(folder, "design")
    assert len(stimuli.shown) == len(load(folder, "teach").lessons)
    probes = {trial.probe for trial in trials.trials}
    assert not probes & {seen.id for seen in trials.pool}
    assert (folder / "artifacts" / "compose" / "gallery.html").stat().st_size > 10_000


@pytest.fixture
def cached(embedded, monkeypatch):
    """The embedded classifier is trained, and the command finds it."""


def test_the_drawn_world_fills_its_ninety_trials(cached, tmp_path):
    """The recipe up to its trials, and to the gallery with few masks over the probes alone."""
    folder = tmp_path / "x"
    command("init", folder, "--recipe", "shortcuts")
    command("run", folder, "--until", "design")
    trials = load(folder, "design")
    assert len({(t.category, t.trial_type) for t in trials.trials if t.kind == "trial"}) == 90
    assert [t.kind for t in trials.trials].count("practice") == 2
    assert [t.kind for t in trials.trials].count("attention") == 3
    assert not trials.unfilled
    assert {t.trial_type for t in trials.trials} == set(TRIAL_TYPES)


@pytest.mark.verify
def test_the_drawn_world_to_its_gallery(cached, tmp_path):
    command("init", tmp_path / "x", "--recipe", "shortcuts")
    command("run", tmp_path / "x")
    checked(tmp_path / "x")
    lessons = load(tmp_path / "x", "teach")
    assert len(lessons.lessons) + len(lessons.refused) == 95
    assert len(lessons.lessons) >= 90


@needs_imagenet
def test_a_part_of_imagenet_runs_as_it_lies_on_disk(tmp_path):
    """Twelve classes of ../shared/imagenet, in folders of WordNet numbers, with its ResNet-50: a dozen masks a map."""
    wnids = sorted(place.name for place in (ROOT / "adversarial").iterdir())[:12]
    for source in ("train", "val", "adversarial"):
        for wnid in wnids:
            shutil.copytree(ROOT / source / wnid, tmp_path / source / wnid)
    folder = tmp_path / "study"
    command(
        "init", folder, "--recipe", "imagenet", "--train", tmp_path / "train", "--val", tmp_path / "val",
        "--adversarial", tmp_path / "adversarial", "--checkpoint", ROOT / "resnet50.safetensors",
        "--set", 'design.pool=["train","val"]', "--set", 'design.mined=["val"]', "--set", "design.categories=3",
        "--set", "design.practice=0", "--set", "design.attention=0", "--set", "highlight.masks=12", "--set", "teach.threshold=0",
    )  # fmt: skip
    command("run", folder, "--until", "design")
    trials = load(folder, "design")
    labels = json.loads((folder / "artifacts" / "design" / "manifest.json").read_text())["summary"]
    # Whatever cannot be filled with so few images is listed with its reason.
    assert trials.trials or trials.unfilled, labels
    assert all(row.reason for row in trials.unfilled)
    for trial in trials.trials:
        assert trial.target != trial.alternative
