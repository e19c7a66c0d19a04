"""Trials by the paper's §6: categories, targets, alternatives, and a pool that never holds what would tell an answer."""

import csv
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bayesteach.artifacts import TRIAL_TYPES, Seen, Trials
from bayesteach.errors import BadStudy, Empty
from bayesteach.settings import Settings, validated
from bayesteach.stages.context import Context
from bayesteach.stages.design import _Candidates, _evenly, designed, from_predictions
from bayesteach.stages.own_tables import excluded, own_trials
from tests.vision.imagenet import ROOT, needs_imagenet

CLASSES = 12
LABELS = tuple(f"kind {number}" for number in range(CLASSES))


def told(**design: object) -> Settings:
    return validated({"design": {"categories": 4, "adversarial": ["adversarial"], **design}}, "test")


def predictions(seed: int = 0, classes: int = CLASSES, each: int = 12) -> list[Seen]:
    """A classifier that is right more often on later classes, and mistakes a class for its neighbours."""
    rng = np.random.default_rng(seed)
    rows = []
    for source, label, number in product(("train", "val", "adversarial"), range(classes), range(each)):
        right = source != "adversarial" and rng.random() < 0.4 + 0.5 * label / classes
        answer = label if right else (label + int(rng.choice([1, 1, 1, 2, 3]))) % classes
        rows.append(Seen(f"{source}-{label}-{number:03}", source, label, answer, float(rng.uniform(0.3, 1))))
    return rows


def checked(trials: Trials, rows: list[Seen], copies: dict[str, frozenset[str]] | None = None, each: int = 2) -> None:
    """What must hold of any design."""
    by_id = {row.id: row for row in rows}
    pool = {row.id: row for row in trials.pool}
    for trial in trials.trials:
        probe = by_id[trial.probe]
        assert trial.target == probe.answer
        assert trial.category == probe.label
        assert trial.alternative != trial.target
        if trial.target != trial.category:
            assert trial.alternative == trial.category
        assert trial.probe not in pool
        assert not (copies or {}).get(trial.probe, frozenset()) & pool.keys()
        for label in (trial.target, trial.alternative):
            assert sum(row.label == label for row in pool.values()) >= each
        wanted = "correct" if trial.target == trial.category else "incorrect"
        assert trial.trial_type.endswith(f"_{wanted}")
    probes = [trial.probe for trial in trials.trials]
    assert len(set(probes)) == len(probes)
    for a, b in product(probes, probes):
        assert b not in (copies or {}).get(a, frozenset())
    ids = [trial.trial for trial in trials.trials]
    assert len(set(ids)) == len(ids)


def test_each_category_has_one_trial_of_each_type():
    trials = from_predictions(told(), predictions(), LABELS)
    chosen = [category.category for category in trials.categories if category.chosen]
    assert len(chosen) == 4
    own = [(t.category, t.trial_type) for t in trials.trials if t.kind == "trial"]
    assert sorted(own) == sorted(product(chosen, TRIAL_TYPES))
    checked(trials, predictions())


@given(seed=st.integers(0, 10_000), each=st.integers(3, 8), wanted=st.integers(1, 12), mined=st.booleans())
def test_the_laws_hold_for_any_predictions(seed, each, wanted, mined):
    rows = predictions(seed, each=each)
    rng = np.random.default_rng(seed)
    copies: dict[str, frozenset[str]] = {}
    for _ in range(6):
        a, b = (rows[int(i)].id for i in rng.integers(0, len(rows), 2))
        if a != b:
            copies[a] = copies.get(a, frozenset()) | {b}
            copies[b] = copies.get(b, frozenset()) | {a}
    settings = told(categories=wanted, mined=["val"] if mined else [], pool=["train", "val"])
    try:
        trials = from_predictions(settings, rows, LABELS, copies)
    except Empty:
        return
    checked(trials, rows, copies)


def test_nothing_depends_on_the_order_of_the_predictions():
    rows = predictions()
    shuffled = [rows[int(i)] for i in np.random.default_rng(1).permutation(len(rows))]
    assert from_predictions(told(), rows, LABELS).trials == from_predictions(told(), shuffled, LABELS).trials


