"""kill -9 of the server in the middle of a load: every acknowledged answer is there, on both databases."""

import random
import threading
import time

import httpx
import pytest
from sqlalchemy import select

from bayesteach.study.doors import HttpDoor
from bayesteach.study.server import prepare
from bayesteach.study.simulate import Behaviour, person
from bayesteach.study.tables import answers, participants
from tests.study.postgres import free_port
from tests.study.server import server

PEOPLE = 6


class Remembering(HttpDoor):
    """A person who remembers what was acknowledged, and comes back to where they were."""

    def __init__(self, client, here):
        super().__init__(client, here)
        self.acknowledged = {}
        self.agreed = False

    def arrive(self):
        self.agreed = self.agreed or super().arrive()
        return self.agreed

    def questions(self):
        self.phase = self.at
        return super().questions()

    def answer(self, index, choice, rt):
        if (self.phase, index) not in self.acknowledged:
            super().answer(index, choice, rt)
            self.acknowledged[self.phase, index] = choice


def live(door, here, number, over):
    """To the end, or until the server is gone; a connection that broke is tried again, as a browser does."""
    while not over.is_set():
        try:
            behaviour = Behaviour(lambda *_: number % 2 == 0, lambda _: 0.0)
            for _ in person(door, here, behaviour, number, random.Random(number)):
                time.sleep(0.002)
        except httpx.TransportError:
            continue
        return


def load(here, doors, over):
    threads = [threading.Thread(target=live, args=(door, here, n, over)) for n, door in enumerate(doors)]
    for thread in threads:
        thread.start()
    return threads


def stored(here, door):
    code = here.launch.keys.read("session", door.client.cookies.get("session"))
    query = select(answers).join(participants).where(participants.c.code == code)
    with here.database.read() as connection:
        return {(row.phase, row.index): row.choice for row in connection.execute(query)}


def killed_and_gone_on(folder, url, kills, seed, *options):
    here = prepare(folder, url).serving
    port, rng = free_port(), random.Random(seed)
    doors = [Remembering(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30), here) for _ in range(PEOPLE)]
    for _ in range(kills):
        with server(folder, url, port, *options) as running:
            over = threading.Event()
            threads = load(here, doors, over)
            wanted = sum(len(door.acknowledged) for door in doors) + rng.randint(5, 20)
            while sum(len(door.acknowledged) for door in doors) < wanted and any(t.is_alive() for t in threads):
                time.sleep(0.001)
            assert sum(len(door.acknowledged) for door in doors) >= wanted
            over.set()
            running.kill()
            for thread in threads:
                thread.join()
        for door in doors:
            there = stored(here, door)
            lost = {key for key in door.acknowledged if there.get(key) != door.acknowledged[key]}
            assert not lost
            # At most the one that was on its way may be there without having been acknowledged.
            assert len(there) - len(door.acknowledged) <= 1
            # An answer that arrived but was not acknowledged is sent again by a browser; here the person just goes on.
            door.acknowledged.update(there)
    with server(folder, url, port, *options):
        for thread in load(here, doors, threading.Event()):
            thread.join()
    total = len(here.materials.stimuli.shown)
    for door in doors:
        assert len(stored(here, door)) == len(door.acknowledged) == total
        door.client.close()
    with here.database.read() as connection:
        assert connection.scalars(select(participants.c.ending)).all() == ["complete"] * PEOPLE
    here.database.close()


def test_nothing_that_was_acknowledged_is_lost(folder, url):
    killed_and_gone_on(folder, url, kills=1, seed=0)


@pytest.mark.verify
def test_nothing_that_was_acknowledged_is_lost_however_often(folder, url):
    killed_and_gone_on(folder, url, kills=4, seed=1)


@pytest.mark.verify
def test_nothing_that_was_acknowledged_is_lost_with_several_processes(folder, url):
    killed_and_gone_on(folder, url, 3, 2, "--workers", "2")
