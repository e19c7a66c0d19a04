"""Simulated studies, fitted on all cores: how often the tests reject what is true, and the intervals hold it."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, chi2, norm

from bayesteach.maths.hierarchical import fit_hierarchical
from tests.maths.worlds import PAPER, PAPER_SDS, study

# Coefficients of the two null hypotheses, near what the paper's people would give: trial type alone, and with both explanations.
NULL = (-0.45, 0.0, 3.4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
EXPLANATION = (-0.8, 0.0, 3.4, 0.5, 0.2, 0, 0, 0, 0, 0, 0, 0)
TERMS = {"null": 3, "explanation": 5, "interaction": 12}


@dataclass(frozen=True)
class Size:
    participants: int
    categories: int


def likelihood_ratio(seed: int, size: Size, small: str, large: str, truth: tuple[float, ...]) -> float:
    """The p-value of a test of two nested models, on people simulated by the truth."""
    world = study(seed, size.participants, truth, PAPER_SDS, size.categories)
    fits = [fit_hierarchical(world.outcomes, world.design[:, : TERMS[m]], world.groups) for m in (small, large)]
    assert all(fit.converged for fit in fits)
    return float(chi2.sf(2 * (fits[1].log_likelihood - fits[0].log_likelihood), TERMS[large] - TERMS[small]))


def p_explanation(seed: int, size: Size) -> float:
    return likelihood_ratio(seed, size, "null", "explanation", NULL)


def p_interaction(seed: int, size: Size) -> float:
    return likelihood_ratio(seed, size, "explanation", "interaction", EXPLANATION)


def covered(seed: int, size: Size) -> list[bool | None]:
    """Whether each 95 % interval holds the paper's coefficient; None where it was flagged as separated."""
    world = study(seed, size.participants, PAPER, PAPER_SDS, size.categories)
    fit = fit_hierarchical(world.outcomes, world.design, world.groups)
    assert fit.converged
    off = np.abs(fit.coefficients - PAPER) / fit.standard_errors
    return [None if flag else bool(z < norm.ppf(0.975)) for z, flag in zip(off, fit.separated, strict=True)]


@contextmanager
def all_cores() -> Iterator[Callable[[Callable, Iterable[int], Size], list]]:
    """A pool of processes with one thread each, started afresh: a fork would copy torch's threads."""
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    os.environ.update(dict.fromkeys(before, "1"))
    try:
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
            yield lambda work, seeds, size: list(pool.map(work, seeds, [size] * len(seeds), chunksize=4))
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def binomial_interval(hits: int, count: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's."""
    tail = (1 - level) / 2
    low = beta.ppf(tail, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(1 - tail, hits + 1, count - hits) if hits < count else 1.0
    return float(low), float(high)
