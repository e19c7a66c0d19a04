"""What a learner is given, and what it answers: pools, lessons, predictions, and the protocol that all learners keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bayesteach.errors import BadPool, BadShape, NotConverged
from bayesteach.maths import checks


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The images that lessons may be made of, each under one of the two labels, each seen in one or more views."""

    features: Float[Tensor, "images views cols"]
    is_target: Bool[Tensor, " images"]
    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        checks.sizes("pool", self.features, "images", "views", "cols")
        checks.floating("pool", self.features)
        checks.finite("pool", self.features)
        checks.some("views of each image in the pool", self.features.shape[1])
        checks.sizes("is_target", self.is_target, len(self.features))
        if len(self.ids) != len(self.features):
            raise BadShape(f"pool: found {len(self.ids)} ids for {len(self.features)} images, expected one each.")
        if len(set(self.ids)) < len(self.ids):
            held = next(i for n, i in enumerate(self.ids) if i in self.ids[:n])
            raise BadPool(f"pool: image {held} is in it twice. Leave one out; an image can stand under one label only.")

    @classmethod
    def of(
        cls,
        targets: Float[Tensor, "..."],
        alternatives: Float[Tensor, "..."],
        target_ids: Sequence[str] | None = None,
        alternative_ids: Sequence[str] | None = None,
    ) -> "Pool":
        """A pool from the features of target and alternative images, (images, cols) or (images, views, cols).

        Ids are content digests of the photos; without them, digests of the features serve. Of copies under one label the first
        is kept.
        """
        targets, alternatives = _with_views("targets", targets), _with_views("alternatives", alternatives)
        checks.sizes("alternatives", alternatives, "images", *targets.shape[1:])
        sides = [_distinct(*side) for side in ((targets, target_ids), (alternatives, alternative_ids))]
        features = torch.cat([images for images, _ in sides])
        ids = tuple(identity for _, names in sides for identity in names)
        return cls(features, torch.arange(len(features)) < len(sides[0][1]), ids)

    def without(self, *ids: str) -> "Pool":
        """The pool less the images with these ids: a probe is never its own example."""
        keep = [i for i, identity in enumerate(self.ids) if identity not in ids]
        return type(self)(self.features[keep], self.is_target[keep], tuple(self.ids[i] for i in keep))


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """Some lessons from one pool: each row of `members` indexes the images of a lesson."""

    pool: Pool
    members: Int[Tensor, "lessons examples"]

    def __post_init__(self) -> None:
        places(self.members, len(self.pool.features))


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What a learner answers to a probe after each lesson, and before any: log odds of target against alternative."""

    log_odds: Float[Tensor, " lessons"]
    prior_log_odds: Float[Tensor, ""]
    settled: Bool[Tensor, " lessons"]

    @property
    def probability(self) -> Float[Tensor, " lessons"]:
        """P(target | probe, lesson)."""
        return self.log_odds.sigmoid()

    @property
    def prior(self) -> Float[Tensor, ""]:
        """P(target | probe), before any lesson."""
        return self.prior_log_odds.sigmoid()

    @property
    def taught(self) -> Float[Tensor, " lessons"]:
        """What each lesson taught, in log odds."""
        return self.log_odds - self.prior_log_odds


@runtime_checkable
class Pupil(Protocol):
    """A learner that faces one probe and one pool, ready to be taught any lesson of that pool."""

    def predict(self, members: Int[Tensor, "lessons examples"]) -> Prediction:
        """Thousands of lessons in one call. Lessons that did not settle are marked, and their log odds are finite."""
        ...


@runtime_checkable
class Teachable(Protocol):
    """A learner: whoever can be taught lessons and asked about a probe."""

    def facing(self, probe: Float[Tensor, " cols"], pool: Pool) -> Pupil:
        """All that depends on probe and pool but not on the lesson, done once."""
        ...

    def predict(self, probe: Float[Tensor, " cols"], lessons: Lessons) -> Prediction:
        """The answers to a probe after each lesson; raises `NotConverged`, with the answers, if some did not settle."""
        ...


def places(members: Tensor, images: int) -> Int[Tensor, "lessons examples"]:
    """Lessons whose examples are places in a pool of so many images; as long, because torch takes a uint8 index for a mask."""
    checks.sizes("members", members, "lessons", "examples")
    checks.some("examples in a lesson", members.shape[1])
    checks.indices("members", members, images)
    return members.long()


def settled_or_raise(prediction: Prediction) -> Prediction:
    """The prediction, unless lessons in it did not settle: they are named, and the others come with the error."""
    if bool(prediction.settled.all()):
        return prediction
    lost = [int(i) for i in (~prediction.settled).nonzero()[:, 0]]
    named = ", ".join(str(i) for i in lost[:10]) + (", …" if len(lost) > 10 else "")
    raise NotConverged(
        f"learner: {len(lost)} of {len(prediction.settled)} lessons did not settle (lessons {named}). "
        "The other answers are in .partial, where .settled tells which; leave those lessons out.",
        partial=prediction,
    )


def _with_views(name: str, features: Tensor) -> Tensor:
    features = features[:, None] if features.ndim == 2 else features
    checks.sizes(name, features, "images", "views", "cols")
    checks.floating(name, features)
    return features


def _distinct(features: Tensor, ids: Sequence[str] | None) -> tuple[Tensor, list[str]]:
    """The images of one label without their copies."""
    names = _digests(features) if ids is None else list(ids)
    if len(names) != len(features):
        raise BadShape(f"pool: found {len(names)} ids for {len(features)} images, expected one each.")
    first = {identity: place for place, identity in reversed(list(enumerate(names)))}
    keep = sorted(first.values())
    return features[keep], [names[i] for i in keep]


def _digests(features: Tensor) -> list[str]:
    return [sha256(image.detach().double().cpu().contiguous().numpy().tobytes()).hexdigest() for image in features]
