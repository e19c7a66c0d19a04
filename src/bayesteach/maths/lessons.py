"""Searching lessons: which examples would teach the classifier's answer?

A lesson is `each` images of the target and `each` of the alternative, from one pool. By Bayes' rule the teacher draws it with
probability P_teacher(D) ∝ P_learner(target | probe, D), over all lessons of the pool alike.

Every search refuses a pool that holds the probe: by `probe_id`, its content digest, and by features that are the probe's.
"""

from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from bayesteach.errors import BadPool, NotConverged
from bayesteach.maths import checks
from bayesteach.maths.teaching import Pool, Pupil, Teachable

# Up to so many lessons, exchange looks at them all: 21 images a class, two each.
EXHAUSTIVE = 50_000
# Log odds nearer than this are equal: less is float32's rounding, and would let an exchange walk in circles.
LEAST_GAIN = 1e-6
# How many lessons the teacher looks at before it asks whether it has enough.
BLOCK = 1000


@dataclass(frozen=True, slots=True)
class Lesson:
    """The examples chosen for a probe, what they teach, and where they stand among the candidates.

    members      the examples' places in the pool, those of the target first
    probability  P(target | probe, lesson), and `prior` the same before the lesson
    taught       the difference of the two in log odds
    rank         1 + how many candidates teach more
    candidates   how many lessons it was compared with, those that settled
    """

    members: tuple[int, ...]
    ids: tuple[str, ...]
    probability: float
    prior: float
    taught: float
    rank: int
    candidates: int


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What a search came to: the lesson, if there is one, and what each candidate that settled teaches, best first."""

    lesson: Lesson | None
    log_odds: Float[Tensor, " settled"]
    members: Int[Tensor, "settled examples"]
    candidates: int

    @property
    def best_probability(self) -> float:
        """The most that any candidate taught: why there is no lesson, when there is none."""
        return float(self.log_odds[0].sigmoid())


def first_past(
    learner: Teachable,
    probe: Float[Tensor, " cols"],
    pool: Pool,
    rng: Generator,
    *,
    threshold: float = 0.8,
    candidates: int = 200,
    each: int = 2,
    probe_id: str | None = None,
) -> Search:
    """The first of some random lessons after which P(target) exceeds the threshold: the paper's search, with its numbers."""
    checks.share("threshold", threshold)
    tried = _Candidates.draw(_faced(learner, probe, pool, each, probe_id), pool, rng, candidates, each)
    past = (tried.log_odds.sigmoid() > threshold) & tried.settled
    return tried.search(int(past.nonzero()[0, 0]) if bool(past.any()) else None)


def best_of(
    learner: Teachable,
    probe: Float[Tensor, " cols"],
    pool: Pool,
    rng: Generator,
    *,
    candidates: int = 200,
    each: int = 2,
    probe_id: str | None = None,
) -> Search:
    """The random lesson that teaches most."""
    tried = _Candidates.draw(_faced(learner, probe, pool, each, probe_id), pool, rng, candidates, each)
    return tried.search(tried.best)


def exchange(
    learner: Teachable,
    probe: Float[Tensor, " cols"],
    pool: Pool,
    rng: Generator,
    *,
    restarts: int = 4,
    candidates: int = 200,
    each: int = 2,
    probe_id: str | None = None,
) -> Search:
    """The lesson that no exchange of one example improves, from the best few of some random lessons.

    Each place of a lesson in turn takes the image of the whole pool that teaches most, until a round changes nothing. Never
    worse than the best candidate. Where all lessons of the pool can be looked at, they are.
    """
    checks.some("restarts", restarts)
    tried = _Candidates.draw(_faced(learner, probe, pool, each, probe_id), pool, rng, candidates, each)
    if _lessons_of(pool, each) <= EXHAUSTIVE:
        everything = _Candidates.of(tried.pupil, pool, _all_lessons(pool, each))
        return tried.search_with(everything.members[everything.best], everything.best_log_odds)
    starts = tried.ranking[:restarts]
    found = [_exchanged(tried.pupil, pool, tried.members[i], tried.chosen_log_odds(int(i))) for i in starts]
    return tried.search_with(*max(found, key=lambda lesson: lesson[1]))


