"""Maps from few passes beside long references, at equal passes: averages of prior masks and of Sobol points, and the learned map.

All masks are those of the tables of reference_maps.py, so that it costs no pass. The reference of a photo is what its table holds
beyond the first thousands, from which runs are cut: they are independent. The variance of a reference is taken off squared
errors, and its noise off correlations; a photo whose reference is worth little says little, so results tell what each is worth.

average   the paper's            shrunk   the average, its departures times the share of what varies that is not error
sobol     points of one scramble  learned  LearnedSampler             flat     the prior's mean: no pass at all
stopped   learned, from 128 masks on until the stated error is within 0.3 of the spread, or 1,024 masks

    python benchmarks/bench_saliency.py            # 20 minutes of one core after the references
    python benchmarks/bench_saliency.py --seconds  # end to end beside the plain loop: five minutes of a quiet machine
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np
import torch
from torch import Generator, Tensor

from bayesteach import ExpectedMask, explain
from bayesteach.maths.learned import LearnedSampler
from bayesteach.maths.samplers import LOOKS, Found, PriorSampler
from bayesteach.vision.engines import plain_engine
from reference_maps import CHUNK, LONG, STEP, Case, cases, classifier, coarse, engine, log_q, sobol
from report import write

PASSES = {150: 4, 300: 3, 1000: 2}
# Where a reference begins, in a short table and in a long one: what is before is for the runs.
HELD = 4 * 512
TOLERANCE, MOST = 0.3, 1024


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The expected mask at every eighth pixel from independent masks, and the variance of that."""

    mean: np.ndarray
    variance: np.ndarray
    masks: int
    worth: float

    @property
    def spread(self) -> float:
        """The variance of the truth over its pixels: the reference's, less what is error."""
        return max(float(self.mean.var() - self.variance.mean()), 1e-6)


@dataclass(frozen=True, slots=True)
class Judged:
    """One map beside a reference: its squared error and what goes into a correlation, all free of the reference's noise."""

    squared: float
    covariance: float
    varies: float
    inside: float
    stated: float
    masks: int