def test_categories_are_evenly_spaced_ranks_of_accuracy():
    trials = from_predictions(told(categories=3), predictions(), LABELS)
    accuracies = [category.accuracy for category in trials.categories]
    assert accuracies == sorted(accuracies)
    unfilled = {row.category for row in trials.unfilled}
    able = [category for category in trials.categories if category.category not in unfilled]
    ranks = [rank for rank, category in enumerate(able) if category.chosen]
    assert ranks == [0, round((len(able) - 1) / 2), len(able) - 1]


@pytest.mark.parametrize(("size", "count"), [(10, 3), (5, 5), (4, 9), (1, 1), (200, 30)])
def test_even_spacing_keeps_both_ends_and_no_place_twice(size, count):
    places = _evenly(list(range(size)), count)
    assert len(set(places)) == len(places) == min(size, count)
    assert places[0] == 0
    if count > 1:
        assert places[-1] == size - 1
        assert np.ptp(np.diff(places)) <= 1 if len(places) > 1 else True


def slow_alternative(confusion: np.ndarray, mean: np.ndarray, true: int) -> int:
    """PAPER §6, word by word."""
    best = None
    for c in range(len(confusion)):
        if c == true:
            continue
        key = (confusion[true, c], confusion[c, true], mean[true, c])
        if best is None or key > best[0]:
            best = (key, c)
    return best[1]


@given(seed=st.integers(0, 10_000))
def test_the_alternative_is_the_most_confusable_class_with_ties_settled(seed):
    rng = np.random.default_rng(seed)
    confusion = rng.integers(0, 3, (6, 6))
    mean = rng.integers(0, 3, (6, 6)) / 4
    candidates = _Candidates({}, confusion, torch.from_numpy(mean))
    for true in range(6):
        assert candidates.most_confusable[true] == slow_alternative(confusion, mean, true)


def test_mined_errors_are_confident_and_never_standard_errors():
    rows = [row for row in predictions() if row.source != "adversarial"]
    settings = validated({"design": {"categories": 4, "mined": ["val"], "mined_confidence": 0.6}}, "test")
    trials = from_predictions(settings, rows, LABELS)
    mined = [t for t in trials.trials if t.trial_type == "adversarial_incorrect"]
    assert mined
    assert {t.source for t in mined} == {"mined"}
    assert min(t.confidence for t in mined) >= 0.6
    assert max(t.confidence for t in trials.trials if t.trial_type == "standard_incorrect") < 0.6


def test_the_pool_can_be_kept_to_what_is_answered_as_labelled():
    trials = from_predictions(told(pool_filter="answered_as_labelled"), predictions(), LABELS)
    assert all(row.answer == row.label for row in trials.pool)


def test_practice_and_attention_come_from_categories_that_the_study_does_not_use():
    trials = from_predictions(told(), predictions(), LABELS)
    used = {t.category for t in trials.trials if t.kind == "trial"}
    extra = [t for t in trials.trials if t.kind != "trial"]
    assert [t.kind for t in extra] == ["practice"] * 2 + ["attention"] * 3
    assert not used & {t.category for t in extra}
    assert len({t.category for t in extra}) == 5
    for trial in extra[2:]:
        assert trial.target == trial.category


def test_what_cannot_be_filled_is_listed_and_nothing_is_relaxed():
    rows = [row for row in predictions() if not (row.source == "adversarial" and row.label < 9)]
    trials = from_predictions(told(), rows, LABELS)
    assert {c.category for c in trials.categories if c.chosen} <= {9, 10, 11}
    listed = {(row.category, row.trial_type): row.reason for row in trials.unfilled}
    for label in range(9):
        assert listed[label, "adversarial_incorrect"] == "there is no such image"
    assert any("4 categories were wanted" in row.reason for row in trials.unfilled)


