"""docs/settings.md, made from the settings themselves: `python -m tests.settings_page` writes it anew."""

import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from bayesteach.settings import PAPER, Arm, Section, Settings, Source

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"

_HEAD = """\
# Every setting

What `study.toml` can say, and `--set section.key=value` of `bayesteach init`, `run` and `status` too. `bayesteach init` writes it
all as comments. The last column is what `preset = "paper"` sets where that differs from the default; [the paper's
numbers](paper.md) has the reasons. This page is made from `src/bayesteach/settings.py` by `python -m tests.settings_page`.
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD, "## The study as a whole", _table("", Settings, plain=True)]
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            parts += [f"## `[{name}]`", str(kind.__doc__), _table(f"{name}.", kind, plain=True)]
    for name, row in (("source", Source), ("study.arms", Arm)):
        parts += [f"## `[[{name}]]`", str(row.__doc__), _table(f"{name}.", row, plain=False)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _table(prefix: str, kind: type[Section], *, plain: bool) -> str:
    lines = ["| setting | what it is | values | default | paper |", "|---|---|---|---|---|"]
    for name, field in kind.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            continue
        default = field.get_default(call_default_factory=True)
        paper = PAPER.get(prefix.rstrip("."), {}).get(name) if plain else None
        shown = "" if default is PydanticUndefined else "the four" if name == "arms" else _code(default)
        cells = (
            f"`{prefix}{name}`",
            field.description,
            _values(field.annotation),
            shown,
            "" if paper is None else _code(paper),
        )
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _code(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[" + ", ".join(f'"{item}"' for item in value) + "]`"
    return f"`{value!r}`".replace("'", '"')


def _values(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if origin in (Union, types.UnionType):
        return " or ".join(_values(one) for one in get_args(kind) if one is not type(None))
    if origin is tuple:
        return f"list of {'tables' if issubclass(get_args(kind)[0], Section) else 'names'}"
    names = {str: "text", int: "whole number", float: "number", bool: "`true`, `false`", Path: "path"}
    return names.get(kind, "table")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
