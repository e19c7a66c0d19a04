"""report.html: from the first picture to Table 1 and Figure 1, in one file, plainly of simulated people."""

import base64
import csv
import io
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from PIL import Image
from scipy.stats import chi2

from bayesteach.analysis.effects import spoken
from bayesteach.analysis.figures import save
from bayesteach.analysis.regressions import Z
from bayesteach.analysis.simulate import PAPER_EFFECTS, PUBLISHED, PUBLISHED_TESTS
from bayesteach.analysis.tables import Row, Table, interval, number, percent, stars
from bayesteach.artifacts import TRIAL_TYPES, Features, Hidden, Panel, Posterior, Stimuli, Trials
from bayesteach.demo.figures import tests_figure
from bayesteach.explain.explanation import LEAST, NOISE
from bayesteach.pipeline import BY_NAME
from bayesteach.settings import read_settings
from bayesteach.stages.collect import Collected
from bayesteach.store.workspace import Workspace

# Pictures are shown at this side, and kept at twice that for fine screens.
_SIDE = 140
_QUALITY = 84
# How many categories the strip of pictures shows.
_STRIP = 7
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
    cells: pd.DataFrame
    simulations: pd.DataFrame
    means: pd.DataFrame


def write_story(folder: Path, file: Path, people: int, seed: int) -> Path:
    """The page, with everything in it."""
    made = _read(folder)
    save(tests_figure(chi2_of(made.simulations), _ours(made.comparisons)), folder / "studies", "tests")
    html = _environment().get_template("story.html").render(_context(made, people, seed))
    unfinished = file.with_name(f".unfinished-{file.name}")
    unfinished.write_text(html, "utf-8")
    return unfinished.replace(file)


def read_table(file: Path) -> pd.DataFrame:
    """A table of ours; only an empty cell is missing: a model may be called null."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def chi2_of(simulations: pd.DataFrame) -> pd.DataFrame:
    """Both likelihood-ratio statistics of every simulated study: a column for each larger model."""
    return pd.DataFrame(
        {larger: chi2.isf(simulations[f"p {larger}"], df) for (larger, _), (_, df) in PUBLISHED_TESTS.items()}
    )


def _read(folder: Path) -> Made:
    workspace = Workspace(folder)
    loaded: dict[str, Any] = {
        name: workspace.load(name, BY_NAME[name].output) for name in ("embed", "fit", "design", "compose")
    }
    analysis = {
        name: read_table(folder / "analysis" / f"{name}.csv") for name in ("coefficients", "comparisons", "accuracy")
    }
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
        cells=analysis["accuracy"],
        simulations=read_table(folder / "studies" / "simulations.csv"),
        means=read_table(folder / "measures" / "means.csv"),
    )


def _context(made: Made, people: int, seed: int) -> dict[str, Any]:
    settings = read_settings(made.folder)
    table, outside = _coefficients(made)
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
        "judged": _judged(made.posterior),
        "examples": [_example(made, kind) for kind in reversed(TRIAL_TYPES)],
        "noisy": percent(float(np.mean([_error(row) > NOISE for row in made.stimuli.hidden]))),
        "published_people": PUBLISHED_PEOPLE,
        "legend": _data(made.stimuli.pictures["legend"]),
        "maps_figure": _svg(made.folder / "measures" / "maps.svg"),
        "lessons_figure": _svg(made.folder / "measures" / "lessons.svg"),
        "measures": _measures(made.means),
        "learners": _learners(made.means),
        "figure_1": _svg(made.folder / "analysis" / "figure-1.svg"),
        "figure_2": _svg(made.folder / "analysis" / "figure-2.svg"),
        "tests_figure": _svg(made.folder / "studies" / "tests.svg"),
        "tests": _tests(made),
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
                "picture": _data((made.folder / "images" / row["path"]).read_bytes()),
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
        "probe": _data(made.stimuli.pictures[shown.probe]),
        "overlay": _data(made.stimuli.pictures[panel.overlay or shown.probe]),
        "groups": _groups(made.stimuli, panel),
        "answer": hidden.target,
        "truth": hidden.category,
        "numbers": _numbers(hidden),
    }


def _error(hidden: Hidden) -> float:
    """The share of error in a probe's map; all of it where too few masks are worth anything to tell."""
    worth, noise = (float(hidden.covariates[name] or 0) for name in ("effective_samples", "map_noise"))
    return noise if worth >= LEAST else 1.0