def reference(case: Case, table: np.ndarray) -> Reference:
    """From what the table holds beyond the runs' masks."""
    weights = np.exp(table[HELD:].astype(np.float64) - table.max())
    sums = np.zeros(3)
    mean = square = cross = np.zeros(())
    for k in range(HELD // CHUNK, len(table) // CHUNK):
        w = weights[k * CHUNK - HELD : (k + 1) * CHUNK - HELD]
        pixels = coarse(case.prior, case.latents(k)).flatten(1).double().numpy()
        sums += (w.sum(), (w**2).sum(), 0)
        mean, cross, square = mean + w @ pixels, cross + w**2 @ pixels, square + w**2 @ pixels**2
    mean /= sums[0]
    variance = (square - 2 * mean * cross + mean**2 * sums[1]) / sums[0] ** 2
    return Reference(mean, np.maximum(variance, 0), len(weights), float(sums[0] ** 2 / sums[1]))


def judge(truth: Reference, found: Tensor, error: Tensor | None, masks: int) -> Judged:
    values = _coarse(found)
    off = values - truth.mean
    stated = _coarse(error) if error is not None else np.full_like(values, np.nan)
    inside = np.abs(off) <= 1.96 * np.sqrt(stated**2 + truth.variance)
    return Judged(
        float((off**2).mean() - truth.variance.mean()),
        float(np.cov(values, truth.mean, bias=True)[0, 1]),
        float(values.var()),
        float(inside.mean()) if error is not None else float("nan"),
        float(np.sqrt((stated**2).mean())),
        masks,
    )


def maps(case: Case, table: np.ndarray, seconds: list[float]) -> Iterator[tuple[str, Tensor, Tensor | None, int]]:
    """Every way to a map, from the first masks of the table: its name, the map, the stated error and the masks."""
    latents = torch.cat([case.latents(k) for k in range(HELD // CHUNK)])
    weights = torch.from_numpy(table[:HELD]).double()[:, None]
    points, point_weights = case.sobol_masks(), torch.from_numpy(sobol(case)).double()[:, None]
    flat = torch.full((1, *case.prior.shape), case.prior.mean_mask)
    yield "flat", flat, None, 0
    for passes, runs in PASSES.items():
        for run in range(min(runs, HELD // passes)):
            mine = slice(run * passes, (run + 1) * passes)
            masks = case.prior.masks(latents[mine])
            average = PriorSampler(1, case.prior, run)
            average.learn(masks, weights[mine])
            plain = average.found()
            yield f"average {passes}", plain.map, plain.standard_error, passes
            keeps = (1 - plain.noise.clamp(0, 1))[:, None, None]
            shrunk = case.prior.mean_mask + keeps * (plain.map - case.prior.mean_mask)
            yield f"shrunk {passes}", shrunk, keeps.sqrt() * plain.standard_error, passes
            start = time.perf_counter()
            learned = _learned(case, run, masks, weights[mine])
            if passes == min(PASSES):
                seconds.append(time.perf_counter() - start)
            yield f"learned {passes}", learned.map, learned.standard_error, passes
        if not len(point_weights):
            continue
        even = point_weights[:passes]
        yield f"sobol {passes}", ExpectedMask(1, case.prior.shape).add(points[:passes], even).map, None, passes
        yield (
            f"learned from sobol {passes}",
            (found := _learned(case, 0, points[:passes], even)).map,
            found.standard_error,
            passes,
        )
    for run in range(HELD // MOST):
        first = run * MOST
        for size in (size for size in LOOKS if size <= MOST):
            found = _learned(case, run, case.prior.masks(latents[first : first + size]), weights[first : first + size])
            if float(found.noise.max()) <= TOLERANCE**2:
                break
        yield "stopped", found.map, found.standard_error, size


def _learned(case: Case, seed: int, masks: Tensor, weights: Tensor) -> Found:
    sampler = LearnedSampler(1, case.prior, seed)
    sampler.learn(masks, weights)
    return sampler.found()


def _coarse(found: Tensor) -> np.ndarray:
    return found[0, STEP // 2 :: STEP, STEP // 2 :: STEP].double().numpy().ravel()


def summary(rows: list[tuple[Judged, Reference]]) -> dict[str, float]:
    """Root mean squared error, correlation with the truth, coverage of the 95 % interval, and the error that was stated."""
    judged = [row for row, _ in rows]
    varies = sum(row.varies for row in judged)
    spread = sum(truth.spread for _, truth in rows)
    together = (varies * spread) ** 0.5
    found = {
        "rms": max(float(np.mean([row.squared for row in judged])), 0.0) ** 0.5,
        "correlation": sum(row.covariance for row in judged) / together if varies > 1e-12 else 0.0,
        "coverage": float(np.mean([row.inside for row in judged])),
        "stated": float(np.sqrt(np.mean([row.stated**2 for row in judged]))),
        "masks": float(np.mean([row.masks for row in judged])),
    }
    # What states no error has none to judge.
    return {key: value for key, value in found.items() if value == value}  # noqa: PLR0124 — NaN is not itself


def group(case: Case) -> str:
    return "all of the drawn world" if case.model == "embedded" else "all photos"


def compare(asked: list[str] | None) -> None:
    results: dict[str, object] = {}
    pooled: dict[str, dict[str, list[tuple[Judged, Reference]]]] = defaultdict(lambda: defaultdict(list))
    seconds: list[float] = []
    for case in cases():
        table = log_q(case)
        if (asked and case.name not in asked) or len(table) < 2 * HELD:
            continue
        truth = reference(case, table)
        found: dict[str, list[tuple[Judged, Reference]]] = defaultdict(list)
        for name, made, error, masks in maps(case, table, seconds):
            row = (judge(truth, made, error, masks), truth)
            found[name].append(row)
            pooled[group(case)][name].append(row)
        facts = {"reference masks": truth.masks, "worth": truth.worth, "spread": truth.spread**0.5}
        facts["reference error"] = float(truth.variance.mean()) ** 0.5
        results[case.name] = facts | {name: summary(rows) for name, rows in found.items()}
        _tell(case.name, facts, found)
    for name, of in pooled.items():
        results[name] = {way: summary(rows) for way, rows in of.items()}
        _tell(name, {}, of)
    results["seconds to learn from 150 masks"] = median(seconds)
    write("saliency", results)


def _tell(name: str, facts: dict[str, float], found: dict[str, list[tuple[Judged, Reference]]]) -> None:
    print(name, {key: round(value, 4) for key, value in facts.items()}, flush=True)
    for way, rows in found.items():
        print("   ", f"{way:24}", " ".join(f"{key} {value:.3f}" for key, value in summary(rows).items()), flush=True)


def end_to_end(turns: int) -> None:
    """Seconds of `explain` with 128 and 256 masks, beside a loop over 1,000 masks of the plain network in fp32, by turns."""
    case = next(case for case in cases() if case.name == LONG[0])
    who, plain, photo = classifier(case.model), plain_engine(classifier(case.model)), case.photo
    fast = engine(case.model)
    ratios: dict[int, list[float]] = defaultdict(list)
    for turn in range(turns):
        start = time.perf_counter()
        seen, estimate = case.seen(), ExpectedMask(1, case.prior.shape)
        for masks in case.prior.stream(1000, Generator().manual_seed(turn)):
            estimate.add(masks, plain.log_weights(seen, masks, [case.target]))
        _ = estimate.map, estimate.standard_error
        took = time.perf_counter() - start
        for passes in (128, 256, 512):
            found = explain(who, photo, case.target, masks=passes, sampler="learned", seed=turn, engine=fast)
            ratios[passes].append(took / found.seconds)
        print(turn, {passes: round(values[-1], 1) for passes, values in ratios.items()}, flush=True)
    rows = {f"learned {n}: times faster than 1,000 in the plain loop": median(found) for n, found in ratios.items()}
    write("saliency_seconds", {"engine": fast.name, **rows})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--case", action="append")
    asked = parser.parse_args()
    if asked.seconds:
        end_to_end(asked.turns)
    else:
        compare(asked.case)


if __name__ == "__main__":
    main()
