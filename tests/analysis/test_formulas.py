"""Formulas and the terms that they make."""

import numpy as np
import pandas as pd
import pytest

from bayesteach.analysis.defaults import PAPER
from bayesteach.analysis.formulas import Formula, make_design, parse_all
from bayesteach.analysis.simulate import PUBLISHED, simulate
from bayesteach.errors import BadFormula


def test_terms_come_as_in_the_paper_and_the_reference_fits():
    design = make_design(PAPER[2], simulate(participants=8))
    assert design.terms == tuple(PUBLISHED)
    assert design.matrix.shape == (8 * 89, 12)
    assert [len(levels) for levels in design.levels] == [8, 30]


def test_the_order_of_rows_changes_no_term():
    table = simulate(participants=8)
    shuffled = table.sample(frac=1, random_state=0).reset_index(drop=True)
    assert make_design(PAPER[2], shuffled).terms == make_design(PAPER[2], table).terms


def test_interactions_are_products():
    table = simulate(participants=8)
    design = make_design(PAPER[2], table)
    column = dict(zip(design.terms, design.matrix.T, strict=True))
    product = (table["trial_type"] == "standard_correct") * table["saliency"] * table["examples"]
    np.testing.assert_array_equal(column["trial_type[standard_correct]:saliency:examples"], product)


def test_random_intercepts_are_split_off_wherever_they_stand():
    formula = Formula.parse("full: correct ~ (1|participant) + saliency + ( 1 | category ) + examples")
    assert formula == Formula("full", "correct", "saliency + examples", ("participant", "category"))
    assert Formula.parse(str(formula), "full") == formula
    assert Formula.parse("correct ~ (1|participant)").fixed == "1"


def test_names_that_are_no_words_stand_in_backticks():
    formula = Formula.parse("odd one: `was it right?` ~ `sal map` + (1|`person id`)")
    assert formula == Formula("odd one", "was it right?", "`sal map`", ("person id",))
    assert formula.columns == ("was it right?", "sal map", "person id")
    assert Formula.parse(str(formula), "odd one") == formula
    table = pd.DataFrame({"was it right?": [0.0, 1, 1], "sal map": [0.0, 1, 0], "person id": ["p", "q", "p"]})
    assert make_design(formula, table).terms == ("(Intercept)", "sal map")


def test_levels_keep_an_order_that_they_have():
    arm = pd.Categorical(["b", "a", "c"], categories=["c", "x", "b", "a"])
    table = pd.DataFrame({"correct": [0.0, 1, 1], "arm": arm, "participant": ["p", "q", "r"]})
    design = make_design(Formula.parse("correct ~ arm + (1|participant)"), table)
    assert design.terms == ("(Intercept)", "arm[b]", "arm[a]")


def test_variables_come_as_the_formula_names_them():
    assert Formula.parse("correct ~ trial_type*saliency*examples + (1|p)").variables == (
        "trial_type",
        "saliency",
        "examples",
    )


def test_unnamed_formulas_are_counted():
    texts = ["correct ~ arm + (1|participant)", "big: correct ~ arm*trial_type + (1|participant)"]
    assert [formula.name for formula in parse_all(texts)] == ["model 1", "big"]
    assert parse_all([]) == ()


def test_levels_are_set_against_the_reference():
    table = pd.DataFrame({"correct": [0.0, 1, 1], "arm": ["a", "control", "b"], "participant": ["p", "q", "r"]})
    design = make_design(Formula.parse("correct ~ arm + (1|participant)"), table)
    assert design.terms == ("(Intercept)", "arm[a]", "arm[b]")


def test_the_same_columns_for_other_rows():
    table = simulate(participants=8)
    design = make_design(PAPER[2], table)
    row = pd.DataFrame([{"trial_type": "standard_correct", "saliency": 1.0, "examples": 0.0}])
    one = dict(zip(design.terms, design.of(row)[0], strict=True))
    assert {term for term, value in one.items() if value} == {
        "(Intercept)",
        "trial_type[standard_correct]",
        "saliency",
        "trial_type[standard_correct]:saliency",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("saliency + (1|participant)", "expected an outcome, ~"),
        ("correct ~ saliency", "0 random intercepts"),
        ("correct ~ 1 + (1|a) + (1|b) + (1|c) + (1|d)", "4 random intercepts"),
        ("correct ~ saliency + (saliency|participant)", "random intercepts only"),
        ("correct ~ saliency + (1|participant/trial)", "random intercepts only"),
        ("correct ~ (saliency + (1|participant)", "cannot be read"),
        ("correct ~ a ~ b + (1|participant)", "more than one ~"),
    ],
)
def test_what_cannot_be_read_is_refused(text, says):
    with pytest.raises(BadFormula) as caught:
        Formula.parse(text)
    assert says in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_two_of_one_name_and_two_outcomes_are_refused():
    with pytest.raises(BadFormula, match="two are called 'a'"):
        parse_all(["a: correct ~ x + (1|p)", "a: correct ~ y + (1|p)"])
    with pytest.raises(BadFormula, match="outcomes correct, right"):
        parse_all(["correct ~ x + (1|p)", "right ~ y + (1|p)"])
