"""Work that is done on all processors, in order."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from multiprocessing import get_context
from typing import TypeVar

# Items that a worker takes at a time.
_CHUNK = 16

A = TypeVar("A")
B = TypeVar("B")


def spread(function: Callable[[A], B], items: Sequence[A]) -> Generator[B, None, None]:
    """The function of each item, in their order; in processes where they can be forked, else one after the other.

    Other ways to start a process run the user's script again, which would need a guard. The function must not call torch.
    """
    count = min(len(os.sched_getaffinity(0)), len(items) // _CHUNK) if sys.platform == "linux" else 1
    if count < 2:
        yield from map(function, items)
        return
    # Python warns that threads (torch's) are not copied.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        # Ctrl-C is for the one who waits for them.
        pool = get_context("fork").Pool(count, signal.signal, (signal.SIGINT, signal.SIG_IGN))
    with pool:
        yield from pool.imap(function, items, _CHUNK)