def _groups(stimuli: Stimuli, panel: Panel) -> list[dict[str, Any]]:
    return [
        {
            "heading": group.heading,
            "pictures": [
                (_data(stimuli.pictures[image]), _data(stimuli.pictures[overlay]))
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
        f"{prior:.2f} to {posterior:.2f} for that answer. The map is worth {worth:.0f} masks, and {min(noise, 1):.0%} of what "
        "varies in it is error."
    )


def _judged(posterior: Posterior) -> Table:
    rows = [
        Row(
            (
                row.head,
                f"{row.images:,}",
                percent(row.top1),
                percent(row.top5),
                number(row.log_loss, 3),
                number(row.calibration_error, 3),
            )
        )
        for row in posterior.judged
    ]
    heads = ("Head", "Held-out images", "Top 1, %", "Top 5, %", "Log loss", "Calibration error")
    return Table("The classifier’s own head and the Bayesian one", heads, tuple(rows))


def _measures(means: pd.DataFrame) -> Table:
    """Of maps, by trial type."""
    named = {
        "thing_area": "Area of the thing, % of the picture",
        "thing_share": "Share of what shows that is on it, %",
        "lift": "Lift: on the thing less on the background",
        "insertion": "Insertion, area",
        "insertion_gain": "… above a random map’s",
        "deletion": "Deletion, area (low is good)",
        "deletion_gain": "… below a random map’s",
    }
    per_cent = {"thing_area", "thing_share"}
    rows = [
        Row(
            (
                words,
                *(
                    _cell(
                        means,
                        100 if name in per_cent else 1,
                        1 if name in per_cent else 3,
                        measure=name,
                        trial_type=kind,
                    )
                    for kind in TRIAL_TYPES
                ),
            )
        )
        for name, words in named.items()
    ]
    return Table(
        "Where maps lie, and what they are worth: means over trials, with 95 % intervals",
        ("", *map(spoken, TRIAL_TYPES)),
        tuple(rows),
    )


def _learners(means: pd.DataFrame) -> Table:
    """Of lessons, by learner and trial type."""
    named = {"prior": "P(answer) before", "posterior": "P(answer) after", "taught": "taught, log odds"}
    rows: list[Row] = []
    for learner in means["learner"].dropna().unique():
        for k, (name, words) in enumerate(named.items()):
            cells = (_cell(means, 1, 2, learner=learner, measure=name, trial_type=kind) for kind in TRIAL_TYPES)
            rows.append(Row((learner if k == 0 else "", words, *cells), new=k == 0 and bool(rows)))
    return Table(
        "What the same lessons teach three learners: means over trials, with 95 % intervals",
        ("Learner", "", *map(spoken, TRIAL_TYPES)),
        tuple(rows),
        left=(1,),
    )


def _cell(means: pd.DataFrame, times: float, digits: int, **where: str) -> str:
    found = means[np.logical_and.reduce([means[name] == value for name, value in where.items()])]
    if not len(found):
        return "–"
    row = found.iloc[0]
    mean = number(times * row["mean"], digits)
    return f"{mean} ({interval(times * row['low'], times * row['high'], digits)})" if np.isfinite(row["low"]) else mean


def _ours(comparisons: pd.DataFrame) -> dict[str, float]:
    """Our statistics by the larger model of the paper's two tests."""
    return {
        larger: float(comparisons.query("model == @larger and against == @smaller")["chi2"].iloc[0])
        for larger, smaller in PUBLISHED_TESTS
    }


def _tests(made: Made) -> Table:
    ours, simulated = _ours(made.comparisons), chi2_of(made.simulations).dropna()
    rows = []
    for (larger, smaller), (published, df) in PUBLISHED_TESTS.items():
        low, middle, high = np.quantile(simulated[larger], [0.025, 0.5, 0.975])
        cells = (
            f"{larger} against {smaller}",
            str(df),
            number(ours[larger]),
            number(published),
            number(middle, 1),
            interval(low, high, 1),
        )
        rows.append(Row(cells))
    heads = ("Test", "df", "χ² here", "χ² published", f"Median of {len(simulated)} studies", "Their central 95 %")
    return Table("Likelihood-ratio tests", heads, tuple(rows))


def _coefficients(made: Made) -> tuple[Table, Sequence[str]]:
    """Table 1, ours beside the published; and the terms whose published value lies outside of our interval."""
    rows: list[Row] = []
    outside: list[str] = []
    for k, row in enumerate(made.coefficients.to_dict("records"), 1):
        published, se = PUBLISHED[row["term"]]
        low, high = row["estimate"] - Z * row["se"], row["estimate"] + Z * row["se"]
        inside = low <= published <= high
        if not inside:
            outside.append(spoken(row["term"]))
        rows.append(
            Row(
                (
                    f"{k}. {spoken(row['term'])}",
                    f"{number(row['estimate'])} {stars(row['p'])}".strip(),
                    f"({number(row['se'])})",
                    interval(low, high),
                    number(published),
                    f"({number(se)})",
                    "inside" if inside else "outside",
                )
            )
        )
    heads = ("Term", "Here", "(SE)", "95 % interval", "Published", "(SE)", "Published value is")
    return Table("Table 1: the interaction model, in logits", heads, tuple(rows)), outside


def _found_sds(folder: Path) -> dict[str, str]:
    row = read_table(folder / "analysis" / "models.csv").set_index("model").loc["interaction"]
    return {group: number(float(row[f"sd_{group}"])) for group in ("participant", "category")}


def _took(folder: Path) -> str:
    workspace = Workspace(folder)
    made = {name: workspace.manifest(name) for name in BY_NAME}
    return ", ".join(f"{name} {manifest.seconds:.0f} s" for name, manifest in made.items() if manifest is not None)


def _data(png: bytes) -> str:
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.thumbnail((2 * _SIDE, 2 * _SIDE))
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=_QUALITY)
    return "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode()


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
