"""Fits and their tables, against glmmTMB's."""

import json
from pathlib import Path

import numpy as np
import pytest

from bayesteach.analysis.comparisons import Comparison, bootstrap_p, comparisons, comparisons_table, nested
from bayesteach.analysis.defaults import PAPER
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.regressions import coefficients_table, models_table, regress
from bayesteach.analysis.simulate import paper_trials, simulate
from bayesteach.errors import BadFormula, BadResponses
from bayesteach.responses import from_table, read_responses

REFERENCE = Path(__file__).parents[3] / "shared" / "glmm"
SETS = [("sim_seed1.csv", "glmmTMB_seed1.json"), ("edge_small16.csv", "glmmTMB_edge_small16.json")]


def sample(participants=16, categories=10):
    return from_table(simulate(participants=participants, trials=paper_trials(categories))).table


@pytest.mark.skipif(not REFERENCE.exists(), reason="no ../shared/glmm: glmmTMB's fits are not part of the tree")
@pytest.mark.parametrize(("data", "fits"), SETS)
def test_tables_are_those_of_glmmtmb(data, fits):
    reference = json.loads((REFERENCE / fits).read_text())
    table = read_responses(REFERENCE / data).table
    regressions = [regress(formula, table) for formula in PAPER]
    models = models_table(regressions).set_index("model")
    for regression in regressions:
        expected = reference["models"][regression.name]
        found = regression.coefficients()
        names = [name.replace("trial_type", "trial_type[").replace("correct", "correct]") for name in expected["names"]]
        assert list(found["term"]) == names
        np.testing.assert_allclose(found["estimate"], expected["estimate"], atol=2e-4)
        np.testing.assert_allclose(found["se"], expected["se"], rtol=5e-3)
        np.testing.assert_allclose(found["z"], expected["z"], rtol=6e-3, atol=2e-3)
        row = models.loc[regression.name]
        for ours, theirs in (("log_likelihood", "logLik"), ("aic", "AIC"), ("bic", "BIC")):
            assert row[ours] == pytest.approx(expected[theirs], abs=2e-4)
        for name in ("sd_participant", "sd_category"):
            assert row[name] == pytest.approx(expected[name], abs=1e-4)
        assert row["converged"]
        assert not row["singular"]
    tests = comparisons_table(comparisons(regressions)).set_index(["model", "against"])
    for model, against in (("explanation", "null"), ("interaction", "explanation")):
        chisq = reference["lrt"][f"{model}_vs_{against}"]["chisq"]
        assert tests.loc[(model, against), "chi2"] == pytest.approx(chisq, abs=5e-4)
    assert list(tests["df"]) == [2, 7, 9]


def test_columns_are_those_that_are_documented():
    regression = regress(PAPER[0], sample())
    assert list(coefficients_table([regression])) == [
        "model", "term", "estimate", "se", "z", "p", "low", "high", "odds_ratio", "odds_ratio_low", "odds_ratio_high", "flag",
    ]  # fmt: skip
    assert list(models_table([regression])) == [
        "model", "n", "parameters", "log_likelihood", "aic", "bic", "sd_participant", "sd_category", "converged", "singular",
    ]  # fmt: skip


def test_odds_ratios_and_intervals_belong_to_their_estimates():
    table = regress(PAPER[1], sample()).coefficients()
    np.testing.assert_allclose(np.log(table["odds_ratio"]), table["estimate"])
    np.testing.assert_allclose(np.log(table["odds_ratio_high"]), table["high"])
    np.testing.assert_allclose((table["high"] - table["low"]) / table["se"], 2 * 1.959964, rtol=1e-6)


