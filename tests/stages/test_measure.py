"""What a machine tells of explanations is what they are: maps on the thing lift, lessons teach what their learner answers."""

import shutil
from math import isnan
from pathlib import Path

import pytest
import torch
from PIL import Image, ImageDraw

from bayesteach.artifacts import Lessons, MeasuredMap
from bayesteach.explain.faithfulness import faithfulness
from bayesteach.pipeline import BY_NAME, Run
from bayesteach.stages.collect import Collected
from bayesteach.stages.measure import LEARNERS, on_thing, thing
from bayesteach.store.workspace import Workspace
from bayesteach.vision.engines import plain_engine
from tests import small_study


@pytest.fixture(scope="module")
def study(finished, tmp_path_factory) -> Path:
    """The small study, with masks beside its standard images: the left half is the thing."""
    folder = Path(shutil.copytree(finished, tmp_path_factory.mktemp("measure") / "study"))
    for source in ("val", "adversarial"):
        for file in (folder / "images" / source).rglob("*.png"):
            mask = Image.new("L", (small_study.SIZE, small_study.SIZE))
            ImageDraw.Draw(mask).rectangle((0, 0, small_study.SIZE // 2 - 1, small_study.SIZE), fill=255)
            place = folder / "images" / "masks" / file.relative_to(folder / "images")
            place.parent.mkdir(parents=True, exist_ok=True)
            mask.save(place)
    return folder


@pytest.fixture(scope="module")
def run(study) -> Run:
    return Run(Workspace(study), small_study.settings())


@pytest.fixture(scope="module")
def measures(run):
    return run.measure()


def load(study: Path, stage: str):
    return Workspace(study).load(stage, BY_NAME[stage].output)


def test_every_trial_that_counts_is_measured_once(study, measures):
    refused = {row.trial for row in load(study, "teach").refused}
    asked = {t.trial for t in load(study, "design").trials if t.kind == "trial"} - refused
    assert sorted(row.trial for row in measures.maps) == sorted(asked)
    assert sorted((row.trial, row.learner) for row in measures.lessons) == sorted(
        (t, n) for t in asked for n in LEARNERS
    )


def test_a_map_is_measured_against_the_thing(study, run, measures):
    maps, trials = load(study, "highlight"), {t.trial: t for t in load(study, "design").trials}
    collected: Collected = load(study, "collect")
    row: MeasuredMap = measures.maps[0]
    trial = trials[row.trial]
    mask = thing(run.context(), collected, trial.probe)
    assert row.thing_area == pytest.approx(0.5, abs=0.03)
    found = maps.departures[maps.places[trial.probe, trial.target, "expected_mask"]]
    half = found.shape[1] // 2
    assert (mask[:, : half - 2] > 0.9).all()
    assert row.lift == pytest.approx(float(found[:, :half].mean() - found[:, half:].mean()), abs=0.03)
    classifier = run.context().classifier()
    pixels = classifier.pixels(collected.entries[trial.probe].photo(study))
    curves = faithfulness(plain_engine(classifier), pixels, found, trial.target)
    assert row.insertion == pytest.approx(curves.insertion_auc, abs=1e-4)
    assert row.deletion == pytest.approx(curves.deletion_auc, abs=1e-4)


def test_the_studys_own_learner_is_taught_what_the_lesson_says(study, measures):
    lessons: Lessons = load(study, "teach")
    taught = {row.trial: row.taught for row in lessons.lessons}
    own = [row for row in measures.lessons if row.learner == "discriminant"]
    assert own
    for row in own:
        assert row.taught == pytest.approx(taught[row.trial], abs=1e-6)
    for row in measures.lessons:
        if row.learner == "novice":
            assert row.prior == pytest.approx(0.5)
    assert any(abs(row.prior - 0.5) > 1e-3 for row in measures.lessons if row.learner == "knows the head")


def test_on_the_thing_and_beside_it():
    mask = torch.zeros(10, 10)
    mask[:, :3] = 1
    on = torch.where(mask > 0, 0.4, -0.1)
    area, share, lift = on_thing(on, mask)
    assert (area, share, lift) == pytest.approx((0.3, 1.0, 0.5))
    assert on_thing(-on, mask)[1:] == pytest.approx((0.0, -0.5))
    assert all(isnan(x) for x in on_thing(on, None))
    assert all(isnan(x) for x in on_thing(on, torch.ones(10, 10)))


def test_noise_has_no_lift(rng):
    mask = torch.zeros(32, 32)
    mask[8:20, 8:20] = 1
    lifts = torch.tensor([on_thing(torch.randn(32, 32, generator=rng), mask)[2] for _ in range(400)])
    assert abs(float(lifts.mean())) < 4 * float(lifts.std()) / 20


def test_without_masks_nothing_is_said_of_where(finished, tmp_path):
    folder = Path(shutil.copytree(finished, tmp_path / "study"))
    found = Run(Workspace(folder), small_study.settings()).measure()
    assert all(isnan(row.lift) for row in found.maps)
    assert all(0 <= row.insertion <= 1 for row in found.maps)
    assert "of 0 it is known where the thing is" in found.summary
