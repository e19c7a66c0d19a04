"""Explainers that users bring: `module:function` in an arm, a file of the study's folder or anything installed."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from bayesteach.errors import BadSettings


def is_own(name: str) -> bool:
    """Whether an arm names a function, and not an explainer of ours."""
    return ":" in name


def column(name: str) -> str:
    """An explainer's name as the beginning of a column's: mine.py's `mine:edges` gives mine_edges."""
    return name.replace(":", "_").replace(".", "_")


def load(name: str, root: Path) -> Callable[..., Any]:
    """The function; `root` is the study's folder, whose files come first."""
    module, _, function = name.partition(":")
    found = getattr(_module(module, root.absolute()), function, None)
    if not callable(found):
        raise BadSettings(f"study.arms: found {name!r}, but {module} has no function {function!r}. Check its spelling.")
    return found


def digest(name: str, root: Path) -> str:
    """What the function hangs on: its module's text. What that imports is not looked at."""
    source = getattr(_module(name.partition(":")[0], root.absolute()), "__file__", None)
    return sha256(Path(source).read_bytes()).hexdigest()[:32] if source else ""


@cache
def _module(name: str, root: Path) -> ModuleType:
    file = root / f"{name}.py"
    try:
        if file.is_file():
            spec = spec_from_file_location(f"_of_the_study_{name}", file)
            assert spec is not None and spec.loader is not None  # noqa: S101, PT018 — for the type checker: a .py has both
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise BadSettings(f"study.arms: {file} imports {error.name}, which is not installed.") from error
        raise BadSettings(
            f"study.arms: there is no {file}, and no module {name!r} is installed. Write module:function."
        ) from error
    except Exception as error:  # whatever a stranger's file can raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadSettings(f"study.arms: {name} cannot be imported ({reason}). Mend it.") from error