def test_a_class_with_too_small_a_pool_is_named():
    rows = [row for row in predictions() if not (row.source == "train" and row.label == 5)]
    trials = from_predictions(told(categories=12), rows, LABELS)
    assert "'kind 5' has 0 images in the pool, a lesson needs 2" in {row.reason for row in trials.unfilled}
    assert 5 not in {label for t in trials.trials for label in (t.target, t.alternative)}


def test_no_trial_at_all_is_an_error_with_the_reason():
    rows = [row for row in predictions() if row.source != "adversarial"]
    with pytest.raises(Empty, match="adversarial_incorrect: there is no such image"):
        from_predictions(told(), rows, LABELS)


def tables(folder, **files: str) -> Context:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return Context(lambda: None, lambda: None, folder)


def test_trials_of_ones_own_replace_the_automatic_choice(tmp_path):
    rows = predictions()
    wrong = next(row for row in rows if row.answer != row.label)
    context = tables(
        tmp_path, trials=f"probe,alternative,trial_type,kind\n{wrong.id},{wrong.label},adversarial_incorrect,\n"
    )
    (trial,) = own_trials(context, rows, int)
    assert (trial.probe, trial.target, trial.alternative) == (wrong.id, wrong.answer, wrong.label)
    assert (trial.trial_type, trial.kind) == ("adversarial_incorrect", "trial")
    assert own_trials(tables(tmp_path / "none"), rows, int) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no-such,1", ["line 2", "no image 'no-such'"]),
        ("{wrong},{answer}", ["line 2", "is what the classifier answers"]),
        ("{wrong},{label},standard_correct", ["standard_correct", "standard_incorrect or adversarial_incorrect"]),
        ("{wrong},{label},,exam", ["'exam'", "practice"]),
    ],
)
def test_trials_that_cannot_be_are_refused(line, words, tmp_path):
    rows = predictions()
    wrong = next(row for row in rows if row.answer != row.label)
    filled = line.format(wrong=wrong.id, answer=wrong.answer, label=wrong.label)
    context = tables(tmp_path, trials=f"probe,alternative,trial_type,kind\n{filled}\n")
    with pytest.raises(BadStudy) as refused:
        own_trials(context, rows, int)
    for word in words:
        assert word in str(refused.value)


def test_a_table_without_its_columns_is_refused(tmp_path):
    with pytest.raises(BadStudy, match="lacks the column trial"):
        excluded(tables(tmp_path, exclude="id\n3\n"))


@needs_imagenet
def test_published_accuracies_and_confusions_come_out_of_a_table_of_predictions():
    """torchvision's ResNet-50 on all of ImageNet val: what `design` makes of the counts is what was published with them."""
    with (ROOT / "labels" / "imagenet_classes.csv").open() as file:
        published = list(csv.DictReader(file))
    counts = np.load(ROOT / "labels" / "resnet50_val_confusion_1000x1000.npz")
    confusion = counts[counts.files[0]]
    rows = [
        Seen(f"{t}-{c}-{i}", "val", int(t), int(c), 1.0)
        for t, c in zip(*np.nonzero(confusion), strict=True)
        for i in range(int(confusion[t, c]))
    ]
    candidates = _Candidates.of(told(), rows, 1000, torch.zeros(1000, 1000, dtype=torch.float64))
    for row in published:
        label = int(row["idx1k"])
        accuracy, images = candidates.accuracies[label]
        assert images == 50
        assert accuracy == pytest.approx(float(row["rn50_val_acc"]), abs=1e-9)
        found = candidates.most_confusable[label]
        # The published table settles ties by itself; ours may name another class that was answered as often.
        assert confusion[label, found] == int(row["rn50_most_confused_n"])
    assert np.mean([accuracy for accuracy, _ in candidates.accuracies.values()]) == pytest.approx(0.7613, abs=5e-5)


def test_designed_is_what_the_stage_calls():
    candidates = _Candidates.of(told(), predictions(), CLASSES, torch.zeros(CLASSES, CLASSES, dtype=torch.float64))
    assert (
        designed(told(), candidates, {}, predictions(), LABELS).trials
        == from_predictions(told(), predictions(), LABELS).trials
    )
