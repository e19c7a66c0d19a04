"""Effects in logits and in probability."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from bayesteach.analysis.analyse import Plan, analyse
from bayesteach.analysis.defaults import PAPER
from bayesteach.analysis.effects import effects_table, in_100, population, readings, spoken
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.regressions import regress
from bayesteach.analysis.sensitivity import sensitivity_table, variants
from bayesteach.analysis.simulate import Effects, paper_trials, simulate
from bayesteach.responses import from_table


@pytest.fixture(scope="module")
def table():
    return from_table(simulate(participants=24, trials=paper_trials(10))).table


@pytest.fixture(scope="module")
def fitted(table):
    return regress(PAPER[2], table)


def row(effects, explanation, kind, given):
    found = effects.set_index(["explanation", "trial_type", "given"]).loc[(explanation, kind, given)]
    return found.to_dict()


def test_simple_effects_are_sums_of_coefficients(fitted, table):
    effects = effects_table(fitted, table)
    beta = dict(zip(fitted.terms, fitted.fit.coefficients, strict=True))
    alone, beside = beta["examples"], beta["examples"] + beta["saliency:examples"]
    assert row(effects, "examples", "adversarial_incorrect", "alone")["logit"] == pytest.approx(alone)
    assert row(effects, "examples", "adversarial_incorrect", "with saliency")["logit"] == pytest.approx(beside)
    averaged = row(effects, "examples", "adversarial_incorrect", "averaged")
    assert averaged["logit"] == pytest.approx((alone + beside) / 2)
    correct = row(effects, "saliency", "standard_correct", "alone")
    assert correct["logit"] == pytest.approx(beta["saliency"] + beta["trial_type[standard_correct]:saliency"])
    assert len(effects) == 2 * 3 * 3


def test_the_error_of_a_simple_effect_is_that_of_the_model_coded_from_there(fitted, table):
    """Saliency beside examples is the coefficient of saliency once examples are coded the other way round."""
    turned = regress(PAPER[2], table.assign(examples=1 - table["examples"]))
    expected = turned.coefficients().set_index("term").loc["saliency"]
    found = row(effects_table(fitted, table), "saliency", "adversarial_incorrect", "with examples")
    for name in ("se", "p", "low", "high"):
        assert found[name] == pytest.approx(expected[name], rel=1e-4)


def test_probabilities_are_over_people_and_categories(fitted):
    logits = np.array([-3.0, 0.0, 1.3])
    spread = np.sqrt((fitted.fit.standard_deviations**2).sum())
    draws = np.random.default_rng(0).normal(0, spread, 200_000)
    np.testing.assert_allclose(population(logits, fitted), expit(logits[:, None] + draws).mean(1), atol=2e-3)


def test_the_interval_of_a_change_is_that_of_draws_from_the_coefficients(fitted, table):
    found = row(effects_table(fitted, table), "saliency", "adversarial_incorrect", "alone")
    draws = np.random.default_rng(0).multivariate_normal(fitted.fit.coefficients, fitted.fit.covariance, 4000)
    place = {term: i for i, term in enumerate(fitted.terms)}
    before = draws[:, place["(Intercept)"]]
    change = population(before + draws[:, place["saliency"]], fitted) - population(before, fitted)
    assert found["change"] == pytest.approx(found["after"] - found["before"])
    assert found["change_high"] - found["change_low"] == pytest.approx(2 * 1.96 * change.std(), rel=0.08)


def test_other_experiments_have_their_own_effects():
    conditions = pd.DataFrame({"condition": ["control", "blue", "red"]})
    effects = Effects({"condition[red]": 1.0}, {"participant": 0.3, "category": 0.3})
    responses = from_table(simulate(effects, 30, paper_trials(10), conditions))
    formula = Formula.parse("correct ~ condition*trial_type + (1|participant) + (1|category)")
    found = effects_table(regress(formula, responses.table), responses.table)
    assert list(dict.fromkeys(found["explanation"])) == ["condition blue", "condition red"]
    assert set(found["given"]) == {"alone"}
    assert len(found) == 2 * 3


def test_separated_effects_have_no_error(table):
    cell = (table["trial_type"] == "standard_correct") & (table["condition"] == "control")
    sure = regress(PAPER[2], table.assign(correct=table["correct"].where(~cell, 1.0)))
    effects = effects_table(sure, table)
    assert np.isnan(row(effects, "saliency", "standard_correct", "alone")["se"])
    assert np.isfinite(row(effects, "saliency", "adversarial_incorrect", "alone")["se"])
    words = {reading.term: reading.words for reading in readings(sure)}
    assert "cannot be told" in words["trial_type[standard_correct]"]


def test_each_term_is_read_in_its_cell(fitted):
    words = {reading.term: reading.words for reading in readings(fitted)}
    beta = dict(zip(fitted.terms, fitted.fit.coefficients, strict=True))
    cell = beta["(Intercept)"] + beta["saliency"] + beta["examples"]
    added, found = population(np.array([cell, cell + beta["saliency:examples"]]), fitted)
    assert words["saliency:examples"].startswith(f"{in_100(found)} correct answers in 100 where these meet")
    assert f"would give {in_100(added)} " in words["saliency:examples"]
    base = population(np.array([beta["(Intercept)"]]), fitted)[0]
    assert words["(Intercept)"] == f"{in_100(base)} correct answers in 100 are expected in the reference cell."
    assert set(words) == set(fitted.terms)


def test_numbers_and_names_for_readers():
    assert [in_100(p) for p in (0.001, 0.29, 0.999, float("nan"))] == ["fewer than 1", "29", "more than 99", "?"]
    assert spoken("trial_type[standard_correct]:saliency") == "standard correct × saliency"


def test_sensitivity_has_each_trial_its_own_intercept_and_categories_by_target():
    table = simulate(participants=16, trials=paper_trials(10))
    table["target"] = [f"t{len(trial) % 2}{trial[-1]}" for trial in table["trial"]]
    responses = from_table(table)
    found = analyse(responses)
    by = {variant.title: variant for variant in found.variants}
    assert list(by) == ["as reported", "with (1|trial)", "categories by target"]
    assert set(by["with (1|trial)"].regression.sd) == {"participant", "category", "trial"}
    assert len(by["categories by target"].regression.design.levels[1]) == table["target"].nunique()
    assert set(sensitivity_table(found.variants)["variant"]) == set(by)


def test_sensitivity_with_those_who_dropped_out_and_without_what_is_not_there():
    table = simulate(participants=16, trials=paper_trials(10))
    late = (table["participant"] == "p03") & (table["order"] > 20)
    found = analyse(
        from_table(table[~late].drop(columns="trial").assign(trial_type="adversarial_incorrect")),
        Plan((Formula.parse("correct ~ saliency + (1|participant) + (1|category)"),)),
    )
    by = {variant.title: variant for variant in found.variants}
    assert len(by["with those who dropped out"].regression.outcomes) == len(found.sample.table) + 20
    assert by["with (1|trial)"].reason == "no column tells trials apart"
    assert by["categories by target"].reason == "there is no complete column target"
    assert variants(found.main, found.sample, found.responses)[0].regression is found.main
