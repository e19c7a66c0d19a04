"""Artifacts on disk: any frozen value whose fields are tables, tensors and plain facts. Never pickle.

A field that is a tuple of flat dataclasses is a table, NAME.parquet; tensors go to tensors.safetensors, parts of a large one to
NAME/; a page is NAME.html; a dataclass inside is a folder of the same kind; all else is JSON in facts.json. Stimuli have a codec
of their own.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import AbstractArray
from safetensors.torch import load_file
from torch import Tensor

from bayesteach.artifacts import Page, Stimuli
from bayesteach.store.stimuli import read_stimuli, write_stimuli
from bayesteach.store.tensors import TensorFile, put, save_tensors

T = TypeVar("T")

_TENSORS = "tensors.safetensors"
_FACTS = "facts.json"
_PLAIN = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def write(folder: Path, value: Any) -> None:
    """Put a value into an empty folder: the same value gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(value, Stimuli):
        write_stimuli(folder, value)
        return
    tensors: dict[str, Tensor] = {}
    facts: dict[str, Any] = {}
    for name, kind in _fields(type(value)).items():
        held = getattr(value, name)
        if row := _row_type(kind):
            pq.write_table(
                pa.Table.from_pylist([_plain(one) for one in held], _schema(row)), folder / f"{name}.parquet"
            )
        elif _is_tensor(kind):
            tensors[name] = held
        elif _is_parts(kind):
            put(folder / name, held)
        elif kind is Page:
            (folder / f"{name}.html").write_text(held, "utf-8")
        elif is_dataclass(kind):
            write(folder / name, held)
        else:
            facts[name] = held
    if tensors:
        save_tensors(folder / _TENSORS, tensors)
    if facts:
        (folder / _FACTS).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", "utf-8")


def read(folder: Path, kind: type[T]) -> T:
    """The value that was put there."""
    if kind is Stimuli:
        return read_stimuli(folder)  # type: ignore[return-value]  # as just asked
    tensors = load_file(folder / _TENSORS) if (folder / _TENSORS).exists() else {}
    facts = json.loads((folder / _FACTS).read_text("utf-8")) if (folder / _FACTS).exists() else {}
    held: dict[str, Any] = {}
    for name, hint in _fields(kind).items():
        if row := _row_type(hint):
            build = _builder(row)
            held[name] = tuple(build(one) for one in pq.read_table(folder / f"{name}.parquet").to_pylist())
        elif _is_tensor(hint):
            held[name] = tensors[name]
        elif _is_parts(hint):
            held[name] = tuple(TensorFile(file.absolute()) for file in sorted((folder / name).iterdir()))
        elif hint is Page:
            held[name] = Page((folder / f"{name}.html").read_text("utf-8"))
        elif is_dataclass(hint):
            held[name] = read(folder / name, cast("type[Any]", hint))
        else:
            held[name] = facts[name]
    return kind(**held)


def _fields(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _row_type(kind: Any) -> type | None:
    """The dataclass of the rows, where a field is a table."""
    arguments = get_args(kind)
    if get_origin(kind) is tuple and len(arguments) == 2 and arguments[1] is Ellipsis and is_dataclass(arguments[0]):
        return cast("type", arguments[0])
    return None


def _is_tensor(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, (AbstractArray, Tensor))


def _is_parts(kind: Any) -> bool:
    """Whether a field is a tuple of tensors by name, which are read when they are asked for."""
    arguments = get_args(kind)
    return get_origin(kind) is tuple and get_origin(arguments[0]) is Mapping


@cache
def _schema(row: type) -> pa.Schema:
    return pa.schema([(name, _arrow(kind)) for name, kind in _fields(row).items()])


def _arrow(kind: Any) -> pa.DataType:
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is Literal:
        kind = str
    if get_origin(kind) is tuple:
        return pa.list_(_arrow(get_args(kind)[0]))
    return _PLAIN[kind]


def _plain(row: Any) -> Mapping[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _builder(row: type) -> Callable[[dict[str, Any]], Any]:
    lists = [name for name, kind in _fields(row).items() if get_origin(kind) is tuple]

    def build(values: dict[str, Any]) -> Any:
        return row(**(values | {name: tuple(values[name]) for name in lists}))

    return build
