"""What the report says in sentences, each made from the numbers that it speaks of."""

import numpy as np
import pandas as pd

from bayesteach.analysis.analyse import Analysis
from bayesteach.analysis.bayes import PRIORS
from bayesteach.analysis.comparisons import Comparison
from bayesteach.analysis.effects import ALONE, AVERAGED, p_text, spoken
from bayesteach.analysis.sample import EVERYONE
from bayesteach.analysis.tables import joined, number

PAPER = "Folke, Li, Sojitra, Yang & Shafto 2021, Explainable AI for Natural Adversarial Images"

READINGS_NOTE = (
    "Expected over the people and categories that the model finds. Where effects meet, logits add up and "
    "probabilities do not: a term of several variables says "
    "how far the answers part from that sum."
)
EFFECTS_NOTE = (
    "*** p < 0.001, ** p < 0.01, * p < 0.05. Percentages are expected over people and categories, so they compare "
    "with Figure 1; intervals of changes are the "
    "delta method's. Nothing here is corrected for the number of effects that are looked at."
)
SENSITIVITY_TEXT = (
    "The same model with a random intercept for each trial (an image may be easy or hard in itself: effects of trial "
    "type are between images), and with "
    "categories by target, what the AI answered, in place of the ground truth. An effect that is here in one column "
    "and gone in the next is not to be leant on."
)


def people(count: int) -> str:
    """One person, two people."""
    return f"{count:,} person" if count == 1 else f"{count:,} people"


def short(analysis: Analysis) -> list[str]:
    """The findings, for those who read no further."""
    sample = analysis.sample
    conditions = f" in {len(sample.conditions)} conditions" if len(sample.conditions) > 1 else ""
    answers = f"{len(sample.table):,} answers, {_mean(analysis):.0f} % of them correct"
    said = [f"{people(sample.participants)}{conditions} gave {answers}: they chose what the AI chose."]
    said += [test_sentence(test, analysis) for test in _steps(analysis)]
    effects = analysis.effects
    if len(effects):
        kind = str(effects["trial_type"].iloc[0])
        for name in effects["explanation"].unique():
            said.append(_effect(effects[(effects["explanation"] == name) & (effects["trial_type"] == kind)]))
        said += _ratio(effects[effects["trial_type"] == kind])
    return said


def test_sentence(test: Comparison, analysis: Analysis) -> str:
    """One likelihood-ratio test."""
    p = test.p
    by = ""
    if analysis.bootstrapped is not None:
        p = analysis.bootstrapped[analysis.tests.index(test)][0]
        by = " by parametric bootstrap"
    better = (
        "explains the answers better than"
        if p < 0.05
        else "explains the answers no better than chance would have it, against"
    )
    return (
        f"The {test.larger.name} model {better} the {test.smaller.name} model: "
        f"χ²({test.df})\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{number(test.chi2)}, {p_text(p)}{by}."
    )


def design(analysis: Analysis) -> str:
    """The experiment, as the responses show it."""
    table, sample = analysis.sample.table, analysis.sample
    kinds = f" of {table['trial_type'].nunique()} types" if "trial_type" in table else ""
    per = table.groupby("participant").size()
    each = f"{per.min()}" if per.min() == per.max() else f"{per.min()} to {per.max()} (median {per.median():g})"
    shown = [spoken(name) for name in sample.conditions if name != EVERYONE]
    arms = f" Conditions: {joined(shown)}." if len(shown) > 1 else ""
    categories = f" in {table['category'].nunique()} categories" if "category" in table else ""
    return (
        f"Each person answered {each} trials{kinds}{categories}; an answer is correct if it is what the AI chose.{arms}"
        f"{_maps(table)}"
    )


def _maps(table: pd.DataFrame) -> str:
    """How far the maps over the probes are to be believed, where the responses say so."""
    if not {"probe", "map_verdict"} <= set(table):
        return ""
    verdicts = table.dropna(subset=["map_verdict"]).drop_duplicates("probe")["map_verdict"].value_counts()
    found = joined([f"{count} {'mostly noise' if word == 'noise' else word}" for word, count in verdicts.items()])
    return f" Of the maps over the probes {found}." if len(verdicts) else ""


