"""fit: the posterior of the classifier's head, the discriminant learner, and how well the Bayesian head foresees labels."""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bayesteach.artifacts import Features, Judged, Posterior, Seen, Shards
from bayesteach.errors import Empty
from bayesteach.maths.curvature import CurvatureSums, HeadPosterior, choose_shrinkage
from bayesteach.maths.discriminant import ScatterSums, choose_discriminant
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, rng
from bayesteach.stages.refit import refitted

# Images whose logits are in memory at a time: 100 draws of 1000 classes take 0.2 GB.
_BLOCK = 256
_BINS = 15
# Training images whose sums are one unit of work, and of these in memory at a time.
_PART, _TOGETHER = 16384, 4096


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some training images: their features, wherever these are, and their labels."""

    features: Shards
    labels: Int[Tensor, " images"]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """All that is added up over training images."""

    curvature: CurvatureSums
    scatter: ScatterSums

    def __add__(self, other: "Sums") -> "Sums":
        """The sums over both sets of images."""
        return Sums(self.curvature + other.curvature, self.scatter + other.scatter)


def fit(settings: Settings, context: Context, collected: Collected, features: Features) -> Posterior:
    """The head's Laplace posterior from the training sources; shrinkage and temperature from one half of the held-out images."""
    wanted = settings.fit
    train = _some(features, wanted.train, "fit.train")
    copies = collected.copies_of
    inside = {seen.id for seen in train}
    # An image that the sums have seen, or a near-copy of it, is not held out.
    held_out = [
        seen
        for seen in _some(features, wanted.held_out, "fit.held_out")
        if seen.id not in inside and not copies.get(seen.id, frozenset()) & inside
    ]
    # Digests are as good as random, and the same whatever else is in the study.
    held_out.sort(key=lambda seen: seen.id)
    choosing, judging = held_out[::2], held_out[1::2]
    if not judging:
        raise Empty(
            "fit.held_out: fewer than two images are not in fit.train as well. Name a source of held-out images."
        )
    # In the order of the units that hold their features.
    parts = [_part(features, some) for some in _blocks(sorted(train, key=lambda seen: seen.id), _PART)]
    advance = context.watch("fitting", len(parts) + 3)
    head = context.classifier().head
    if wanted.refit:
        head = refitted(settings, context, collected, features, train)
    advance(1)

    total = context.crew.total(context, partial(summed, head), parts, advance)
    sums, scatter = total.curvature, total.scatter
    z, labels = features.of([seen.id for seen in choosing]), _labels(choosing)
    if wanted.shrinkage == "auto":
        shrinkage = choose_shrinkage(
            sums,
            head,
            z,
            labels,
            rng(settings.seed, "fit", "shrinkage"),
            n=wanted.images,
            prior_precision=wanted.prior_precision,
        ).shrinkage
    else:
        shrinkage = wanted.shrinkage
    posterior = sums.posterior(head, wanted.images, wanted.prior_precision, shrinkage)
    advance(1)
    chosen = choose_discriminant(scatter, z, labels, rng(settings.seed, "fit", "lessons"), dimensions=wanted.dimensions)
    judged = _judged(posterior, features.of([s.id for s in judging]), _labels(judging), settings, head)
    advance(1)
    return Posterior(posterior, chosen.learner, chosen.shrinkage, judged)


def summed(head: Float[Tensor, "classes cols"], _context: Context, part: Part) -> Sums:
    """A unit of work: the sums over some images, block by block."""
    sums, scatter = CurvatureSums(*head.shape), ScatterSums(*head.shape)
    for rows in torch.arange(len(part.labels)).split(_TOGETHER):
        z = part.features[rows.tolist()]
        sums.add(z, (z.double() @ head.double().mT).softmax(-1))
        scatter.add(z, part.labels[rows])
    return Sums(sums, scatter)


def _part(features: Features, some: list[Seen]) -> Part:
    return Part(features.features.only([features.places[seen.id] for seen in some]), _labels(some))


def _some(features: Features, sources: tuple[str, ...], name: str) -> list[Seen]:
    found = [seen for seen in features.seen if seen.source in sources]
    if not found:
        raise Empty(f"{name}: no images in {', '.join(sources) or 'no sources'}. Name sources of labelled images.")
    return found


def _labels(seen: list[Seen]) -> Int[Tensor, " images"]:
    return torch.tensor([one.label for one in seen])


def _blocks(seen: list[Seen], size: int) -> list[list[Seen]]:
    return [seen[start : start + size] for start in range(0, len(seen), size)]


def _judged(
    posterior: HeadPosterior,
    z: Float[Tensor, "images cols"],
    labels: Int[Tensor, " images"],
    settings: Settings,
    head: Tensor,
) -> tuple[Judged, ...]:
    """The deterministic head beside the Bayesian one: the same images, the same measures."""
    noise = rng(settings.seed, "fit", "draws")
    bayesian = torch.cat([posterior.at(part).probabilities(noise, settings.fit.draws) for part in z.split(_BLOCK)])
    plain = (z.double() @ head.double().mT).softmax(-1)
    return tuple(judge(name, p, labels) for name, p in (("deterministic", plain), ("Bayesian", bayesian)))


def judge(name: str, probabilities: Float[Tensor, "images classes"], labels: Int[Tensor, " images"]) -> Judged:
    """Accuracy, log loss, and expected calibration error in 15 bins of equal width."""
    top = probabilities.topk(min(5, probabilities.shape[1])).indices
    confidence, answer = probabilities.max(-1)
    hit = (answer == labels).double()
    bins = (confidence * _BINS).long().clamp_max(_BINS - 1)
    gaps = torch.zeros(_BINS, dtype=torch.float64).index_add_(0, bins, hit - confidence.double())
    own = probabilities.gather(1, labels[:, None])[:, 0]
    return Judged(
        head=name,
        images=len(labels),
        top1=float(hit.mean()),
        top5=float((top == labels[:, None]).any(1).double().mean()),
        log_loss=float(-own.double().clamp_min(1e-300).log().mean()),
        calibration_error=float(gaps.abs().sum() / len(labels)),
    )