def test_a_separated_cell_is_flagged_and_has_no_p():
    table = sample()
    cell = (table["trial_type"] == "standard_correct") & (table["condition"] == "control")
    table.loc[cell, "correct"] = 1.0
    regression = regress(PAPER[2], table)
    found = regression.coefficients().set_index("term")
    flagged = found[found["flag"] == "separated"]
    assert "trial_type[standard_correct]" in flagged.index
    assert flagged[["se", "z", "p", "low", "high", "odds_ratio_low"]].isna().all(axis=None)
    assert found.loc["saliency", "flag"] == ""
    assert np.isfinite(found.loc["saliency", "p"])
    assert np.isfinite(regression.fit.log_likelihood)


def test_models_that_are_nested_in_any_words_are_compared():
    table = sample()
    by_condition = regress(Formula.parse("all: correct ~ condition + (1|participant) + (1|category)"), table)
    by_factors = regress(Formula.parse("main: correct ~ saliency + examples + (1|participant) + (1|category)"), table)
    alone = regress(Formula.parse("one: correct ~ saliency + (1|participant)"), table)
    other = regress(Formula.parse("two: correct ~ trial_type + (1|participant) + (1|category)"), table)
    assert nested(by_factors, by_condition)
    assert not nested(by_condition, by_factors)
    assert not nested(alone, by_factors), "random intercepts differ"
    assert not nested(other, by_condition)
    assert [pair.title for pair in comparisons([by_condition, by_factors, other])] == ["all against main"]


def test_a_test_by_bootstrap_agrees_with_chi_square_where_both_hold():
    table = sample(24)
    small = regress(Formula.parse("small: correct ~ trial_type + (1|participant) + (1|category)"), table)
    large = regress(Formula.parse("large: correct ~ trial_type*order + (1|participant) + (1|category)"), table)
    told = []
    p, refits = bootstrap_p(Comparison(large, small), 60, seed=1, progress=told.append, workers=1)
    assert refits == 60
    assert sum(told) == 60
    # Three standard errors of a share of 60.
    p_chi2 = Comparison(large, small).p
    assert abs(p - p_chi2) < 3 * np.sqrt(p_chi2 * (1 - p_chi2) / 60) + 1 / 61


def test_a_bootstrapped_p_is_small_where_there_is_an_effect():
    table = sample(24, 16)
    pair = comparisons([regress(formula, table) for formula in PAPER[1:]])[0]
    assert bootstrap_p(pair, 19, seed=0, workers=1) == (0.05, 19)


def test_workers_change_no_number():
    table = sample(8)
    pair = comparisons([regress(formula, table) for formula in PAPER[:2]])[0]
    assert bootstrap_p(pair, 12, seed=3, workers=2) == bootstrap_p(pair, 12, seed=3, workers=1)


def refused(formula, table):
    with pytest.raises((BadFormula, BadResponses)) as caught:
        regress(formula, table)
    return str(caught.value)


def test_what_cannot_be_fitted_is_refused_with_its_reason():
    table = sample()
    assert "participant: found 'p01' alone" in refused(PAPER[0], table[table["participant"] == "p01"])
    assert "category: found 'category_01' alone" in refused(PAPER[0], table[table["category"] == "category_01"])
    assert "all 464 values are 1" in refused(PAPER[0], table.assign(correct=1.0))
    alone = table.assign(category=[f"c{i}" for i in range(len(table))])
    assert "category: every one of the 464 answers has a value of its own" in refused(PAPER[0], alone)
    endless = table.assign(order=table["order"].where(table["order"] > 1, np.inf))
    said = refused(Formula.parse("correct ~ order + (1|participant)"), endless)
    assert "order: 16 of 464 values are infinite or none, the first of participant" in said
    order = Formula.parse("order ~ trial_type + (1|participant)")
    assert "neither 0 nor 1" in refused(order, table)
    gone = table[~((table["trial_type"] == "standard_correct") & (table["condition"] == "both"))]
    said = refused(PAPER[2], gone)
    assert "trial_type[standard_correct]:saliency:examples" in said
    assert "no answers with trial_type standard_correct, saliency 1, examples 1" in said
    assert "cannot be made of these responses" in refused(
        Formula.parse("correct ~ log(category) + (1|participant)"), table
    )
