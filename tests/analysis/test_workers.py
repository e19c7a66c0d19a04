"""Tasks on many cores."""

import pytest

from bayesteach.analysis.workers import cores, spread
from bayesteach.errors import OutOfRange


def double(shared, task):
    if task == shared:
        raise OutOfRange(f"task: found {task}.")
    return 2 * task


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once(workers):
    assert dict(spread(double, None, range(40), workers)) == {i: 2 * i for i in range(40)}


def test_an_error_in_a_worker_is_the_callers():
    with pytest.raises(OutOfRange, match="task: found 3"):
        dict(spread(double, 3, range(10), 2))


def test_stopping_early_ends_the_workers():
    for done, (task, result) in enumerate(spread(double, None, range(10_000), 2)):
        assert result == 2 * task
        if done == 5:
            break


def test_nothing_to_do_is_done():
    assert list(spread(double, None, [])) == []
    assert cores() >= 1
