"""The interaction model of 160 people, 14,400 answers, beside R's lme4 (as it comes) and glmmTMB, one thread each; its growth.

Needs R for the peers: apt-get install r-base-core r-cran-lme4 r-cran-glmmtmb. Without it their columns are left out, and named.
A refit is of new answers, simulated by the paper's coefficients, from the fit at hand. lme4 takes seconds for each, so R does a
few of our 200; all are compared per refit. What is compared is processor time, so that a busy machine favours nobody.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np  # noqa: E402 — it reads the number of threads when it is imported

from bayesteach import HierarchicalFit, fit_hierarchical  # noqa: E402
from report import write  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.maths.worlds import World, study  # noqa: E402 — the people of the tests

REFITS, R_REFITS = 200, {"lme4": 2, "glmmTMB": 6}

SCRIPT = """
suppressMessages({library(lme4); library(glmmTMB); library(jsonlite)})
a <- commandArgs(TRUE); d <- read.csv(a[1])
f <- y ~ 0 + x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11 + (1|g0) + (1|g1)
fits <- list(lme4 = function() glmer(f, d, family = binomial), glmmTMB = function() glmmTMB(f, d, family = binomial))
out <- list(R = R.version.string)
spent <- function(e) { t <- system.time(e); t[["user.self"]] + t[["sys.self"]] }
quietly <- function(e) suppressMessages(suppressWarnings(e))
for (peer in names(fits)) {
  one <- spent(m <- quietly(fits[[peer]]()))
  n <- as.integer(a[if (peer == "lme4") 2 else 3])
  more <- spent(for (k in seq_len(n)) quietly(refit(m, d[[paste0("y", k)]]))) / n
  s <- if (peer == "lme4") coef(summary(m)) else summary(m)$coefficients$cond
  out[[peer]] <- list(version = as.character(packageVersion(peer)), one = one, refit = more, estimates = unname(s[, 1]),
    errors = unname(s[, 2]), log_likelihood = as.numeric(logLik(m)))
}
cat(toJSON(out, auto_unbox = TRUE, digits = 15))
"""


def in_r(world: World, again: list[np.ndarray]) -> dict[str, dict[str, object]]:
    """What the peers took and found."""
    columns = {"y": world.outcomes} | {f"y{k + 1}": outcomes for k, outcomes in enumerate(again)}
    columns |= {f"x{k}": column for k, column in enumerate(world.design.T)}
    columns |= {f"g{k}": group for k, group in enumerate(world.groups)}
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "data.csv", Path(folder) / "fit.R"
        script.write_text(SCRIPT)
        np.savetxt(
            data, np.stack(list(columns.values()), 1), "%g", delimiter=",", header=",".join(columns), comments=""
        )
        command = ["Rscript", str(script), str(data), *map(str, R_REFITS.values())]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 — our own script
    if done.returncode:
        raise SystemExit(f"R could not fit:\n{done.stderr}")
    return dict(json.loads(done.stdout))


def spent(work: Callable[[], object], times: int = 1) -> float:
    """Seconds of the processor, the median of so many."""
    found = []
    for _ in range(times):
        before = time.process_time()
        work()
        found.append(time.process_time() - before)
    return float(np.median(found))


def fit(world: World, outcomes: np.ndarray | None = None, start: HierarchicalFit | None = None) -> HierarchicalFit:
    return fit_hierarchical(world.outcomes if outcomes is None else outcomes, world.design, world.groups, start=start)


def beside(peer: str, known: dict[str, object], ours: HierarchicalFit, one: float, refit: float) -> dict[str, object]:
    errors = np.asarray(known["errors"])
    return {
        f"{peer}: version": known["version"],
        f"{peer}: ratio, one fit": float(str(known["one"])) / one,
        f"{peer}: ratio, a refit of {REFITS} (R: of {R_REFITS[peer]})": float(str(known["refit"])) / refit,
        f"{peer}: largest difference of estimates": float(np.abs(ours.coefficients - known["estimates"]).max()),
        f"{peer}: largest difference of standard errors, %": float(
            100 * np.abs(ours.standard_errors / errors - 1).max()
        ),
        f"{peer}: difference of log-likelihoods": ours.log_likelihood - float(str(known["log_likelihood"])),
    }


def main() -> None:
    world = study(1, 160)
    again = [study(2 + k, 160).outcomes for k in range(REFITS)]
    ours = fit(world)
    one = spent(lambda: fit(world), times=7)
    refit = spent(lambda: [fit(world, outcomes, ours) for outcomes in again]) / REFITS
    results: dict[str, object] = {"people, answers": f"160, {len(world.outcomes)}"}
    if shutil.which("Rscript"):
        judged = in_r(world, again[: max(R_REFITS.values())])
        results["R"] = judged["R"]
        for peer in R_REFITS:
            results |= beside(peer, judged[peer], ours, one, refit)
    else:
        results["left out"] = (
            "lme4 and glmmTMB: no Rscript here (apt-get install r-base-core r-cran-lme4 r-cran-glmmtmb)"
        )
    for people in (1_600, 16_000):
        many = study(1, people)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        results[f"{people:,} people: times that of 160"] = spent(lambda: fit(many)) / one  # noqa: B023 — called at once
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / len(many.outcomes)
        results[f"{people:,} people: bytes of memory an answer, beyond the table's own"] = memory
    write("hierarchical", results)


if __name__ == "__main__":
    main()
