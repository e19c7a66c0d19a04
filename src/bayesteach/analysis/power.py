"""How likely a study is to find what is there, and how wrong what it finds: by simulated studies, analysed as it will be."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import ndtr
from scipy.stats import binomtest
from scipy.stats import chi2 as chi2_distribution

from bayesteach.analysis.defaults import models_of, varies
from bayesteach.analysis.formulas import Design, make_design
from bayesteach.analysis.regressions import Z
from bayesteach.analysis.simulate import Effects, answers, arms, paper_trials, simulate
from bayesteach.analysis.workers import spread
from bayesteach.errors import BadFormula, BadStudy, BayesteachError, OutOfRange
from bayesteach.maths.hierarchical import HierarchicalFit, fit_hierarchical

ALPHA = 0.05
TESTS = (("explanation", "null"), ("interaction", "explanation"))


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A study to be run: so many people in all, in its conditions by turns, who answer all trials by known effects."""

    participants: int
    terms: tuple[str, ...]
    designs: tuple[Float[np.ndarray, "rows _"], ...]
    groups: tuple[Int[np.ndarray, " rows"], ...]
    logits: Float[np.ndarray, " rows"]
    sds: tuple[float, ...]

    @classmethod
    def of(
        cls,
        effects: Effects,
        participants: int,
        trials: pd.DataFrame | None = None,
        conditions: pd.DataFrame | None = None,
    ) -> "Study":
        """Designs of the models of these conditions, made once for all simulations of this size."""
        conditions = arms() if conditions is None else conditions
        if participants < 2 * len(conditions):
            raise OutOfRange(
                f"participants: found {participants} in all, expected two or more in each of the {len(conditions)} "
                "conditions."
            )
        table = simulate(effects, participants, paper_trials() if trials is None else trials, conditions)
        formulas = models_of(conditions, kinds=varies(table["trial_type"]))
        if len(formulas) < 2:
            raise BadStudy(
                "power: the conditions differ in nothing, so there is nothing to find. Give the arms factors."
            )
        designs: list[Design] = [make_design(formula, table) for formula in formulas]
        largest = designs[-1]
        unknown = sorted(set(effects.coefficients) - set(largest.terms))
        if unknown:
            raise BadFormula(
                f"effects: {', '.join(unknown)} is no term of the model {formulas[-1]}. Its terms are "
                f"{', '.join(largest.terms)}."
            )
        sds = tuple(effects.sds.get(group, 0.0) for group in formulas[-1].groups)
        return cls(
            participants,
            largest.terms,
            tuple(design.matrix for design in designs),
            largest.groups,
            effects.logits(table),
            sds,
        )


def run(
    studies: Sequence[Study], simulations: Iterable[tuple[int, int]], seed: int, workers: int | None = None
) -> Iterator[dict[str, float]]:
    """Simulated studies, as they finish: (participants, number) each, with every estimate, its error, and p of both tests.

    A study's answers hang on the seed, its size and its number alone.
    """
    shared = ({study.participants: study for study in studies}, seed)
    for _, record in spread(_simulated, shared, list(simulations), workers):
        yield record


def power_table(records: pd.DataFrame, effects: Effects) -> pd.DataFrame:
    """power.csv: for each size, and each coefficient or test, the share of studies in which p < 0.05, with its 95 % interval.

    Among those, type_s is the share whose sign is wrong and type_m the mean exaggeration, |estimate| / |true|. Over
    all, bias is the mean estimate less the true one, and coverage the share of 95 % intervals that hold it.
    Studies without a fit count as not found.
    """
    terms = [name.removeprefix("estimate ") for name in records if name.startswith("estimate ")]
    rows = []
    for participants, of_size in records.groupby("participants"):
        for term in terms:
            true = effects.coefficients.get(term, 0.0)
            estimate, se = (of_size[f"{kind} {term}"].to_numpy(dtype=np.float64) for kind in ("estimate", "se"))
            with np.errstate(invalid="ignore"):
                found = np.nan_to_num(2 * ndtr(-np.abs(estimate / se)), nan=1.0) < ALPHA
            known = np.isfinite(se)
            row = {"participants": participants, "kind": "coefficient", "name": term, "true": true, **_share(found)}
            if true and found.any():
                row["type_s"] = float((np.sign(estimate[found]) != np.sign(true)).mean())
                row["type_m"] = float(np.abs(estimate[found] / true).mean())
            if known.any():
                row["bias"] = float(estimate[known].mean() - true)
                row["coverage"] = float((np.abs(estimate[known] - true) <= Z * se[known]).mean())
            rows.append({**row, "unknown": int((~known).sum())})
        for larger, smaller in (pair for pair in TESTS if f"p {pair[0]}" in records):
            p = of_size[f"p {larger}"].to_numpy(dtype=np.float64)
            row = {
                "participants": participants,
                "kind": "test",
                "name": f"{larger} against {smaller}",
                **_share(np.nan_to_num(p, nan=1.0) < ALPHA),
            }
            rows.append({**row, "unknown": int(np.isnan(p).sum())})
    columns = [
        "participants",
        "kind",
        "name",
        "true",
        "power",
        "low",
        "high",
        "type_s",
        "type_m",
        "bias",
        "coverage",
        "simulations",
        "unknown",
    ]
    return pd.DataFrame(rows).reindex(columns=columns)


def _share(found: np.ndarray) -> dict[str, float]:
    bounds = binomtest(int(found.sum()), len(found)).proportion_ci(method="wilson")
    return {
        "power": float(found.mean()),
        "low": float(bounds.low),
        "high": float(bounds.high),
        "simulations": len(found),
    }


def _simulated(shared: tuple[dict[int, Study], int], task: tuple[int, int]) -> dict[str, float]:
    """One study: its answers, and the models fitted to them."""
    (studies, seed), (participants, number) = shared, task
    study = studies[participants]
    rng = np.random.default_rng([seed, participants, number])
    outcomes = answers(study.logits, study.groups, study.sds, rng)
    fits = [_fit(outcomes, design, study.groups) for design in study.designs]
    record: dict[str, float] = {"participants": participants, "simulation": number}
    last = fits[-1]
    nothing = np.full(len(study.terms), np.nan)
    errors = nothing if last is None else last.standard_errors
    for term, estimate, se in zip(study.terms, nothing if last is None else last.coefficients, errors, strict=True):
        record |= {f"estimate {term}": float(estimate), f"se {term}": float(se)}
    more = np.diff([design.shape[1] for design in study.designs])
    for (larger, _), small, large, df in zip(TESTS, fits, fits[1:], more, strict=False):
        record[f"p {larger}"] = _p(small, large, int(df))
    return record


def _p(small: HierarchicalFit | None, large: HierarchicalFit | None, df: int) -> float:
    """p of a likelihood-ratio test; NaN without both fits."""
    if small is None or large is None:
        return float("nan")
    return float(chi2_distribution.sf(2 * (large.log_likelihood - small.log_likelihood), df))


def _fit(outcomes: np.ndarray, design: np.ndarray, groups: tuple[np.ndarray, ...]) -> HierarchicalFit | None:
    """A fit, or nothing where there is none to be had."""
    try:
        fit = fit_hierarchical(outcomes, design, groups)
    except BayesteachError:
        return None
    return fit if fit.converged else None
