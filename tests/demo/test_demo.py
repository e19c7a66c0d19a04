"""The demo in small: its own steps on a smaller drawn world, stopped and gone on with, and the page that it ends with."""

import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from bayesteach.analysis.simulate import PAPER_EFFECTS, PUBLISHED
from bayesteach.demo import steps
from bayesteach.demo.people import foresees
from bayesteach.demo.steps import STEPS, Demo
from bayesteach.demo.tables import chi2_of
from bayesteach.errors import BadStudy
from bayesteach.responses import read_responses
from bayesteach.stages.context import unwatched
from bayesteach.study.materials import read_materials
from bayesteach.vision.shortcuts import write_world

PEOPLE, STUDIES = 16, 6


def small_world(folder: Path, seed: int, progress) -> dict[str, object]:
    """What recipes.shortcuts says, of fewer pictures, trials and masks."""
    write_world(folder / "images", seed=seed, train=12, standard=14, adversarial=5, progress=progress)
    return {
        "seed": seed,
        "model": {"name": "embedded"},
        "source": [{"name": name, "folder": f"images/{name}"} for name in ("train", "val", "adversarial")],
        "design": {"adversarial": ["adversarial"], "categories": 5, "practice": 1, "attention": 1},
        "teach": {"candidates": 20},
        "highlight": {"masks": 32},
    }


@pytest.fixture(scope="module")
def patched(embedded):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "shortcuts", small_world)
        patch.setattr(steps, "STUDIES", STUDIES)
        patch.setattr(steps, "choose_engine", lambda _classifier, _passes: ("torch", "fp32"))
        patch.setattr(steps.Classifier, "load", staticmethod(lambda *_args, **_kwargs: embedded))
        yield


@pytest.fixture(scope="module")
def demo(patched, tmp_path_factory) -> Demo:
    """Made from end to end, but stopped in the middle of the people."""
    made = Demo(tmp_path_factory.mktemp("demo") / "out", PEOPLE)
    for step in STEPS:
        if step.do is steps.take_part:
            few = Demo(made.folder, 5)
            step.do(few, unwatched)
        step.do(made, unwatched)
    return made


def test_everything_is_there(demo):
    for name in ("report.html", "analysis/report.html", "artifacts/compose/gallery.html", "measures/means.csv"):
        assert (demo.folder / name).is_file()
    assert len(pd.read_csv(demo.folder / "studies" / "simulations.csv")) == STUDIES


def test_people_came_through_the_real_study_and_are_marked_for_ever(demo):
    with sqlite3.connect(demo.folder / "study.db") as database:
        rows = database.execute(
            "select arm, mode, count(*) from participants where finished_at is not null group by 1, 2"
        )
        found = {(arm, mode): count for arm, mode, count in rows}
    assert found == {(arm, "simulated"): PEOPLE // 4 for arm in ("control", "saliency", "examples", "both")}
    responses = read_responses(demo.answers)
    assert responses.table["participant"].nunique() == PEOPLE


def test_they_answer_by_the_published_coefficients(demo):
    """Of very many people, whose own differences are taken away, every cell is its logit."""
    materials = read_materials(demo.folder)
    effects = steps.replace(PAPER_EFFECTS, sds={})
    asked = foresees(materials, effects, 400, 0)
    trial = next(
        row
        for row in materials.stimuli.hidden
        if row.trial_type == "adversarial_incorrect" and materials.shown[row.trial].kind == "trial"
    )
    share = sum(asked(number, trial, "saliency") for number in range(400)) / 400
    expected = 1 / (1 + 2.718281828 ** -(PUBLISHED["(Intercept)"][0] + PUBLISHED["saliency"][0]))
    assert share == pytest.approx(expected, abs=0.08)


def test_a_second_run_makes_nothing_anew(demo):
    before = {file: file.stat().st_mtime_ns for file in (demo.folder / "artifacts").rglob("*") if file.is_file()}
    analysis = (demo.folder / "analysis" / "report.html").stat().st_mtime_ns
    said = [step.do(demo, unwatched) for step in STEPS]
    assert said[0] == "as they were"
    assert sum(text.startswith("as it was") for text in said) == 7
    assert {
        file: file.stat().st_mtime_ns for file in (demo.folder / "artifacts").rglob("*") if file.is_file()
    } == before
    assert (demo.folder / "analysis" / "report.html").stat().st_mtime_ns == analysis


def test_another_folder_with_the_seed_gives_the_same_answers(demo, tmp_path):
    """The people's part alone, on the same stimuli: same seed, same answers."""
    import shutil  # noqa: PLC0415

    again = Demo(Path(shutil.copytree(demo.folder, tmp_path / "again")), PEOPLE)
    for file in again.folder.glob("study.db*"):
        file.unlink()
    shutil.rmtree(again.answers)
    shutil.rmtree(again.folder / "analysis")
    few = Demo(again.folder, 5)
    steps.take_part(few, unwatched)
    steps.take_part(again, unwatched)
    steps.find_out(again, unwatched)
    tables = [pd.read_csv(one.folder / "analysis" / "coefficients.csv") for one in (demo, again)]
    pd.testing.assert_frame_equal(*tables)


class Page(HTMLParser):
    """The addresses that a page would load, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def page(demo) -> Page:
    found = Page()
    found.feed(demo.report.read_text("utf-8"))
    return found


def test_the_report_is_one_file_and_loads_nothing(page):
    assert page.loads
    assert all(address.startswith("data:image/") for address in page.loads)


def test_it_says_first_that_it_tests_the_software(page):
    text = " ".join(" ".join(page.text).split())
    first = text.index("Agreement on this page tests the software, not the claim.")
    assert first < text.index("In short") if "In short" in text else first < text.index("1 · A world")
    assert text.index("Simulated people") < first
    for promise in (
        "nobody looked at the images",
        "0.33",
        "0.65",
        "45.37",
        "209.62",
        "0.6 are expected",
        "Figure 1",
        "Table 1",
    ):
        assert promise in text


def test_its_numbers_are_those_of_the_analysis(demo, page):
    text = " ".join(page.text)
    table = pd.read_csv(demo.folder / "analysis" / "coefficients.csv").query("model == 'interaction'")
    for estimate in table["estimate"]:
        assert f"{estimate:.2f}".replace("-", "−") in text
    tests = pd.read_csv(demo.folder / "analysis" / "comparisons.csv")
    for chi2 in tests["chi2"][:2]:
        assert f"{chi2:.2f}" in text
    simulated = chi2_of(pd.read_csv(demo.folder / "studies" / "simulations.csv"))
    assert f"{simulated['explanation'].quantile(0.025):.1f} to" in text


def test_a_folder_with_another_study_is_refused(demo):
    with pytest.raises(BadStudy, match="holds another study"):
        steps.draw(Demo(demo.folder, PEOPLE, seed=1), unwatched)
    with pytest.raises(BadStudy, match="16 simulated people already, 4 are asked for"):
        steps.take_part(Demo(demo.folder, 4), unwatched)


def test_no_word_of_the_page_is_left_unfilled(page):
    assert not re.search(r"\bnan\b|None|\{\{", " ".join(page.text))
