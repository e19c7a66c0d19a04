"""The tables of the demo's report."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import chi2

from bayesteach.analysis.effects import spoken
from bayesteach.analysis.regressions import Z
from bayesteach.analysis.simulate import PUBLISHED, PUBLISHED_TESTS
from bayesteach.analysis.tables import Row, Table, interval, number, percent, stars
from bayesteach.artifacts import TRIAL_TYPES, Posterior


def chi2_of(simulations: pd.DataFrame) -> pd.DataFrame:
    """Both likelihood-ratio statistics of every simulated study: a column for each larger model."""
    return pd.DataFrame(
        {larger: chi2.isf(simulations[f"p {larger}"], df) for (larger, _), (_, df) in PUBLISHED_TESTS.items()}
    )


def judged(posterior: Posterior) -> Table:
    """Both heads on held-out images."""
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


def measured_maps(means: pd.DataFrame) -> Table:
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


def measured_lessons(means: pd.DataFrame) -> Table:
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


def ours_of(comparisons: pd.DataFrame) -> dict[str, float]:
    """Our statistics by the larger model of the paper's two tests."""
    return {
        larger: float(comparisons.query("model == @larger and against == @smaller")["chi2"].iloc[0])
        for larger, smaller in PUBLISHED_TESTS
    }


def tests(comparisons: pd.DataFrame, simulations: pd.DataFrame) -> Table:
    """Likelihood-ratio statistics: ours, the paper's, and those of simulated studies."""
    ours, simulated = ours_of(comparisons), chi2_of(simulations).dropna()
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


def coefficients(fitted: pd.DataFrame) -> tuple[Table, Sequence[str]]:
    """Table 1, ours beside the published; and the terms whose published value lies outside of our interval."""
    rows: list[Row] = []
    outside: list[str] = []
    for k, row in enumerate(fitted.to_dict("records"), 1):
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
