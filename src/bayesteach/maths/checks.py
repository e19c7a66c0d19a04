"""What must hold before we calculate. Each check returns nothing or raises one clear message."""

from collections.abc import Iterable
from math import isfinite
from operator import index as whole

import torch
from torch import Tensor

from bayesteach.errors import BadShape, Empty, NotFinite, OutOfRange


def sizes(name: str, tensor: Tensor, *expected: int | str) -> None:
    """The tensor has these sizes; a word stands for any size, and the same word for the same size."""
    if tensor.ndim == len(expected):
        known: dict[str, int] = {}
        if all(
            size == (known.setdefault(want, size) if isinstance(want, str) else want)
            for size, want in zip(tensor.shape, expected, strict=True)
        ):
            return
    wanted = "(" + ", ".join(str(want) for want in expected) + ")"
    raise BadShape(
        f"{name}: found {tuple(tensor.shape)}, expected a tensor of shape {wanted}. Reshape it, or check which is passed."
    )


def sides(size: int | tuple[int, int]) -> tuple[int, int]:
    """Height and width, from one side or both."""
    try:
        height, width = (whole(side) for side in (size if isinstance(size, Iterable) else (size, size)))
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise OutOfRange(f"size: found {size}, expected a side or (height, width), whole numbers above 0.")
    return height, width


def floating(name: str, tensor: Tensor) -> None:
    """The tensor holds real numbers."""
    if not tensor.is_floating_point():
        raise BadShape(f"{name}: found {tensor.dtype}, expected floating point. Convert it with .float() or .double().")


def same_precision(name: str, tensor: Tensor, other: Tensor) -> None:
    """Two tensors that will be multiplied have one precision."""
    if tensor.dtype != other.dtype:
        raise BadShape(
            f"{name}: found {tensor.dtype} beside {other.dtype}, expected one precision. Convert one with .to(…)."
        )


def widths(name: str, tensor: Tensor, width: int) -> None:
    """The last size is this, whatever comes before."""
    if tensor.ndim < 1 or tensor.shape[-1] != width or not tensor.is_floating_point():
        found = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
        raise BadShape(
            f"{name}: found {found}, expected real numbers of shape (…, {width}). Reshape it, or check which is passed."
        )


def finite(name: str, tensor: Tensor) -> None:
    """No value is NaN or infinite."""
    # One pass that allocates nothing of the tensor's size: a sum is finite unless a value is not (or it overflows).
    if tensor.numel() == 0 or bool(torch.isfinite(tensor.sum(dtype=torch.float64))):
        return
    bad = ~torch.isfinite(tensor)
    count = int(bad.sum())
    if count:
        first = tuple(int(i) for i in bad.nonzero()[0])
        raise NotFinite(
            f"{name}: {count} of {tensor.numel()} values are NaN or infinite, the first at index {first}. "
            "Find the image that made it, and leave it out."
        )


def some(name: str, count: int) -> None:
    """There is at least one."""
    if count < 1:
        raise Empty(f"{name}: found none, expected at least one.")


def number(name: str, value: float) -> None:
    """Not NaN, not infinite."""
    if not isfinite(value):
        raise NotFinite(f"{name}: found {value}, expected a finite number.")


def positive(name: str, value: float) -> None:
    """A finite number above zero."""
    if not (isfinite(value) and value > 0):
        raise OutOfRange(f"{name}: found {value}, expected a finite number above 0.")


def not_negative(name: str, value: float) -> None:
    """A finite number, zero or above."""
    if not (isfinite(value) and value >= 0):
        raise OutOfRange(f"{name}: found {value}, expected a finite number, 0 or above.")


def share(name: str, value: float) -> None:
    """A number in [0, 1]."""
    if not 0 <= value <= 1:
        raise OutOfRange(f"{name}: found {value}, expected a number from 0 to 1.")


def index(name: str, value: int, size: int) -> None:
    """An index into `size` things, counted from 0."""
    if not 0 <= value < size:
        raise OutOfRange(f"{name}: found {value}, expected an index from 0 to {size - 1}.")


def indices(name: str, values: Tensor, size: int) -> None:
    """Indices into `size` things, counted from 0."""
    if values.is_floating_point() or values.is_complex() or values.dtype == torch.bool:
        raise OutOfRange(f"{name}: found {values.dtype}, expected whole numbers.")
    bad = (values < 0) | (values >= size)
    if bool(bad.any()):
        where = tuple(int(i) for i in bad.nonzero()[0])
        raise OutOfRange(
            f"{name}: found {int(values[where])} at index {where}, expected indices from 0 to {size - 1}. "
            "Check that the labels and the classifier's classes are the same list."
        )


def probabilities(name: str, values: Tensor) -> None:
    """Rows that are not negative and sum to one, within what float16 leaves of them."""
    finite(name, values)
    off = (values.sum(-1, dtype=torch.float64) - 1).abs() > 1e-2
    bad = off | (values < 0).any(-1)
    if bool(bad.any()):
        row = int(bad.nonzero()[0, 0])
        raise OutOfRange(
            f"{name}: row {row} sums to {float(values[row].sum()):.4g} with least value {float(values[row].min()):.4g}, "
            "expected probabilities. Pass the softmax of the logits, not the logits."
        )
