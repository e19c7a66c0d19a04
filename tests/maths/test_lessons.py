"""The searches against exhaustive search, and draws from the teacher against its distribution."""

from dataclasses import dataclass
from itertools import combinations, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bayesteach import (
    DiscriminantLearner,
    Learner,
    NotConverged,
    Pool,
    Prediction,
    Teachable,
    best_of,
    exchange,
    first_past,
    from_teacher,
)
from bayesteach.errors import BadPool
from bayesteach.maths import lessons as module
from bayesteach.maths.lessons import random_lessons
from tests.oracles import doubles

COLS = 4


def learner(rng: torch.Generator) -> Learner:
    return Learner(0.3 * doubles(COLS, rng=rng), torch.eye(COLS, dtype=torch.float64))


def pool(rng: torch.Generator, targets: int = 5, alternatives: int = 4) -> Pool:
    return Pool.of(doubles(targets, COLS, rng=rng) + 0.5, doubles(alternatives, COLS, rng=rng) - 0.5)


def everything(images: Pool) -> torch.Tensor:
    targets, alternatives = (label.nonzero()[:, 0].tolist() for label in (images.is_target, ~images.is_target))
    return torch.tensor([t + a for t, a in product(combinations(targets, 2), combinations(alternatives, 2))])


def fits(images: Pool, members: tuple[int, ...]) -> bool:
    return images.is_target[list(members)].tolist() == [True, True, False, False] and len(set(members)) == 4


@given(st.integers(0, 999))
def test_exchange_is_exhaustive_search_on_small_pools(seed):
    rng = torch.Generator().manual_seed(seed)
    who, images, probe = learner(rng), pool(rng), doubles(COLS, rng=rng)
    found = exchange(who, probe, images, rng).lesson
    best = who.facing(probe, images).predict(everything(images)).log_odds.max()
    assert found.taught + float(torch.tensor(found.prior).logit()) == pytest.approx(float(best), abs=1e-6)
    assert found.rank == 1


def test_exchange_on_larger_pools_is_no_worse_than_its_candidates_and_locally_best(rng, monkeypatch):
    monkeypatch.setattr(module, "EXHAUSTIVE", 0)
    who, images, probe = learner(rng), pool(rng, 12, 10), doubles(COLS, rng=rng)
    search = exchange(who, probe, images, rng, candidates=20)
    pupil = who.facing(probe, images)
    reached = pupil.predict(torch.tensor([search.lesson.members])).log_odds[0]
    assert reached >= search.log_odds.max()
    for place in range(4):
        for other in range(22):
            members = list(search.lesson.members)
            members[place] = other
            if fits(images, tuple(members)):
                assert pupil.predict(torch.tensor([members])).log_odds[0] <= reached + 1e-8
    # It moved: none of the twenty candidates was that good.
    assert search.lesson.probability > search.log_odds.max().sigmoid()


def test_exchange_usually_finds_the_best_lesson_of_a_larger_pool(monkeypatch):
    monkeypatch.setattr(module, "EXHAUSTIVE", 0)
    hits = 0
    for seed in range(20):
        rng = torch.Generator().manual_seed(seed)
        who, images, probe = learner(rng), pool(rng, 8, 8), doubles(COLS, rng=rng)
        best = who.facing(probe, images).predict(everything(images)).probability.max()
        hits += exchange(who, probe, images, rng).lesson.probability > float(best) - 1e-9
    assert hits >= 18


def test_best_of_is_the_best_of_its_candidates(rng):
    who, images, probe = learner(rng), pool(rng, 20, 20), doubles(COLS, rng=rng)
    search = best_of(who, probe, images, rng, candidates=50)
    assert len(search.log_odds) == search.lesson.candidates == 50
    assert search.lesson.rank == 1
    assert search.lesson.probability == pytest.approx(search.best_probability)
    again = who.facing(probe, images).predict(torch.tensor([search.lesson.members]))
    assert float(again.taught) == pytest.approx(search.lesson.taught)
    assert float(again.prior) == pytest.approx(search.lesson.prior)
    assert search.lesson.ids == tuple(images.ids[i] for i in search.lesson.members)
    assert fits(images, search.lesson.members)


def test_first_past_takes_the_first_and_not_the_best(rng):
    who, images, probe = learner(rng), pool(rng, 20, 20), doubles(COLS, rng=rng)
    drawn = random_lessons(images, torch.Generator().manual_seed(7), 200, 2)
    answers = who.facing(probe, images).predict(drawn).log_odds.sigmoid()
    middle = float(answers.median())
    search = first_past(who, probe, images, torch.Generator().manual_seed(7), threshold=middle)
    first = int((answers > middle).nonzero()[0, 0])
    assert search.lesson.members == tuple(drawn[first].tolist())
    assert search.lesson.rank == 1 + int((answers > answers[first]).sum())
    assert search.lesson.rank > 1