def who(analysis: Analysis) -> str:
    """Who is analysed."""
    sample = analysis.sample
    dropped = int(sample.flow["dropped_out"].sum())
    left = int(sample.flow["excluded"].sum())
    gone = people(dropped) if dropped else "nobody"
    if sample.who == "completers":
        rule = f"Those who finished are analysed; {gone} dropped out."
    else:
        rule = f"Everyone is analysed, those who dropped out ({gone}) included."
    why = (
        f" {people(left)} {'was' if left == 1 else 'were'} excluded, for the reasons below."
        if left
        else " Nobody was excluded."
    )
    return f"{rule} {sample.rule}{why} Nobody is left out for performance."


def set_aside(analysis: Analysis) -> str:
    """Rows that are not answers to analyse."""
    sample = analysis.sample
    missing = [f"{count:,} without {column}" for column, count in sample.missing.items()]
    lost = (
        f"Rows of analysed people that miss a value are left out of every model: {joined(missing)}."
        if missing
        else "No row of an analysed person misses a value."
    )
    practice, attention = sample.set_aside["practice"], sample.set_aside["attention"]
    return f"{lost} Set aside besides: {practice:,} rows of practice, {attention:,} of attention checks."


def caption_1(analysis: Analysis) -> str:
    """Of the figure of accuracies."""
    found = analysis.accuracy
    within = (
        "participants, within their condition"
        if found.resample == "participants"
        else "trials, within their type and the same for all conditions"
    )
    return (
        "Accuracy by trial type and condition. Large dots: mean over answers, with 95 % percentile intervals from "
        f"{found.draws:,} bootstrap "
        f"draws of {within}. Small dots: each participant's mean. Dashed: guessing."
    )


def alt_1(analysis: Analysis) -> str:
    """The same figure for those who do not see it."""
    rows = analysis.accuracy.cells.to_dict("records")
    said = [
        f"{spoken(r['trial_type'])}, {spoken(r['condition'])}: {100 * r['accuracy']:.0f} %"
        for r in rows
        if r["answers"]
    ]
    return f"Accuracy by trial type and condition. {'; '.join(said)}."


def caption_2(analysis: Analysis) -> str:
    """Of the figure of coefficients."""
    more = [f" Published: {PAPER}, Table 1."] if analysis.plan.published else []
    more += [" Bayesian: posterior mean with its central 95 %."] if analysis.posterior else []
    return f"Coefficients of the {analysis.main.name} model with 95 % Wald intervals.{''.join(more)}"


def effects_text(analysis: Analysis) -> str:
    """What simple and averaged mean, with the ratio of two explanations both ways."""
    kind = str(analysis.effects["trial_type"].iloc[0])
    ratio = _ratio(analysis.effects[analysis.effects["trial_type"] == kind])
    text = (
        "An effect that is averaged over the other explanation is not what that explanation does alone, where the "
        "two do not add up. So both are "
        "given: alone, beside the other, and averaged over both."
    )
    return " ".join([text, *ratio])


def models_text(analysis: Analysis) -> str:
    """The models and what is compared."""
    names = joined([regression.name for regression in analysis.regressions])
    return (
        f"Single answers are modelled by logistic regressions with random intercepts ({names}), fitted to the same "
        f"{len(analysis.sample.table):,} answers. "
        + " ".join(test_sentence(test, analysis) for test in _steps(analysis))
    )


def comparisons_note(analysis: Analysis) -> str:
    """How p is found, and what the paper found."""
    said = (
        "p of a χ² distribution; with few participants it is too small (--bootstrap-lrt N finds it from refits to "
        "answers drawn from the smaller model)."
    )
    if analysis.bootstrapped is not None:
        said = (
            "p of a χ² distribution; p by bootstrap from refits to answers that are drawn from the smaller model "
            "with this sample's design: the one to use with few participants."
        )
    if analysis.plan.published:
        said += (
            " The paper found χ²(2) = 45.37 for explanation against null, and χ²(7) = 209.62 for interaction against "
            "explanation, both p < 0.001."
        )
    return said


def coefficients_note(analysis: Analysis) -> str:
    """How to read the table."""
    said = (
        "*** p < 0.001, ** p < 0.01, * p < 0.05 (Wald). SE from the Hessian over coefficients and variances together. "
        "There is no random effect of the image unless the formula has one, so effects of trial type are optimistic: "
        "see the sensitivity below."
    )
    if analysis.posterior is not None:
        said += f" Posterior: {PRIORS} {analysis.posterior.diagnosis[0].upper()}{analysis.posterior.diagnosis[1:]}."
    return said


