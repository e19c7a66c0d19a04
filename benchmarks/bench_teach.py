"""Design and teach for 90 trials over pools of 1,300 images a class with 2,049 features: what a study of ImageNet asks for.

Features are synthetic, as many as 60 classes of ImageNet have. The peer is the same search as one would write it first: each
exchange of one example scored by a learner that is given the features of every lesson anew.
"""

from functools import partial

import torch

from bayesteach import Pool
from bayesteach.artifacts import Features, Posterior, Seen, Shards, Trials
from bayesteach.maths.curvature import CurvatureSums
from bayesteach.maths.discriminant import ScatterSums
from bayesteach.settings import Settings, validated
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context
from bayesteach.stages.design import from_predictions
from bayesteach.stages.teach import learner_for, teach
from bayesteach.vision.images import Entry, ImageSet
from report import once, write

CLASSES, EACH, COLS, CATEGORIES = 60, 1300, 2049, 30
LABELS = tuple(map(str, range(CLASSES)))
SOURCES = {"train": EACH, "val": 50, "adversarial": 40}


def rows(rng: torch.Generator) -> list[Seen]:
    found = []
    for source, each in SOURCES.items():
        for label in range(CLASSES):
            right = torch.rand(each, generator=rng) < (0.0 if source == "adversarial" else 0.75)
            off = torch.randint(1, 4, (each,), generator=rng)
            answers = torch.where(right, label, (label + off) % CLASSES)
            confidence = torch.rand(each, generator=rng) / 2 + 0.5
            for number in range(each):
                identity = f"{source}-{label:02}-{number:05}"
                found.append(Seen(identity, source, label, int(answers[number]), float(confidence[number])))
    return found


def study() -> tuple[list[Seen], Features, Posterior]:
    """Predictions, features and a posterior of the size of a study on ImageNet."""
    rng = torch.Generator().manual_seed(0)
    seen = rows(rng)
    labels = torch.tensor([one.label for one in seen])
    centres = 0.35 * torch.randn(CLASSES, COLS - 1, generator=rng)
    z = torch.randn(len(seen), COLS - 1, generator=rng).add_(centres[labels]).relu_()
    z = torch.nn.functional.pad(z, (0, 1), value=1.0)
    head = 0.02 * torch.randn(CLASSES, COLS, generator=rng)
    sums, scatter = CurvatureSums(CLASSES, COLS), ScatterSums(CLASSES, COLS)
    train = CLASSES * EACH
    for block, classes in zip(z[:train].split(4096), labels[:train].split(4096), strict=True):
        sums.add(block, (block @ head.mT).softmax(1))
        scatter.add(block, classes)
    return (
        seen,
        Features(tuple(seen), Shards.of(z), ()),
        Posterior(sums.posterior(head, shrinkage=0.1), scatter.learner(), 0.5, ()),
    )


def told(learner: str) -> Settings:
    design = {"categories": CATEGORIES, "adversarial": ["adversarial"]}
    return validated({"design": design, "teach": {"learner": learner, "threshold": 0}}, "bench")


def one_by_one(settings: Settings, features: Features, posterior: Posterior, trials: Trials, lessons: int) -> None:
    """So many lessons of one trial, each with its learner and its images anew."""
    trial = trials.trials[0]
    ids = [[row.id for row in trials.pool if row.label == label][:2] for label in (trial.target, trial.alternative)]
    targets, alternatives = (features.of(some).double() for some in ids)
    for _ in range(lessons):
        learner = learner_for(settings, posterior, trial)
        probe = features.of([trial.probe])[0].double()
        learner.facing(probe, Pool.of(targets, alternatives)).predict(torch.arange(4)[None])


def main() -> None:
    seen, features, posterior = study()
    collected = Collected(ImageSet(tuple(Entry(one.id, one.id, one.label, one.source) for one in seen)), ())
    context = Context(lambda: None, lambda: None)  # type: ignore[arg-type, return-value]  # no photo is looked at
    designing = once(lambda: from_predictions(told("discriminant"), seen, LABELS))
    trials = from_predictions(told("discriminant"), seen, LABELS)
    # What an exchange looks at for one trial: its candidates, and four restarts of about three rounds over both pools.
    looked_at = 200 + 4 * 3 * 2 * EACH
    results: dict[str, object] = {"trials": len(trials.trials), "images a class": EACH, "features": COLS}
    for learner in ("discriminant", "logistic"):
        settings = told(learner)
        teaching = once(partial(teach, settings, context, collected, features, posterior, trials))
        single = once(partial(one_by_one, settings, features, posterior, trials, 50)) / 50
        results |= {
            f"{learner}: seconds of design and teach": round(designing + teaching, 1),
            f"{learner}: lessons one by one, over teach": round(single * looked_at * len(trials.trials) / teaching, 1),
        }
    results["extrapolated"] = f"one by one from 50 lessons to {looked_at} for each trial"
    write("teach", results)


if __name__ == "__main__":
    main()
