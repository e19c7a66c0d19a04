"""The data set: Psych-DS rule by rule, one snapshot, formula cells escaped, and what analyse takes as it is."""

import csv
import hashlib
import json
import shutil
import subprocess
import sys

import pytest
from sqlalchemy import func, select

from bayesteach.errors import BadStudy
from bayesteach.responses import read_responses
from bayesteach.study import psychds
from bayesteach.study.export import escaped, export
from bayesteach.study.simulate import Behaviour, through_database
from bayesteach.study.tables import answers
from tests.study.people import body

TITLE = "What will the AI choose?"


def table(folder, name):
    (file,) = folder.glob(f"data/*description-{name}_data.csv")
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def exported(here, browse, tmp_path):
    """One who finished, one in the middle, one who withdrew, and one of a test."""
    finished = browse().agree("/?PROLIFIC_PID=secret1").to("demographics")
    finished.post("/go/demographics", age="44", comments="=HYPERLINK(1)")
    finished.to("done")
    half = browse().agree().to("trials")
    half.send(body(0, 1, resumed=True, rt=123.4567), half.session()["csrf"])
    gone = browse().agree().to("trials")
    gone.get("/withdraw")
    gone.post("/withdraw")
    browse().agree("/?mode=test").to("trials").answer_all()
    done = export(here.database, TITLE, tmp_path / "set")
    assert (done.people, done.answers) == (2, 17)
    return tmp_path / "set"


def test_the_data_set_breaks_no_rule(exported):
    assert psychds.errors(exported) == []
    optional = {"JSON_KEY_RECOMMENDED"} | {f"MISSING_{n}_DIRECTORY" for n in ("ANALYSIS", "RESULTS", "DOCUMENTATION")}
    assert {broken.rule for broken in psychds.check(exported)} <= optional


def test_its_rows_say_what_happened(here, exported):
    rows = table(exported, "trials")
    people = {row["participant"]: row for row in table(exported, "participants")}
    assert {row["completed"] for row in people.values()} == {"0", "1"}
    assert sorted(row["answered"] for row in people.values()) == ["1", "14"]
    (done,) = [row for row in people.values() if row["completed"] == "1"]
    assert (done["said_age"], done["said_comments"], done["said_gender"]) == ("44", "'=HYPERLINK(1)", "")
    assert (done["platform"], done["ending"], done["minutes"]) == ("prolific", "complete", "0.0")
    factors = {arm.name: arm.factors for arm in here.materials.stimuli.arms}
    for row in rows:
        hidden = here.materials.hidden[row["trial"]]
        assert (row["target"], row["category"], row["trial_type"]) == (
            hidden.target,
            hidden.category,
            hidden.trial_type,
        )
        assert {row["left"], row["right"]} == {hidden.target, hidden.alternative}
        assert row["choice"] == row[row["side"]]
        assert row["correct"] == str(int(row["choice"] == hidden.target))
        assert row["confidence"] == str(hidden.covariates["confidence"])
        if row["practice"] == "0":
            assert {name: row[name] for name in ("saliency", "examples")} == factors[row["arm"]]
    (half,) = [row for row in rows if people[row["participant"]]["completed"] == "0" and row["practice"] == "0"]
    assert (half["order"], half["side"], half["resumed"], half["rt"]) == ("1", "right", "1", "123.457")
    assert {row["trial"] for row in table(exported, "stimuli")} == set(here.materials.hidden)


def test_no_number_of_a_recruiter_is_in_it(exported):
    for file in exported.rglob("*"):
        assert not file.is_file() or b"secret1" not in file.read_bytes()


def test_its_words(exported):
    description = json.loads((exported / "dataset_description.json").read_text())
    columns = {name for part in ("trials", "participants", "stimuli") for name in table(exported, part)[0]}
    assert {row["name"] for row in description["variableMeasured"]} == columns
    assert all(row["description"] for row in description["variableMeasured"])
    readme = (exported / "README.md").read_text()
    for line in ("- agreed: 3", "- finished: 1", "- withdrew (their answers are deleted): 1"):
        assert line in readme


def test_its_checksums_hold(exported):
    listed = dict(line.split("  ")[::-1] for line in (exported / "checksums.sha256").read_text().splitlines())
    files = {file.relative_to(exported).as_posix(): file for file in exported.rglob("*") if file.is_file()}
    assert set(listed) == set(files) - {"checksums.sha256"}
    for name, digest in listed.items():
        assert hashlib.sha256(files[name].read_bytes()).hexdigest() == digest


