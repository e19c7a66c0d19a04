"""Power by simulated studies, which can be interrupted."""

import numpy as np
import pandas as pd
import pytest

from bayesteach.analysis.power import Study, power_table, run
from bayesteach.analysis.power_runs import simulate_power
from bayesteach.analysis.simulate import PAPER_EFFECTS, PUBLISHED, Effects, paper_trials
from bayesteach.errors import BadFormula, BadInput, OutOfRange

TRIALS = paper_trials(6)
TERMS = list(PUBLISHED)


def records(rows):
    """Studies with these estimates and errors of saliency, and nothing else to find."""
    common = {"participants": 8, "p explanation": 0.01, "p interaction": 0.5}
    return pd.DataFrame(
        [{**common, "simulation": i, "estimate saliency": b, "se saliency": se} for i, (b, se) in enumerate(rows)]
    )


def test_power_and_the_errors_of_what_is_found():
    found = power_table(
        records([(3.0, 1.0), (-3.0, 1.0), (1.0, 1.0), (6.0, 1.0), (9.0, np.nan)]), Effects({"saliency": 1.5}, {})
    )
    row = found.set_index("name").loc["saliency"]
    assert row["power"] == 3 / 5
    assert row["type_s"] == pytest.approx(1 / 3)
    assert row["type_m"] == pytest.approx((2 + 2 + 4) / 3)
    assert row["bias"] == pytest.approx((3 - 3 + 1 + 6) / 4 - 1.5)
    assert row["coverage"] == 2 / 4
    assert row["unknown"] == 1
    assert row["low"] < 3 / 5 < row["high"]
    tests = found[found["kind"] == "test"].set_index("name")["power"]
    assert tests.to_dict() == {"explanation against null": 1.0, "interaction against explanation": 0.0}


def test_where_there_is_nothing_there_is_no_type_m():
    row = power_table(records([(3.0, 1.0)]), Effects({}, {})).iloc[0]
    assert np.isnan(row["type_m"])
    assert row["power"] == 1


def test_a_study_hangs_on_its_number_alone():
    study = Study.of(PAPER_EFFECTS, 8, TRIALS)
    one = next(run([study], [(8, 3)], seed=0))
    many = {int(record["simulation"]): record for record in run([study], [(8, i) for i in range(5)], seed=0, workers=2)}
    assert many[3] == one
    assert many[2] != one
    assert next(run([study], [(8, 3)], seed=1)) != one


def test_more_people_find_more_and_nothing_is_found_at_five_per_cent():
    effects = Effects({"(Intercept)": 0.0, "saliency": 1.2}, {"participant": 0.3, "category": 0.3})
    sizes = [Study.of(effects, size, TRIALS) for size in (8, 40)]
    table = pd.DataFrame(run(sizes, [(size.participants, i) for size in sizes for i in range(25)], seed=0))
    found = power_table(table, effects).set_index(["participants", "name"])["power"]
    assert found[40, "saliency"] > found[8, "saliency"]
    assert found[40, "explanation against null"] > 0.8
    nothing = [found[40, term] for term in TERMS if term not in ("(Intercept)", "saliency")]
    assert np.mean(nothing) < 0.15


def test_a_folder_goes_on_where_it_stopped(tmp_path):
    told = []
    simulate_power(tmp_path / "whole", PAPER_EFFECTS, [8], 4, trials=TRIALS, workers=1)
    simulate_power(tmp_path / "parts", PAPER_EFFECTS, [8], 2, trials=TRIALS, workers=1)
    file = tmp_path / "parts" / "simulations.csv"
    file.write_text(file.read_text()[:-9])  # as a machine that stops leaves it
    table = simulate_power(
        tmp_path / "parts",
        PAPER_EFFECTS,
        [8],
        4,
        trials=TRIALS,
        workers=1,
        progress=lambda done, of: told.append((done, of)),
    )
    assert told == [(2, 4), (3, 4), (4, 4)]
    assert set(table["simulations"]) == {4}
    whole = pd.read_csv(tmp_path / "whole" / "power.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "parts" / "power.csv"), whole)
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {
        "power.csv", "power.png", "power.svg", "power.toml", "simulations.csv",
    }  # fmt: skip


def test_sizes_can_be_added_and_settings_cannot_be_changed(tmp_path):
    simulate_power(tmp_path, PAPER_EFFECTS, [8], 1, trials=TRIALS, workers=1)
    table = simulate_power(tmp_path, PAPER_EFFECTS, [12], 1, trials=TRIALS, workers=1)
    assert set(table["participants"]) == {8, 12}
    with pytest.raises(BadInput, match="with other seed"):
        simulate_power(tmp_path, PAPER_EFFECTS, [8], 1, trials=TRIALS, seed=1)
    with pytest.raises(BadInput, match="with other effects"):
        simulate_power(tmp_path, Effects({"saliency": 1.0}, PAPER_EFFECTS.sds), [8], 1, trials=TRIALS)


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(OutOfRange, match="two or more in each of the 4 conditions"):
        Study.of(PAPER_EFFECTS, 7)
    with pytest.raises(BadFormula, match="order is no term"):
        Study.of(Effects({"order": 1.0}, {}), 8)
    with pytest.raises(OutOfRange, match="0 simulations"):
        simulate_power(tmp_path, PAPER_EFFECTS, [8], 0)


@pytest.mark.verify
def test_the_papers_study_found_what_it_could_find():
    """The tests of the paper have a power of 1 with 160 people, and Table 1's errors are those that simulation gives."""
    study = Study.of(PAPER_EFFECTS, 160)
    table = pd.DataFrame(run([study], [(160, i) for i in range(100)], seed=0))
    found = power_table(table, PAPER_EFFECTS).set_index("name")
    assert found.loc["interaction against explanation", "power"] == 1
    for term, (_, se) in PUBLISHED.items():
        assert table[f"se {term}"].mean() == pytest.approx(se, abs=0.025)
