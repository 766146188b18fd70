"""Fronts and swings, against obvious twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clusterwright.search import dominated, rank_swings


def slowly(rows: np.ndarray) -> list[bool]:
    return [any((b <= a).all() and (b < a).any() for b in rows) for a in rows]


def test_a_front_of_two_objectives() -> None:
    rows = np.array([[1.0, 5.0], [2.0, 4.0], [2.0, 5.0], [3.0, 1.0], [3.0, 1.0], [np.inf, np.inf]])
    assert dominated(rows).tolist() == [False, False, True, False, False, True]


@given(arrays(np.float64, st.tuples(st.integers(0, 40), st.integers(1, 3)), elements=st.integers(0, 5).map(float)))
def test_the_front_equals_the_one_found_by_comparing_all_pairs(rows: np.ndarray) -> None:
    assert dominated(rows).tolist() == slowly(rows)


def test_the_largest_swing_comes_first() -> None:
    low, high = np.array([9.0, 5.0, 10.0]), np.array([11.0, 12.0, 10.0])
    assert rank_swings(low, high, 10.0) == [(1, 5.0, 12.0), (0, 9.0, 11.0), (2, 10.0, 10.0)]