def test_modes_are_apart_and_marked(here, exported, tmp_path):
    export(here.database, TITLE, tmp_path / "test", mode="test")
    rows = table(tmp_path / "test", "trials")
    assert {row["mode"] for row in rows} == {"test"}
    assert not {row["participant"] for row in rows} & {row["participant"] for row in table(exported, "trials")}
    assert "NOT people's answers" in (tmp_path / "test" / "README.md").read_text()
    with pytest.raises(BadStudy, match=r"nobody of mode simulated .* 3 live, 1 test|1 test, 3 live"):
        export(here.database, TITLE, tmp_path / "none", mode="simulated")
    assert not (tmp_path / "none").exists()


def test_a_folder_with_something_in_it_is_refused(here, exported):
    before = sorted(exported.rglob("*"))
    with pytest.raises(BadStudy, match="there already"):
        export(here.database, TITLE, exported)
    assert sorted(exported.rglob("*")) == before


def test_one_snapshot_while_people_answer(here, browse, tmp_path, monkeypatch):
    """Answers that come between the tables of an export are in none of them."""
    browser = browse().agree().to("trials")
    csrf = browser.session()["csrf"]
    browser.send(body(0), csrf)
    from bayesteach.study import export as module  # noqa: PLC0415

    plain, sent = module._write_csv, []

    def slowly(file, rows):
        written = plain(file, rows)
        sent.append(browser.send(body(len(sent) + 1), csrf).json())
        return written

    monkeypatch.setattr(module, "_write_csv", slowly)
    done = export(here.database, TITLE, tmp_path / "set")
    assert sent == [{"next": 2}, {"next": 3}, {"next": 4}]
    (person,) = table(tmp_path / "set", "participants")
    trials = [row for row in table(tmp_path / "set", "trials") if row["practice"] == "0"]
    assert (person["answered"], len(trials), done.answers) == ("1", 1, 2)
    with here.database.read() as connection:
        assert connection.scalar(select(func.count()).select_from(answers).where(answers.c.phase == "trials")) == 4


def test_responses_read_it_as_it_is(local, tmp_path):
    behaviour = Behaviour(
        lambda number, hidden, _: hidden.trial_type == "standard_correct" or number % 3 == 0, lambda _: 0.2
    )
    through_database(local, behaviour, 24, seconds_apart=600)
    export(local.database, TITLE, tmp_path / "set", mode="simulated")
    found = read_responses(tmp_path / "set").table
    assert {
        "participant",
        "category",
        "trial_type",
        "saliency",
        "examples",
        "correct",
        "condition",
        "completed",
    } <= set(found)
    own = found[(found["practice"] == 0) & (found["attention"] == 0)]
    assert set(own["condition"]) == {"control", "saliency", "examples", "both"}
    assert set(own["saliency"]) == {0.0, 1.0}
    assert own[own["trial_type"] == "standard_correct"]["correct"].min() == 1.0
    assert 0 < own["correct"].mean() < 1
    assert set(own.groupby("participant")["completed"].first()) == {0.0, 1.0}


def analyse(source, out, *more):
    command = [sys.executable, "-m", "bayesteach", "analyse", source, "--bootstrap", "100", "--out", str(out), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_analyse_takes_the_data_set_as_it_is_and_the_database_too(here, url, tmp_path):
    through_database(here, Behaviour(lambda n, h, a: hash((n, h.trial, a)) % 3 > 0, lambda _: 0.0), 16)
    export(here.database, TITLE, tmp_path / "set", mode="simulated")
    sources = {"exported": (str(tmp_path / "set"),), "read": (url, "--mode", "simulated")}
    for name, (source, *more) in sources.items():
        done = analyse(source, tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name / "report.html").stat().st_size > 10_000
    exported, read = ((tmp_path / name / "coefficients.csv").read_text() for name in sources)
    assert exported == read


def test_a_database_without_a_study_is_refused_and_none_is_begun(tmp_path):
    missing = analyse(f"sqlite:///{tmp_path / 'none.db'}", tmp_path / "out")
    assert (missing.returncode, (tmp_path / "none.db").exists()) == (2, False)
    assert "there is no file" in missing.stderr
    (tmp_path / "other.db").touch()
    other = analyse(f"sqlite:///{tmp_path / 'other.db'}", tmp_path / "out")
    assert other.returncode == 2
    assert "holds no study" in other.stderr


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=1", "'=1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("x=1", "x=1"),
        (-1.5, -1.5),
        (None, None),
        ("", ""),
    ],
)
def test_formulas_are_no_formulas(cell, safe):
    assert escaped(cell) == safe


