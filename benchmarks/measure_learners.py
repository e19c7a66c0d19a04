"""What lessons teach, by learner: log odds taught, their spread over candidates, and the share refused, on a study's own trials.

    python benchmarks/measure_learners.py STUDY [VIEWS]

results/learners-STUDY.json keeps it; with VIEWS the best lessons are taught again so often cropped and flipped. STUDY has been
run to its design. Every row faces the same trials, pools and 200 candidates a trial, seen without views; `refused` is the share
of trials without a lesson past 0.8 under the paper's search and under exchange.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import torch

from bayesteach.artifacts import Features, Posterior, TaughtLesson, Trials
from bayesteach.maths.curvature import CurvatureSums
from bayesteach.maths.lessons import best_of
from bayesteach.pipeline import BY_NAME, Run
from bayesteach.settings import Settings, read_settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, rng
from bayesteach.stages.explainers import Question
from bayesteach.stages.teach import _pool, learner_for, teach
from bayesteach.store.workspace import Workspace
from report import write

# The row's name, and what it says of [teach]; views and shrinkage are treated apart.
LEARNERS: dict[str, dict[str, object]] = {
    "logistic (the paper)": {"learner": "logistic"},
    "logistic, half the head": {"learner": "logistic", "knowledge": 0.5},
    "logistic novice": {"learner": "logistic", "knowledge": 0.0},
    "logistic, prior × 0.01": {"learner": "logistic", "prior_strength": 0.01},
    "logistic novice, prior × 0.01": {"learner": "logistic", "knowledge": 0.0, "prior_strength": 0.01},
    "discriminant": {"learner": "discriminant"},
}
SHRINKAGES = (0.01, 0.1, 1.0)


def told(settings: Settings, **section: object) -> Settings:
    return settings.model_copy(update={"teach": settings.teach.model_copy(update=section)})


class Study:
    """The artifacts that a row is measured on."""

    def __init__(self, folder: Path) -> None:
        self.settings = read_settings(folder)
        workspace = Workspace(folder)
        self.context: Context = Run(workspace, self.settings).context()
        self.collected: Collected = workspace.load("collect", BY_NAME["collect"].output)
        self.features: Features = workspace.load("embed", BY_NAME["embed"].output)
        self.posterior: Posterior = workspace.load("fit", BY_NAME["fit"].output)
        design: Trials = workspace.load("design", BY_NAME["design"].output)
        self.trials = replace(design, trials=tuple(trial for trial in design.trials if trial.kind == "trial"))

    def shrunk(self, shrinkage: float) -> Posterior:
        """The posterior as `fit` makes it, at another shrinkage."""
        head = self.posterior.head.mean
        train = [i for i, seen in enumerate(self.features.seen) if seen.source in self.settings.fit.train]
        z = self.features.features[train]
        sums = CurvatureSums(*head.shape).add(z, (z.double() @ head.mT).softmax(-1))
        return replace(self.posterior, head=sums.posterior(head, self.posterior.head.images, shrinkage=shrinkage))

    def lessons(self, settings: Settings, posterior: Posterior) -> tuple[TaughtLesson, ...]:
        return teach(settings, self.context, self.collected, self.features, posterior, self.trials).lessons

    def row(self, posterior: Posterior, **section: object) -> dict[str, object]:
        settings = told(self.settings, threshold=0.0, **section)
        spreads, priors, best, worst = [], [], [], []
        for trial in self.trials.trials:
            pool = [seen for seen in self.trials.pool if seen.label in (trial.target, trial.alternative)]
            question = Question(trial, pool, self.collected, self.features, posterior)
            probe = self.features.of([trial.probe])[0].double()
            noise = rng(0, "bench", trial.probe)
            found = best_of(learner_for(settings, posterior, trial), probe, _pool(question), noise)
            priors.append(found.lesson.prior if found.lesson is not None else float("nan"))
            best.append(float(found.log_odds[0].sigmoid()))
            worst.append(float(found.log_odds[-1].sigmoid()))
            spreads.append(float(found.log_odds.double().std()) if len(found.log_odds) > 1 else 0.0)
        taught = self.lessons(told(settings, search="exchange"), posterior)
        return {
            "prior": self.by_hit(priors),
            "worst lesson": self.by_hit(worst),
            "best lesson": self.by_hit(best),
            "taught by exchange, log odds": round(mean(row.taught for row in taught), 2),
            "spread over candidates, log odds": round(mean(spreads), 2),
            "refused, first_past": self.refused(settings, posterior, "first_past"),
            "refused, exchange": self.refused(settings, posterior, "exchange"),
        }

    def refused(self, settings: Settings, posterior: Posterior, search: str) -> float:
        kept = self.lessons(told(settings, search=search, threshold=0.8), posterior)
        return round(1 - len(kept) / len(self.trials.trials), 3)

    def by_hit(self, values: Sequence[float]) -> dict[str, float]:
        """Means over the classifier's errors, and over its hits."""
        hits = [trial.target == trial.category for trial in self.trials.trials]
        groups = {
            name: [v for v, hit in zip(values, hits, strict=True) if hit == wanted]
            for name, wanted in (("errors", False), ("hits", True))
        }
        return {name: round(mean(group), 3) for name, group in groups.items()}


def main() -> None:
    if len(sys.argv) not in {2, 3}:
        sys.exit(
            "Usage: python benchmarks/measure_learners.py STUDY [VIEWS]; bayesteach run has brought STUDY to its design."
        )
    torch.set_grad_enabled(False)
    folder, views = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 0
    study = Study(folder)
    rows: dict[str, object] = {
        "trials": len(study.trials.trials),
        "shrinkage by held-out log loss": study.posterior.head.shrinkage,
    }
    for name, section in LEARNERS.items():
        rows[name] = study.row(study.posterior, **section)
    for shrinkage in SHRINKAGES:
        rows[f"logistic, shrinkage {shrinkage:g}"] = study.row(study.shrunk(shrinkage), learner="logistic")
    for learner in ("logistic", "discriminant") if views else ():
        # The best lesson without views, taught again with them.
        again = told(study.settings, learner=learner, views=views, rescored=1, threshold=0.0)
        seen = study.lessons(again, study.posterior)
        rows[f"{learner}, {views} views, log odds taught"] = round(mean(row.taught for row in seen), 2)
    write(f"learners-{folder.name}", rows)


if __name__ == "__main__":
    main()
