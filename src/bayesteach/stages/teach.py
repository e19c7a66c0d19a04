"""teach: a lesson for every trial, and what it teaches (the paper's §3 and §4)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from bayesteach.artifacts import Features, Lessons, Posterior, Refused, Seen, TaughtLesson, Trial, Trials
from bayesteach.errors import BadPool, BadStudy, NotConverged
from bayesteach.maths.learner import Learner
from bayesteach.maths.lessons import (
    LEAST_GAIN,
    Lesson,
    Search,
    best_of,
    exchange,
    first_past,
    from_teacher,
    random_lessons,
)
from bayesteach.maths.teaching import Pool, Prediction, Teachable
from bayesteach.settings import Settings
from bayesteach.stages.chosen import CHOICES, Choice, choose
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, rng
from bayesteach.stages.embed import views_of
from bayesteach.stages.explainers import Examples, Question, known
from bayesteach.stages.own_explainers import is_own, load
from bayesteach.stages.own_tables import own_lessons

# Lessons whose views are embedded together while the first past the threshold is looked for.
_AT_ONCE = 8


def teach(
    settings: Settings, context: Context, collected: Collected, features: Features, posterior: Posterior, trials: Trials
) -> Lessons:
    """The lessons of each explainer of examples that an arm names; those of lessons.csv come first."""
    names = dict.fromkeys(arm.examples for arm in settings.study.arms if arm.examples is not None)
    own = own_lessons(context)
    pool: dict[int, list[Seen]] = {}
    for seen in trials.pool:
        pool.setdefault(seen.label, []).append(seen)
    advance = context.watch("teaching", len(names) * len(trials.trials))
    found: list[TaughtLesson | Refused] = []
    for name in names:
        explainer = examples_of(name, context.root)
        for trial in trials.trials:
            images = [*pool.get(trial.target, ()), *pool.get(trial.alternative, ())]
            question = Question(trial, images, collected, features, posterior)
            chosen = own.get((trial.trial, name))
            if chosen is not None:
                found.append(replace(_own(settings, question, chosen), explainer=name))
            else:
                found.append(replace(explainer(settings, context, question), explainer=name))
            advance(1)
    return Lessons(
        tuple(row for row in found if isinstance(row, TaughtLesson)),
        tuple(row for row in found if isinstance(row, Refused)),
    )


def lesson(settings: Settings, context: Context, question: Question) -> TaughtLesson | Refused:
    """Bayesian Teaching's examples: found by the study's search, seen in views if the study has them."""
    wanted, trial = settings.teach, question.trial
    learner = learner_for(settings, question.posterior, trial)
    probe = question.features.of([trial.probe])[0].double()
    pool = _pool(question)
    noise = rng(settings.seed, "teach", f"{trial.probe}/{trial.target}/{trial.alternative}")
    try:
        if wanted.views and wanted.search == "first_past":
            members = random_lessons(pool, noise, wanted.candidates, wanted.each)
            found = _first_past_with_views(settings, context, question, learner, pool, members)
        else:
            search = _search(settings, learner, probe, pool, noise, trial.probe)
            if search.lesson is None:
                return _refused(
                    trial, f"none of {search.candidates} lessons teaches more than {search.best_probability:.3f}"
                )
            best = torch.tensor([search.lesson.members])
            if wanted.views:
                others = search.members[: wanted.rescored]
                found = _best_with_views(settings, context, question, learner, pool, torch.cat([best, others]))
            else:
                found = _of_search(trial, pool, search.lesson)
    except (BadPool, NotConverged) as error:
        return _refused(trial, str(error))
    if isinstance(found, TaughtLesson) and not found.posterior >= wanted.threshold:
        return _refused(
            trial, f"its best lesson teaches {found.posterior:.3f}, below the threshold of {wanted.threshold:g}"
        )
    return found


def chosen_by(name: str, choice: Choice) -> Examples:
    """A choice as an explainer of examples. Its lesson is told what it teaches, and not refused for teaching little."""

    def explainer(settings: Settings, _context: Context, question: Question) -> TaughtLesson | Refused:
        trial = question.trial
        noise = rng(settings.seed, name, f"{trial.probe}/{trial.target}/{trial.alternative}")
        probe = question.features.of([trial.probe])[0].double()
        try:
            ids = choose(name, choice, probe, _pool(question), settings.teach.each, noise)
        except BadPool as error:
            return _refused(trial, str(error))
        return told(settings, question, ids)

    return explainer


EXAMPLES: dict[str, Examples] = {
    "lesson": lesson,
    **{name: chosen_by(name, choice) for name, choice in CHOICES.items()},
}


def examples_of(name: str, root: Path) -> Examples:
    """The explainer of examples of this name, ours or the user's own."""
    if is_own(name):
        return chosen_by(name, load(name, root))
    known(EXAMPLES, name, "examples")
    return EXAMPLES[name]


def _search(
    settings: Settings, learner: Teachable, probe: Tensor, pool: Pool, noise: Generator, probe_id: str
) -> Search:
    wanted = settings.teach
    each, candidates = wanted.each, wanted.candidates
    match wanted.search:
        case "first_past":
            return first_past(
                learner,
                probe,
                pool,
                noise,
                threshold=wanted.threshold,
                candidates=candidates,
                each=each,
                probe_id=probe_id,
            )
        case "best_of":
            return best_of(learner, probe, pool, noise, candidates=candidates, each=each, probe_id=probe_id)
        case "exchange":
            return exchange(
                learner,
                probe,
                pool,
                noise,
                restarts=wanted.restarts,
                candidates=candidates,
                each=each,
                probe_id=probe_id,
            )
        case "from_teacher":
            return from_teacher(learner, probe, pool, noise, each=each, probe_id=probe_id)[0]


