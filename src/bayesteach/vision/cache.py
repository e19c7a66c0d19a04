"""What is made once on a machine and read again: folders in $BAYESTEACH_CACHE, else in the user's cache."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def cache_root() -> Path:
    """Where cached folders live."""
    chosen = os.environ.get("BAYESTEACH_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "bayesteach"


def cached(key: str, make: Callable[[Path], None]) -> Path:
    """The folder of this key, made in a temporary place and renamed: it is whole or it is not there.

    Of several processes that want it, one makes it, and the others wait.
    """
    folder = cache_root() / key
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{folder.name}.lock"):
        if not folder.is_dir():
            unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder.parent))
            try:
                make(unfinished)
                unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return folder
