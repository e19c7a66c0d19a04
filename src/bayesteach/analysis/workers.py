"""Many independent tasks on all cores, each in one thread; a worker that holds what all tasks share."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import partial
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

Task = TypeVar("Task")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

# What waits in line for each worker: enough that none stands idle, few enough that an interruption is heard at once.
_AHEAD = 4
_held: dict[str, Any] = {}


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    work: Callable[[Shared, Task], Result], shared: Shared, tasks: Sequence[Task], workers: int | None = None
) -> Iterator[tuple[Task, Result]]:
    """Each task with its result, as they come. Stopping the iteration, by an error or Ctrl-C, ends the workers."""
    workers = min(workers or cores(), len(tasks))
    if workers <= 1:
        with threadpool_limits(1):
            yield from ((task, work(shared, task)) for task in tasks)
        return
    # A server that has loaded this package once forks workers in no time, and shares no thread or lock with us.
    server = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
    if sys.platform != "win32":
        server.set_forkserver_preload([work.__module__])
    pool = ProcessPoolExecutor(workers, server, _begin, (work, shared))
    waiting = iter(tasks)
    running = {pool.submit(_do, task): task for _, task in zip(range(_AHEAD * workers), waiting, strict=False)}
    try:
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                for following in _next(waiting):
                    running[pool.submit(_do, following)] = following
                yield task, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _next(waiting: Iterator[Task]) -> Iterator[Task]:
    """The next that waits, if any."""
    for task in waiting:
        yield task
        return


def _begin(work: Callable[..., Any], shared: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    threadpool_limits(1)
    _held["work"] = partial(work, shared)


def _do(task: Any) -> Any:
    return _held["work"](task)
