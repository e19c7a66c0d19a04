"""Examples that are chosen, not taught: at random, or by a user's own function. What they teach is told all the same.

A choice is a function (probe, pool, each, rng) -> places in the pool: `each` images of the target, then as many others.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bayesteach.errors import BadPool, BadStudy, BayesteachError
from bayesteach.maths.lessons import random_lessons
from bayesteach.maths.teaching import Pool

Choice = Callable[[Float[Tensor, " cols"], Pool, int, Generator], Sequence[int]]


def random_examples(_probe: Float[Tensor, " cols"], pool: Pool, each: int, rng: Generator) -> Sequence[int]:
    """Any images of the two classes: what is left of examples when nobody teaches."""
    found: list[int] = random_lessons(pool, rng, 1, each)[0].tolist()
    return found


CHOICES: dict[str, Choice] = {"random_examples": random_examples}


def choose(
    name: str, choice: Choice, probe: Float[Tensor, " cols"], pool: Pool, each: int, rng: Generator
) -> tuple[str, ...]:
    """The ids of the examples that were chosen, those of the target first; a pool that is too small raises BadPool."""
    for side, label in ((pool.is_target, "target"), (~pool.is_target, "alternative")):
        if int(side.sum()) < each:
            raise BadPool(f"the pool has {int(side.sum())} images of the {label}, {each} are needed")
    try:
        places = [int(place) for place in choice(probe, pool, each, rng)]
    except BayesteachError:
        raise
    except Exception as error:  # whatever a stranger's function can raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadStudy(f"study.arms: the explainer {name} failed ({reason}). Mend it, or name another.") from error
    inside = len(set(places)) == 2 * each and all(0 <= place < len(pool.ids) for place in places)
    if not inside or pool.is_target[torch.tensor(places)].tolist() != [True] * each + [False] * each:
        raise BadStudy(
            f"study.arms: the explainer {name} chose the places {places}, expected {each} different images of the target "
            f"(is_target) and then {each} of the alternative."
        )
    return tuple(pool.ids[place] for place in places)
