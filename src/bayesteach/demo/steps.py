"""The demo, step by step. What a step has made stands in the demo's folder, so any run goes on where the last one stopped."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from bayesteach.analysis import report
from bayesteach.analysis.analyse import Plan, analyse
from bayesteach.analysis.machine import write as write_measures
from bayesteach.analysis.power_runs import simulate_power
from bayesteach.analysis.simulate import PAPER_EFFECTS
from bayesteach.demo.people import foresees
from bayesteach.demo.story import read_table, write_story
from bayesteach.errors import BadStudy
from bayesteach.pipeline import BY_NAME, STAGES, Run
from bayesteach.recipes import shortcuts, write_study
from bayesteach.responses import read_responses
from bayesteach.settings import STUDY_FILE, read_settings
from bayesteach.stages.compose import Composed
from bayesteach.stages.context import Watch
from bayesteach.store.workspace import Workspace
from bayesteach.study.database import default_url
from bayesteach.study.export import export
from bayesteach.study.server import prepare
from bayesteach.study.simulate import Behaviour, finishers, through_http
from bayesteach.study.texts import title
from bayesteach.vision.choice import choose_engine
from bayesteach.vision.classifier import Classifier

STUDIES = 200
# Mask passes of 90 trials with 256 masks for a probe and four examples: what an engine is chosen for.
_PASSES = 90 * 5 * 256
_STAGES = {
    "collect": "collect its pictures",
    "embed": "look at them through the classifier",
    "fit": "what is known of its head: the posterior",
    "design": "choose the trials",
    "teach": "find a lesson for each",
    "highlight": "find the saliency maps",
    "compose": "compose what participants see",
}


@dataclass(frozen=True, slots=True)
class Demo:
    """Where it is made, with how many simulated people, from which seed."""

    folder: Path
    people: int = 160
    seed: int = 0

    @property
    def answers(self) -> Path:
        """The exported data set."""
        return self.folder / "exports" / "simulated"

    @property
    def report(self) -> Path:
        """The page to open."""
        return self.folder / "report.html"


@dataclass(frozen=True, slots=True)
class Step:
    """One of them: what it does, in words, and the function that does it and says what came out."""

    words: str
    do: Callable[[Demo, Watch], str]


def draw(demo: Demo, watch: Watch) -> str:
    """The world's pictures, and study.toml."""
    if (demo.folder / STUDY_FILE).exists():
        known = read_settings(demo.folder)
        if known.model.name != "embedded" or known.seed != demo.seed:
            raise BadStudy(
                f"{demo.folder} holds another study (model {known.model.name}, seed {known.seed}). Choose another --out."
            )
        return "as they were"
    # A run that was stopped in the middle of drawing left no study.toml: the pictures are drawn again, in half a minute.
    shutil.rmtree(demo.folder / "images", ignore_errors=True)

    def counted(jobs: Sequence[Any]) -> Iterator[Any]:
        advance = watch("drawing", len(jobs))
        for job in jobs:
            yield job
            advance(1)

    said = shortcuts(demo.folder, demo.seed, counted)
    watch("trying the engines of this machine", 1)
    engine, precision = choose_engine(Classifier.load("embedded"), _PASSES)
    said["model"] |= {"engine": engine, "precision": precision}
    write_study(demo.folder, said)
    return f"{sum(1 for _ in (demo.folder / 'images').rglob('*.png')) // 2:,} pictures; engine {engine} {precision}"


def stage(name: str, demo: Demo, watch: Watch) -> str:
    """A stage of the pipeline."""
    *_, made = Run(Workspace(demo.folder), read_settings(demo.folder), watch).make(name)
    said = made.manifest.summary if made.manifest is not None else ""
    return f"as it was: {said}" if made.fresh else said


def measure(demo: Demo, watch: Watch) -> str:
    """What a machine can tell of the explanations."""
    found = Run(Workspace(demo.folder), read_settings(demo.folder), watch).measure()
    write_measures(found, demo.folder / "measures", demo.seed)
    return found.summary