def untried(analysis: Analysis) -> str:
    """Variants that could not be had."""
    said = [
        f"{variant.title} ({variant.reason.rstrip('.')})" for variant in analysis.variants if variant.regression is None
    ]
    return f"Not to be had here: {'; '.join(said)}." if said else ""


def diagnostics(analysis: Analysis) -> list[str]:
    """Convergence of each fit."""
    said = []
    for regression in analysis.regressions:
        fit = regression.fit
        state = "converged" if fit.converged else "did NOT converge"
        zero = " A standard deviation is 0." if any(fit.singular) else ""
        said.append(f"{regression.name}: {state}, largest gradient {fit.gradient:.1g} standard errors.{zero}")
    if analysis.posterior is not None:
        said.append(f"Posterior: {analysis.posterior.diagnosis}.")
    return said


def methods(analysis: Analysis) -> str:
    """For a paper's methods section."""
    plan = analysis.plan
    return (
        "Hierarchical logistic regressions were fitted by maximum likelihood, random intercepts integrated out by "
        "Laplace's approximation; nested models were "
        f"compared by likelihood-ratio tests{' with parametric bootstrap' if plan.bootstrap_lrt else ''}; "
        "coefficients were tested by Wald's z. Categorical "
        "variables are treatment coded, the first level in the table being the reference. Probabilities are averaged "
        "over the people and categories that the model "
        "expects; their intervals are the delta method's."
    )


def _mean(analysis: Analysis) -> float:
    return 100 * float(analysis.main.outcomes.mean())


def _steps(analysis: Analysis) -> list[Comparison]:
    """Each model against the largest that is nested in it."""
    seen, steps = set(), []
    for test in analysis.tests:
        if test.larger.name not in seen:
            steps.append(test)
            seen.add(test.larger.name)
    return steps


def _effect(rows: pd.DataFrame) -> str:
    """One explanation in the hardest trials: averaged if there is another, and alone."""
    whole = (rows[rows["given"] == AVERAGED] if (rows["given"] == AVERAGED).any() else rows).iloc[0]
    where = "" if whole["trial_type"] == "all" else f" on {spoken(whole['trial_type'])} trials"
    over = " (averaged over the other explanation)" if whole["given"] == AVERAGED else ""
    p = float(whole["change_p"])
    if not np.isfinite(p):
        return f"What {spoken(whole['explanation'])} changes{where} cannot be told in size."
    moved = f"from {100 * whole['before']:.0f} to {100 * whole['after']:.0f} correct answers in 100"
    bounds = (
        f"95 % interval of the change {number(100 * whole['change_low'], 1)} to "
        f"{number(100 * whole['change_high'], 1)}; {p_text(p)}"
    )
    verb = "does not change beyond chance" if p >= 0.05 else "rises" if whole["change"] > 0 else "falls"
    return f"With {spoken(whole['explanation'])}{over}, accuracy{where} {verb}: {moved} ({bounds})."


def _ratio(rows: pd.DataFrame) -> list[str]:
    """Two explanations against each other, alone and averaged: the paper's “about four times” is the latter."""
    names = list(rows["explanation"].unique())
    if len(names) != 2:
        return []
    logit = rows.set_index(["explanation", "given"])["logit"]
    alone, averaged = ({name: float(logit.get((name, given), np.nan)) for name in names} for given in (ALONE, AVERAGED))
    first, second = sorted(names, key=lambda name: -averaged[name])
    if not all(value > 0 for value in (*alone.values(), *averaged.values())):
        return []
    where = "" if rows["trial_type"].iloc[0] == "all" else f" on {spoken(rows['trial_type'].iloc[0])} trials"
    said = (
        f"In logits{where}, {spoken(first)} does {averaged[first] / averaged[second]:.1f} times as much as "
        f"{spoken(second)} where each is averaged over the "
        f"other ({number(averaged[first])} against {number(averaged[second])}), and "
        f"{alone[first] / alone[second]:.1f} times where each is alone "
        f"({number(alone[first])} against {number(alone[second])})."
    )
    return [said]
