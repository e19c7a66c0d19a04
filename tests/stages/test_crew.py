"""Who does units: sums in a tree are sums, of the same shape whoever adds them up."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from bayesteach.stages.context import Context
from bayesteach.stages.crew import ALONE, tree


@given(st.lists(st.integers(), min_size=1, max_size=200))
def test_a_tree_adds_up_everything_in_its_order(leaves):
    assert tree([[leaf] for leaf in leaves], lambda a, b: a + b) == leaves


@given(st.integers(1, 300))
def test_no_leaf_enters_more_than_log2_sums(count):
    height = tree([0] * count, lambda a, b: 1 + max(a, b))
    assert height <= (count - 1).bit_length()


def test_a_crew_of_one_works_in_order_and_tells_of_each():
    told: list[int] = []
    means = Context(lambda: None, lambda: None)
    found = ALONE.total(means, lambda _, unit: torch.tensor([unit]), [1, 2, 3], told.append)
    assert found.tolist() == [6]
    assert told == [1, 1, 1]
    assert [unit["x"] for unit in ALONE.each(means, lambda _, unit: {"x": unit}, [3, 1, 2])] == [3, 1, 2]
