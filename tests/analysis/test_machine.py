"""Means of what a machine tells, with their intervals, as files."""

import numpy as np
import pandas as pd
import pytest

from bayesteach.analysis.machine import OF_LESSONS, OF_MAPS, means, table_of, write
from bayesteach.artifacts import TRIAL_TYPES, MeasuredLesson, MeasuredMap, Measures


def measures(trials: int = 30, seed: int = 0) -> Measures:
    rng = np.random.default_rng(seed)
    maps, lessons = [], []
    for k, kind in enumerate(TRIAL_TYPES):
        for i in range(trials):
            name, lift, up = f"{kind}{i}", float(rng.normal(0.1 * k, 0.2)), float(rng.uniform())
            maps.append(MeasuredMap(name, kind, "expected_mask", 0.2, 0.3, lift, up, 1 - up, up - 0.1, 1 - up + 0.2))
            lessons.append(MeasuredLesson(name, kind, "lesson", "novice", 0.5, 0.7, float(rng.normal(1, 0.5))))
    return Measures(tuple(maps), tuple(lessons))


def test_means_are_means_and_intervals_hold_them():
    table = table_of(measures().maps)
    found = means(table, ("explainer", "trial_type"), OF_MAPS).set_index(["trial_type", "measure"])
    for kind in TRIAL_TYPES:
        row, values = found.loc[kind, "lift"], table[table["trial_type"] == kind]["lift"]
        assert row["mean"] == pytest.approx(values.mean())
        assert row["low"] < row["mean"] < row["high"]
        half = 1.96 * values.std() / np.sqrt(len(values))
        assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=0.15)
    gain = found.loc[TRIAL_TYPES[0], "insertion_gain"]
    assert gain["mean"] == pytest.approx(0.1)
    assert found.loc[TRIAL_TYPES[0], "deletion_gain"]["mean"] == pytest.approx(0.2)


def test_the_intervals_cover():
    """Of 200 samples of 30, percentile intervals of 95 % hold the true mean in 88 to 99 %."""
    held = []
    for seed in range(70):
        found = means(table_of(measures(seed=seed).maps), ("trial_type",), {"lift": OF_MAPS["lift"]})
        held += [row.low <= 0.1 * k <= row.high for k, row in enumerate(found.itertuples())]
    assert 0.88 < np.mean(held) < 0.99


def test_prior_and_lesson_add_up():
    table = table_of(measures().lessons).assign(posterior=lambda t: 1 / (1 + np.exp(-t["taught"])))
    found = means(table, ("learner", "trial_type"), OF_LESSONS).set_index(["trial_type", "measure"])["mean"]
    assert found[TRIAL_TYPES[0], "prior_log_odds"] == pytest.approx(0)


def test_what_is_not_known_is_not_told():
    table = table_of(measures().maps).assign(lift=np.nan, thing_share=0.4)
    found = means(table, ("trial_type",), OF_MAPS).set_index(["trial_type", "measure"])
    assert np.isnan(found.loc[TRIAL_TYPES[0], "lift"]["mean"])
    assert found.loc[TRIAL_TYPES[0], "lift"]["trials"] == 0
    constant = found.loc[TRIAL_TYPES[0], "thing_share"]
    assert constant["mean"] == pytest.approx(0.4)
    assert np.isnan(constant["low"])


def test_it_is_written_down(tmp_path):
    write(measures(), tmp_path / "out")
    names = {"maps.csv", "lessons.csv", "means.csv", "maps.svg", "maps.png", "lessons.svg", "lessons.png"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names
    assert len(pd.read_csv(tmp_path / "out" / "maps.csv")) == 90
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    write(measures(), tmp_path / "again")
    assert before == {file.name: file.read_bytes() for file in (tmp_path / "again").iterdir()}


def test_nothing_is_no_trouble(tmp_path):
    write(Measures((), ()), tmp_path)
    assert (tmp_path / "means.csv").exists()
