"""Lessons: each search gives what it says, refusals have reasons, views are seen, and random numbers belong to the trial."""

import pytest
import torch

from bayesteach import Pool
from bayesteach.artifacts import Lessons
from bayesteach.errors import BadSettings, BadStudy
from bayesteach.settings import Settings, validated
from bayesteach.stages import teach as module
from bayesteach.stages.context import Context
from bayesteach.stages.teach import learner_for, teach
from tests.stages.questions import World, world

SEARCHES = ("exchange", "first_past", "best_of", "from_teacher")


def told(**section: object) -> Settings:
    return validated({"teach": {"threshold": 0.0, **section}}, "test")


def lessons(scene: World, settings: Settings, folder=None) -> Lessons:
    context = Context(lambda: None, lambda: None, *([folder] if folder else []))
    return teach(settings, context, scene.collected, scene.features, scene.posterior, scene.trials)


@pytest.fixture(scope="module")
def scene() -> World:
    return world()


@pytest.mark.parametrize("learner", ["discriminant", "logistic"])
@pytest.mark.parametrize("search", SEARCHES)
def test_what_a_lesson_is_said_to_teach_is_what_the_learner_answers(search, learner, scene):
    settings = told(search=search, learner=learner)
    found = lessons(scene, settings)
    assert len(found.lessons) + len(found.refused) == len(scene.trials.trials)
    assert found.lessons
    by_trial = {trial.trial: trial for trial in scene.trials.trials}
    for row in found.lessons:
        trial = by_trial[row.trial]
        labels = {seen.id: seen.label for seen in scene.trials.pool}
        assert [labels[i] for i in row.targets] == [trial.target] * 2
        assert [labels[i] for i in row.alternatives] == [trial.alternative] * 2
        assert len({*row.targets, *row.alternatives}) == 4
        pool = Pool.of(scene.features.of(row.targets).double(), scene.features.of(row.alternatives).double())
        probe = scene.features.of([trial.probe])[0].double()
        answer = learner_for(settings, scene.posterior, trial).facing(probe, pool).predict(torch.arange(4)[None])
        assert row.posterior == pytest.approx(float(answer.probability[0]), abs=1e-8)
        assert row.prior == pytest.approx(float(answer.prior), abs=1e-8)
        assert row.taught == pytest.approx(float(answer.taught[0]), abs=1e-6)
        assert 1 <= row.rank <= row.candidates + 1


def test_exchange_is_never_worse_than_the_best_of_as_many(scene):
    searched, drawn = (lessons(scene, told(search=search, candidates=10)) for search in ("exchange", "best_of"))
    for better, worse in zip(searched.lessons, drawn.lessons, strict=True):
        assert better.posterior >= worse.posterior - 1e-9
    assert max(b.posterior - w.posterior for b, w in zip(searched.lessons, drawn.lessons, strict=True)) > 1e-3


@pytest.mark.parametrize("search", SEARCHES)
def test_the_threshold_refuses_under_every_search(search, scene):
    free = {row.trial: row.posterior for row in lessons(scene, told(search=search)).lessons}
    bar = sorted(free.values())[len(free) // 2]
    found = lessons(scene, told(search=search, threshold=bar))
    assert all(row.posterior >= bar for row in found.lessons)
    assert {row.trial for row in found.lessons} | {row.trial for row in found.refused} == set(free)
    nothing = lessons(scene, told(search=search, threshold=1.0))
    assert not nothing.lessons
    assert all(row.reason for row in nothing.refused)


def test_a_trial_keeps_its_lesson_whatever_else_is_in_the_study(scene):
    fewer = World(
        scene.collected,
        scene.features,
        scene.posterior,
        type(scene.trials)(scene.trials.trials[2:4], scene.trials.pool, (), ()),
    )
    whole = {row.trial: row for row in lessons(scene, told(search="best_of")).lessons}
    for row in lessons(fewer, told(search="best_of")).lessons:
        assert whole[row.trial] == row


def test_how_much_the_learner_knows_is_a_setting(scene):
    novice = lessons(scene, told(learner="logistic", knowledge=0.0))
    assert {round(row.prior, 12) for row in novice.lessons} == {0.5}
    free = lessons(scene, told(learner="logistic", prior_strength=0.01))
    stiff = lessons(scene, told(learner="logistic", prior_strength=100.0))
    assert sum(row.taught for row in free.lessons) > 10 * sum(row.taught for row in stiff.lessons)


def test_lessons_of_ones_own_are_taken_and_what_they_teach_is_said(scene, tmp_path):
    trial = scene.trials.trials[0]
    ids = {label: [s.id for s in scene.trials.pool if s.label == label] for label in (trial.target, trial.alternative)}
    chosen = (ids[trial.target][:2], ids[trial.alternative][3:5])
    (tmp_path / "lessons.csv").write_text(
        f"trial,targets,alternatives\n{trial.trial},{' '.join(chosen[0])},{' '.join(chosen[1])}\n"
    )
    found = {row.trial: row for row in lessons(scene, told(), tmp_path).lessons}
    assert (found[trial.trial].targets, found[trial.trial].alternatives) == (tuple(chosen[0]), tuple(chosen[1]))
    assert 0 < found[trial.trial].posterior < 1
    (tmp_path / "lessons.csv").write_text(f"trial,targets,alternatives\n{trial.trial},nobody x,y z\n")
    with pytest.raises(BadStudy, match="'nobody' is not in its pool"):
        lessons(scene, told(), tmp_path)


def test_an_explainer_that_nobody_knows_is_refused(scene):
    settings = validated({"study": {"arms": [{"name": "a", "examples": "magic"}]}}, "test")
    with pytest.raises(BadSettings, match="'magic', expected one of lesson"):
        lessons(scene, settings)


@pytest.fixture
def views(scene, monkeypatch):
    """Views of an image as features near its own, and a list of whose were asked for."""
    asked = []

    def near(context, entry, count, rng):
        asked.append(entry.id)
        return scene.features.of([entry.id]) + 0.3 * torch.nn.functional.pad(
            torch.randn(count, 6, generator=rng), (0, 1)
        )

    monkeypatch.setattr(module, "views_of", near)
    return asked


def test_with_views_the_best_lessons_are_taught_again_and_no_other_image_is_embedded(scene, views):
    found = lessons(scene, told(views=5, rescored=3, search="best_of"))
    assert found.lessons
    assert len(set(views)) <= 4 * 4 * len(scene.trials.trials)
    plain = lessons(scene, told(search="best_of"))
    assert {row.trial: row.posterior for row in found.lessons} != {row.trial: row.posterior for row in plain.lessons}


def test_the_papers_search_embeds_views_of_the_candidates_that_it_looks_at(scene, views):
    found = lessons(scene, told(views=5, search="first_past", learner="logistic", threshold=0.0))
    # The first lesson passes, and eight are looked at together.
    assert all(row.candidates == 8 for row in found.lessons)
    assert len(views) <= 8 * 4 * len(scene.trials.trials)
