"""Swings against results worked out by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.search import one_at_a_time, rank_swings, tornado

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8)


def test_the_largest_swing_comes_first() -> None:
    low, high = np.array([9.0, 5.0, 10.0]), np.array([11.0, 12.0, 10.0])
    assert rank_swings(low, high, 10.0) == [(1, 5.0, 12.0), (0, 9.0, 11.0), (2, 10.0, 10.0)]


def test_equal_swings_keep_the_order_of_the_inputs() -> None:
    assert [k for k, _, _ in rank_swings(np.array([9.0, 11.0]), np.array([10.0, 10.0]), 10.0)] == [0, 1]


def test_one_input_moves_at_a_time() -> None:
    rows = one_at_a_time([1.0, 2.0], [0.5, 1.5], [3.0, 4.0])
    assert rows.tolist() == [[0.5, 2.0], [3.0, 2.0], [1.0, 1.5], [1.0, 4.0]]


def test_a_tornado_of_an_area() -> None:
    # 4 x 5 = 20; width 3 to 5 gives 15 to 25, height 2 to 6 gives 8 to 24
    made = tornado(lambda rows: rows[:, 0] * rows[:, 1], base=[4, 5], low=[3, 2], high=[5, 6])
    assert made == [(1, 8.0, 24.0), (0, 15.0, 25.0)]


def test_the_function_is_called_once() -> None:
    calls: list[int] = []

    def counted(rows: np.ndarray) -> np.ndarray:
        calls.append(len(rows))
        return rows.sum(axis=1)

    tornado(counted, [1, 1, 1], [0, 0, 0], [2, 2, 2])
    assert calls == [7]  # two ends of three inputs, and the base


@given(NUMBERS, st.data())
def test_the_swings_of_a_sum_are_the_moves_of_its_inputs(base: list[float], data: st.DataObject) -> None:
    moves = data.draw(st.lists(st.integers(0, 100), min_size=len(base), max_size=len(base)))
    start = np.round(np.array(base))
    made = tornado(lambda rows: rows.sum(axis=1), start, start - moves, start + moves)
    assert [moves[k] for k, _, _ in made] == sorted(moves, reverse=True)
    assert all(low <= start.sum() <= high for _, low, high in made)
