"""The drawn world and a small part of ImageNet, from init to the gallery."""

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
    """Three classes of ../shared/imagenet, in folders of WordNet numbers, with its ResNet-50: a dozen masks a map.

    So few images fill no design by themselves, so its trials are named: a hit of one class beside another.
    """
    wnids = sorted(place.name for place in (ROOT / "adversarial").iterdir())
    wnids = sorted(wnids, key=lambda wnid: -len(list((ROOT / "train" / wnid).iterdir())))[:3]
    for source in ("train", "val", "adversarial"):
        for wnid in wnids:
            shutil.copytree(ROOT / source / wnid, tmp_path / source / wnid)
    folder = tmp_path / "study"
    command(
        "init", folder, "--recipe", "imagenet", "--train", tmp_path / "train", "--val", tmp_path / "val",
        "--adversarial", tmp_path / "adversarial", "--checkpoint", ROOT / "resnet50.safetensors",
        "--set", 'design.pool=["train","val"]', "--set", 'design.mined=["val"]', "--set", "fit.shrinkage=0.5",
        "--set", "highlight.masks=12", "--set", "teach.threshold=0",
    )  # fmt: skip
    command("run", folder, "--until", "embed")
    seen = load(folder, "embed").seen
    assert {one.source for one in seen} == {"train", "val", "adversarial"}
    assert not any(one.answer == one.label for one in seen if one.source == "adversarial")
    hits = [one for one in seen if one.source == "val" and one.answer == one.label]
    assert len(hits) >= sum(one.source == "val" for one in seen) / 2
    labels = sorted({one.label for one in hits})
    first, second = (next(one for one in hits if one.label == label) for label in labels[:2])
    names = {entry.label: entry.path for entry in load(folder, "collect").images}
    wnid_of = {label: names[label].split("/")[-2] for label in labels}
    rows = [f"{first.id},{wnid_of[second.label]}", f"{second.id},{wnid_of[first.label]}"]
    (folder / "trials.csv").write_text("probe,alternative\n" + "\n".join(rows) + "\n")
    command("run", folder)
    checked(folder)
    assert {t.trial_type for t in load(folder, "design").trials} == {"standard_correct"}