def test_a_search_lists_its_candidates_best_first(rng):
    who, images, probe = learner(rng), pool(rng, 20, 20), doubles(COLS, rng=rng)
    search = best_of(who, probe, images, rng)
    assert torch.equal(search.log_odds, search.log_odds.sort(descending=True).values)
    torch.testing.assert_close(who.facing(probe, images).predict(search.members).log_odds, search.log_odds)
    assert search.lesson.members == tuple(search.members[0].tolist())


def test_no_lesson_past_the_threshold_is_said_with_the_best_there_was(rng):
    search = first_past(learner(rng), doubles(COLS, rng=rng), pool(rng), rng, threshold=1.0)
    assert search.lesson is None
    assert 0 < search.best_probability < 1
    assert len(search.log_odds) == 200


def test_the_teacher_draws_in_proportion_to_what_the_learner_answers(rng):
    who, images, probe = learner(rng), pool(rng, 3, 3), doubles(COLS, rng=rng)
    lessons = everything(images)
    expected = who.facing(probe, images).predict(lessons).probability
    expected = expected / expected.sum()
    draws = from_teacher(who, probe, images, rng, lessons=9000)
    places = {tuple(m): i for i, m in enumerate(lessons.tolist())}
    counts = torch.zeros(9)
    for draw in draws:
        target, alternative = draw.lesson.members[:2], draw.lesson.members[2:]
        counts[places[*sorted(target), *sorted(alternative)]] += 1
    error = (expected * (1 - expected) * 9000).sqrt()
    assert ((counts - 9000 * expected).abs() < 4 * error).all()
    assert expected.max() > 1.2 * expected.min()


def test_a_teacher_that_finds_nothing_says_so_and_returns_what_it_has(rng):
    stubborn = Learner(-80 * torch.ones(COLS).double(), 1e-3 * torch.eye(COLS).double())
    with pytest.raises(NotConverged, match="0 of 1 lessons after 1000 candidates"):
        from_teacher(stubborn, torch.ones(COLS).double(), pool(rng), rng, max_candidates=1000)


@given(st.integers(2, 9), st.integers(1, 4), st.integers(0, 99))
def test_random_lessons_are_distinct_and_even(size, each, seed):
    each = min(each, size)
    rows = module._distinct(size, each, 400, torch.Generator().manual_seed(seed))
    assert all(len(set(row)) == each for row in rows.tolist())
    counts = torch.bincount(rows.flatten(), minlength=size).double()
    expected = 400 * each / size
    assert ((counts - expected).abs() <= 5 * expected**0.5).all()


@pytest.mark.parametrize(
    ("targets", "alternatives", "label"), [(1, 5, "target"), (5, 1, "alternative"), (0, 0, "target")]
)
def test_pools_that_are_too_small_are_refused(targets, alternatives, label, rng):
    for search in (first_past, best_of, exchange, from_teacher):
        with pytest.raises(BadPool, match=f"images? of the {label}, a lesson needs 2"):
            search(learner(rng), doubles(COLS, rng=rng), pool(rng, targets, alternatives), rng)


def test_a_pool_that_holds_the_probe_is_refused_until_it_is_left_out(rng):
    images = pool(rng)
    probe = images.features[2, 0]
    with pytest.raises(BadPool, match=images.ids[2]):
        best_of(learner(rng), probe, images, rng)
    smaller = images.without(images.ids[2])
    assert len(smaller.features) == 8
    assert smaller.is_target.sum() == 4
    assert best_of(learner(rng), probe, smaller, rng).lesson is not None


def test_ids_are_digests_of_content_unless_given(rng):
    one, other = doubles(3, COLS, rng=rng), doubles(2, COLS, rng=rng)
    images, again = Pool.of(one, other), Pool.of(one.clone(), other.float().double())
    assert images.ids[:3] == again.ids[:3]
    assert set(images.ids).isdisjoint(again.ids[3:])
    assert Pool.of(one, other, list("abc"), list("de")).ids == tuple("abcde")


