"""Tables of responses, as people keep them."""

import json

import numpy as np
import pandas as pd
import pytest

from bayesteach.errors import BadResponses
from bayesteach.responses import from_table, read_responses

HEADER = "participant,category,trial_type,saliency,examples,correct"
ROWS = ["007,cat,standard_correct,0,1,1", "007,dog,standard_incorrect,0,1,0", "008,cat,standard_correct,1,1,1"]


@pytest.fixture
def written(tmp_path):
    def write(*lines, name="responses.csv"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", "utf-8")
        return file

    return write


def test_a_csv_is_read_as_it_is(written):
    table = read_responses(written(HEADER + ",rt,note", *(row + ",812.5,ok" for row in ROWS))).table
    assert list(table["participant"]) == ["007", "007", "008"]
    assert list(table["correct"]) == [1.0, 0.0, 1.0]
    assert list(table["condition"]) == ["examples", "examples", "both"]
    assert table["rt"].dtype == float
    assert list(table["note"]) == ["ok"] * 3


@pytest.mark.parametrize("words", [("yes", "no"), ("TRUE", "False"), ("1", "0"), ("1.0", "0.0")])
def test_yes_and_no_come_in_many_words(written, words):
    yes, no = words
    rows = [f"p,cat,standard_correct,{yes},{no},{yes}", f"q,cat,standard_correct,{no},{no},{no}"]
    table = read_responses(written(HEADER, *rows)).table
    assert list(table["saliency"]) == [1.0, 0.0]
    assert list(table["correct"]) == [1.0, 0.0]
    assert list(table["condition"]) == ["saliency", "control"]


def test_columns_can_have_other_names(written):
    file = written("who,category,trial_type,saliency,examples,correct,acc", "p,cat,x,0,0,0,1", "q,cat,x,0,0,1,0")
    table = read_responses(file, {"participant": "who", "correct": "acc"}).table
    assert list(table["participant"]) == ["p", "q"]
    assert list(table["correct"]) == [1.0, 0.0]
    assert [str(cell) for cell in table["correct_in_file"]] == ["0.0", "1.0"]


def test_conditions_stand_for_explanations_and_arms_for_conditions(written):
    file = written("participant,category,arm,correct", *(f"{i},c,{arm},1" for i, arm in enumerate(("control", "Both"))))
    table = read_responses(file).table
    assert list(table["saliency"]) == [0.0, 1.0]
    assert list(table["examples"]) == [0.0, 1.0]
    assert list(table["arm"]) == ["control", "Both"]


def test_other_arms_are_left_as_they_are(written):
    table = read_responses(written("participant,category,arm,correct", "p,c,heatmap,1", "q,c,control,0")).table
    assert "saliency" not in table
    assert list(table["condition"]) == ["heatmap", "control"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_tabs_and_byte_order_marks(tmp_path, separator):
    file = tmp_path / "excel.csv"
    file.write_text("\n".join([HEADER, *ROWS]).replace(",", separator), "utf-8-sig")
    assert read_responses(file).table.shape == (3, 7)


def test_excels_unicode_text_and_its_first_line(tmp_path):
    file = tmp_path / "excel.txt"
    file.write_bytes("\r\n".join([HEADER, *ROWS]).replace(",", "\t").encode("utf-16"))
    assert read_responses(file).table.shape == (3, 7)
    file.write_bytes(
        "\r\n".join(["sep=;", HEADER.replace(",", ";"), *(row.replace(",", ";") for row in ROWS)]).encode()
    )
    assert list(read_responses(file).table["participant"]) == ["007", "007", "008"]


def test_rows_longer_than_the_header_lose_nothing(written):
    with pytest.raises(BadResponses, match="cannot be read as a table"):
        read_responses(written(HEADER, *(row + ",812" for row in ROWS)))


def test_explanations_can_have_levels(written):
    file = written(HEADER, "p,cat,a,rise,no,1", "q,cat,a,none,no,0", "r,cat,a,none,,1")
    table = read_responses(file).table
    assert list(table["saliency"]) == ["rise", "none", "none"]
    assert list(table["condition"][:2]) == ["rise · examples 0", "none · examples 0"]
    assert pd.isna(table["condition"][2])


def test_missing_values_are_missing(written):
    table = read_responses(written(HEADER, "p,cat,standard_correct,0,1,NA", "p,,standard_correct,0,1,1")).table
    assert np.isnan(table["correct"][0])
    assert pd.isna(table["category"][1])


def test_a_psych_ds_folder_is_joined(written, tmp_path):
    written(json.dumps({"name": "study"}), name="set/dataset_description.json")
    written("participant,trial,correct", "p,1,1", "p,2,0", name="set/data/subject-p_data.csv")
    written("participant,trial,correct", "q,1,1", "q,2,1", name="set/data/raw/subject-q_data.csv")
    written("participant,arm,completed", "p,control,yes", "q,both,no", name="set/data/participants_data.csv")
    written("trial,category,trial_type", "1,cat,a", "2,dog,b", name="set/data/stimuli_data.csv")
    table = read_responses(tmp_path / "set").table.sort_values(["participant", "trial"])
    assert list(table["completed"]) == [1, 1, 0, 0]
    assert list(table["category"]) == ["cat", "dog", "cat", "dog"]
    assert list(table["condition"]) == ["control", "control", "both", "both"]


def test_the_digest_follows_the_content(written):
    one = read_responses(written(HEADER, *ROWS)).digest
    assert read_responses(written(HEADER, *ROWS, name="other.csv")).digest == one
    assert read_responses(written(HEADER, *ROWS[:2])).digest != one


def test_a_table_in_memory_is_the_table_on_disk(written):
    file = written(HEADER, *ROWS)
    found = from_table(pd.read_csv(file, dtype={"participant": str})).table
    pd.testing.assert_frame_equal(found, read_responses(file).table)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["participant,category", "p,c"], "no column correct. Found: participant, category"),
        ([HEADER, ROWS[0], "p,c,t,0,0,maybe"], "row 2 below the header: correct is 'maybe'"),
        ([HEADER, "p,c,t,2,0,1"], "saliency is '2', expected 0 or 1"),
        ([HEADER, ",c,t,0,0,1"], "1 rows have no participant, the first is row 1"),
        ([HEADER], "no row that fits its header"),
        (
            ["PARTICIPANT,correct", "p,1"],
            "there is no column participant. Found: PARTICIPANT, correct. If it has another name",
        ),
        (["PARTICIPANT,correct", "p,1"], "--column participant=PARTICIPANT"),
        ([HEADER, "p,c,t,yess,0,1", "q,c,t,yes,0,1"], "saliency is 'yess', expected 0 or 1"),
        (["a,a,b", "1,2,3"], "two columns are called 'a'"),
        ([HEADER + ",trial", *(ROWS[0] + ",t1" for _ in range(2))], "participant 007 has answered trial t1 more than"),
    ],
)
def test_what_is_wrong_is_said(written, lines, says):
    with pytest.raises(BadResponses, match=".") as caught:
        read_responses(written(*lines))
    assert says in str(caught.value)


def test_a_missing_file_says_what_is_accepted(tmp_path):
    with pytest.raises(BadResponses, match="Psych-DS folder"):
        read_responses(tmp_path / "nothing.csv")
    with pytest.raises(BadResponses, match="dataset_description.json"):
        read_responses(tmp_path)


@pytest.mark.parametrize("address", ["sqlite:///study.db", "postgresql+psycopg://me@here/study"])
def test_a_database_is_exported_first(address):
    with pytest.raises(BadResponses, match="bayesteach export STUDY OUT"):
        read_responses(address)


def test_a_mapped_column_that_is_not_there_is_named(written):
    with pytest.raises(BadResponses, match="no column 'acc' to read correct from"):
        read_responses(written(HEADER, *ROWS), {"correct": "acc"})
