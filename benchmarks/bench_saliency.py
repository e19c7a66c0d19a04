"""Maps from few passes beside long references: the average of weighted masks, and the learned map, from the same masks.

Everything is read from the tables of reference_maps.py, so it costs no pass. The first masks of a table are cut into runs of so
many passes. The reference of a run is the rest of the table: they are independent, and its variance is taken off squared errors.
`seconds` is for learning alone, of one class.

    python benchmarks/bench_saliency.py --passes 150 --runs 6
"""

import argparse
import time
from collections import defaultdict
from statistics import mean, median

import numpy as np
import torch
from torch import Tensor

from bayesteach import ExpectedMask
from bayesteach.maths.learned import LearnedMask
from reference_maps import CHUNK, STEP, Case, cases, coarse, log_q
from report import write

# The paper's masks.
PAPER = 1000


def at_step(maps: Tensor) -> np.ndarray:
    """At the pixels of the references."""
    return maps[0, STEP // 2 :: STEP, STEP // 2 :: STEP].double().numpy().ravel()


def judge(case: Case, passes: int, runs: int) -> dict[str, dict[str, float]]:
    """Root mean squared error, correlation and coverage of both, over some runs."""
    table = torch.from_numpy(log_q(case)).double()
    chunks = len(table) // CHUNK
    latents = torch.cat([case.latents(k) for k in range(chunks)])
    weights = table.exp().numpy()
    pixels = torch.cat([coarse(case.prior, part) for part in latents.split(4096)]).flatten(1).double().numpy()
    sums = (weights.sum(), weights @ pixels, (weights**2) @ pixels, (weights**2) @ pixels**2, (weights**2).sum())
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for run in range(min(runs, len(table) // passes)):
        mine = slice(run * passes, (run + 1) * passes)
        masks = case.prior.masks(latents[mine])
        w, p = weights[mine], pixels[mine]
        rest = (sums[0] - w.sum(), sums[1] - w @ p, sums[2] - w**2 @ p, sums[3] - w**2 @ p**2, sums[4] - (w**2).sum())
        reference = rest[1] / rest[0]
        variance = (rest[3] - 2 * reference * rest[2] + reference**2 * rest[4]) / rest[0] ** 2
        # What the paper's map is worth is known from the reference: its error falls as one over its masks.
        spread = max(float(reference.var() - variance.mean()), 1e-9)
        squared = float(variance.mean()) * (len(table) - passes) / PAPER
        nan = float("nan")
        found[f"average, {PAPER}, expected"].append((squared, (spread / (spread + squared)) ** 0.5, nan, nan, nan))
        start = time.perf_counter()
        learned = LearnedMask(1, case.prior, run).add(masks, table[mine][:, None]).learn()
        took = time.perf_counter() - start
        plain = ExpectedMask(1, case.prior.shape).add(masks, table[mine][:, None])
        flat = torch.full_like(plain.map, case.prior.mean_mask)
        for name, own, error in (
            ("flat", flat, torch.full_like(flat, 1e-9)),
            (f"average, {passes}", plain.map, plain.standard_error),
            (f"learned, {passes}", learned.map, learned.standard_error),
        ):
            values, stated = at_step(own), at_step(error)
            off = values - reference
            inside = np.abs(off) <= 1.96 * np.sqrt(stated**2 + variance)
            seen = np.corrcoef(values, reference)[0, 1] if values.std() > 1e-9 else 0.0
            truth = seen * (reference.var() / spread) ** 0.5
            squared = float((off**2).mean() - variance.mean())
            found[name].append((squared, truth, float(inside.mean()), took, float(np.sqrt((stated**2).mean()))))
    return {
        name: {
            "rms": max(mean(v[0] for v in values), 0.0) ** 0.5,
            "correlation": mean(v[1] for v in values),
            "coverage": mean(v[2] for v in values),
            "stated": mean(v[4] for v in values),
            "seconds": median(v[3] for v in values),
        }
        for name, values in found.items()
    } | {"reference": {"masks": len(table), "spread": spread**0.5, "error": float(variance.mean()) ** 0.5}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=150)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--case", action="append")
    asked = parser.parse_args()
    results: dict[str, object] = {}
    for case in cases():
        if (asked.case and case.name not in asked.case) or len(log_q(case)) < 2 * asked.passes:
            continue
        found = judge(case, asked.passes, asked.runs)
        results[case.name] = found
        print(case.name, {k: round(v, 4) for k, v in found.pop("reference").items()}, flush=True)
        for name, row in found.items():
            print("   ", f"{name:24}", " ".join(f"{key} {value:.3f}" for key, value in row.items()), flush=True)
    write(f"saliency_{asked.passes}", results)


if __name__ == "__main__":
    main()
