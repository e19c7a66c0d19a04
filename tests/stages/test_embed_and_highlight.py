"""Features and maps as the stages keep them: those of the classifier itself, and of every image that some arm shows."""

import shutil
from pathlib import Path

import pytest
import torch

from bayesteach import Classifier, explain
from bayesteach.pipeline import BY_NAME
from bayesteach.settings import Settings
from bayesteach.stages.context import UNIT, digest, rng, units
from bayesteach.stages.fit import judge
from bayesteach.store.workspace import Workspace
from tests import small_study
from tests.small_study import make


@pytest.fixture(scope="module")
def told() -> Settings:
    return small_study.settings()


def load(folder: Path, stage: str):
    return Workspace(folder).load(stage, BY_NAME[stage].output)


def test_maps_are_those_that_explain_makes(finished, told):
    classifier = Classifier.load(
        "timm:test_resnet", checkpoint=finished / "small.safetensors", labels=finished / "labels.txt"
    )
    collected, maps = load(finished, "collect"), load(finished, "highlight")
    for place in (0, len(maps.of) // 2, len(maps.of) - 1):
        row = maps.of[place]
        photo = collected.entries[row.image].photo(finished)
        found = explain(classifier, photo, row.label, masks=told.highlight.masks, seed=told.seed)
        torch.testing.assert_close(maps.departures[place], (found.maps[0] - found.prior_mean).float())
        torch.testing.assert_close(maps.doubts[place], found.doubt[0].float())
        assert row.effective_samples == pytest.approx(float(found.effective_samples[0]))
        assert row.noise == pytest.approx(found.noise[0])
        assert row.verdict == found.verdicts[0]


def test_every_picture_that_an_arm_shows_has_its_map_and_no_other(finished):
    trials, lessons, maps = (load(finished, stage) for stage in ("design", "teach", "highlight"))
    by_trial = {trial.trial: trial for trial in trials.trials}
    wanted = set()
    for row in lessons.lessons:
        trial = by_trial[row.trial]
        wanted.add((trial.probe, trial.target))
        wanted |= {(i, trial.target) for i in row.targets} | {(i, trial.alternative) for i in row.alternatives}
    assert {(row.image, row.label) for row in maps.of} == wanted
    assert all(row.effective_samples >= 1 for row in maps.of)


def test_an_image_that_cannot_be_read_is_listed_and_stops_nothing(images, tmp_path):
    folder = Path(shutil.copytree(images, tmp_path / "broken"))
    victim = min((folder / "images" / "train" / "red").iterdir())
    victim.write_bytes(victim.read_bytes()[:60])
    make(folder, until="embed")
    features, whole = load(folder, "embed"), load(folder, "collect")
    (skipped,) = features.skipped
    assert skipped.path == "images/train/red/000.png"
    assert len(features.seen) == len(features.features) == len(whole.images) - 1
    assert "could not be read, the first images/train/red/000.png" in features.summary


def test_units_do_not_depend_on_the_order_and_a_new_image_changes_one(rng):
    ids = [digest(number) for number in range(3 * UNIT)]
    groups = units(ids)
    assert units(ids[::-1]) == groups
    assert sorted(i for group in groups for i in group) == sorted(ids)
    assert max(map(len, groups)) < 2 * UNIT
    more = units([*ids, digest("new")])
    assert sum(group not in groups for group in more) == 1


def test_every_unit_has_random_numbers_of_its_own():
    one, other, again = (torch.rand(3, generator=rng(*key)) for key in ((0, "a", "x"), (0, "a", "y"), (0, "a", "x")))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert not torch.equal(one, torch.rand(3, generator=rng(1, "a", "x")))


def test_a_head_is_judged_by_what_its_probabilities_say():
    p = torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], dtype=torch.float64)
    found = judge("plain", p, torch.tensor([0, 1, 2, 2]))
    assert found.top1 == 0.75
    assert found.top5 == 1.0
    assert found.log_loss == pytest.approx(float(-torch.tensor([0.6, 0.7, 0.25, 0.8]).log().mean()), abs=1e-6)
    # Each answer is in a bin of its own: |1 − 0.6|, |1 − 0.7|, |0 − 0.5|, |1 − 0.8| over four.
    assert found.calibration_error == pytest.approx((0.4 + 0.3 + 0.5 + 0.2) / 4)


def test_the_bayesian_head_is_judged_on_images_that_chose_nothing(finished):
    posterior, features = load(finished, "fit"), load(finished, "embed")
    held_out = [seen for seen in features.seen if seen.source == "val"]
    assert [row.head for row in posterior.judged] == ["deterministic", "Bayesian"]
    assert {row.images for row in posterior.judged} == {len(held_out) // 2}


def test_a_refit_on_views_goes_on_where_it_was_stopped(images, tmp_path, monkeypatch):
    """Three epochs: stopped in the second, and run again, it ends with the same head and repeats nothing that was kept."""
    from bayesteach.stages import refit  # noqa: PLC0415

    monkeypatch.setattr(refit, "_KEPT", 1)
    monkeypatch.setattr(refit, "_BATCH", 30)
    told = small_study.settings(fit={"refit": True, "refit_views": 3, "shrinkage": 0.5, "weight_decay": 1e-2})
    whole, stopped = (Path(shutil.copytree(images, tmp_path / name)) for name in ("whole", "stopped"))
    make(whole, told, until="fit")
    real, asked = refit._views, []

    def views(*arguments):
        asked.append(arguments[-2])
        if len(asked) == 5:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(refit, "_views", views)
    with pytest.raises(KeyboardInterrupt):
        make(stopped, told, until="fit")
    make(stopped, told, until="fit")
    an_epoch = -(-12 * len(small_study.CLASSES) // 30)
    assert len(asked) == 3 * an_epoch + 1
    assert torch.equal(load(stopped, "fit").head.mean, load(whole, "fit").head.mean)
    plain = small_study.settings(fit={"refit": True, "shrinkage": 0.5, "weight_decay": 1e-2})
    make(stopped, plain, until="fit")
    assert not torch.equal(load(stopped, "fit").head.mean, load(whole, "fit").head.mean)
