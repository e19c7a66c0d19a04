"""Tall matrices that need not fit into memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Shards:
    """A tall matrix in parts, which are read when some of its rows are asked for: those in files take no memory meanwhile.

    parts  each with `features`, some rows
    where  of each row, the part that holds it and its place there
    """

    parts: tuple[Mapping[str, Tensor], ...]
    where: Int[Tensor, "rows 2"]

    @staticmethod
    def of(matrix: Float[Tensor, "rows cols"]) -> "Shards":
        """A matrix that is in memory, as one part."""
        places = torch.arange(len(matrix))
        return Shards(({"features": matrix},), torch.stack([torch.zeros_like(places), places], 1))

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, rows: Sequence[int]) -> Float[Tensor, "some cols"]:
        """Some rows, each part read once."""
        parts, places = self.where[list(rows)].unbind(1)
        order = parts.argsort(stable=True)
        needed, counts = parts[order].unique_consecutive(return_counts=True)
        like = self.parts[0]["features"]
        found = like.new_empty(len(order), like.shape[1])
        for part, some in zip(needed.tolist(), order.split(counts.tolist()), strict=True):
            found[some] = self.parts[part]["features"][places[some]]
        return found

    def only(self, rows: Sequence[int]) -> "Shards":
        """Some rows as a matrix of their own, with no more parts than they need."""
        parts, places = self.where[list(rows)].unbind(1)
        needed, renamed = parts.unique(return_inverse=True)
        return Shards(tuple(self.parts[part] for part in needed.tolist()), torch.stack([renamed, places], 1))
