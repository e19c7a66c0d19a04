"""`bayesteach analyse` and `bayesteach power` as a user gives them."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

from bayesteach.analysis.simulate import Effects, paper_trials, simulate
from bayesteach.cli import app


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "responses.csv"
    simulate(participants=16, trials=paper_trials(8)).to_csv(file, index=False)
    return file


def test_analyse_says_the_findings_and_writes_a_report(run, data, tmp_path):
    done = run("analyse", data, "--out", "here", "--published", "--bootstrap", 200)
    assert done.exit_code == 0, done.output
    assert "16 people in 4 conditions gave 368 answers" in done.output
    assert "The interaction model explains the answers" in done.output
    assert "Nobody is left out for performance" in done.output
    assert "begin with here/report.html" in done.output
    assert "published" in pd.read_csv(tmp_path / "here" / "coefficients.csv")


def test_formulas_columns_and_exclusions_are_the_users(run, data, tmp_path):
    table = pd.read_csv(data).rename(columns={"correct": "acc", "participant": "who"})
    table.to_csv(data, index=False)
    (tmp_path / "out.csv").write_text("participant,reason\np01,asked\n")
    words = ["--column", "correct=acc", "--column", "participant=who", "--exclude", "out.csv", "--resample", "trials"]
    small = ["--formula", "small: correct ~ trial_type + (1|participant)"]
    large = ["--formula", "large: correct ~ trial_type*saliency + (1|participant)"]
    done = run("analyse", data, *words, *small, *large)
    assert done.exit_code == 0, done.output
    assert "The large model explains the answers" in done.output
    assert list(pd.read_csv(tmp_path / "analysis" / "models.csv")["model"]) == ["small", "large"]
    assert pd.read_csv(tmp_path / "analysis" / "models.csv")["n"].unique() == [15 * 23]


def test_a_psych_ds_folder_is_taken_as_it_is(run, data, tmp_path):
    folder = tmp_path / "set" / "data"
    folder.mkdir(parents=True)
    (tmp_path / "set" / "dataset_description.json").write_text("{}")
    data.rename(folder / "study-x_data.csv")
    done = run("analyse", tmp_path / "set", "--formula", "correct ~ saliency + (1|participant)")
    assert done.exit_code == 0, done.output


def test_the_same_seed_writes_the_same_tables(run, data, tmp_path):
    formula = ["--formula", "correct ~ saliency + (1|participant)"]
    for out in ("a", "b"):
        assert run("analyse", data, *formula, "--seed", 4, "--out", out).exit_code == 0
    for name in ("coefficients.csv", "accuracy.csv", "figure-1.svg", "figure-2.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_plan_is_written_before_there_are_data(run, data, tmp_path):
    done = run("analyse", "--preregister", "--participants", 160, "--out", "plan")
    assert done.exit_code == 0, done.output
    assert "160 people in all" in (tmp_path / "plan" / "preregistration.md").read_text()
    assert "leave DATA out" in run("analyse", data, "--preregister").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "DATA is missing"),
        (["nowhere.csv"], "there is no nowhere.csv"),
        (["{data}", "--column", "correct"], "expected OURS=THEIRS"),
        (["{data}", "--column", "correct=acc"], "no column 'acc'"),
        (["{data}", "--formula", "correct ~ mood + (1|participant)"], "no column mood"),
        (["{data}", "--formula", "correct ~ saliency"], "0 random intercepts"),
        (["sqlite:///study.db"], "bayesteach export STUDY OUT"),
        (["{data}", "--out", "{data}"], "File exists"),
        (["{data}", "--study", "nowhere"], "there is no nowhere/study.toml"),
        (["{data}", "--participants", "160"], "belong to --preregister"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(run, data, words, message):
    done = run("analyse", *(word.format(data=data) for word in words))
    assert done.exit_code == 2
    assert message in " ".join(done.output.replace("│", " ").split())
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (
            "analyse",
            "formula column study who exclude bootstrap resample bootstrap-lrt bayes published seed preregister out",
        ),
        ("power", "participants effects simulations trials study seed workers out"),
    ],
)
def test_help_names_every_option(run, command, options):
    done = run(command, "--help")
    for option in options.split():
        assert f"--{option}" in done.output


def test_power_is_a_table_and_a_figure(run, tmp_path):
    paper_trials(6).to_csv(tmp_path / "trials.csv", index=False)
    (tmp_path / "effects.csv").write_text("term,estimate\n(Intercept),0\nsaliency,2\nsd(participant),0.2\n")
    words = ["--trials", "trials.csv", "--effects", "effects.csv", "--workers", 1, "--simulations", 3]
    done = run("power", "--participants", "8,16", *words)
    assert done.exit_code == 0, done.output
    assert "trial_type[standard_correct]:saliency" in done.output
    table = pd.read_csv(tmp_path / "power" / "power.csv")
    assert set(table["participants"]) == {8, 16}
    assert (tmp_path / "power" / "power.png").exists()
    assert run("power", "--participants", "many").exit_code == 2


STUDY = """
[[study.arms]]
name = "plain"
factors = { explainer = "nothing" }
[[study.arms]]
name = "rise"
probe = "rise"
factors = { explainer = "rise" }
"""


def test_the_arms_of_a_study_decide_what_is_planned_and_analysed(run, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    paper_trials(6).to_csv(tmp_path / "trials.csv", index=False)
    (tmp_path / "effects.csv").write_text("term,estimate\nexplainer[rise],2\n")
    words = ["--study", ".", "--effects", "effects.csv", "--trials", "trials.csv", "--workers", 1]
    done = run("power", "--participants", "8", "--simulations", 2, *words)
    assert done.exit_code == 0, done.output
    assert "trial_type[standard_correct]:explainer[rise]" in done.output

    conditions = pd.DataFrame({"condition": ["plain", "rise"]})
    table = simulate(Effects({}, {"participant": 0.3}), 16, paper_trials(6), conditions)
    table.to_csv(tmp_path / "answers.csv", index=False)
    done = run("analyse", "answers.csv", "--study", ".", "--bootstrap", 100)
    assert done.exit_code == 0, done.output
    assert "explainer[rise]" in (tmp_path / "analysis" / "coefficients.csv").read_text()


def test_an_interrupted_power_study_goes_on(tmp_path):
    words = [
        sys.executable,
        "-m",
        "bayesteach",
        "power",
        "--participants",
        "40",
        "--simulations",
        "4000",
        "--workers",
        "2",
    ]
    process = subprocess.Popen([*words, "--out", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    file = tmp_path / "simulations.csv"
    deadline = time.monotonic() + 240
    while not (file.exists() and file.read_text().count("\n") > 3):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted" in said
    assert "Traceback" not in said
    kept = pd.read_csv(file)
    assert kept["simulation"].is_unique
    assert len(kept) >= 3
