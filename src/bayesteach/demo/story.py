"""report.html: from the first picture to Table 1 and Figure 1, in one file, plainly of simulated people."""

import base64
import csv
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from bayesteach.analysis.effects import spoken
from bayesteach.analysis.figures import save
from bayesteach.analysis.simulate import PAPER_EFFECTS
from bayesteach.analysis.tables import number, percent
from bayesteach.artifacts import TRIAL_TYPES, Features, Hidden, Panel, Posterior, Stimuli, Trials
from bayesteach.demo import tables
from bayesteach.demo.figures import tests_figure
from bayesteach.pipeline import BY_NAME
from bayesteach.settings import read_settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.gallery import as_address
from bayesteach.store.workspace import Workspace

# How many categories the strip of pictures shows.
_STRIP = 7
_READ = {"converged": "converged", "rough": "rough", "noise": "mostly noise"}
PUBLISHED_PEOPLE = 160


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What the demo's folder holds, read."""

    folder: Path
    features: Features
    posterior: Posterior
    trials: Trials
    stimuli: Stimuli
    labels: tuple[str, ...]
    coefficients: pd.DataFrame
    comparisons: pd.DataFrame
    simulations: pd.DataFrame
    means: pd.DataFrame


def write_story(folder: Path, file: Path, people: int, seed: int) -> Path:
    """The page, with everything in it."""
    made = _read(folder)
    save(tests_figure(tables.chi2_of(made.simulations), tables.ours_of(made.comparisons)), folder / "studies", "tests")
    html = _environment().get_template("story.html").render(_context(made, people, seed))
    unfinished = file.with_name(f".unfinished-{file.name}")
    unfinished.write_text(html, "utf-8")
    return unfinished.replace(file)


def read_table(file: Path) -> pd.DataFrame:
    """A table of ours; only an empty cell is missing: a model may be called null."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def _read(folder: Path) -> Made:
    workspace = Workspace(folder)
    loaded: dict[str, Any] = {
        name: workspace.load(name, BY_NAME[name].output) for name in ("embed", "fit", "design", "compose")
    }
    analysis = {name: read_table(folder / "analysis" / f"{name}.csv") for name in ("coefficients", "comparisons")}
    from bayesteach.vision.shortcuts import LABELS  # noqa: PLC0415 — the drawing code, for its names alone

    return Made(
        folder=folder,
        features=loaded["embed"],
        posterior=loaded["fit"],
        trials=loaded["design"],
        stimuli=loaded["compose"].stimuli,
        labels=LABELS,
        coefficients=analysis["coefficients"].query("model == 'interaction'").reset_index(drop=True),
        comparisons=analysis["comparisons"],
        simulations=read_table(folder / "studies" / "simulations.csv"),
        means=read_table(folder / "measures" / "means.csv"),
    )


def _context(made: Made, people: int, seed: int) -> dict[str, Any]:
    settings = read_settings(made.folder)
    table, outside = tables.coefficients(made.coefficients)
    kinds = [trial.trial_type for trial in made.trials.trials if trial.kind == "trial"]
    asked = [row for row in made.stimuli.shown if row.kind == "trial"]
    return {
        "people": people,
        "seed": seed,
        "each": people // len(made.stimuli.arms),
        "answers": people * len(asked),
        "trials": len(asked),
        "counts": {spoken(kind): kinds.count(kind) for kind in TRIAL_TYPES},
        "categories": sum(c.chosen for c in made.trials.categories),
        "masks": settings.highlight.masks,
        "world": _world(made),
        "strip": _strip(made),
        "judged": tables.judged(made.posterior),
        "examples": [_example(made, kind) for kind in reversed(TRIAL_TYPES)],
        "noisy": percent(float(np.mean([row.covariates["map_verdict"] == "noise" for row in made.stimuli.hidden]))),
        "published_people": PUBLISHED_PEOPLE,
        "legend": as_address(made.stimuli.pictures["legend"]),
        "maps_figure": _svg(made.folder / "measures" / "maps.svg"),
        "lessons_figure": _svg(made.folder / "measures" / "lessons.svg"),
        "measures": tables.measured_maps(made.means),
        "learners": tables.measured_lessons(made.means),
        "figure_1": _svg(made.folder / "analysis" / "figure-1.svg"),
        "figure_2": _svg(made.folder / "analysis" / "figure-2.svg"),
        "tests_figure": _svg(made.folder / "studies" / "tests.svg"),
        "tests": tables.tests(made.comparisons, made.simulations),
        "coefficients": table,
        "outside": outside,
        "studies": len(made.simulations),
        "sds": PAPER_EFFECTS.sds,
        "found_sds": _found_sds(made.folder),
        "took": _took(made.folder),
        "versions": {
            "Python": platform.python_version(),
            **{name: version(name) for name in ("bayesteach", "torch", "numpy", "scipy")},
        },
    }


def _world(made: Made) -> Mapping[str, str]:
    """How often, and how surely, the classifier answers as labelled, at home and away."""
    found: dict[str, str] = {}
    for source in ("val", "adversarial"):
        rows = [seen for seen in made.features.seen if seen.source == source]
        wrong = [seen.confidence for seen in rows if seen.answer != seen.label]
        found |= {f"{source}_right": percent(1 - len(wrong) / len(rows)), f"{source}_images": f"{len(rows):,}"}
        found[f"{source}_wrong_confidence"] = f"{np.mean(wrong):.2f}"
    return found


def _strip(made: Made) -> list[dict[str, Any]]:
    """Of the first categories of the alphabet that are in the study: the first picture of each, at home and away."""
    with (made.folder / "images" / "images.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    seen = {(one.source, one.id): one for one in made.features.seen}
    collected: Collected = Workspace(made.folder).load("collect", BY_NAME["collect"].output)
    by_path = {entry.path: entry for entry in collected.entries.values()}
    chosen = sorted(made.labels[c.category] for c in made.trials.categories if c.chosen)[:_STRIP]
    found = []
    for label in chosen:
        pair: dict[str, Any] = {"label": label}
        for source in ("val", "adversarial"):
            row = next(row for row in rows if row["label"] == label and row["split"] == source)
            entry = by_path[f"images/{row['path']}"]
            one = seen[source, entry.id]
            pair[source] = {
                "picture": as_address((made.folder / "images" / row["path"]).read_bytes()),
                "answer": made.labels[one.answer],
                "right": one.answer == one.label,
                "confidence": f"{one.confidence:.2f}",
                "background": row["background"],
            }
        found.append(pair)
    return found


def _example(made: Made, kind: str) -> dict[str, Any]:
    """The trial of this type whose map has the least error: what maps look like where there is something to see."""
    pairs = [
        (shown, hidden)
        for shown, hidden in zip(made.stimuli.shown, made.stimuli.hidden, strict=True)
        if shown.kind == "trial" and hidden.trial_type == kind
    ]
    shown, hidden = min(pairs, key=lambda pair: _error(pair[1]))
    panel = shown.panels["both"]
    return {
        "kind": spoken(kind),
        "options": shown.options,
        "probe": as_address(made.stimuli.pictures[shown.probe]),
        "overlay": as_address(made.stimuli.pictures[panel.overlay or shown.probe]),
        "groups": _groups(made.stimuli, panel),
        "answer": hidden.target,
        "truth": hidden.category,
        "numbers": _numbers(hidden),
    }


def _error(hidden: Hidden) -> float:
    """The share of error in a probe's map; all of it where that is not to be believed."""
    return 1.0 if hidden.covariates["map_verdict"] == "noise" else float(hidden.covariates["map_noise"] or 0)


