"""An analysis written down: tables, figures, what was done, and one page that a co-author can read."""

import platform
from base64 import b64encode
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import tomli_w

from bayesteach.analysis import prose, tables
from bayesteach.analysis.analyse import Analysis
from bayesteach.analysis.figures import accuracy_figure, coefficients_figure, save
from bayesteach.analysis.regressions import models_table
from bayesteach.analysis.sensitivity import sensitivity_table

PACKAGES = ("bayesteach", "formulaic", "jinja2", "matplotlib", "numpy", "pandas", "scipy")
BAYES_PACKAGES = ("bambi", "nutpie", "pymc")


def templates() -> jinja2.Environment:
    """The pages of this room; what is not filled in is an error, and what is filled in is escaped in HTML."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("bayesteach.analysis"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )


def write(analysis: Analysis, folder: Path, command: str) -> tuple[Path, ...]:
    """Everything into a folder; the report, which holds the rest, comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    csvs = {
        "coefficients": analysis.coefficients,
        "models": models_table(analysis.regressions),
        "comparisons": analysis.comparisons,
        "accuracy": analysis.accuracy.cells,
        "effects": analysis.effects,
        "sensitivity": sensitivity_table(analysis.variants),
    }
    for name, table in csvs.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    save(accuracy_figure(analysis.accuracy), folder, "figure-1")
    main = analysis.coefficients[analysis.coefficients["model"] == analysis.main.name]
    save(coefficients_figure(main, analysis.beside), folder, "figure-2")
    (folder / "analysis.toml").write_text(tomli_w.dumps(facts(analysis, command)), "utf-8")
    (folder / "report.html").write_text(render(analysis, folder, command), "utf-8")
    figures = [f"figure-{i}.{kind}" for i in (1, 2) for kind in ("svg", "png")]
    return tuple(
        folder / name for name in (*(f"{name}.csv" for name in csvs), *figures, "analysis.toml", "report.html")
    )


def facts(analysis: Analysis, command: str) -> dict[str, Any]:
    """analysis.toml: what was analysed, and how."""
    sample, plan = analysis.sample, analysis.plan
    return {
        "command": command,
        "source": {"responses": analysis.responses.source, "sha256": analysis.responses.digest},
        "who": {
            "people": sample.who,
            "finished": sample.rule,
            "performance": "nobody is left out for performance",
            "participants": sample.participants,
            "answers": len(sample.table),
            "rows_of_practice": sample.set_aside["practice"],
            "rows_of_attention_checks": sample.set_aside["attention"],
            "rows_missing": dict(sample.missing),
            "by_condition": sample.flow.to_dict("records"),
            "excluded": sample.excluded.to_dict("records"),
        },
        "models": {formula.name: str(formula) for formula in plan.formulas},
        "methods": {
            "bootstrap": plan.bootstrap,
            "resample": plan.resample,
            "bootstrap_lrt": plan.bootstrap_lrt,
            "bayes": plan.bayes,
            "published": plan.published,
            "seed": plan.seed,
        },
        "versions": versions(bayes=plan.bayes),
    }


def versions(*, bayes: bool = False) -> dict[str, str]:
    """Of everything that a number may hang on."""
    names = (*PACKAGES, *(BAYES_PACKAGES if bayes else ()))
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def render(analysis: Analysis, folder: Path, command: str) -> str:
    """report.html, with the figures of the folder inside."""
    name = Path(analysis.responses.source).name or analysis.responses.source
    outcome = analysis.main.design.formula.outcome
    shown = versions(bayes=analysis.plan.bayes)
    return (
        templates()
        .get_template("report.html")
        .render(
            title="What people foresaw of the classifier" if outcome == "correct" else f"Analysis of {outcome}",
            subtitle=f"{name} · {prose.people(analysis.sample.participants)}, {len(analysis.sample.table):,} answers",
            short=prose.short(analysis),
            warnings=analysis.warnings,
            design=prose.design(analysis),
            who=prose.who(analysis),
            set_aside=prose.set_aside(analysis),
            flow=tables.flow(analysis),
            excluded=tables.excluded(analysis),
            figure_1=_embedded(folder / "figure-1.svg"),
            alt_1=prose.alt_1(analysis),
            caption_1=prose.caption_1(analysis),
            cells=tables.cells(analysis),
            models_text=prose.models_text(analysis),
            models=tables.models(analysis),
            comparisons=tables.comparisons(analysis),
            comparisons_note=prose.comparisons_note(analysis),
            main=analysis.main.name,
            coefficients=tables.coefficients(analysis),
            coefficients_note=prose.coefficients_note(analysis),
            figure_2=_embedded(folder / "figure-2.svg"),
            alt_2=f"{prose.caption_2(analysis)} The table above has the same numbers.",
            caption_2=prose.caption_2(analysis),
            readings=tables.words(analysis),
            readings_note=prose.READINGS_NOTE,
            effects=tables.effects(analysis),
            effects_text=prose.effects_text(analysis) if len(analysis.effects) else "",
            effects_note=prose.EFFECTS_NOTE,
            sensitivity_text=prose.SENSITIVITY_TEXT,
            sensitivity=tables.sensitivity(analysis),
            untried=prose.untried(analysis),
            diagnostics=prose.diagnostics(analysis),
            calibration=tables.fit_by_cell(analysis),
            extremes=tables.furthest(analysis),
            methods=prose.methods(analysis),
            command=command,
            facts=[
                ("Responses", analysis.responses.source),
                ("SHA-256", analysis.responses.digest),
                ("Seed", analysis.plan.seed),
                ("Versions", ", ".join(f"{name} {number}" for name, number in shown.items())),
            ],
        )
    )


def _embedded(file: Path) -> str:
    """A picture as an address that holds it."""
    return f"data:image/svg+xml;base64,{b64encode(file.read_bytes()).decode()}"
