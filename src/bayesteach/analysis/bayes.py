"""The same regression with weak priors, by bambi and nutpie (`pip install 'bayesteach[bayes]'`)."""

import logging
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from bayesteach.analysis.regressions import Regression
from bayesteach.analysis.workers import cores
from bayesteach.errors import BadInput

# In logits: nine in ten effects within ±4.1, which turns 2 in 100 into 50; and spreads between people that are seldom beyond 2.
COEFFICIENT_SD, SPREAD_SD = 2.5, 1.0
PRIORS = (
    f"Every coefficient, the intercept included: normal with mean 0 and standard deviation {COEFFICIENT_SD:g} logits. "
    f"Standard deviation of each random intercept: half-normal with scale {SPREAD_SD:g}."
)
CHAINS = 4
# What Vehtari et al. (2021) ask for, before a posterior is read.
WORST_RHAT, LEAST_ESS = 1.01, 400.0


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Draws from the posterior, summed up: `table` has term, estimate (mean), sd, low, high (95 %, equal tails), rhat and ess."""

    name: str
    table: pd.DataFrame
    draws: int
    divergences: int

    @property
    def coefficients(self) -> pd.DataFrame:
        return self.table[~self.table["term"].str.startswith("sd(")]

    @property
    def settled(self) -> bool:
        """The chains agree, and are long enough."""
        return bool(
            self.divergences == 0
            and (self.table["rhat"] <= WORST_RHAT).all()
            and (self.table["ess"] >= LEAST_ESS).all()
        )

    @property
    def diagnosis(self) -> str:
        worst, least = self.table["rhat"].max(), self.table["ess"].min()
        said = (
            f"worst R̂ {worst:.3f}, least effective sample {least:.0f}, {self.divergences} divergent of {self.draws} "
            "draws"
        )
        return said if self.settled else f"NOT settled ({said}); do not read it"


def posterior(regression: Regression, seed: int, draws: int = 1000, tune: int = 1000) -> Posterior:
    """The posterior of a regression: the same design matrix, outcomes and random intercepts, and the priors above."""
    missing = [name for name in ("bambi", "nutpie") if find_spec(name) is None]
    if missing:
        raise BadInput(f"--bayes needs {' and '.join(missing)}: pip install 'bayesteach[bayes]'.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations among the libraries: not a reader's concern
        found = _sample(regression, seed, draws, tune)
        return _summed(regression, found, CHAINS * draws)


def _sample(regression: Regression, seed: int, draws: int, tune: int) -> Any:
    bambi = _import_bambi()
    names = _names(regression)
    terms = {name: regression.design.matrix[:, i] for i, name in enumerate(names) if name != "Intercept"}
    factors = {f"g{i}": codes.astype(str) for i, codes in enumerate(regression.design.groups)}
    table = pd.DataFrame({"y": regression.outcomes.astype(int), **terms, **factors})
    spread = bambi.Prior("Normal", mu=0, sigma=bambi.Prior("HalfNormal", sigma=SPREAD_SD))
    priors = {name: bambi.Prior("Normal", mu=0, sigma=COEFFICIENT_SD) for name in names}
    formula = " + ".join([f"y ~ {int('Intercept' in names)}", *terms, *(f"(1|{name})" for name in factors)])
    priors |= {f"1|{name}": spread for name in factors}
    # Not centred: the prior of the intercept is of the reference cell, as the table reads it.
    model = bambi.Model(formula, table, family="bernoulli", priors=priors, center_predictors=False)
    return model.fit(
        inference_method="nutpie",
        draws=draws,
        tune=tune,
        chains=CHAINS,
        cores=min(CHAINS, cores()),
        random_seed=seed,
        progressbar=False,
        # Treatment-coded terms go together: without it 4,000 draws are worth 270, with it 3,500 (16 people, 12 terms).
        nuts_sampler_kwargs={"low_rank_modified_mass_matrix": True},
    )


def _names(regression: Regression) -> list[str]:
    """The terms as bambi is told of them: any name would do but the intercept's."""
    return ["Intercept" if term == "(Intercept)" else f"x{i}" for i, term in enumerate(regression.terms)]


def _summed(regression: Regression, found: Any, draws: int) -> Posterior:
    import arviz  # noqa: PLC0415 — comes with the extra

    names = dict(zip(_names(regression), regression.terms, strict=True))
    names |= {f"1|g{i}_sigma": f"sd({group})" for i, group in enumerate(regression.design.formula.groups)}
    rhat, ess = arviz.rhat(found, var_names=list(names)), arviz.ess(found, var_names=list(names))
    rows = []
    for name, term in names.items():
        values = np.asarray(found.posterior[name]).ravel()
        low, high = np.quantile(values, [0.025, 0.975])
        row = {"term": term, "estimate": values.mean(), "sd": values.std(ddof=1), "low": low, "high": high}
        rows.append({**row, "rhat": float(rhat[name]), "ess": float(ess[name])})
    divergences = int(np.asarray(found.sample_stats["diverging"]).sum())
    return Posterior(regression.name, pd.DataFrame(rows), draws, divergences)


def _import_bambi() -> Any:
    """bambi, under a matplotlib whose style.core is gone: arviz-plots 0.8 asks for what now stands in matplotlib.style."""
    from matplotlib import style  # noqa: PLC0415 — only here is it patched

    if not hasattr(style, "core"):
        style.core = style  # type: ignore[attr-defined]
    import bambi  # noqa: PLC0415 — an extra, and takes seconds

    logging.getLogger("bambi").setLevel(logging.WARNING)
    return bambi
