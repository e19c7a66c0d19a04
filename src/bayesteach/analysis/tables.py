"""Tables as a reader sees them: words and rounded numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from bayesteach.analysis.analyse import Analysis
from bayesteach.analysis.diagnostics import calibration, extremes
from bayesteach.analysis.effects import readings, spoken

NOT_KNOWN = "–"


@dataclass(frozen=True, slots=True)
class Row:
    """Cells from left to right; `new` where a group of rows begins."""

    cells: tuple[str, ...]
    new: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, headings and rows; `left` are the columns of labels, which stand left, and `words` those of running text."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    left: tuple[int, ...] = ()
    words: tuple[int, ...] = ()


def number(value: float, digits: int = 2) -> str:
    """With a minus that is one, and nothing for what is not known."""
    if not np.isfinite(value):
        return NOT_KNOWN
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def p_value(p: float) -> str:
    """Three digits, or that it is below them."""
    return NOT_KNOWN if not np.isfinite(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def stars(p: float) -> str:
    """As in the paper: *** below 0.001, ** 0.01, * 0.05."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def interval(low: float, high: float, digits: int = 2) -> str:
    """From low to high."""
    return f"{number(low, digits)} to {number(high, digits)}" if np.isfinite(low) and np.isfinite(high) else NOT_KNOWN


def percent(p: float) -> str:
    """A share in per cent, without its sign."""
    return number(100 * p, 1)


def flow(analysis: Analysis) -> Table:
    """From those who started to the answers that are analysed."""
    found = analysis.sample.flow
    names = ("started", "dropped_out", "excluded", "analysed", "answers", "rows_missing")
    rows = [Row((spoken(row["condition"]), *(f"{row[name]:,}" for name in names))) for row in found.to_dict("records")]
    total = Row(("in all", *(f"{found[name].sum():,}" for name in names)), new=True)
    heads = ("Condition", "Started", "Dropped out", "Excluded", "Analysed", "Answers", "Missing a value")
    return Table("People and answers by condition", heads, (*rows, total))


def excluded(analysis: Analysis) -> Table:
    """Why people were excluded."""
    rows = analysis.sample.excluded.to_dict("records")
    return Table(
        "Excluded people, by reason and condition",
        ("Reason", "Condition", "People"),
        tuple(Row((row["reason"], spoken(row["condition"]), str(row["people"]))) for row in rows),
        left=(1,),
    )


def cells(analysis: Analysis) -> Table:
    """Accuracy in each cell, in per cent."""
    rows = []
    for i, row in enumerate(analysis.accuracy.cells.to_dict("records")):
        first = i == 0 or row["trial_type"] != analysis.accuracy.cells["trial_type"].iloc[i - 1]
        shown = (
            spoken(row["trial_type"]),
            spoken(row["condition"]),
            f"{row['participants']:,}",
            f"{row['answers']:,}",
            percent(row["accuracy"]),
        )
        rows.append(Row((*shown, interval(100 * row["low"], 100 * row["high"], 1)), first and i > 0))
    heads = ("Trial type", "Condition", "People", "Answers", "Correct, %", "95 % interval")
    return Table("Accuracy in each cell", heads, tuple(rows), left=(1,))


def models(analysis: Analysis) -> Table:
    """The fits."""
    groups = dict.fromkeys(group for regression in analysis.regressions for group in regression.sd)
    rows = []
    for regression in analysis.regressions:
        row = regression.summary()
        sds = (number(regression.sd.get(group, float("nan"))) for group in groups)
        figures = (number(float(str(row[name])), 1) for name in ("log_likelihood", "aic", "bic"))
        rows.append(Row((regression.name, regression.design.formula.fixed, str(row["parameters"]), *figures, *sds)))
    heads = (
        "Model",
        "Fixed effects",
        "Parameters",
        "Log likelihood",
        "AIC",
        "BIC",
        *(f"SD {group}" for group in groups),
    )
    return Table("The models", heads, tuple(rows), words=(1,))


def comparisons(analysis: Analysis) -> Table:
    """Likelihood-ratio tests."""
    heads: tuple[str, ...] = ("Model", "Against", "χ²", "df", "p")
    found = analysis.comparisons.to_dict("records")
    rows: list[tuple[str, ...]] = [
        (row["model"], row["against"], number(row["chi2"]), str(row["df"]), p_value(row["p"])) for row in found
    ]
    if analysis.bootstrapped is not None:
        heads = (*heads, "p by bootstrap", "Refits")
        rows = [
            (*cells, p_value(row["p_bootstrap"]), f"{row['refits']:,}") for cells, row in zip(rows, found, strict=True)
        ]
    return Table(
        "Likelihood-ratio tests of nested models",
        heads,
        tuple(Row(tuple(map(str, cells))) for cells in rows),
        left=(1,),
    )