def test_copies_under_one_label_count_once_and_under_both_are_refused(rng):
    one, other = doubles(3, COLS, rng=rng), doubles(2, COLS, rng=rng)
    images = Pool.of(one, other, ["a", "b", "a"], ["c", "d"])
    assert images.ids == ("a", "b", "c", "d")
    torch.testing.assert_close(images.features[:2, 0], one[:2])
    assert images.is_target.tolist() == [True, True, False, False]
    with pytest.raises(BadPool, match="image b is in it twice"):
        Pool.of(one, other, ["a", "b", "c"], ["b", "d"])
    with pytest.raises(BadPool, match="found 1 image of the target"):
        best_of(learner(rng), doubles(COLS, rng=rng), Pool.of(one, other, ["a"] * 3, ["c", "d"]), rng)


def test_a_probe_is_known_by_its_id_too(rng):
    images = Pool.of(doubles(3, COLS, rng=rng), doubles(3, COLS, rng=rng), ["img1", "img10", "b"], ["c", "d", "e"])
    probe = images.features[0, 0] + 1e-7
    for search in (first_past, best_of, exchange, from_teacher):
        with pytest.raises(BadPool, match="image img1 is the probe itself"):
            search(learner(rng), probe, images, rng, probe_id="img1")
    assert images.without("img1").ids == ("img10", "b", "c", "d", "e")
    assert best_of(learner(rng), probe, images.without("img1"), rng, probe_id="img1").lesson is not None


@dataclass(frozen=True)
class Fickle:
    """A learner that does not settle on lessons whose first example is even, and says 0.95 to them, its prior."""

    def facing(self, probe: torch.Tensor, pool: Pool) -> "Fickle":
        return self

    def predict(self, members: torch.Tensor) -> Prediction:
        settled = members[:, 0] % 2 == 1
        log_odds = torch.where(settled, -2 - members.sum(1) / 100, 3.0)
        return Prediction(log_odds, torch.tensor(3.0), settled)


def test_lessons_that_did_not_settle_are_never_chosen_nor_counted(rng, monkeypatch):
    images, probe = pool(rng, 6, 6), doubles(COLS, rng=rng)
    for limit in (0, 50_000):
        monkeypatch.setattr(module, "EXHAUSTIVE", limit)
        found = [search(Fickle(), probe, images, rng) for search in (best_of, exchange)]
        found.append(first_past(Fickle(), probe, images, rng, threshold=0.01))
        found += from_teacher(Fickle(), probe, images, rng, lessons=5)
        for search in found:
            assert search.lesson.members[0] % 2 == 1
            assert search.lesson.probability < 0.2
            assert search.best_probability < 0.2
            assert search.lesson.candidates == len(search.log_odds) < search.candidates
        assert found[0].lesson.rank == 1
    none = first_past(Fickle(), probe, images, rng, threshold=0.9)
    assert none.lesson is None


def test_when_nothing_settles_it_is_said_with_what_to_do(rng):
    odd = Pool.of(doubles(4, COLS, rng=rng), doubles(4, COLS, rng=rng))

    class Never(Fickle):
        def predict(self, members):
            return Prediction(torch.zeros(len(members)), torch.tensor(0.0), torch.zeros(len(members), dtype=torch.bool))

    with pytest.raises(NotConverged, match="none of 200 candidates settled.*choose_shrinkage"):
        best_of(Never(), doubles(COLS, rng=rng), odd, rng)


def test_more_restarts_look_further(monkeypatch):
    monkeypatch.setattr(module, "EXHAUSTIVE", 0)
    for seed in range(40):
        images = pool(torch.Generator().manual_seed(seed), 9, 9)
        who = learner(torch.Generator().manual_seed(seed))
        probe = doubles(COLS, rng=torch.Generator().manual_seed(-seed))
        one, eight = (
            exchange(who, probe, images, torch.Generator().manual_seed(0), restarts=n, candidates=8).lesson.probability
            for n in (1, 8)
        )
        assert eight >= one - 1e-6
        if eight > one + 1e-6:
            return
    pytest.fail("eight restarts never found more than one")


def test_any_learner_can_be_taught_by_any_search(rng):
    discriminant = DiscriminantLearner(
        torch.zeros(COLS).double(), torch.eye(COLS).double(), torch.tensor([3.0, 2.0, 1.0, 0.5]).double()
    )
    for who in (learner(rng), discriminant):
        assert isinstance(who, Teachable)
        probe, images = doubles(COLS, rng=rng) + 0.5, pool(rng, 12, 12)
        found = [search(who, probe, images, rng).lesson for search in (best_of, exchange)]
        assert found[1].probability >= found[0].probability


def test_lessons_may_have_any_number_of_examples(rng):
    search = exchange(learner(rng), doubles(COLS, rng=rng), pool(rng, 6, 6), rng, each=3)
    assert len(search.lesson.members) == 6