def description(**changes):
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": "n",
        "description": "d",
        "variableMeasured": ["a"],
        **changes,
    }


def broken(folder):
    return {row.rule for row in psychds.errors(folder)}


@pytest.fixture
def dataset(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "study-x_data.csv").write_text("a\n1\n")
    (tmp_path / "dataset_description.json").write_text(json.dumps(description()))
    return tmp_path


def test_a_small_data_set_is_valid(dataset):
    assert psychds.errors(dataset) == []


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("MISSING_DATASET_TYPE", {"@type": None}),
        ("INCORRECT_DATASET_TYPE", {"@type": "Person"}),
        ("JSON_KEY_REQUIRED", {"name": ""}),
        ("JSON_KEY_REQUIRED", {"@context": "https://example.org"}),
        ("CSV_COLUMN_MISSING_FROM_METADATA", {"variableMeasured": ["b", "a2"]}),
        ("VARIABLE_MISSING_FROM_CSV_COLUMNS", {"variableMeasured": ["a", {"@type": "PropertyValue", "name": "b"}]}),
    ],
)
def test_rules_of_the_description(dataset, rule, changes):
    said = {key: value for key, value in description(**changes).items() if value is not None}
    (dataset / "dataset_description.json").write_text(json.dumps(said))
    assert rule in broken(dataset)


@pytest.mark.parametrize(
    ("rule", "file", "content"),
    [
        ("INVALID_JSON_FORMATTING", "dataset_description.json", b"{"),
        ("JSON_ENCODING_ERROR", "dataset_description.json", b'{"a": "\xff"}'),
        ("CSV_HEADER_MISSING", "data/study-x_data.csv", b""),
        ("CSV_HEADER_REPEATED", "data/study-x_data.csv", b"a,a\n1,2\n"),
        ("CSV_HEADER_LENGTH_MISMATCH", "data/study-x_data.csv", b"a\n1,2\n"),
        ("CSV_FORMATTING_ERROR", "data/study-x_data.csv", b'a\n"1"2\n'),
        ("CSV_FORMATTING_ERROR", "data/study-x_data.csv", b"a\n\xff\n"),
        ("ROWID_VALUES_NOT_UNIQUE", "data/study-x_data.csv", b"row_id\n1\n1\n"),
        ("FILENAME_KEYWORD_FORMATTING_ERROR", "data/study_data.csv", b"a\n1\n"),
        ("FILENAME_KEYWORD_FORMATTING_ERROR", "data/Study-x_data.csv", b"a\n1\n"),
        ("EXTENSION_MISMATCH", "data/study-x_data.xlsx", b"x"),
    ],
)
def test_rules_of_files(dataset, rule, file, content):
    (dataset / file).write_bytes(content)
    assert rule in broken(dataset)


def test_rules_of_the_layout(dataset):
    warned = {row.rule for row in psychds.check(dataset) if row.level == "warning"}
    assert {
        "MISSING_README_DOC",
        "MISSING_CHANGES_DOC",
        "MISSING_PSYCHDSIGNORE",
        "MISSING_MATERIALS_DIRECTORY",
    } <= warned
    (dataset / "extra.txt").write_text("x")
    (dataset / "data" / "colour-x_data.csv").write_text("a\n1\n")
    warned = {row.rule for row in psychds.check(dataset) if row.level == "warning"}
    assert {"FILE_NOT_CHECKED", "FILENAME_UNOFFICIAL_KEYWORD_WARNING"} <= warned
    assert psychds.errors(dataset) == []
    shutil.rmtree(dataset / "data")
    assert broken(dataset) == {"MISSING_DATA_DIRECTORY", "VARIABLE_MISSING_FROM_CSV_COLUMNS"}
    (dataset / "data").mkdir()
    assert "MISSING_DATAFILE" in broken(dataset)
    (dataset / "dataset_description.json").rename(dataset / "data" / "dataset_description.json")
    assert broken(dataset) == {"MISSING_DATASET_DESCRIPTION", "MISSING_DATAFILE"}