def learner_for(settings: Settings, posterior: Posterior, trial: Trial) -> Teachable:
    """The learner that the study teaches."""
    wanted = settings.teach
    if wanted.learner == "discriminant":
        return replace(posterior.discriminant, every_view_counts=wanted.every_view_counts)
    return Learner.between(
        posterior.head,
        trial.target,
        trial.alternative,
        knowledge=wanted.knowledge,
        prior_strength=wanted.prior_strength,
        every_view_counts=wanted.every_view_counts,
    )


def _pool(question: Question) -> Pool:
    sides = [
        [seen.id for seen in question.pool if seen.label == label]
        for label in (question.trial.target, question.trial.alternative)
    ]
    targets, alternatives = (question.features.of(ids).double() for ids in sides)
    return Pool.of(targets, alternatives, *sides)


def _with_views(settings: Settings, context: Context, question: Question, pool: Pool, images: Iterable[int]) -> Pool:
    """These images of a pool alone, each in the study's views of it."""
    places = list(images)
    ids = tuple(pool.ids[i] for i in places)
    views = [
        views_of(context, question.collected.entries[i], settings.teach.views, rng(settings.seed, "views", i))
        for i in ids
    ]
    return Pool(torch.stack(views).double(), pool.is_target[places], ids)


def _answers(
    settings: Settings,
    context: Context,
    question: Question,
    learner: Teachable,
    pool: Pool,
    members: Int[Tensor, "lessons examples"],
) -> Prediction:
    """What the learner answers after these lessons, seen in views."""
    used = members.unique()
    probe = question.features.of([question.trial.probe])[0].double()
    viewed = _with_views(settings, context, question, pool, used.tolist())
    return learner.facing(probe, viewed).predict(torch.searchsorted(used, members))


def _best_with_views(
    settings: Settings,
    context: Context,
    question: Question,
    learner: Teachable,
    pool: Pool,
    members: Int[Tensor, "lessons examples"],
) -> TaughtLesson:
    answers = _answers(settings, context, question, learner, pool, members)
    log_odds = answers.log_odds.where(answers.settled, torch.full_like(answers.log_odds, -torch.inf))
    best = int(log_odds.argmax())
    return _from_answers(question.trial, pool, members, answers, best)


def _first_past_with_views(
    settings: Settings,
    context: Context,
    question: Question,
    learner: Teachable,
    pool: Pool,
    members: Int[Tensor, "lessons examples"],
) -> TaughtLesson | Refused:
    """The paper's search: candidates in their order, each with its views, up to the first past the threshold."""
    most = 0.0
    for some in members.split(_AT_ONCE):
        answers = _answers(settings, context, question, learner, pool, some)
        past = (answers.probability > settings.teach.threshold) & answers.settled
        if bool(past.any()):
            return _from_answers(question.trial, pool, some, answers, int(past.nonzero()[0, 0]))
        most = max(most, float(answers.probability.max()))
    return _refused(question.trial, f"none of {len(members)} lessons teaches more than {most:.3f}")


def _from_answers(trial: Trial, pool: Pool, members: Tensor, answers: Prediction, chosen: int) -> TaughtLesson:
    own = answers.log_odds[chosen]
    rank = 1 + int(((answers.log_odds > own + LEAST_GAIN) & answers.settled).sum())
    return _taught(
        trial,
        pool,
        members[chosen].tolist(),
        float(answers.prior),
        float(answers.probability[chosen]),
        float(answers.taught[chosen]),
        rank,
        int(answers.settled.sum()),
    )


def _taught(
    trial: Trial,
    pool: Pool,
    members: Sequence[int],
    prior: float,
    posterior: float,
    taught: float,
    rank: int,
    candidates: int,
) -> TaughtLesson:
    ids = [pool.ids[i] for i in members]
    half = len(ids) // 2
    return TaughtLesson(
        trial.trial, "lesson", tuple(ids[:half]), tuple(ids[half:]), prior, posterior, taught, rank, candidates
    )


def _of_search(trial: Trial, pool: Pool, found: Lesson) -> TaughtLesson:
    return _taught(
        trial, pool, found.members, found.prior, found.probability, found.taught, found.rank, found.candidates
    )


def _refused(trial: Trial, reason: str) -> Refused:
    return Refused(trial.trial, "lesson", reason)


def _own(settings: Settings, question: Question, chosen: Sequence[str]) -> TaughtLesson:
    """What the researcher's own lesson teaches; it is not refused for teaching little."""
    pool = _pool(question)
    missing = [i for i in chosen if i not in pool.ids]
    if missing or len(chosen) != 2 * settings.teach.each:
        reason = (
            f"{missing[0]!r} is not in its pool"
            if missing
            else f"it has {len(chosen)} images, not {2 * settings.teach.each}"
        )
        raise BadStudy(f"lessons.csv: the lesson of trial {question.trial.trial} does not serve: {reason}.")
    return told(settings, question, chosen)


def told(settings: Settings, question: Question, chosen: Sequence[str]) -> TaughtLesson:
    """What these examples teach, whoever chose them."""
    pool = _pool(question)
    members = torch.tensor([[pool.ids.index(i) for i in chosen]])
    learner = learner_for(settings, question.posterior, question.trial)
    answers = learner.facing(question.features.of([question.trial.probe])[0].double(), pool).predict(members)
    return _from_answers(question.trial, pool, members, answers, 0)
