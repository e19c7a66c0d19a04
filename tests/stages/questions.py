"""Trials over synthetic features: classes are clouds, probes lie between the clouds of their two options."""

from dataclasses import dataclass

import torch

from bayesteach import CurvatureSums, ScatterSums, refit_head
from bayesteach.artifacts import Features, Posterior, Seen, Shards, Trial, Trials
from bayesteach.stages.collect import Collected
from bayesteach.vision.images import Entry, ImageSet


@dataclass(frozen=True)
class World:
    collected: Collected
    features: Features
    posterior: Posterior
    trials: Trials


def world(
    *, classes: int = 4, each: int = 30, cols: int = 6, trials: int = 6, seed: int = 0, fitted: bool = True
) -> World:
    """`each` images a class; half of the probes lie nearer to the alternative."""
    rng = torch.Generator().manual_seed(seed)
    centres = 1.2 * torch.randn(classes, cols, generator=rng)
    labels = torch.arange(classes).repeat_interleave(each)
    images = centres[labels] + torch.randn(len(labels), cols, generator=rng)
    rows = [Seen(f"pool-{i:05}", "train", int(label), int(label), 0.9) for i, label in enumerate(labels)]
    made, probes = [], []
    for number in range(trials):
        target, alternative = (number % classes), ((number + 1) % classes)
        share = 0.6 if number % 2 else 0.4
        between = share * centres[target] + (1 - share) * centres[alternative]
        probes.append(between + 0.3 * torch.randn(cols, generator=rng))
        identity = f"probe-{number:03}"
        rows.append(Seen(identity, "val", alternative, target, 0.7))
        made.append(
            Trial(f"t{number}", "trial", "standard_incorrect", alternative, target, alternative, identity, "val", 0.7)
        )
    z = torch.nn.functional.pad(torch.cat([images, torch.stack(probes)]), (0, 1), value=1.0)
    train = z[: len(labels)]
    head = (
        refit_head(train, labels, torch.zeros(classes, cols + 1), weight_decay=1e-2).head
        if fitted
        else torch.zeros(classes, cols + 1)
    )
    sums = CurvatureSums(classes, cols + 1).add(train, (train @ head.float().mT).softmax(1))
    scatter = ScatterSums(classes, cols + 1).add(train, labels)
    posterior = Posterior(sums.posterior(head.float(), shrinkage=0.1), scatter.learner(dimensions=cols), 0.5, ())
    entries = tuple(Entry(row.id, f"{row.id}.png", row.label, row.source) for row in rows)
    pool = tuple(row for row in rows if row.source == "train")
    return World(
        Collected(ImageSet(entries), ()),
        Features(tuple(rows), Shards.of(z), ()),
        posterior,
        Trials(tuple(made), pool, (), ()),
    )