def take_part(demo: Demo, watch: Watch) -> str:
    """People in the real study, through HTTP, one after the other: so the same seed gives the same study."""
    here = prepare(demo.folder, default_url(demo.folder)).serving
    before = sum(finishers(here).values())
    missing = demo.people - before
    if missing > 0:
        # What is exported and analysed is of fewer people: it goes.
        for old in (demo.answers, demo.folder / "analysis"):
            shutil.rmtree(old, ignore_errors=True)
        advance = watch("taking the study", missing)
        known = foresees(here.materials, PAPER_EFFECTS, demo.people, demo.seed)
        behaviour = Behaviour(lambda number, hidden, arm: known(number + before, hidden, arm), lambda _: 0.0)
        through_http(
            replace(here, rng=Random(f"{demo.seed} {before}")),
            behaviour,
            missing,
            at_once=1,
            seed=demo.seed + before,
            done=lambda: advance(1),
        )
    by_arm = finishers(here)
    here.database.close()
    if before > demo.people:
        raise BadStudy(
            f"{demo.folder} has {before} simulated people already, {demo.people} are asked for. Choose another --out."
        )
    counted = ", ".join(f"{number} {arm}" for arm, number in by_arm.items())
    return f"{sum(by_arm.values())} people through HTTP: {counted}"


def find_out(demo: Demo, watch: Watch) -> str:
    """Their answers exported, and the three regressions."""
    if not demo.answers.exists():
        here = prepare(demo.folder, default_url(demo.folder)).serving
        demo.answers.parent.mkdir(exist_ok=True)
        export(here.database, title(demo.folder), demo.answers, mode="simulated")
        here.database.close()
    folder = demo.folder / "analysis"
    if not (folder / "report.html").exists():
        parts = watch("regressions", 6)

        def told(what: str, done: int, of: int) -> None:
            _ = what, done, of
            parts(1)

        found = analyse(read_responses(demo.answers), Plan(published=True, seed=demo.seed), told)
        report.write(found, folder, f"bayesteach analyse {demo.answers} --published --seed {demo.seed}")
    tests = read_table(folder / "comparisons.csv")
    return "; ".join(
        f"{row.model} against {row.against} χ²({row.df}) = {row.chi2:.1f}" for row in tests[:2].itertuples()
    )


def studies(demo: Demo, watch: Watch) -> str:
    """The same study two hundred times, with other people: what is to be expected of one."""
    advance = watch("simulating studies", STUDIES)
    last = 0

    def told(done: int, _of: int) -> None:
        nonlocal last
        advance(done - last)
        last = done

    simulate_power(
        demo.folder / "studies",
        PAPER_EFFECTS,
        (demo.people,),
        STUDIES,
        trials=trials_of(demo.folder),
        seed=demo.seed,
        progress=told,
    )
    return f"{STUDIES} studies of {demo.people} people each"


def trials_of(folder: Path) -> pd.DataFrame:
    """The trials that people answer, as the analysis knows them."""
    composed: Composed = Workspace(folder).load("compose", BY_NAME["compose"].output)
    stimuli = composed.stimuli
    kinds = {shown.trial: shown.kind for shown in stimuli.shown}
    rows = [row for row in stimuli.hidden if kinds[row.trial] == "trial"]
    return pd.DataFrame([{"trial": r.trial, "category": r.category, "trial_type": r.trial_type} for r in rows])


def tell(demo: Demo, watch: Watch) -> str:
    """report.html."""
    watch("writing", 1)
    return str(write_story(demo.folder, demo.report, demo.people, demo.seed))


STEPS = (
    Step("draw a world", draw),
    *(Step(_STAGES[one.name], partial(stage, one.name)) for one in STAGES),
    Step("what a machine can know of the explanations", measure),
    Step("simulated people take the real study", take_part),
    Step("export their answers, fit three regressions", find_out),
    Step(f"the same study {STUDIES} times", studies),
    Step("write the report", tell),
)
