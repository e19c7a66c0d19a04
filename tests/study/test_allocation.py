"""Who is given which arm: balanced completers, one transaction each, right under concurrency on both databases."""

import multiprocessing
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from bayesteach.study import sessions, steps
from bayesteach.study.database import connect
from bayesteach.study.launch import existing
from bayesteach.study.materials import read_materials
from bayesteach.study.serving import Serving
from bayesteach.study.simulate import Behaviour, finishers, through_database
from bayesteach.study.tables import participants, slots
from bayesteach.study.visits import Visit
from tests.study import small

SOMEBODY = Visit("", "live", "direct", None, {})
# Explanations that are tiring: four times as many leave one arm as another.
UNEQUAL = {"control": 0.1, "saliency": 0.2, "examples": 0.3, "both": 0.4}


def arrive(serving: Serving) -> str:
    """A person who understands the instructions at once; their arm."""
    form = {q.name: str(q.answer) for q in serving.materials.texts.comprehension}
    with serving.database.write() as connection:
        session = sessions.begin(connection, serving.rules, SOMEBODY, None, serving.clock())
        session = sessions.change(connection, session, step="comprehension")
        session, _ = steps.advance(connection, serving.rules, session, form, serving.clock())
    return session.arm


def arrive_in_a_process(folder, url, people):
    database, materials = connect(url), read_materials(folder)
    serving = Serving(database, materials, existing(database, materials))
    arms = [arrive(serving) for _ in range(people)]
    database.close()
    return arms


def held(here):
    """The places that somebody has, by arm."""
    with here.database.read() as connection:
        return connection.execute(select(slots).where(slots.c.participant.is_not(None))).all()


def even(counts):
    return max(counts) - min(counts) <= 1


def test_places_go_to_all_arms_in_turn(here):
    arms = [arrive(here) for _ in range(4 * len(here.materials.arms))]
    for block in range(4):
        assert sorted(arms[4 * block : 4 * block + 4]) == sorted(here.materials.arms)


def test_many_threads_at_once(here):
    with ThreadPoolExecutor(16) as crowd:
        arms = list(crowd.map(lambda _: arrive(here), range(64)))
    assert Counter(arms) == dict.fromkeys(here.materials.arms, 16)
    rows = held(here)
    assert len({row.participant for row in rows}) == len(rows) == 64
    assert {(row.block, row.place) for row in rows} == {(b, p) for b in range(16) for p in range(4)}


def test_many_processes_at_once(here, folder, url):
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        shares = pool.starmap(arrive_in_a_process, [(folder, url, 8)] * 3)
    arms = [arm for share in shares for arm in share]
    assert Counter(arms) == dict.fromkeys(here.materials.arms, 6)
    assert len(held(here)) == 24


def test_a_place_comes_back_when_its_lease_is_over(here, browse):
    gone = browse().agree().to("trials")
    with here.database.read() as connection:
        arm = connection.scalar(select(participants.c.arm))
    here.clock.wait(minutes=29)
    assert arrive(here) != arm
    here.clock.wait(minutes=2)
    assert arrive(here) == arm
    # The person comes back, goes on in the same arm, and holds a place again: a later one.
    gone.answer_all()
    with here.database.read() as connection:
        first = connection.execute(select(participants).order_by(participants.c.id)).first()
        place = connection.execute(select(slots).where(slots.c.participant == first.id)).one()
    assert (first.arm, place.arm) == (arm, arm)
    assert gone.get("/go").status_code == 200
    assert gone.to("done").step == "done"


def test_who_is_slow_but_not_silent_keeps_the_place(here, browse):
    browser = browse().agree().to("trials")
    with here.database.read() as connection:
        before = connection.execute(select(slots).where(slots.c.participant.is_not(None))).one()
    csrf = browser.session()["csrf"]
    from tests.study.people import body  # noqa: PLC0415

    for index in range(3):
        here.clock.wait(minutes=25)
        browser.send(body(index), csrf)
    assert arrive(here) != before.arm
    with here.database.read() as connection:
        assert connection.execute(select(slots).where(slots.c.participant == before.participant)).one() == before


@pytest.mark.parametrize("seed", range(3))
def test_completers_are_balanced_under_unequal_dropout(tmp_path, sqlite, serve, seed):
    """160 people, staggered: who comes finds that the one before has finished, or has been silent for a lease."""
    here = serve(small.write(tmp_path / "s", lease_minutes=5.0), sqlite)
    end = through_database(here, Behaviour(lambda *_: True, UNEQUAL.get), 160, seconds_apart=720, seed=seed)
    counts = finishers(here)
    assert 100 < sum(counts.values()) < 150
    assert even(counts.values()), counts
    assert abs(end - here.clock()) < timedelta(hours=2)


def test_completers_are_as_many_as_wanted_in_every_arm(tmp_path, sqlite, serve, monkeypatch):
    """A study that wants 40 people ends with ten in each arm, whoever left, with people close together."""
    here = serve(small.write(tmp_path / "s", lease_minutes=5.0, participants=40), sqlite)
    monkeypatch.setattr("bayesteach.study.doors.Visit", lambda *_: SOMEBODY)
    through_database(here, Behaviour(lambda *_: True, UNEQUAL.get), 120, seconds_apart=90, seed=1)
    with here.database.read() as connection:
        rows = connection.execute(select(participants.c.arm).where(participants.c.finished_at.is_not(None))).scalars()
        assert Counter(rows) == dict.fromkeys(here.materials.arms, 10)


@settings(max_examples=10)
@given(st.data())
def test_a_finished_person_always_holds_a_place_of_their_arm(tmp_path_factory, data):
    """Whatever happens, in whatever order: places, people and arms agree."""
    from bayesteach.study.server import prepare  # noqa: PLC0415
    from tests.study.times import Clock  # noqa: PLC0415

    base = tmp_path_factory.mktemp("s")
    prepared = prepare(small.write(base), f"sqlite:///{base}/study.db").serving
    clock = Clock()
    here = Serving(prepared.database, prepared.materials, prepared.launch, clock, Random(0))
    codes = []
    for act in data.draw(st.lists(st.sampled_from(["arrive", "wait", "finish", "withdraw"]), max_size=30)):
        if act == "arrive":
            arrive(here)
            with here.database.read() as connection:
                codes.append(connection.scalars(select(participants.c.code).order_by(participants.c.id.desc())).first())
        elif act == "wait":
            clock.wait(minutes=31)
        elif codes:
            code = data.draw(st.sampled_from(codes))
            with here.database.write() as connection:
                session = sessions.load(connection, code)
                if act == "withdraw" and session.ending is None:
                    sessions.withdraw(connection, session, clock())
                elif act == "finish" and session.step == "arm":
                    session = sessions.touch(connection, here.rules, session, clock())
                    session = sessions.change(connection, session, step="trials")
                    steps._forward(connection, here.rules, session, clock())
        with here.database.read() as connection:
            people = {row.id: row for row in connection.execute(select(participants))}
            places = connection.execute(select(slots)).all()
        holders = [row.participant for row in places if row.participant is not None]
        assert len(set(holders)) == len(holders)
        assert all(people[row.participant].arm == row.arm for row in places if row.participant is not None)
        finished = {number for number, row in people.items() if row.finished_at is not None}
        assert finished <= set(holders)
        assert not any(people[number].ending == "withdrawn" for number in holders)
    here.database.close()


def test_a_lease_is_what_study_toml_says(tmp_path, sqlite, serve):
    assert serve(small.write(tmp_path / "s", lease_minutes=7.5), sqlite).rules.lease == timedelta(minutes=7.5)
