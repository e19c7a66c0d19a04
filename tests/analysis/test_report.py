"""An analysis written down, in a folder and in one page."""

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from bayesteach.analysis.analyse import Plan, analyse
from bayesteach.analysis.defaults import PAPER
from bayesteach.analysis.figures import coefficients_figure, colours, save
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.prose import design, short
from bayesteach.analysis.report import write
from bayesteach.analysis.simulate import PUBLISHED, Effects, paper_trials, simulate
from bayesteach.analysis.tables import number, p_value, stars
from bayesteach.errors import BadFormula
from bayesteach.responses import from_table

FILES = {
    "analysis.toml", "accuracy.csv", "coefficients.csv", "comparisons.csv", "effects.csv", "figure-1.png", "figure-1.svg",
    "figure-2.png", "figure-2.svg", "models.csv", "report.html", "sensitivity.csv",
}  # fmt: skip


class Page(HTMLParser):
    """What a page says, and what it would load."""

    def __init__(self):
        super().__init__()
        self.text, self.open, self.sources, self.alts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.sources += [found[name] for name in ("src", "href") if name in found]
        if tag == "img":
            self.alts.append(found["alt"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def responses(participants=24):
    table = simulate(participants=participants, trials=paper_trials(10)).assign(completed=1)
    # As a study's export has it: what stands behind a trial is beside every answer to it.
    table["probe"] = table["trial"]
    table["map_verdict"] = table["trial_type"].map({"standard_correct": "rough"}).fillna("noise")
    late = (table["participant"] == "p02") & (table["order"] > 10)
    table.loc[table["participant"] == "p02", "completed"] = 0
    return from_table(table[~late], "people & answers.csv")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analysis")
    found = analyse(responses(), Plan(published=True, exclude={"p05": "asked <b>not</b> to be"}))
    files = write(found, folder, "bayesteach analyse people.csv --published")
    return found, folder, files


def read(file):
    """As docs/analysis.md says: a model called null is no missing value."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def test_the_page_warns_of_pandas_and_its_line_reads_every_model(written):
    _, folder, _ = written
    page = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text("utf-8")
    assert 'table = pd.read_csv("analysis/coefficients.csv", keep_default_na=False, na_values=[""])\n' in page
    file = folder / "coefficients.csv"
    assert set(read(file)["model"]) == {"null", "explanation", "interaction"}
    assert pd.read_csv(file)["model"].isna().sum() == 3  # what the page warns of


def test_everything_is_written(written):
    _, folder, files = written
    assert {path.name for path in folder.iterdir()} == FILES == {path.name for path in files}
    assert files[-1].name == "report.html"


def test_the_report_says_how_far_maps_are_to_be_believed(written):
    found, _, _ = written
    assert "Of the maps over the probes 19 mostly noise and 10 rough." in design(found)


def test_tables_hold_what_was_found(written):
    found, folder, _ = written
    coefficients = read(folder / "coefficients.csv")
    main = coefficients[coefficients["model"] == "interaction"]
    np.testing.assert_allclose(main["estimate"], found.main.fit.coefficients)
    np.testing.assert_allclose(main["published"], [estimate for estimate, _ in PUBLISHED.values()])
    null = coefficients[coefficients["model"] == "null"]
    assert len(null) == 3
    assert null["published"].isna().all()
    assert list(coefficients) == [
        "model", "term", "estimate", "se", "z", "p", "low", "high", "odds_ratio", "odds_ratio_low", "odds_ratio_high", "flag",
        "published", "published_se",
    ]  # fmt: skip
    models = read(folder / "models.csv")
    assert list(models["model"]) == ["null", "explanation", "interaction"]
    assert list(models) == [
        "model", "n", "parameters", "log_likelihood", "aic", "bic", "sd_participant", "sd_category", "converged", "singular",
    ]  # fmt: skip
    assert list(pd.read_csv(folder / "accuracy.csv")) == [
        "trial_type", "condition", "participants", "answers", "accuracy", "low", "high",
    ]  # fmt: skip
    assert list(pd.read_csv(folder / "comparisons.csv")) == ["model", "against", "chi2", "df", "p"]


def test_the_settings_say_who_is_analysed(written):
    _, folder, _ = written
    facts = tomllib.loads((folder / "analysis.toml").read_text())
    assert facts["who"]["people"] == "completers"
    assert facts["who"]["performance"] == "nobody is left out for performance"
    flow = {row["condition"]: row for row in facts["who"]["by_condition"]}
    assert flow["saliency"]["dropped_out"] == 1
    assert flow["control"]["excluded"] == 1
    assert facts["who"]["participants"] == 22
    assert facts["command"] == "bayesteach analyse people.csv --published"
    assert facts["models"]["null"] == "correct ~ trial_type + (1|participant) + (1|category)"


def test_the_report_is_one_whole_page(written):
    _, folder, _ = written
    page = Page()
    page.feed((folder / "report.html").read_text())
    assert page.open == []
    assert len(page.sources) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    assert all("standard correct, both" in alt or "Coefficients" in alt for alt in page.alts)


def test_the_report_says_what_was_found(written):
    found, folder, _ = written
    page = Page()
    page.feed((folder / "report.html").read_text())
    text = " ".join(" ".join(page.text).split())
    assert "asked <b>not</b> to be" in text
    for regression in found.regressions:
        assert regression.design.formula.fixed in text
    for test in found.tests:
        assert number(test.chi2) in text
    row = found.effects.iloc[0]
    assert number(100 * row["change"], 1) in text
    for words in ("dropped out", "Nobody is left out for performance", "with (1|trial)", "scipy"):
        assert words in text
    assert "averaged over the other" in text
    assert not re.search(r"\b(nan|None|inf)\b", text)


def test_figures_are_pictures_and_the_same_each_time(written, tmp_path):
    found, folder, _ = written
    write(found, tmp_path, "again")
    for name in ("figure-1", "figure-2"):
        with Image.open(folder / f"{name}.png") as picture:
            assert min(picture.size) > 600
            assert len(np.unique(np.asarray(picture.convert("L")))) > 20
        assert (folder / f"{name}.svg").read_bytes() == (tmp_path / f"{name}.svg").read_bytes()


def test_the_caption_says_what_was_resampled(tmp_path):
    found = analyse(responses(), Plan(resample="trials", bootstrap=100))
    write(found, tmp_path, "")
    assert "100 bootstrap draws of trials" in " ".join((tmp_path / "report.html").read_text().split())


def test_few_people_are_warned_of_unless_refits_are_had():
    assert any("--bootstrap-lrt" in warning for warning in analyse(responses()).warnings)
    found = analyse(responses(), Plan(bootstrap_lrt=3), workers=1)
    assert not any("--bootstrap-lrt" in warning for warning in found.warnings)
    assert list(found.comparisons["refits"]) == [3, 3, 3]
    assert "by parametric bootstrap" in " ".join(short(found))


def test_where_a_model_cannot_be_fitted_those_who_dropped_out_are_named():
    table = simulate(participants=12, trials=paper_trials(6))
    skipped = (table["condition"] == "both") & (table["order"] == 1)
    with pytest.raises(BadFormula, match="Of 12 people 3 count as dropped out.*--who everyone keeps them"):
        analyse(from_table(table[~skipped]), Plan(PAPER))


def test_what_a_formula_foretells_for_certain_has_a_figure_too(tmp_path):
    table = simulate(participants=12, trials=paper_trials(6))
    found = analyse(from_table(table), Plan((Formula.parse("correct ~ correct + (1|participant)"),)))
    assert {path.name for path in write(found, tmp_path, "")} == FILES


def test_trouble_is_told(tmp_path):
    table = simulate(Effects({"(Intercept)": 0.0}, {"participant": 0.0, "category": 0.0}), 24, paper_trials(10), seed=2)
    table.loc[(table["trial_type"] == "standard_correct") & (table["condition"] == "both"), "correct"] = 1
    found = analyse(from_table(table))
    said = " ".join(found.warnings)
    assert "standard deviation 0" in said
    assert "cannot be told in size" in said
    write(found, tmp_path, "")
    page = (tmp_path / "report.html").read_text()
    assert "cannot be told in size" in page
    assert "nan" not in re.sub(r"base64,[^\"]+", "", page)


def test_an_experiment_of_its_own_kind_has_a_report_too(tmp_path):
    conditions = pd.DataFrame({"condition": ["control", "heatmap", "counterfactual"], "style": ["none", "heat", "cf"]})
    effects = Effects({"style[heat]": 0.8}, {"participant": 0.4, "category": 0.4})
    table = simulate(effects, 24, paper_trials(8), conditions)
    formulas = (
        "small: correct ~ trial_type + (1|participant)",
        "large: correct ~ trial_type + style + (1|participant)",
    )
    found = analyse(from_table(table), Plan(tuple(Formula.parse(text) for text in formulas)))
    assert {path.name for path in write(found, tmp_path, "")} == FILES
    assert "heatmap" in (tmp_path / "report.html").read_text()
    assert list(found.comparisons["df"]) == [2]


def test_a_study_without_trial_types_or_conditions_has_a_report(tmp_path):
    table = simulate(participants=12, trials=paper_trials(8)).drop(
        columns=["trial_type", "condition", "saliency", "examples"]
    )
    table["late"] = (table["order"] > 10).astype(int)
    found = analyse(from_table(table), Plan((Formula.parse("correct ~ late + (1|participant)"),)))
    assert {path.name for path in write(found, tmp_path, "")} == FILES


def test_numbers_are_printed_as_papers_print_them():
    assert [number(x) for x in (-1.058, 0.0, -0.001, 12345.6, float("nan"))] == [
        "−1.06",
        "0.00",
        "0.00",
        "12,345.60",
        "–",
    ]
    assert [p_value(p) for p in (0.0004, 0.0123, float("nan"))] == ["< 0.001", "0.012", "–"]
    assert [stars(p) for p in (0.0004, 0.004, 0.04, 0.4, float("nan"))] == ["***", "**", "*", "", ""]


def test_conditions_keep_their_colours():
    assert colours(["control", "heat", "saliency"])["saliency"] == colours(["saliency"])["saliency"]
    assert len(set(colours(["a", "b", "control"]).values())) == 3


def test_coefficients_stand_beside_others(tmp_path):
    table = pd.DataFrame({"term": ["a", "b"], "estimate": [1.0, 2.0], "low": [0.5, np.nan], "high": [1.5, np.nan]})
    save(coefficients_figure(table, {"published": table, "Bayesian": table}), tmp_path, "figure")
    assert (tmp_path / "figure.png").stat().st_size > 5000
