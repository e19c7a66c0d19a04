"""Who does the units of a stage: this process, one after the other, or a cluster (`scale/cluster.py`)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor

if TYPE_CHECKING:
    from bayesteach.stages.context import Context

T = TypeVar("T")
Unit = TypeVar("Unit")


@runtime_checkable
class Crew(Protocol):
    """Does the same work on many units. The work is a function of a module, or a partial of one, so that it can travel."""

    def each(
        self, context: "Context", work: Callable[["Context", Unit], Mapping[str, Tensor]], units: Sequence[Unit]
    ) -> Iterator[Mapping[str, Tensor]]:
        """What comes of each, in their order; the work remembers it in the context, and done units are not done again."""
        ...

    def total(
        self,
        context: "Context",
        work: Callable[["Context", Unit], T],
        units: Sequence[Unit],
        advance: Callable[[int], None],
    ) -> T:
        """The sum of what comes of all: added up in a tree whose shape depends on their number alone."""
        ...


@dataclass(frozen=True, slots=True)
class Alone:
    """One unit after the other, here."""

    def each(self, context: Any, work: Callable[..., Any], units: Sequence[Any]) -> Iterator[Mapping[str, Tensor]]:
        """As they come."""
        for unit in units:
            yield work(context, unit)

    def total(
        self, context: Any, work: Callable[..., Any], units: Sequence[Any], advance: Callable[[int], None]
    ) -> Any:
        """As they come."""

        def done() -> Iterator[Any]:
            for unit in units:
                yield work(context, unit)
                advance(1)

        return tree(done(), add)


ALONE = Alone()


def tree(leaves: Iterable[T], plus: Callable[[T, T], T]) -> T:
    """Their sum by pairs, and pairs of pairs: no more than log2 of their number are held at a time."""
    held: list[tuple[int, T]] = []
    for leaf in leaves:
        height, grown = 0, leaf
        while held and held[-1][0] == height:
            height, grown = height + 1, plus(held.pop()[1], grown)
        held.append((height, grown))
    _, whole = held.pop()
    while held:
        whole = plus(held.pop()[1], whole)
    return whole
