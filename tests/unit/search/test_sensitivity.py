"""Swings against results worked out by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.search import rank_swings


def test_the_largest_swing_comes_first() -> None:
    low, high = np.array([9.0, 5.0, 10.0]), np.array([11.0, 12.0, 10.0])
    assert rank_swings(low, high, 10.0) == [(1, 5.0, 12.0), (0, 9.0, 11.0), (2, 10.0, 10.0)]


def test_equal_swings_keep_the_order_of_the_inputs() -> None:
    assert [k for k, _, _ in rank_swings(np.array([9.0, 11.0]), np.array([10.0, 10.0]), 10.0)] == [0, 1]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8))
def test_the_swings_of_a_sum_are_ranked_by_the_moves_of_its_inputs(moves: list[int]) -> None:
    made = rank_swings(10.0 - np.array(moves), 10.0 + np.array(moves), 10.0)
    assert [moves[k] for k, _, _ in made] == sorted(moves, reverse=True)
    assert all(low == 10.0 - moves[k] and high == 10.0 + moves[k] for k, low, high in made)
