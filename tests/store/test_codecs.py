"""What is written is read back, the same value gives the same bytes, and nothing is pickled."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float
from torch import Tensor

from bayesteach.artifacts import Page
from bayesteach.store import codecs


@dataclass(frozen=True)
class Row:
    name: str
    number: int
    share: float | None
    kind: Literal["a", "b"]
    many: tuple[str, ...]
    sure: bool


@dataclass(frozen=True, eq=False)
class Inner:
    scale: Float[Tensor, " n"]
    count: int


@dataclass(frozen=True, eq=False)
class Outer:
    rows: tuple[Row, ...]
    weights: Float[Tensor, "n m"]
    inner: Inner
    note: str
    page: Page


rows = st.builds(
    Row,
    name=st.text(st.characters(codec="utf-8")),
    number=st.integers(-(2**63), 2**63 - 1),
    share=st.none() | st.floats(allow_nan=False),
    kind=st.sampled_from(["a", "b"]),
    many=st.lists(st.text(st.characters(codec="utf-8"))).map(tuple),
    sure=st.booleans(),
)


@given(table=st.lists(rows).map(tuple))
def test_tables_come_back_as_they_were(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("artifact")
    codecs.write(folder, whole(table))
    assert codecs.read(folder, Outer).rows == table


def test_all_kinds_of_fields_come_back(tmp_path):
    value = whole((Row("a", 1, None, "b", ("x", "y"), True),))
    codecs.write(tmp_path, value)
    back = codecs.read(tmp_path, Outer)
    assert torch.equal(back.weights, value.weights)
    assert torch.equal(back.inner.scale, value.inner.scale)
    assert (back.inner.count, back.note, back.page) == (3, "naïve", "<p>µ</p>")
    assert (tmp_path / "page.html").read_text("utf-8") == "<p>µ</p>"


def test_the_same_value_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        codecs.write(tmp_path / name, whole((Row("a", 1, 0.5, "b", (), False),)))
    assert bytes_below(tmp_path / "a") == bytes_below(tmp_path / "b")


def test_nothing_that_python_would_run_is_written(tmp_path):
    codecs.write(tmp_path, whole(()))
    assert {file.suffix for file in tmp_path.rglob("*") if file.is_file()} == {
        ".parquet",
        ".safetensors",
        ".json",
        ".html",
    }


def whole(table: tuple[Row, ...]) -> Outer:
    return Outer(table, torch.eye(3)[:, :2], Inner(torch.arange(3.0), 3), "naïve", Page("<p>µ</p>"))


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