def coefficients(analysis: Analysis) -> Table:
    """As Table 1 of the paper, with intervals and odds ratios; published and Bayesian estimates beside, where asked for."""
    table = analysis.coefficients
    table = table[table["model"] == analysis.main.name]
    heads = ("Term", "Coefficient", "(SE)", "95 % interval", "Odds ratio", "p")
    extra = []
    if analysis.plan.published:
        extra.append("Published (SE)")
    if analysis.posterior is not None:
        extra.append("Posterior mean, 95 % interval")
    rows = []
    for i, row in enumerate(table.to_dict("records"), start=1):
        estimate = NOT_KNOWN if row["flag"] == "separated" else number(row["estimate"])
        shown = [
            f"{i}. {spoken(row['term'])}",
            Markup("{}<sup>{}</sup>").format(estimate, stars(row["p"])),  # the numbers are ours
            f"({number(row['se'])})",
            interval(row["low"], row["high"]),
            number(row["odds_ratio"]) if np.isfinite(row["se"]) else NOT_KNOWN,
            p_value(row["p"]) if not row["flag"] else row["flag"],
        ]
        if analysis.plan.published:
            shown.append(f"{number(row['published'])} ({number(row['published_se'])})")
        if analysis.posterior is not None:
            shown.append(f"{number(row['bayes_estimate'])}, {interval(row['bayes_low'], row['bayes_high'])}")
        rows.append(Row(tuple(escape(cell) for cell in shown)))
    return Table(f"Coefficients of the {analysis.main.name} model, in logits", (*heads, *extra), tuple(rows))


def words(analysis: Analysis) -> Table:
    """Each coefficient read as probabilities."""
    rows = tuple(Row((spoken(reading.term), reading.words)) for reading in readings(analysis.main))
    return Table("Coefficients as expected correct answers in 100", ("Term", "What it says"), rows, words=(1,))


def effects(analysis: Analysis) -> Table:
    """Simple and averaged effects of each explanation."""
    rows, before = [], None
    for row in analysis.effects.to_dict("records"):
        group = (row["explanation"], row["trial_type"])
        shown = (
            spoken(row["explanation"]),
            spoken(row["trial_type"]),
            spoken(row["given"]),
            f"{percent(row['before'])} → {percent(row['after'])}",
        )
        change = (number(100 * row["change"], 1), interval(100 * row["change_low"], 100 * row["change_high"], 1))
        logit = Markup("{}<sup>{}</sup> ({})").format(
            number(row["logit"]), stars(row["p"]), number(row["se"])
        )  # the numbers are ours
        rows.append(Row((*shown, *change, logit), before is not None and group != before))
        before = group
    heads = ("Explanation", "Trial type", "Given", "Correct, %", "Change, points", "95 % interval", "Logits (SE)")
    return Table("Simple effects, and effects averaged over the other explanation", heads, tuple(rows), left=(1, 2))


def sensitivity(analysis: Analysis) -> Table:
    """The main model's coefficients under other choices, side by side."""
    tried = [variant for variant in analysis.variants if variant.regression is not None]
    fits = [variant.regression for variant in tried if variant.regression is not None]
    found = [fit.coefficients().set_index("term") for fit in fits]
    rows = [Row((spoken(term), *(_estimate(table, term) for table in found))) for term in analysis.main.terms]
    for i, group in enumerate(dict.fromkeys(group for fit in fits for group in fit.sd)):
        sds = (number(fit.sd.get(group, float("nan"))) for fit in fits)
        rows.append(Row((f"SD between {group} intercepts", *sds), new=i == 0))
    return Table(
        f"The {analysis.main.name} model under other choices: coefficient (SE)",
        ("Term", *(variant.title for variant in tried)),
        tuple(rows),
    )


def fit_by_cell(analysis: Analysis) -> Table:
    """Observed and expected accuracies."""
    rows = calibration(analysis.main, analysis.sample).to_dict("records")
    shown = [
        (spoken(r["trial_type"]), spoken(r["condition"]), percent(r["observed"]), percent(r["expected"])) for r in rows
    ]
    return Table(
        "Observed and expected accuracy, %",
        ("Trial type", "Condition", "Observed", "Expected"),
        tuple(map(Row, shown)),
        left=(1,),
    )


def furthest(analysis: Analysis) -> Table:
    """The largest random intercepts."""
    rows = extremes(analysis.main).to_dict("records")
    shown = [(str(r["level"]), str(r["group"]), number(r["logits"]), number(r["sds"], 1)) for r in rows]
    return Table(
        "Random intercepts furthest from 0", ("Level", "Of", "Logits", "In SDs"), tuple(map(Row, shown)), left=(1,)
    )


def _estimate(table: pd.DataFrame, term: str) -> str:
    if term not in table.index:
        return NOT_KNOWN
    row = table.loc[term]
    if row["flag"] == "separated":
        return "separated"
    return Markup("{}<sup>{}</sup> ({})").format(
        number(row["estimate"]), stars(row["p"]), number(row["se"])
    )  # the numbers are ours


def joined(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))
