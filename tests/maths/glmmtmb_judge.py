"""What R's glmmTMB says of the worlds in worlds.py: python -m tests.maths.glmmtmb_judge [OUT.json] writes golden/glmmtmb.json.

Needs R (apt-get install r-base-core r-cran-glmmtmb). Its tolerances are set tighter than by default, where its own estimates stop
up to 4e-5 before the maximum.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.special import gammaln

from tests.maths.worlds import WORLDS, World

GOLDEN = Path(__file__).parent / "golden" / "glmmtmb.json"

SCRIPT = """
suppressMessages({library(glmmTMB); library(jsonlite)})
a <- commandArgs(TRUE)
d <- read.csv(a[1]); f <- as.formula(a[2])
control <- glmmTMBControl(optCtrl = list(rel.tol = 1e-13, x.tol = 1e-10, iter.max = 1e4, eval.max = 1e4))
m <- suppressWarnings(glmmTMB(f, d, family = binomial, control = control))
s <- summary(m)$coefficients$cond
sd <- sapply(VarCorr(m)$cond, function(v) attr(v, "stddev"))
r <- lapply(ranef(m)$cond, function(x) x[order(as.integer(rownames(x))), 1])
cat(toJSON(list(coefficients = unname(s[, 1]), standard_errors = unname(s[, 2]), standard_deviations = unname(sd),
  log_likelihood = as.numeric(m$fit$objective) * -1, glmmTMB = as.character(packageVersion("glmmTMB")), R = R.version.string),
  digits = 15, auto_unbox = TRUE, na = "null"))
"""


def judged(world: World) -> dict[str, object]:
    """glmmTMB's fit, without the binomial coefficients in its likelihood."""
    trials = np.ones(len(world.outcomes)) if world.trials is None else world.trials
    columns = {"y": world.outcomes, "n": trials}
    columns |= {f"x{k}": column for k, column in enumerate(world.design.T)}
    columns |= {f"g{f}": group for f, group in enumerate(world.groups)}
    right = " + ".join(["0", *(f"x{k}" for k in range(world.design.shape[1]))])
    right += "".join(f" + (1|g{f})" for f in range(len(world.groups)))
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "data.csv", Path(folder) / "fit.R"
        script.write_text(SCRIPT)
        np.savetxt(
            data, np.stack(list(columns.values()), 1), "%.17g", delimiter=",", header=",".join(columns), comments=""
        )
        command = ["Rscript", str(script), str(data), f"cbind(y, n - y) ~ {right}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    fit = json.loads(done.stdout)
    coefficients = gammaln(trials + 1) - gammaln(world.outcomes + 1) - gammaln(trials - world.outcomes + 1)
    fit["log_likelihood"] -= float(coefficients.sum())
    return fit


def digest(world: World) -> str:
    """Tells whether a world was made as it was when it was judged."""
    return hashlib.sha256(world.outcomes.astype("<i4").tobytes()).hexdigest()[:16]


def main(out: Path = GOLDEN) -> None:
    out.parent.mkdir(exist_ok=True)
    fits = {name: {"world": digest(make()), **judged(make())} for name, make in WORLDS.items()}
    out.write_text(json.dumps(fits, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
