"""Arms by other explainers than ours: they run, keep one colour scale, and say what is wrong before hours of work."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from bayesteach import Classifier
from bayesteach.artifacts import Lessons, MapOf, SaliencyMaps, Stimuli
from bayesteach.errors import BadSettings, BadStudy
from bayesteach.pipeline import BY_NAME, Run
from bayesteach.stages import arms as module
from bayesteach.stages.attributed import on_one_scale
from bayesteach.stages.chosen import choose
from bayesteach.store.workspace import Workspace
from bayesteach.vision.overlay import SPAN
from tests import small_study
from tests.stages.questions import world

PAGE = Path(__file__).parents[2] / "docs" / "explainers.md"
OTHERS = [
    {"name": "control", "factors": {"map": "none"}},
    {"name": "teaching", "probe": "expected_mask", "examples": "lesson", "factors": {"map": "expected_mask"}},
    {"name": "cam", "probe": "grad_cam", "examples": "random_examples", "factors": {"map": "grad_cam"}},
    {"name": "hiding", "probe": "occlusion", "factors": {"map": "occlusion"}},
    {"name": "mine", "probe": "mine:gradient", "examples": "mine:nearest", "factors": {"map": "gradient"}},
]


def own_file() -> str:
    """mine.py as the page has it."""
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return code


def arm(**named: str) -> dict[str, object]:
    return {"name": "a", "factors": {}, **named}


@pytest.fixture(scope="module")
def told():
    return small_study.settings(study={"arms": OTHERS}, teach={"threshold": 0.3})


@pytest.fixture(scope="module")
def study(finished, told, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("arms") / "study"
    shutil.copytree(finished, folder)
    (folder / "mine.py").write_text(own_file())
    small_study.make(folder, told)
    return folder


def load(study: Path, stage: str):
    return Workspace(study).load(stage, BY_NAME[stage].output)


def test_the_page_of_twenty_lines_has_twenty_lines():
    assert len([line for line in own_file().splitlines() if line.strip()]) <= 20


def test_every_arm_shows_what_it_names(study):
    stimuli: Stimuli = load(study, "compose").stimuli
    assert [one.name for one in stimuli.arms] == [one["name"] for one in OTHERS]
    for shown in stimuli.shown:
        overlays = {name: panel.overlay for name, panel in shown.panels.items()}
        assert overlays["control"] is None
        assert len({stimuli.pictures[name] for name in overlays.values() if name}) == 4
        assert shown.panels["hiding"].groups == ()
        assert [group.heading for group in shown.panels["cam"].groups] == list(shown.options)
        assert all(len(group.overlays) == 2 for group in shown.panels["mine"].groups)


def test_whoever_chose_them_examples_are_of_the_two_classes_and_tell_what_they_teach(study):
    lessons: Lessons = load(study, "teach")
    labels = {seen.id: seen.label for seen in load(study, "design").pool}
    trials = {trial.trial: trial for trial in load(study, "design").trials}
    by_name = {
        name: {row.trial: row for row in lessons.lessons if row.explainer == name}
        for name in ("lesson", "random_examples", "mine:nearest")
    }
    assert by_name["random_examples"].keys() == trials.keys()
    for rows in by_name.values():
        for row in rows.values():
            assert {labels[i] for i in row.targets} == {trials[row.trial].target}
            assert {labels[i] for i in row.alternatives} == {trials[row.trial].alternative}
    taught = {name: np.mean([row.taught for row in rows.values()]) for name, rows in by_name.items()}
    assert taught["lesson"] > taught["random_examples"]


def test_the_columns_of_the_analysis_name_the_explainer(study):
    covariates = load(study, "compose").stimuli.hidden[0].covariates
    assert {"taught", "random_examples_taught", "mine_nearest_taught", "effective_samples"} <= set(covariates)
    assert not {name for name in covariates if name.startswith("grad_cam")}


def test_an_own_explainer_that_changes_is_asked_again_alone(study, told, tmp_path):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    before = {file.name for file in (folder / "units" / "maps").rglob("*.safetensors")}
    (folder / "mine.py").write_text(own_file().replace(".abs()", ""))
    states = {made.stage.name: made for made in Run(Workspace(folder), told).status()}
    assert states["design"].fresh
    assert "own explainer" in states["highlight"].reason
    assert "highlight" in [name for name, made in small_study.make(folder, told).items() if not made.fresh]
    after = {file.name for file in (folder / "units" / "maps").rglob("*.safetensors")}
    changed = len([row for row in load(folder, "highlight").of if row.explainer == "mine:gradient"])
    assert 0 < len(after - before) <= changed


def test_one_factor_for_all_maps_of_a_method():
    rng = torch.Generator().manual_seed(0)
    sizes = torch.tensor([0.01, 5.0, 1.0, 2.0])[:, None, None]
    values = sizes * torch.randn(4, 20, 20, generator=rng)
    rows = tuple(
        MapOf(f"{i}", 0, name, 1.0, 0.0, None) for i, name in enumerate(("cam", "cam", "expected_mask", "cam"))
    )
    found = on_one_scale(SaliencyMaps(rows, values, values), frozenset({"cam", "absent"})).departures
    cam = [0, 1, 3]
    factors = (found[cam] / values[cam]).flatten()
    assert float(factors.std()) < 1e-4 * float(factors.mean())
    assert np.quantile(found[cam].abs().numpy(), 0.99) == pytest.approx(SPAN, rel=1e-5)
    assert torch.equal(found[2], values[2])


def test_maps_of_nothing_stay_nothing():
    nothing = torch.zeros(1, 4, 4)
    found = on_one_scale(SaliencyMaps((MapOf("a", 0, "cam", 1.0, 0.0, None),), nothing, nothing), frozenset({"cam"}))
    assert torch.equal(found.departures, nothing)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"probe": "grad_cm"}, ["grad_cm", "expected_mask, grad_cam, occlusion"]),
        ({"examples": "randm"}, ["randm", "lesson, random_examples"]),
        ({"probe": "nowhere:map"}, ["nowhere.py", "no module 'nowhere'"]),
        ({"probe": "mine:grdient"}, ["mine has no function 'grdient'"]),
        ({"probe": "broken:map"}, ["broken cannot be imported", "ZeroDivisionError"]),
        ({"probe": "lacks:map"}, ["imports not_there, which is not installed"]),
    ],
)
def test_an_arm_that_cannot_explain_is_refused_before_any_work(named, words, tmp_path):
    (tmp_path / "mine.py").write_text(own_file())
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "lacks.py").write_text("import not_there")
    with pytest.raises(BadSettings) as refused:
        next(Run(Workspace(tmp_path), small_study.settings(study={"arms": [arm(**named)]})).make())
    for word in words:
        assert word in str(refused.value)


def test_a_missing_extra_is_said_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "installed", lambda: False)
    with pytest.raises(BadSettings, match=r"pip install 'bayesteach\[captum\]'"):
        next(Run(Workspace(tmp_path), small_study.settings(study={"arms": [arm(probe="occlusion")]})).make())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return pixels", r"shape \(3, .*one finite number for each"),
        ("return pixels[0] / 0", "values that are not finite"),
        ("raise KeyError('oh')", "failed .KeyError: 'oh'"),
    ],
)
def test_a_map_that_is_none_is_named(body, words, study, tmp_path):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    (folder / "bad.py").write_text(f"def map(classifier, pixels, label):\n    {body}\n")
    with pytest.raises(BadStudy, match=words):
        small_study.make(folder, small_study.settings(study={"arms": [arm(probe="bad:map")]}))


@pytest.mark.parametrize("places", [(0, 1), (0, 0, 30, 31), (30, 31, 0, 1), (0, 1, 30, 999)])
def test_a_choice_that_is_none_is_named(places):
    scene = world(classes=2)
    from bayesteach import Pool  # noqa: PLC0415

    ids = [[row.id for row in scene.trials.pool if row.label == label] for label in (0, 1)]
    pool = Pool.of(*(scene.features.of(side).double() for side in ids), *ids)
    with pytest.raises(BadStudy, match="expected 2 different images of the target"):
        choose("mine:odd", lambda *_: places, pool.features[0, 0], pool, 2, torch.Generator())


def test_a_classifier_is_all_that_an_attribution_needs():
    assert {"backbone", "head", "normalised"} <= set(dir(Classifier))
