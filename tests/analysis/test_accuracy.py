"""Cell means and their intervals."""

import numpy as np
import pytest

from bayesteach.analysis.accuracy import accuracy, trial_key
from bayesteach.analysis.defaults import PAPER
from bayesteach.analysis.sample import choose_sample
from bayesteach.analysis.simulate import paper_trials, simulate
from bayesteach.errors import BadResponses, OutOfRange
from bayesteach.responses import from_table


def sample(participants=40, seed=0, **changes):
    table = simulate(participants=participants, trials=paper_trials(10), seed=seed)
    return choose_sample(from_table(table.assign(**changes)), PAPER)


def test_means_are_means_in_the_order_of_the_paper():
    one = sample()
    cells = accuracy(one, "correct").cells
    assert list(dict.fromkeys(cells["trial_type"])) == [
        "adversarial_incorrect",
        "standard_incorrect",
        "standard_correct",
    ]
    assert list(dict.fromkeys(cells["condition"])) == ["control", "saliency", "examples", "both"]
    expected = one.table.groupby(["trial_type", "condition"])["correct"].mean()
    for row in cells.to_dict("records"):
        assert row["accuracy"] == pytest.approx(expected[row["trial_type"], row["condition"]])
        assert row["low"] <= row["accuracy"] <= row["high"]
        assert row["participants"] == 10
    assert cells["answers"].sum() == len(one.table)


@pytest.mark.parametrize("resample", ["participants", "trials"])
def test_intervals_are_those_of_a_bootstrap_by_hand(resample):
    """The obvious loop: draw units of the cell, average their answers."""
    one = sample()
    found = accuracy(one, "correct", resample, 4000)
    rng = np.random.default_rng(1)
    column = "participant" if resample == "participants" else "trial"
    cell = one.table[(one.table["trial_type"] == "standard_incorrect") & (one.table["condition"] == "both")]
    own = [group["correct"].to_numpy() for _, group in cell.groupby(column)]
    means = [np.concatenate([own[i] for i in rng.integers(len(own), size=len(own))]).mean() for _ in range(4000)]
    low, high = np.percentile(means, [2.5, 97.5])
    row = found.cells.query("trial_type == 'standard_incorrect' and condition == 'both'").iloc[0]
    assert row["low"] == pytest.approx(low, abs=0.02)
    assert row["high"] == pytest.approx(high, abs=0.02)
    assert found.resample == resample


def test_every_participant_is_shown():
    one = sample()
    people = accuracy(one, "correct").people
    assert len(people) == 40 * 3
    assert people["accuracy"].between(0, 1).all()


def test_intervals_cover():
    """Of the 180 intervals of 15 studies, about 95 % hold the mean of many people."""
    truth = sample(600, seed=99).table.groupby(["trial_type", "condition"])["correct"].mean()
    held = []
    for seed in range(15):
        # The categories are drawn anew in every study, and participants cannot tell of them: trials can.
        cells = accuracy(sample(40, seed), "correct", "trials", 400).cells
        held += [
            row["low"] <= truth[row["trial_type"], row["condition"]] <= row["high"] for row in cells.to_dict("records")
        ]
    assert 0.7 < np.mean(held) < 0.995


def test_the_same_seed_gives_the_same_intervals():
    one = sample()
    assert accuracy(one, "correct", seed=5).cells.equals(accuracy(one, "correct", seed=5).cells)
    assert not accuracy(one, "correct", seed=5).cells.equals(accuracy(one, "correct", seed=6).cells)


def test_one_person_has_no_interval_and_an_empty_cell_no_mean():
    table = simulate(participants=5, trials=paper_trials(10))  # two in control, one elsewhere
    table = table[~((table["condition"] == "both") & (table["trial_type"] == "standard_correct"))]
    cells = accuracy(choose_sample(from_table(table), PAPER, "everyone"), "correct").cells.set_index(
        ["trial_type", "condition"]
    )
    assert np.isfinite(cells.loc[("standard_correct", "control"), "low"])
    assert np.isnan(cells.loc[("standard_correct", "saliency"), "low"])
    assert cells.loc[("standard_correct", "both"), "answers"] == 0
    assert np.isnan(cells.loc[("standard_correct", "both"), "accuracy"])


def test_trials_are_told_apart_by_their_column_or_by_category_and_type():
    table = sample().table
    assert list(trial_key(table)) == list(table["trial"])
    assert trial_key(table.drop(columns="trial")).nunique() == 29
    doubled = table.drop(columns="trial").assign(trial_type="one")
    assert trial_key(doubled) is None
    with pytest.raises(BadResponses, match="--column trial=NAME"):
        trial_key(doubled, required=True)


def test_too_few_draws_are_refused():
    with pytest.raises(OutOfRange, match="10 draws"):
        accuracy(sample(), "correct", draws=10)