def _groups(stimuli: Stimuli, panel: Panel) -> list[dict[str, Any]]:
    return [
        {
            "heading": group.heading,
            "pictures": [
                (as_address(stimuli.pictures[image]), as_address(stimuli.pictures[overlay]))
                for image, overlay in zip(group.images, group.overlays, strict=True)
            ],
        }
        for group in panel.groups
    ]


def _numbers(hidden: Hidden) -> str:
    """What stands under a trial."""
    names = ("confidence", "prior", "posterior", "effective_samples", "map_noise")
    confidence, prior, posterior, worth, noise = (float(hidden.covariates[name] or 0) for name in names)
    return (
        f"Its confidence was {confidence:.2f}. The lesson takes a learner who meets both classes for the first time from "
        f"{prior:.2f} to {posterior:.2f} for that answer. The map is {_READ[str(hidden.covariates['map_verdict'])]}: worth "
        f"{worth:.0f} masks, and {min(noise, 1):.0%} of what varies in it is error."
    )


def _found_sds(folder: Path) -> dict[str, str]:
    row = read_table(folder / "analysis" / "models.csv").set_index("model").loc["interaction"]
    return {group: number(float(row[f"sd_{group}"])) for group in ("participant", "category")}


def _took(folder: Path) -> str:
    workspace = Workspace(folder)
    made = {name: workspace.manifest(name) for name in BY_NAME}
    return ", ".join(f"{name} {manifest.seconds:.0f} s" for name, manifest in made.items() if manifest is not None)


def _svg(file: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(file.read_bytes()).decode()


def _environment() -> jinja2.Environment:
    """Our page, with the look of the analysis."""
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("bayesteach.demo"), jinja2.PackageLoader("bayesteach.analysis")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
