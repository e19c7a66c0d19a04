import multiprocessing
from pathlib import Path

import pytest

from bayesteach.vision.cache import cache_root, cached


def wants(made: Path) -> None:
    """Want a folder whose making leaves a mark of its own outside, and takes long enough to be met."""

    def make(folder: Path) -> None:
        (made / multiprocessing.current_process().name).touch()
        multiprocessing.Event().wait(0.5)
        (folder / "whole").touch()

    assert (cached("a/b", make) / "whole").exists()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAYESTEACH_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_of_several_processes_one_makes_and_the_others_wait(cache):
    made = cache / "made"
    made.mkdir()
    spawn = multiprocessing.get_context("spawn")
    people = [spawn.Process(target=wants, args=(made,)) for _ in range(3)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert [one.exitcode for one in people] == [0, 0, 0]
    assert len(list(made.iterdir())) == 1


def test_what_fails_leaves_nothing_and_can_be_tried_again(cache):
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        cached("a/b", fail)
    assert not [path for path in cache_root().rglob("*") if path.name == "half" or (path.is_dir() and path.name == "b")]
    wants(cache)
