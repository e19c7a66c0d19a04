"""What is written is read back, the same value gives the same bytes, and nothing is pickled."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float
from torch import Tensor

from bayesteach.artifacts import Page, Shards
from bayesteach.store import codecs, tensors
from bayesteach.store.workspace import Workspace


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


@given(
    cuts=st.lists(st.integers(0, 12), max_size=4).map(sorted),
    wanted=st.lists(st.integers(0, 11), max_size=30),
    order=st.permutations(range(12)),
)
def test_rows_come_from_whichever_part_holds_them(cuts, wanted, order):
    matrix = torch.randn(12, 3)
    edges = [0, *cuts, 12]
    parts = tuple({"features": matrix[a:b]} for a, b in pairwise(edges))
    where = torch.tensor([(part, row - edges[part]) for row in order for part in [places(edges, row)]])
    shards = Shards(parts, where)
    assert torch.equal(shards[wanted], matrix[torch.tensor(order)][wanted])
    assert len(shards) == 12
    if wanted:
        few = shards.only(wanted)
        assert torch.equal(few[range(len(wanted))], shards[wanted])
        assert len(few.parts) == len(set(where[wanted][:, 0].tolist()))


def places(edges: list[int], row: int) -> int:
    return next(part for part, (a, b) in enumerate(pairwise(edges)) if a <= row < b)


def test_what_a_unit_holds_is_not_kept_twice(tmp_path, monkeypatch):
    kept = Workspace(tmp_path).keep("features", "ab12", {"features": torch.eye(3)})
    shards = Shards((kept, {"features": torch.ones(2, 3)}), torch.tensor([[1, 0], [0, 2]]))
    codecs.write(tmp_path / "linked", shards)
    back = codecs.read(tmp_path / "linked", Shards)
    assert torch.equal(back[[0, 1]], torch.tensor([[1.0, 1, 1], [0, 0, 1]]))
    assert (tmp_path / "linked" / "parts" / "000000.safetensors").samefile(kept.file)
    monkeypatch.setattr(tensors.os, "link", refuse)
    codecs.write(tmp_path / "copied", shards)
    assert bytes_below(tmp_path / "copied") == bytes_below(tmp_path / "linked")
    assert not (tmp_path / "copied" / "parts" / "000000.safetensors").samefile(kept.file)


def refuse(*_: object) -> None:
    raise OSError("another disk")


def whole(table: tuple[Row, ...]) -> Outer:
    return Outer(table, torch.eye(3)[:, :2], Inner(torch.arange(3.0), 3), "naïve", Page("<p>µ</p>"))


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
