"""The models of a study by what its conditions differ in."""

import pandas as pd
import pytest

from bayesteach.analysis.analyse import Plan, analyse
from bayesteach.analysis.defaults import PAPER, factors_of, models_for, models_of, read_arms
from bayesteach.analysis.power import Study, power_table, run
from bayesteach.analysis.simulate import Effects, arms, paper_trials, simulate
from bayesteach.errors import BadResponses, BadStudy
from bayesteach.responses import from_table, read_responses

TRIALS = paper_trials(6)
EXPLAINERS = pd.DataFrame({"condition": ["plain", "mask", "rise"], "explainer": ["none", "expected_mask", "rise"]})
SIX = pd.DataFrame(
    [
        {"condition": f"{explainer}_{examples}", "explainer": explainer, "examples": examples}
        for explainer in ("nothing", "mask", "rise")
        for examples in (0, 1)
    ]
)
STUDY = """
[[study.arms]]
name = "plain"
factors = { explainer = "nothing", lessons = 0 }
[[study.arms]]
name = "mask"
probe = "expected_mask"
factors = { explainer = "mask", lessons = 0 }
[[study.arms]]
name = "rise"
probe = "rise"
examples = "lesson"
factors = { explainer = "rise", lessons = 1 }
"""


def people(conditions, effects=None, participants=24):
    return simulate(effects or Effects({}, {"participant": 0.3, "category": 0.3}), participants, TRIALS, conditions)


def fixed(formulas):
    return [formula.fixed for formula in formulas]


def test_the_papers_design_has_the_papers_models():
    assert models_for(from_table(people(arms()))) == PAPER
    assert models_for(from_table(people(arms()).drop(columns="condition"))) == PAPER
    assert models_for(from_table(people(arms()).assign(instructions=1, version="b"))) == PAPER
    assert fixed(PAPER) == ["trial_type", "trial_type + saliency + examples", "trial_type*saliency*examples"]


def test_conditions_that_differ_in_something_else_are_modelled_by_it():
    """Columns that tell all conditions apart, whatever stands beside them."""
    table = people(EXPLAINERS).assign(age=31)
    assert fixed(models_for(from_table(table))) == ["trial_type", "trial_type + explainer", "trial_type*explainer"]
    six = from_table(people(SIX))
    assert factors_of(six) == ("explainer", "examples")
    assert fixed(models_for(six))[-1] == "trial_type*explainer*examples"


def test_without_such_columns_by_the_condition_itself():
    table = from_table(people(EXPLAINERS).drop(columns="explainer"))
    assert fixed(models_for(table)) == ["trial_type", "trial_type + condition", "trial_type*condition"]


def test_factors_that_meet_in_part_and_those_that_do_not_vary():
    three = arms()[lambda table: table["condition"] != "both"]
    assert fixed(models_for(from_table(people(three))))[-1] == "trial_type*(saliency + examples)"
    two = arms()[:2]
    assert fixed(models_for(from_table(people(two))))[-1] == "trial_type*saliency"
    one_kind = people(arms())[lambda table: table["trial_type"] == "standard_correct"]
    assert fixed(models_for(from_table(one_kind))) == ["1", "saliency + examples", "saliency*examples"]
    assert fixed(models_for(from_table(people(arms()[:1])))) == ["trial_type"]


def test_an_explanation_can_have_levels_under_the_name_of_one_of_ours():
    conditions = EXPLAINERS.rename(columns={"explainer": "saliency"})
    responses = from_table(people(conditions).drop(columns="condition"))
    assert models_for(responses)[-1].fixed == "trial_type*saliency"
    assert set(responses.table["condition"]) == {"none", "expected_mask", "rise"}
    found = analyse(responses)
    assert "saliency[rise]" in found.main.terms


def test_three_explainers_are_analysed_without_a_word(tmp_path):
    effects = Effects({"explainer[rise]": 1.5}, {"participant": 0.3, "category": 0.3})
    found = analyse(from_table(people(EXPLAINERS, effects, 30)))
    assert found.main.terms[:4] == (
        "(Intercept)", "trial_type[standard_incorrect]", "trial_type[standard_correct]", "explainer[expected_mask]",
    )  # fmt: skip
    assert [test.df for test in found.tests][:2] == [2, 4]
    assert list(found.effects["explanation"].unique()) == ["explainer expected_mask", "explainer rise"]
    assert (
        found.effects.set_index(["explanation", "trial_type"]).loc[("explainer rise", "standard_correct"), "p"] < 0.05
    )


def study(tmp_path, text=STUDY):
    (tmp_path / "study.toml").write_text(text)
    return read_arms(tmp_path)


def test_the_arms_of_a_study_say_what_conditions_differ_in(tmp_path):
    told = study(tmp_path)
    assert list(told) == ["condition", "explainer", "lessons"]
    table = people(told).drop(columns=["explainer", "lessons"]).rename(columns={"condition": "arm"})
    responses = from_table(table, arms=told)
    assert responses.factors == ("explainer", "lessons")
    assert fixed(models_for(responses))[-1] == "trial_type*(explainer + lessons)"
    # The first arm is the reference, not the first name of all.
    found = analyse(responses, Plan(models_for(from_table(table, arms=told.drop(columns="lessons")))))
    assert found.main.terms[3:5] == ("explainer[mask]", "explainer[rise]")
    assert found.sample.conditions == ("mask", "plain", "rise")


def test_a_folder_can_hold_the_arms(tmp_path):
    data = tmp_path / "set" / "data"
    data.mkdir(parents=True)
    (tmp_path / "set" / "dataset_description.json").write_text("{}")
    told = study(tmp_path)
    told.rename(columns={"condition": "arm"}).to_csv(data / "study-x_arms_data.csv", index=False)
    people(told)[["participant", "condition", "trial", "category", "trial_type", "correct"]].rename(
        columns={"condition": "arm"}
    ).to_csv(data / "study-x_trials_data.csv", index=False)
    responses = read_responses(tmp_path / "set")
    assert responses.factors == ("explainer", "lessons")
    assert set(responses.table["lessons"]) == {0.0, 1.0}


def test_answers_of_another_study_are_refused(tmp_path):
    told = study(tmp_path)
    with pytest.raises(BadResponses, match="'both' is no arm of the study, whose arms are plain, mask, rise"):
        from_table(people(arms()), arms=told)
    with pytest.raises(BadResponses, match="no column condition, or arm"):
        from_table(pd.DataFrame({"participant": ["p"], "correct": [1]}), arms=told)
    with pytest.raises(BadResponses, match="have no factors"):
        study(tmp_path, '[[study.arms]]\nname = "one"\n')


def test_power_of_other_conditions():
    effects = Effects({"explainer[rise]": 2.0}, {"participant": 0.2, "category": 0.2})
    design = Study.of(effects, 12, TRIALS, EXPLAINERS)
    assert len(design.terms) == 9
    table = power_table(pd.DataFrame(run([design], [(12, i) for i in range(6)], seed=0, workers=1)), effects)
    power = table.set_index("name")["power"]
    assert power["explanation against null"] > power["trial_type[standard_incorrect]:explainer[expected_mask]"]
    assert [formula.fixed for formula in models_of(SIX)][-1] == "trial_type*explainer*examples"
    with pytest.raises(BadStudy, match="differ in nothing"):
        Study.of(Effects({}, {}), 12, TRIALS, pd.DataFrame({"condition": ["one"]}))
