"""Who is analysed, and that everyone else is accounted for."""

import pytest

from bayesteach.analysis.defaults import PAPER
from bayesteach.analysis.sample import choose_sample, read_exclusions
from bayesteach.analysis.simulate import simulate
from bayesteach.errors import BadResponses
from bayesteach.responses import from_table


def table(participants=12):
    return simulate(participants=participants)


def late(data, *people, after=40):
    """Without what these people would have answered later."""
    return data[~(data["participant"].isin(people) & (data["order"] > after))]


def row(sample, condition):
    return sample.flow.set_index("condition").loc[condition].to_dict()


def test_completers_are_analysed_and_dropouts_counted_by_condition():
    sample = choose_sample(from_table(late(table(), "p01", "p05", "p02")), PAPER)
    assert sample.participants == 9
    assert row(sample, "control") == {
        "started": 3,
        "dropped_out": 2,
        "excluded": 0,
        "analysed": 1,
        "answers": 89,
        "rows_missing": 0,
    }
    assert row(sample, "saliency")["dropped_out"] == 1
    assert "no column completed" in sample.rule
    assert len(choose_sample(from_table(late(table(), "p01")), PAPER, "everyone").table) == 11 * 89 + 40


def test_the_column_completed_says_who_finished():
    data = table().assign(completed="yes")
    data.loc[data["participant"] == "p03", "completed"] = "no"
    sample = choose_sample(from_table(late(data, "p01")), PAPER)
    assert set(table()["participant"]) - set(sample.table["participant"]) == {"p03"}


def test_nobody_is_left_out_for_performance():
    data = table()
    data.loc[data["participant"] == "p01", "correct"] = 0
    assert choose_sample(from_table(data), PAPER).participants == 12


def test_practice_and_attention_rows_are_set_aside():
    data = table().assign(practice=0, attention=0)
    data.loc[data["order"] <= 2, "practice"] = 1
    data.loc[data["order"] == 50, "attention"] = 1
    data.loc[data["order"] == 51, "trial_type"] = "attention_check"
    sample = choose_sample(from_table(data), PAPER)
    assert sample.set_aside == {"practice": 24, "attention": 24}
    assert len(sample.table) == 12 * 85


def test_exclusions_are_counted_by_reason_and_are_not_dropouts():
    sample = choose_sample(from_table(late(table(), "p01")), PAPER, exclude={"p01": "asked", "p02": "asked"})
    assert sample.excluded.to_dict("records") == [
        {"reason": "asked", "condition": "control", "people": 1},
        {"reason": "asked", "condition": "saliency", "people": 1},
    ]
    assert sample.flow["dropped_out"].sum() == 0
    assert sample.participants == 10
    assert (sample.flow["started"] == sample.flow[["dropped_out", "excluded", "analysed"]].sum(axis=1)).all()


def test_rows_without_a_value_are_left_out_of_every_model_and_counted():
    data = table().assign(completed=1).astype({"correct": float, "category": object})
    data.loc[data.index[:3], "correct"] = None
    data.loc[data.index[100], "category"] = None
    sample = choose_sample(from_table(data), PAPER)
    assert len(sample.table) == 12 * 89 - 4
    assert sample.missing == {"correct": 3, "category": 1}
    assert row(sample, "control")["rows_missing"] == 3
    assert row(sample, "saliency")["rows_missing"] == 1


def test_a_study_without_conditions_has_one():
    data = table().drop(columns=["condition", "saliency", "examples"])
    sample = choose_sample(from_table(data), PAPER[:1])
    assert sample.conditions == ("all",)


def test_conditions_within_people_are_several():
    data = table()
    data["condition"] = ["a" if i % 2 else "b" for i in data["order"]]
    sample = choose_sample(from_table(data), PAPER)
    assert row(sample, "several")["analysed"] == 12
    assert sample.conditions == ("a", "b")


def test_bad_lists_and_empty_samples_are_refused(tmp_path):
    with pytest.raises(BadResponses, match="the first is 'p99'"):
        choose_sample(from_table(table()), PAPER, exclude={"p99": "asked"})
    with pytest.raises(BadResponses, match="every row is practice"):
        choose_sample(from_table(table().assign(practice=1)), PAPER)
    with pytest.raises(BadResponses, match="12 dropped out"):
        choose_sample(from_table(table().assign(completed=0)), PAPER)
    with pytest.raises(BadResponses, match="no columns saliency, examples"):
        choose_sample(from_table(table().drop(columns=["condition", "saliency", "examples"])), PAPER)
    file = tmp_path / "out.csv"
    file.write_text("participant,reason\np01,asked\n")
    assert read_exclusions(file) == {"p01": "asked"}
    file.write_text("who\np01\n")
    with pytest.raises(BadResponses, match="no columns participant, reason"):
        read_exclusions(file)