def from_teacher(
    learner: Teachable,
    probe: Float[Tensor, " cols"],
    pool: Pool,
    rng: Generator,
    *,
    lessons: int = 1,
    each: int = 2,
    max_candidates: int = 1_000_000,
    probe_id: str | None = None,
) -> list[Search]:
    """Independent draws from P_teacher itself, by rejection: a random lesson is kept with probability P_learner.

    Lessons are looked at a thousand at a time, and each draw ranks among the thousand it was in.
    """
    checks.some("lessons", lessons)
    checks.some("max_candidates", max_candidates)
    pupil = _faced(learner, probe, pool, each, probe_id)
    drawn: list[Search] = []
    for looked_at in range(0, max_candidates, BLOCK):
        tried = _Candidates.draw(pupil, pool, rng, min(BLOCK, max_candidates - looked_at), each)
        chance = torch.rand(len(tried.members), generator=rng, dtype=torch.float64)
        kept = (chance < tried.log_odds.double().sigmoid()) & tried.settled
        drawn += [tried.search(int(i)) for i in kept.nonzero()[: lessons - len(drawn), 0]]
        if len(drawn) == lessons:
            return drawn
    raise NotConverged(
        f"from_teacher: {len(drawn)} of {lessons} lessons after {max_candidates} candidates; the learner hardly ever gives the "
        "target. Use best_of or exchange, or raise max_candidates; the lessons so far are in .partial.",
        partial=drawn,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Some lessons of a pool, taught."""

    pupil: Pupil
    pool: Pool
    members: Int[Tensor, "lessons examples"]
    log_odds: Float[Tensor, " lessons"]
    prior_log_odds: Float[Tensor, ""]
    settled: Bool[Tensor, " lessons"]

    @classmethod
    def draw(cls, pupil: Pupil, pool: Pool, rng: Generator, candidates: int, each: int) -> "_Candidates":
        checks.some("candidates", candidates)
        return cls.of(pupil, pool, random_lessons(pool, rng, candidates, each))

    @classmethod
    def of(cls, pupil: Pupil, pool: Pool, members: Tensor) -> "_Candidates":
        taught = pupil.predict(members)
        return cls(pupil, pool, members, taught.log_odds, taught.prior_log_odds, taught.settled)

    @property
    def ranking(self) -> Int[Tensor, " lessons"]:
        """The settled candidates, best first; among equals the earlier."""
        order = self.log_odds.argsort(descending=True, stable=True)
        order = order[self.settled[order]]
        if not len(order):
            raise NotConverged(
                f"lessons: none of {len(self.members)} candidates settled. The learner's prior is too vague for these features: "
                "shrink the posterior (choose_shrinkage), or raise prior_strength."
            )
        return order

    @property
    def best(self) -> int:
        return int(self.ranking[0])

    @property
    def best_log_odds(self) -> float:
        return self.chosen_log_odds(self.best)

    def chosen_log_odds(self, chosen: int) -> float:
        return float(self.log_odds[chosen])

    def search(self, chosen: int | None) -> Search:
        if chosen is None:
            best = self.ranking
            return Search(None, self.log_odds[best], self.members[best], len(self.members))
        return self.search_with(self.members[chosen], self.chosen_log_odds(chosen))

    def search_with(self, members: Tensor, log_odds: float) -> Search:
        """A search that ends with this lesson, whether or not it is one of the candidates."""
        places = tuple(int(i) for i in members)
        best = self.ranking
        settled = self.log_odds[best]
        lesson = Lesson(
            members=places,
            ids=tuple(self.pool.ids[i] for i in places),
            probability=float(torch.tensor(log_odds, dtype=torch.float64).sigmoid()),
            prior=float(self.prior_log_odds.double().sigmoid()),
            taught=log_odds - float(self.prior_log_odds),
            rank=1 + int((settled > log_odds + LEAST_GAIN).sum()),
            candidates=len(settled),
        )
        return Search(lesson, settled, self.members[best], len(self.members))


def _faced(learner: Teachable, probe: Tensor, pool: Pool, each: int, probe_id: str | None) -> Pupil:
    """The learner before probe and pool, once the pool is known to be fit for lessons."""
    checks.some("each", each)
    for label, of_label in (("target", pool.is_target), ("alternative", ~pool.is_target)):
        count = int(of_label.sum())
        if count < each:
            raise BadPool(
                f"pool: found {count} image{'s' * (count != 1)} of the {label}, a lesson needs {each}. "
                "Add images of that class, or drop the trial."
            )
    pupil = learner.facing(probe, pool)
    same = (pool.features == probe).all(-1).any(-1)
    held = next((i for i, alike in zip(pool.ids, same.tolist(), strict=True) if alike or i == probe_id), None)
    if held is not None:
        raise BadPool(
            f"pool: image {held} is the probe itself, and would tell its answer. Leave it out with pool.without({held!r})."
        )
    return pupil


def _images(pool: Pool) -> tuple[Tensor, Tensor]:
    return pool.is_target.nonzero()[:, 0], (~pool.is_target).nonzero()[:, 0]


def random_lessons(pool: Pool, rng: Generator, count: int, each: int) -> Int[Tensor, "lessons examples"]:
    """Lessons drawn alike from all of the pool; no image twice in one lesson."""
    return torch.cat(
        [images[_distinct(len(images), each, count, rng)] for images in _images(pool)],
        dim=1,
    )


def _distinct(size: int, each: int, count: int, rng: Generator) -> Int[Tensor, "count each"]:
    """Rows of `each` different numbers below `size` (Floyd's sampling, all rows at once)."""
    chosen = torch.empty(count, 0, dtype=torch.long)
    for top in range(size - each, size):
        pick = torch.randint(top + 1, (count, 1), generator=rng)
        taken = (chosen == pick).any(1, keepdim=True)
        chosen = torch.cat([chosen, torch.where(taken, torch.full_like(pick, top), pick)], 1)
    return chosen


def _lessons_of(pool: Pool, each: int) -> int:
    targets, alternatives = _images(pool)
    return comb(len(targets), each) * comb(len(alternatives), each)


def _all_lessons(pool: Pool, each: int) -> Int[Tensor, "lessons examples"]:
    sides = [list(combinations(images.tolist(), each)) for images in _images(pool)]
    return torch.tensor([t + a for t, a in product(*sides)])


def _exchanged(pupil: Pupil, pool: Pool, members: Tensor, log_odds: float) -> tuple[Tensor, float]:
    """Coordinate exchange until no place of the lesson has a better image."""
    images = _images(pool)
    each = len(members) // 2
    unchanged, place = 0, 0
    while unchanged < len(members):
        side = images[place // each]
        free = side[~torch.isin(side, members)]
        unchanged += 1
        if len(free):
            trial = members.repeat(len(free), 1)
            trial[:, place] = free
            scored = _Candidates.of(pupil, pool, trial)
            if bool(scored.settled.any()) and scored.best_log_odds > log_odds + LEAST_GAIN:
                members, log_odds, unchanged = trial[scored.best], scored.best_log_odds, 1
        place = (place + 1) % len(members)
    return members, log_odds
