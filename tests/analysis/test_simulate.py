"""Simulated people answer as they were told to, and the analysis finds it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from bayesteach.analysis.defaults import PAPER
from bayesteach.analysis.regressions import Z, regress
from bayesteach.analysis.simulate import (
    PAPER_EFFECTS,
    PUBLISHED,
    Effects,
    paper_trials,
    read_effects,
    read_trials,
    simulate,
)
from bayesteach.errors import BadFormula, BadInput, BadResponses, OutOfRange
from bayesteach.responses import from_table


def test_the_papers_study():
    table = simulate()
    assert len(table) == 160 * 89
    assert list(table.groupby("condition")["participant"].nunique()) == [40] * 4
    kinds = paper_trials()["trial_type"].value_counts()
    assert kinds.to_dict() == {"adversarial_incorrect": 30, "standard_correct": 30, "standard_incorrect": 29}
    assert not table.duplicated(["participant", "trial"]).any()
    assert set(table.groupby("participant")["order"].agg(["min", "max"]).apply(tuple, axis=1)) == {(1, 89)}


def test_a_seed_is_a_study():
    pd.testing.assert_frame_equal(simulate(participants=8, seed=3), simulate(participants=8, seed=3))
    assert (simulate(participants=8, seed=3)["correct"] != simulate(participants=8, seed=4)["correct"]).any()


def test_people_answer_by_the_table():
    """Without people's and categories' own intercepts, every cell is its logit."""
    effects = Effects(PAPER_EFFECTS.coefficients, {})
    table = simulate(effects, participants=800)
    cells = table.assign(p=expit(effects.logits(table))).groupby(["trial_type", "condition"])[["correct", "p"]].mean()
    error = np.sqrt(cells["p"] * (1 - cells["p"]) / (200 * 29))
    assert ((cells["correct"] - cells["p"]).abs() < 4 * error).all()
    control = float(cells.loc[("adversarial_incorrect", "control"), "p"])
    assert logit(control) == pytest.approx(-1.06)
    both = float(cells.loc[("standard_correct", "both"), "p"])
    assert logit(both) == pytest.approx(-1.06 + 4.64 + 1.01 + 0.46 - 1.71 - 2.01 - 0.53 + 1.18)


def test_people_and_categories_differ_by_their_standard_deviations():
    effects = Effects({"(Intercept)": 0.0}, {"participant": 0.8, "category": 0.3})
    fit = regress(PAPER[0], from_table(simulate(effects, participants=120)).table).fit
    assert fit.standard_deviations[0] == pytest.approx(0.8, abs=0.25)
    assert fit.standard_deviations[1] == pytest.approx(0.3, abs=0.2)


def test_any_trials_any_conditions_any_terms():
    trials = pd.DataFrame(
        {"trial": ["a", "b"], "category": ["x", "y"], "trial_type": ["odd", "even"], "difficulty": [0.1, 2.0]}
    )
    conditions = pd.DataFrame({"condition": ["plain", "red", "blue"], "colour": ["none", "red", "blue"]})
    effects = Effects({"(Intercept)": 60.0, "colour[red]:difficulty": -120.0}, {})
    table = simulate(effects, 9, trials, conditions)
    wrong = table[table["correct"] == 0]
    assert set(wrong["condition"]) == {"red"}
    assert set(wrong["trial"]) == {"b"}
    assert set(table["participant"]) == {f"p{i}" for i in range(1, 10)}


def test_effects_come_from_a_table_of_coefficients(tmp_path):
    file = tmp_path / "coefficients.csv"
    pd.DataFrame(
        {
            "model": ["null", "big", "big"],
            "term": ["(Intercept)", "(Intercept)", "saliency"],
            "estimate": [9.0, 0.5, 1.5],
        }
    ).to_csv(file, index=False)
    assert read_effects(file) == Effects({"(Intercept)": 0.5, "saliency": 1.5}, {"participant": 0.33, "category": 0.65})
    pd.DataFrame({"model": ["null", "big"], "sd_participant": [9.0, 0.2], "sd_category": [9.0, 0.1]}).to_csv(
        tmp_path / "models.csv", index=False
    )
    assert read_effects(file).sds == {"participant": 0.2, "category": 0.1}
    (tmp_path / "plain.csv").write_text("term,estimate\nsaliency,1\nsd(participant),0.7\n")
    (tmp_path / "models.csv").unlink()
    assert read_effects(tmp_path / "plain.csv") == Effects({"saliency": 1.0}, {"participant": 0.7, "category": 0.65})
    assert read_effects("paper") is PAPER_EFFECTS


def test_what_makes_no_people_is_refused(tmp_path):
    with pytest.raises(BadFormula, match="needs a column 'style'"):
        simulate(Effects({"style[red]": 1.0}, {}), 8)
    with pytest.raises(BadFormula, match=r"sd\(school\) names no column"):
        simulate(Effects({}, {"school": 1.0}), 8)
    with pytest.raises(OutOfRange, match="saliency is nan"):
        Effects({"saliency": float("nan")}, {})
    with pytest.raises(OutOfRange, match=r"sd\(participant\) is -1"):
        Effects({}, {"participant": -1.0})
    with pytest.raises(OutOfRange, match="participants: found 0"):
        simulate(participants=0)
    with pytest.raises(BadResponses, match="no column trial_type"):
        simulate(trials=paper_trials().drop(columns="trial_type"))
    with pytest.raises(BadInput, match="cannot be read"):
        read_effects("nowhere.csv")
    (tmp_path / "t.csv").write_text("trial,category\n1,2\n")
    with pytest.raises(BadResponses, match="no column trial_type"):
        read_trials(tmp_path / "t.csv")


def covered(studies, participants, trials):
    """How many 95 % intervals of each term hold the truth."""
    held = np.zeros(len(PUBLISHED))
    truth = np.array([estimate for estimate, _ in PUBLISHED.values()])
    for seed in range(studies):
        table = regress(
            PAPER[2], from_table(simulate(participants=participants, trials=trials, seed=seed)).table
        ).coefficients()
        held += np.abs(table["estimate"] - truth) <= Z * table["se"]
    return held / studies


def test_intervals_hold_the_truth():
    """In 12 studies the 144 intervals miss about 5 %; holding in fewer than 86 %, they would be no 95 % ones."""
    share = covered(12, 40, paper_trials(12))
    assert share.mean() > 0.86


@pytest.mark.verify
def test_intervals_hold_the_truth_in_many_studies():
    share = covered(200, 80, paper_trials())
    # 95 % of 200, less three standard errors; the intercept rests on 30 categories alone.
    assert share.min() > 0.90
