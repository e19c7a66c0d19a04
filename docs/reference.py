"""Writes docs/reference.md from the code: every command, setting and artifact. `make reference` runs it, a test checks it."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typer.main import get_command

from bayesteach import errors
from bayesteach.artifacts import explanations, head, measures, seen, stimuli, trials
from bayesteach.cli import app
from bayesteach.pipeline import STAGES
from bayesteach.settings import Arm, Settings, Source

PAGE = Path(__file__).with_name("reference.md")
VALUES = (seen, head, trials, explanations, stimuli, measures)


def page() -> str:
    """The whole page."""
    return "\n".join([*_head(), *_commands(), *_settings(), *_stages(), *_artifacts(), *_errors()]) + "\n"


def _head() -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "Written from the code by `make reference`: the [commands](#commands), what [study.toml](#studytoml) can say, the"
    yield "[stages](#stages) and their [artifacts](#artifacts), and the [errors](#errors)."
    yield ""


def _commands() -> Iterator[str]:
    yield "## Commands"
    yield ""
    yield "An error is one message and exit code 2; `bayesteach --debug COMMAND …` shows where it came from. Ctrl-C is 130."
    yield "`bayesteach --version` says which version this is."
    yield ""
    whole: Any = get_command(app)
    for name, command in whole.commands.items():
        yield f"### bayesteach {name}"
        yield ""
        yield _prose(command.help or "")
        yield ""
        yield "| | |"
        yield "|---|---|"
        for parameter in command.params:
            if parameter.name != "help":
                yield f"| {_cell(_named(parameter))} | {_cell(_told(parameter))} |"
        yield ""


def _named(parameter: Any) -> str:
    if not parameter.opts[0].startswith("-"):
        return f"`{parameter.metavar or parameter.name.upper()}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or _kind(parameter.type_descriptor.annotation)}"
    return ", ".join(f"`{flag}{value}`" for flag in parameter.opts)


def _kind(annotation: Any) -> str:
    """What an option takes."""
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    return str(getattr(annotation, "__name__", "VALUE")).upper()


def _told(parameter: Any) -> str:
    said = getattr(parameter, "help", None) or ""
    default = parameter.default
    shown = (
        default is not None
        and default is not False
        and default != ()
        and not callable(default)
        and "default:" not in said
    )
    words = f" Default: `{default}`." if shown and not parameter.required else ""
    needed = " Required." if parameter.required else ""
    return f"{said}{words}{needed}".strip()


def _settings() -> Iterator[str]:
    yield "## study.toml"
    yield ""
    yield "[Settings](settings.md) has them all with their meaning, values and defaults:"
    yield ""
    for title, kind in (("at the top", Settings), ("[[source]]", Source), ("[[study.arms]]", Arm)):
        names = [name for name, field in kind.model_fields.items() if not _section(field.annotation)]
        yield f"- {title}: {', '.join(f'`{name}`' for name in names)}"
    for name, field in Settings.model_fields.items():
        section = _section(field.annotation)
        if section is not None:
            yield f"- [{name}]: {', '.join(f'`{name}.{key}`' for key in section.model_fields)}"
    yield ""


def _section(kind: Any) -> type[BaseModel] | None:
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _stages() -> Iterator[str]:
    yield "## Stages"
    yield ""
    yield "`bayesteach run` makes them in this order, each from those before, and only what is missing or stale."
    yield ""
    yield "| stage | takes | depends on the settings | makes |"
    yield "|---|---|---|---|"
    for stage in STAGES:
        takes = ", ".join(f"`{name}`" for name in (*stage.inputs, *stage.tables)) or "images"
        settings = ", ".join(f"`{name}`" for name in stage.settings)
        yield f"| `{stage.name}` | {takes} | {settings} | `{stage.output.__name__}`, in `artifacts/{stage.name}` |"
    yield ""


def _artifacts() -> Iterator[str]:
    yield "## Artifacts"
    yield ""
    yield "Frozen values. On disk: rows are `NAME.parquet`, tensors `tensors.safetensors`, values inside a folder of their own,"
    yield "all else `facts.json`; `manifest.json` comes last, and says what they were made from. Stimuli are `stimuli.json` and"
    yield "`pictures/`."
    yield ""
    outputs = {stage.output for stage in STAGES}
    known = [value for module in VALUES for value in vars(module).values() if is_dataclass(value) and _here(value)]
    for kind in dict.fromkeys([*outputs_in_order(outputs), *known]):
        yield f"### {kind.__name__}"
        yield ""
        yield _prose(kind.__doc__ or "")
        yield ""
        hints = get_type_hints(kind)
        for field in fields(kind):
            yield f"- `{field.name}`: {_type(hints[field.name])}"
        yield ""


def outputs_in_order(outputs: set[type]) -> list[Any]:
    """What stages make and other rooms define, in the order of the stages."""
    return [stage.output for stage in STAGES if stage.output in outputs and not _here(stage.output)]


def _here(kind: Any) -> bool:
    """Whether the room of artifacts defines it."""
    return kind.__module__ in {module.__name__ for module in VALUES}


def _errors() -> Iterator[str]:
    yield "## Errors"
    yield ""
    yield "```"
    yield (errors.__doc__ or "").split("\n\n")[1].rstrip()
    yield "```"


def _type(hint: Any) -> str:
    dims = getattr(hint, "dim_str", None)
    if dims is not None:
        return f"numbers, `{dims.strip() or 'one'}`"
    if get_origin(hint) is tuple and len(get_args(hint)) == 2 and get_args(hint)[1] is Ellipsis:
        return f"rows of `{getattr(get_args(hint)[0], '__name__', get_args(hint)[0])}`"
    if get_args(hint):
        return f"`{re.sub(r'(typing|collections.abc|bayesteach.artifacts.[a-z]+)[.]', '', str(hint))}`"
    return f"`{getattr(hint, '__name__', hint)}`"


def _prose(text: str) -> str:
    """A docstring as Markdown; indented lists of fields stay as they are."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
