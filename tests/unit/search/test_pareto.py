"""Fronts against the obvious twin that compares all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clusterwright.search import dominated

SHAPES = st.tuples(st.integers(0, 40), st.integers(1, 4))
FEW_VALUES = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.inf])  # few, so that ties and equal rows are common


def slowly(rows: np.ndarray) -> list[bool]:
    return [any((b <= a).all() and (b < a).any() for b in rows) for a in rows]


def test_a_front_of_two_objectives() -> None:
    rows = np.array([[1.0, 5.0], [2.0, 4.0], [2.0, 5.0], [3.0, 1.0], [3.0, 1.0], [np.inf, np.inf]])
    assert dominated(rows).tolist() == [False, False, True, False, False, True]


@given(arrays(np.float64, SHAPES, elements=FEW_VALUES))
def test_the_front_equals_the_one_found_by_comparing_all_pairs(rows: np.ndarray) -> None:
    assert dominated(rows).tolist() == slowly(rows)


@given(arrays(np.float64, SHAPES, elements=FEW_VALUES), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows: np.ndarray, random: object) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]  # what hypothesis gives is a random.Random
    assert dominated(rows[order]).tolist() == dominated(rows)[order].tolist()


@given(arrays(np.float64, SHAPES, elements=FEW_VALUES))
def test_each_dominated_row_is_beaten_by_one_of_the_front(rows: np.ndarray) -> None:
    beaten = dominated(rows)
    front = rows[~beaten]
    assert len(rows) == 0 or len(front)
    assert all(any((f <= row).all() and (f < row).any() for f in front) for row in rows[beaten])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_what_is_not_known_beats_nothing(k: int) -> None:
    rows = np.vstack([np.full(k, np.nan), np.full(k, 7.0)])
    assert dominated(rows).tolist() == [True, False]


@pytest.mark.parametrize("k", [1, 3])
def test_rows_beyond_one_block_are_compared_too(k: int) -> None:
    # 1,000 rows of small whole numbers: several blocks, many equal rows
    rows = np.random.default_rng(7).integers(0, 12, (1000, k)).astype(float)
    assert dominated(rows).tolist() == slowly(rows)


def test_ten_thousand_rows_on_a_line_have_the_front_of_that_line() -> None:
    # x + y = 9,999 is a front; a second line one unit above it is dominated wholly
    x = np.arange(5000.0)
    line = np.column_stack([x, 4999.0 - x])
    assert dominated(np.vstack([line + 1.0, line])).tolist() == [True] * 5000 + [False] * 5000
