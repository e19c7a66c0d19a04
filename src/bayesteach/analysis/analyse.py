"""A whole analysis as a value: from responses and a plan to fits, tests, accuracies, effects and their sensitivity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd
from threadpoolctl import threadpool_limits

from bayesteach.analysis.accuracy import Accuracy, Resample, accuracy
from bayesteach.analysis.bayes import Posterior, posterior
from bayesteach.analysis.comparisons import Comparison, bootstrap_p, comparisons, comparisons_table
from bayesteach.analysis.defaults import models_for
from bayesteach.analysis.diagnostics import warnings_of
from bayesteach.analysis.effects import effects_table
from bayesteach.analysis.formulas import Formula
from bayesteach.analysis.regressions import Regression, Z, coefficients_table, regress
from bayesteach.analysis.sample import Sample, Who, choose_sample
from bayesteach.analysis.sensitivity import Variant, variants
from bayesteach.analysis.simulate import PUBLISHED
from bayesteach.errors import BadFormula, BadResponses, OutOfRange
from bayesteach.responses import Responses

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done: the models, who is analysed, and how uncertainty is found."""

    # None: what follows from what the conditions differ in; for the paper's design the paper's three.
    formulas: tuple[Formula, ...] = ()
    who: Who = "completers"
    exclude: Mapping[str, str] = field(default_factory=dict)
    bootstrap: int = 2000
    resample: Resample = "participants"
    bootstrap_lrt: int = 0
    bayes: bool = False
    published: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What was found."""

    plan: Plan
    responses: Responses
    sample: Sample
    regressions: tuple[Regression, ...]
    tests: tuple[Comparison, ...]
    bootstrapped: tuple[tuple[float, int], ...] | None
    accuracy: Accuracy
    effects: pd.DataFrame
    variants: tuple[Variant, ...]
    posterior: Posterior | None

    @property
    def main(self) -> Regression:
        """The model of most terms, which tables and figures are about."""
        return max(self.regressions, key=lambda regression: len(regression.terms))

    @property
    def warnings(self) -> tuple[str, ...]:
        return warnings_of(self.regressions, self.sample, bootstrapped=self.bootstrapped is not None)

    @property
    def comparisons(self) -> pd.DataFrame:
        """comparisons.csv."""
        return comparisons_table(self.tests, self.bootstrapped)

    @property
    def coefficients(self) -> pd.DataFrame:
        """coefficients.csv, with published and Bayesian columns beside where they were asked for."""
        table = coefficients_table(self.regressions)
        main = table["model"] == self.main.name
        if self.plan.published:
            for i, column in enumerate(("published", "published_se")):
                table[column] = [
                    PUBLISHED[term][i] if own and term in PUBLISHED else None
                    for own, term in zip(main, table["term"], strict=True)
                ]
        if self.posterior is not None:
            bayes = self.posterior.coefficients.set_index("term")
            for column in ("estimate", "sd", "low", "high", "rhat", "ess"):
                table[f"bayes_{column}"] = table["term"].map(bayes[column]).where(main)
        return table

    @property
    def beside(self) -> dict[str, pd.DataFrame]:
        """Other estimates of the main model's coefficients, for the figure."""
        found = {}
        if self.plan.published:
            rows = [
                (term, estimate, estimate - Z * se, estimate + Z * se) for term, (estimate, se) in PUBLISHED.items()
            ]
            found["published"] = pd.DataFrame(rows, columns=["term", "estimate", "low", "high"])
        if self.posterior is not None:
            found["Bayesian"] = self.posterior.coefficients
        return found


# One thread: the matrices have a few dozen rows, and beside other work threads cost five times what they bring.
@threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]  # threadpoolctl has no types
def analyse(
    responses: Responses, plan: Plan | None = None, progress: Progress | None = None, workers: int | None = None
) -> Analysis:
    """Do what the plan says. `progress` is told what is being done, how much of it is done, and of how much."""
    plan = plan or Plan()
    if plan.bootstrap_lrt < 0:
        raise OutOfRange(f"bootstrap_lrt: found {plan.bootstrap_lrt}, expected 0 or more refits.")
    plan = replace(plan, formulas=plan.formulas or models_for(responses))
    tell = progress or (lambda _what, _done, _of: None)
    sample = choose_sample(responses, plan.formulas, plan.who, plan.exclude)
    regressions = []
    for i, formula in enumerate(plan.formulas):
        tell("regressions", i, len(plan.formulas))
        try:
            regressions.append(regress(formula, sample.table))
        except (BadFormula, BadResponses) as error:
            raise type(error)(f"{error}{_dropped(sample)}") from None
    tests = comparisons(regressions)
    main = max(regressions, key=lambda regression: len(regression.terms))
    tell("cell means", 0, 1)
    means = accuracy(sample, main.design.formula.outcome, plan.resample, plan.bootstrap, plan.seed)
    tell("sensitivity", 0, 1)
    other = variants(main, sample, responses, plan.exclude)
    bootstrapped = _bootstrap(tests, plan, tell, workers) if plan.bootstrap_lrt else None
    if plan.bayes:
        tell("posterior (a minute or two)", 0, 1)
    return Analysis(
        plan=plan,
        responses=responses,
        sample=sample,
        regressions=tuple(regressions),
        tests=tests,
        bootstrapped=bootstrapped,
        accuracy=means,
        effects=effects_table(main, sample.table),
        variants=other,
        posterior=posterior(main, plan.seed) if plan.bayes else None,
    )


def _dropped(sample: Sample) -> str:
    """That people are missing, where what is missing may be theirs."""
    dropped = int(sample.flow["dropped_out"].sum())
    if not dropped or sample.who == "everyone":
        return ""
    return (
        f" Of {int(sample.flow['started'].sum())} people {dropped} count as dropped out: {sample.rule} --who everyone keeps "
        "them."
    )


def _bootstrap(
    tests: tuple[Comparison, ...], plan: Plan, tell: Progress, workers: int | None
) -> tuple[tuple[float, int], ...]:
    total = plan.bootstrap_lrt * len(tests)
    done = 0

    def one(n: int) -> None:
        nonlocal done
        done += n
        tell("refits", done, total)

    return tuple(bootstrap_p(test, plan.bootstrap_lrt, plan.seed, one, workers) for test in tests)
