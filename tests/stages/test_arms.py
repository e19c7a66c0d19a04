"""Conditions and explainers: whatever arms a study names are composed, and a new explainer is a function in a table."""

import shutil
from pathlib import Path

import pytest
import torch

from bayesteach.artifacts import Stimuli, TaughtLesson
from bayesteach.errors import BadSettings
from bayesteach.pipeline import BY_NAME
from bayesteach.stages import highlight as maps_of
from bayesteach.stages import teach as lessons_of
from bayesteach.stages.compose import Composed
from bayesteach.stages.explainers import Maps
from bayesteach.store.workspace import Workspace
from tests import small_study
from tests.small_study import make


@pytest.fixture
def study(finished, tmp_path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "study"))


def composed(folder: Path, *arms: dict[str, object]) -> Stimuli:
    make(folder, small_study.settings(study={"arms": arms}))
    return Workspace(folder).load("compose", Composed).stimuli


def test_one_arm_is_a_study(study):
    stimuli = composed(study, {"name": "maps", "probe": "expected_mask", "factors": {"maps": 1}})
    assert [arm.name for arm in stimuli.arms] == ["maps"]
    lessons = Workspace(study).load("teach", BY_NAME["teach"].output)
    assert (lessons.lessons, lessons.refused) == ((), ())
    for shown, hidden in zip(stimuli.shown, stimuli.hidden, strict=True):
        assert set(shown.panels) == {"maps"}
        assert shown.panels["maps"].overlay is not None
        assert shown.panels["maps"].groups == ()
        assert "posterior" not in hidden.covariates
        assert "map_noise" in hidden.covariates
    gallery = (study / "artifacts" / "compose" / "gallery.html").read_text("utf-8")
    assert "after the lesson" not in gallery


def test_three_arms_of_one_factor(study):
    stimuli = composed(
        study,
        {"name": "nothing", "factors": {"explanation": "none"}},
        {"name": "maps", "probe": "expected_mask", "factors": {"explanation": "maps"}},
        {"name": "lessons", "examples": "lesson", "factors": {"explanation": "lessons"}},
    )
    assert {arm.name: dict(arm.factors) for arm in stimuli.arms} == {
        name: {"explanation": level} for name, level in (("nothing", "none"), ("maps", "maps"), ("lessons", "lessons"))
    }
    # No arm shows both, so no example has a map.
    maps = Workspace(study).load("highlight", BY_NAME["highlight"].output)
    assert {row.image for row in maps.of} == {hidden.covariates["probe"] for hidden in stimuli.hidden}
    for shown in stimuli.shown:
        assert [group.overlays for group in shown.panels["lessons"].groups] == [(), ()]


def test_a_study_without_explanations_needs_neither_lessons_nor_maps(study):
    stimuli = composed(study, {"name": "control"})
    assert len(stimuli.pictures) == len(stimuli.shown) + 1


def test_a_new_explainer_is_a_function_in_a_table(study, monkeypatch):
    """Two explainers of each kind side by side, the second ones made here."""

    def first_ones(settings, context, question) -> TaughtLesson:
        trial, half = question.trial, settings.teach.each
        sides = [
            tuple(seen.id for seen in question.pool if seen.label == label)[:half]
            for label in (trial.target, trial.alternative)
        ]
        return TaughtLesson(trial.trial, "", *sides, prior=0.5, posterior=0.6, taught=0.4, rank=1, candidates=1)

    def flat(settings, context, photo, labels) -> Maps:
        size = (len(labels), *context.classifier().geometry.size)
        ones = torch.ones(len(labels), dtype=torch.float64)
        return Maps(torch.full(size, 0.2), torch.zeros(size), 7 * ones, 0 * ones, ("converged",) * len(labels))

    monkeypatch.setitem(lessons_of.EXAMPLES, "first", first_ones)
    monkeypatch.setitem(maps_of.MAPS, "flat", flat)
    stimuli = composed(
        study,
        {"name": "taught", "probe": "expected_mask", "examples": "lesson", "factors": {"by": "us"}},
        {"name": "other", "probe": "flat", "examples": "first", "factors": {"by": "them"}},
    )
    for shown, hidden in zip(stimuli.shown, stimuli.hidden, strict=True):
        ours, theirs = shown.panels["taught"], shown.panels["other"]
        assert stimuli.pictures[ours.overlay] != stimuli.pictures[theirs.overlay]
        assert [len(group.overlays) for group in theirs.groups] == [2, 2]
        assert hidden.covariates["first_taught"] == 0.4
        assert hidden.covariates["flat_effective_samples"] == 7
        assert {"taught", "effective_samples"} <= set(hidden.covariates)
    maps = Workspace(study).load("highlight", BY_NAME["highlight"].output)
    assert {row.explainer for row in maps.of} == {"expected_mask", "flat"}


def test_maps_that_nobody_makes_are_refused(study):
    with pytest.raises(BadSettings, match="'magic', expected one of expected_mask"):
        composed(study, {"name": "a", "probe": "magic"})
