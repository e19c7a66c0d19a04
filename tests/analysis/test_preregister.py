"""The plan before the data."""

import pytest

from bayesteach.analysis.analyse import Plan
from bayesteach.analysis.defaults import PAPER, read_arms
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.power_runs import simulate_power
from bayesteach.analysis.preregister import preregistration, write_preregistration
from bayesteach.analysis.simulate import PAPER_EFFECTS, paper_trials
from bayesteach.errors import BadInput


def test_it_states_formulas_exclusions_tests_and_sample_size(tmp_path):
    file = write_preregistration(Plan(bootstrap_lrt=1000, bayes=True), tmp_path, participants=160)
    text = " ".join(file.read_text().split())
    for formula in PAPER:
        assert f"**{formula.name}**: `{formula}`" in text
    for words in (
        "160 people in all",
        "Likelihood-ratio test of explanation against null",
        "Likelihood-ratio test of interaction against explanation",
        "1,000 parametric bootstrap refits",
        "Nobody is excluded for performance",
        "Those who finish every trial",
        "normal with mean 0 and standard deviation 2.5 logits",
    ):
        assert words in text


def test_it_follows_the_plan():
    formula = Formula.parse("only: correct ~ style + (1|participant)")
    text = preregistration(Plan((formula,), who="everyone", resample="trials"))
    assert str(formula) in text
    assert "Likelihood-ratio" not in text
    assert "Everyone who answered a trial" in text
    assert "draws of trials" in text
    assert "‹How many people" in text


def test_power_gives_reasons_for_the_size(tmp_path):
    simulate_power(tmp_path, PAPER_EFFECTS, [8], 2, trials=paper_trials(6), workers=1)
    text = preregistration(Plan(), 8, tmp_path)
    assert "| interaction against explanation | – |" in text
    assert "| saliency | 1.01 |" in text
    with pytest.raises(BadInput, match="is of 8 participants, and the plan is 160"):
        preregistration(Plan(), 160, tmp_path)
    with pytest.raises(BadInput, match="holds no power.csv"):
        preregistration(Plan(), 160, tmp_path / "nowhere")


def test_it_follows_the_arms_of_the_study(tmp_path):
    (tmp_path / "study.toml").write_text(
        "[[study.arms]]\nname = 'plain'\nfactors = { explainer = 'nothing' }\n"
        "[[study.arms]]\nname = 'rise'\nprobe = 'rise'\nfactors = { explainer = 'rise' }\n"
    )
    text = preregistration(Plan(), conditions=read_arms(tmp_path))
    assert "| rise | rise |" in text
    assert "`correct ~ trial_type*explainer + (1|participant) + (1|category)`" in text
    assert "saliency" not in text


def test_people_cannot_be_excluded_before_there_are_any():
    with pytest.raises(BadInput, match="none before the data"):
        preregistration(Plan(exclude={"p1": "asked"}))
