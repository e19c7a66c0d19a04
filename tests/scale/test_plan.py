"""A plan: how much there is to do is what the stages then do, and times are rates times that."""

import re
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.pipeline import BY_NAME
from bayesteach.scale.plan import Scope, assumed, enlarged, listed, plan, sample, scope
from bayesteach.scale.rates import Rates
from bayesteach.settings import validated
from bayesteach.store.workspace import Workspace
from tests import small_study

IMAGENET = {"train": 1_281_167, "val": 50_000, "adversarial": 7_500}
SOURCES = [{"name": name, "folder": name} for name in IMAGENET]
RATES = Rates(
    read=0.5, exact=2.0, fast=1.0, summed=0.25, judged=4.0, solved=10.0, pictures={"expected_mask": 3.0}, memory=1e9
)


def imagenet(**sections):
    design = {"adversarial": ["adversarial"], "practice": 0, "attention": 0}
    return validated({"source": SOURCES, "design": design, **sections}, "test")


def test_the_whole_of_imagenet_is_counted_as_its_page_says():
    found = scope(imagenet(teach={"views": 128}), IMAGENET)
    assert (found.images, found.exact, found.train, found.held_out) == (1_338_667, 1_338_667, 1_281_167, 50_000)
    assert found.trials == 90
    assert found.pictures == {"expected_mask": 450}
    assert found.views == 921_600
    assert scope(imagenet(preset="paper"), IMAGENET).refit == 128_116_700


def test_images_that_only_enter_sums_are_counted_apart():
    sources = [*SOURCES, {"name": "more", "folder": "more"}]
    told = validated({"source": sources, "fit": {"train": ["train", "more"]}}, "test")
    found = scope(told, {**IMAGENET, "more": 10})
    assert (found.fast, found.train) == (10, 1_281_177)


def test_what_is_planned_is_what_the_stages_do(finished):
    told = small_study.settings()
    places = listed(told, finished)
    found = scope(told, {name: len(some) for name, some in places.items()})
    load = {name: Workspace(finished).load(name, BY_NAME[name].output) for name in ("embed", "design", "highlight")}
    assert found.images == len(load["embed"].seen)
    assert found.trials >= len(load["design"].trials)
    assert found.pictures["expected_mask"] >= len(load["highlight"].of)


def test_workers_share_what_can_be_shared():
    amount = Scope(exact=100, fast=10, train=80, held_out=20, trials=5, pictures={"expected_mask": 6}, views=7, refit=8)
    told = imagenet(fit={"draws": 900})
    alone, four = (plan(told, amount, RATES, (10, 50), (8, 8), workers) for workers in (1, 4))
    assert [step.seconds for step in alone.steps] == [55.0, 210.0, 20.0, 80.0 + 140.0, 8.0, 7.0, 18.0]
    assert [step.seconds for step in four.steps] == [55.0, 52.5, 5.0, 220.0, 8.0, 7.0, 4.5]
    assert alone.disk["features"] == 4 * 50 * 110
    assert four.worker == 1e9 < four.planner


def test_assumed_hardware_changes_the_network_and_nothing_else():
    fast = assumed(RATES, imagenet(highlight={"masks": 500}), 1000.0)
    assert fast == replace(RATES, exact=1e-3, fast=1e-3, pictures={"expected_mask": 0.5})


def test_more_images_keep_their_shares():
    assert enlarged({"a": 30, "b": 10}, 4000) == {"a": 3000, "b": 1000}


def test_a_sample_is_spread_over_sources_and_leaves_out_what_cannot_be_read(images, tmp_path):
    folder = shutil.copytree(images, tmp_path / "study")
    for broken in (folder / "images" / "val").rglob("*.png"):
        broken.write_bytes(b"no picture")
    found = sample(listed(small_study.settings(), folder), 40, folder)
    assert {entry.split for entry in found} == {"train", "adversarial"}
    assert found[0].photo(folder).size == (64, 64)


@pytest.fixture(scope="module")
def told(finished):
    """What the command says of the small study, and whether it left anything there."""
    before = sorted(finished.rglob("*"))
    words = ["plan", str(finished), "--workers", "4", "--images", "1338667", "--rate", "500"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert sorted(finished.rglob("*")) == before
    return done.stdout


def test_the_command_says_time_disk_memory_and_what_it_assumes(told):
    assert re.search(r"collect +1,33\d,\d{3} images read .* one process", told)
    assert re.search(r"embed +1,33\d,\d{3} images +2,000\.0 .* 4 workers", told)
    assert re.search(r"highlight +\d+ pictures × 16 masks", told)
    assert "features" in told
    assert "GB a worker" in told or "MB a worker" in told
    assert "ASSUMED, not measured: 500 images a second" in told
    assert "ASSUMED: each of 4 workers is as fast as this one was alone" in told


def test_a_study_without_images_is_told_so(tmp_path):
    (tmp_path / "study.toml").write_text("seed = 1\n")
    done = CliRunner().invoke(app, ["plan", str(tmp_path)])
    assert done.exit_code == 2
    assert "[[source]]" in done.stderr
