"""What a person is asked, in which order, and on which side each option stands: drawn once, then frozen."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bayesteach.artifacts import Shown
from bayesteach.study.materials import Materials


@dataclass(frozen=True, slots=True)
class Asked:
    """A trial and its two options as they stand; flipped if their alphabetical order is turned round."""

    trial: str
    left: str
    right: str
    flipped: bool


def practice(materials: Materials, rng: Random) -> list[Asked]:
    """All practice trials, in an order of the person's own."""
    return sided(_shuffled(materials.of_kind("practice"), rng), rng)


def trials(materials: Materials, rng: Random) -> list[Asked]:
    """The person's share of the trials, shuffled, with an attention trial somewhere in each of as many equal stretches."""
    chosen = _shuffled(_share(materials, rng), rng)
    checks = _shuffled(materials.of_kind("attention"), rng)
    # From the back, so that places before stay what they are. Never first: a person must have begun.
    for number, check in reversed(list(enumerate(checks))):
        first, after = (len(chosen) * k // len(checks) for k in (number, number + 1))
        chosen.insert(rng.randint(min(first + 1, after), after), check)
    return sided(chosen, rng)


def _share(materials: Materials, rng: Random) -> list[Shown]:
    """As many trials as the study says, of each type its share."""
    pool = materials.of_kind("trial")
    wanted = materials.settings.study.trials_per_person
    if wanted is None or wanted >= len(pool):
        return pool
    types: dict[str, list[Shown]] = defaultdict(list)
    for shown in _shuffled(pool, rng):
        types[materials.hidden[shown.trial].trial_type].append(shown)
    # Largest remainders; ties at random, so that over people every type has its due.
    due = {name: wanted * len(rows) / len(pool) for name, rows in types.items()}
    shares = {name: int(share) for name, share in due.items()}
    rest = sorted(due, key=lambda name: (shares[name] - due[name], rng.random()))
    for name in rest[: wanted - sum(shares.values())]:
        shares[name] += 1
    return [shown for name, rows in types.items() for shown in rows[: shares[name]]]


def sided(rows: Sequence[Shown], rng: Random) -> list[Asked]:
    """Each with its options turned round or not, by the toss of a coin."""
    found = []
    for shown in rows:
        flipped = rng.random() < 0.5
        left, right = reversed(shown.options) if flipped else shown.options
        found.append(Asked(shown.trial, left, right, flipped))
    return found


def _shuffled(rows: Sequence[Shown], rng: Random) -> list[Shown]:
    return rng.sample(list(rows), len(rows))
