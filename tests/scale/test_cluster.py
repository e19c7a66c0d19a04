"""A study on a Ray cluster: the same as on one machine, whoever works, dies or is missing."""

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
import pytest
import torch
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.errors import BadImage, BadSettings, BadStudy
from bayesteach.pipeline import BY_NAME, Run
from bayesteach.scale import cluster as clusters
from bayesteach.scale.cluster import Site, cluster
from bayesteach.stages import context, fit
from bayesteach.stages.highlight import Picture, mapped
from bayesteach.store.workspace import Workspace
from bayesteach.vision.images import Entry
from tests import small_study
from tests.test_pipeline import artifacts, units

TOLD = small_study.settings()


@pytest.fixture(scope="module", autouse=True)
def small_units():
    """Units so small that there are many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "UNIT", 16)
        patch.setattr(fit, "_PART", 24)
        yield


@pytest.fixture(scope="module")
def alone(images, small_units, tmp_path_factory) -> Path:
    """The study as one process makes it."""
    folder = Path(shutil.copytree(images, tmp_path_factory.mktemp("alone") / "study"))
    small_study.make(folder, until="highlight")
    return folder


@pytest.fixture
def study(images, tmp_path) -> Path:
    return Path(shutil.copytree(images, tmp_path / "study"))


def the_same(folder: Path, alone: Path) -> None:
    """Bit for bit, but for the sums over training images, whose last bits hang on the number of threads."""
    found, expected = artifacts(folder), artifacts(alone)
    in_order = [name for name in expected if not name.startswith(("fit/", "teach/")) and "manifest" not in name]
    assert set(found) == set(expected)
    assert {name for name in in_order if found[name] != expected[name]} == set()
    one, other = (Workspace(place).load("fit", BY_NAME["fit"].output) for place in (folder, alone))
    for name in ("mean", "row_scale", "col_scale"):
        a, b = getattr(one.head, name), getattr(other.head, name)
        torch.testing.assert_close(a @ a.mT, b @ b.mT, rtol=1e-10, atol=1e-10 * float((b @ b.mT).abs().max()))
    one, other = (Workspace(place).load("teach", BY_NAME["teach"].output).lessons for place in (folder, alone))
    assert [(row.trial, row.targets, row.alternatives) for row in one] == [
        (row.trial, row.targets, row.alternatives) for row in other
    ]


class KillOnce:
    """Watches a run, and when the first unit of something is done, ends a worker in the middle of another."""

    def __init__(self, what: str, folder: Path, end: Callable[[], None]) -> None:
        self.what, self.folder, self.end = what, folder, end
        self.before: dict[str, int] = {}

    def __call__(self, what: str, _total: int) -> Callable[[int], None]:
        def advance(_done: int) -> None:
            if what == self.what and not self.before:
                self.before = units(self.folder)
                self.end()

        return advance

    def nothing_was_done_again(self) -> None:
        assert self.before
        assert {name: units(self.folder)[name] for name in self.before} == self.before


def kill_a_worker() -> None:
    busy = [child for child in psutil.Process().children(recursive=True) if child.cmdline()[:1] == ["ray::_keep"]]
    assert busy
    busy[0].send_signal(signal.SIGKILL)


def test_one_worker_makes_what_one_process_makes(study, alone, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = CliRunner().invoke(app, ["run", str(study), "--until", "highlight", "--workers", "1", "--ray"])
    assert done.exit_code == 0, done.output
    assert "highlight: " in done.stdout
    the_same(study, alone)
    assert not list(study.glob(".cluster-*"))


def test_with_two_workers_one_of_them_killed_it_is_the_same_and_nothing_is_done_twice(study, alone):
    watch = KillOnce("embedding", study, kill_a_worker)
    with cluster("local", study, TOLD, workers=2) as crew:
        run = Run(Workspace(study), TOLD, watch, crew)
        assert [made.stage.name for made in run.make("highlight")][-1] == "highlight"
        changed = Picture("expected_mask", Entry("0" * 64, "images/val/red/000.png", 0, "val"), (0,))
        with pytest.raises(BadImage, match="has changed since it was collected"):
            list(crew.each(run.context(), partial(mapped, TOLD), [changed]))
    watch.nothing_was_done_again()
    the_same(study, alone)


@pytest.mark.verify
@pytest.mark.parametrize("what", ["embedding", "highlighting"])
def test_a_machine_that_is_lost_loses_nothing(what, study, alone):
    from ray.cluster_utils import Cluster  # noqa: PLC0415 — it starts several machines' worth of Ray on this one

    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    lost, _ = machines.add_node(num_cpus=1), machines.add_node(num_cpus=1)
    try:
        watch = KillOnce(what, study, lambda: machines.remove_node(lost, allow_graceful=False))
        with cluster(machines.address, study, TOLD) as crew:
            list(Run(Workspace(study), TOLD, watch, crew).make("highlight"))
    finally:
        machines.shutdown()
    watch.nothing_was_done_again()
    the_same(study, alone)


@pytest.mark.verify
def test_many_workers_killed(study, alone):
    """Whatever they are at, every time a few more units are done."""
    told: list[int] = []
    killed: list[int] = []

    def watch(what: str, _total: int) -> Callable[[int], None]:
        def advance(done: int) -> None:
            told.append(done)
            if what in {"embedding", "highlighting"} and len(told) % 7 == 0:
                for child in psutil.Process().children(recursive=True):
                    if child.cmdline()[:1] == ["ray::_keep"]:
                        child.send_signal(signal.SIGKILL)
                        killed.append(child.pid)

        return advance

    with cluster("local", study, TOLD, workers=2) as crew:
        list(Run(Workspace(study), TOLD, watch, crew).make("highlight"))
    assert len(killed) > 1
    the_same(study, alone)


@pytest.mark.verify
def test_a_unit_that_ends_its_workers_ends_the_run_with_one_message(study, monkeypatch):
    monkeypatch.setattr(clusters, "_DEATHS", 1)
    with cluster("local", study, TOLD, workers=1) as crew:
        means = Run(Workspace(study), TOLD, crew=crew).context()
        with pytest.raises(BadStudy, match="2 workers died at one unit of work"):
            list(crew.each(means, lambda _means, unit: os._exit(unit), [1]))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:9", ["no Ray cluster answers at 127.0.0.1:9", "ray start --head"]),
        ("ray://127.0.0.1:10001", ["expected HOST:PORT", "ray start --head"]),
        ("nonsense", ["found 'nonsense'", "HOST:PORT"]),
    ],
)
def test_an_address_where_nobody_answers_is_one_message(address, words, study):
    done = CliRunner().invoke(app, ["run", str(study), "--ray", address])
    assert done.exit_code == 2
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_without_ray_installed_it_says_how_to_get_it(study, monkeypatch):
    monkeypatch.setattr(clusters, "find_spec", lambda _name: None)
    done = CliRunner().invoke(app, ["run", str(study), "--ray"])
    assert done.exit_code == 2
    assert "pip install 'bayesteach[ray]'" in done.stderr
    assert CliRunner().invoke(app, ["run", str(study), "--workers", "2"]).exit_code == 2


def test_a_worker_refuses_another_folder_other_versions_and_other_weights(study):
    (study / "token").touch()
    here = tuple(clusters.version(name) for name in clusters._SAME)
    site = Site(str(study), TOLD.model_dump_json(), "token", here, context.model_digest(weights(study)))
    assert clusters._context(site).root == study
    with pytest.raises(BadStudy, match="does not see the folder"):
        clusters._context(replace(site, root=str(study / "elsewhere")))
    with pytest.raises(BadStudy, match=r"has bayesteach .*, expected 9"):
        clusters._context(replace(site, versions=("9", "9")))
    with pytest.raises(BadStudy, match="other weights"):
        clusters._context(replace(site, model="0" * 64))


def test_a_folder_that_is_not_there_is_said_before_ray_begins(tmp_path):
    with pytest.raises(BadStudy, match="no folder"), cluster("local", tmp_path / "no", TOLD):
        pass
    with pytest.raises(BadSettings, match="HOST:PORT"), cluster("a:b", tmp_path, TOLD):
        pass


def weights(folder: Path):
    return Run(Workspace(folder), TOLD).context().classifier()
