"""The weighted choice and its ties, against hand calculations and an obvious twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.search import best, median, weighted
from clusterwright.search.choose import relative


def test_objectives_are_measured_against_their_median() -> None:
    # cost 10, 20, 40: median 20 -> 0.5, 1, 2; time 3, 2, 1: median 2 -> 1.5, 1, 0.5
    rows = np.array([[10.0, 3.0], [20.0, 2.0], [40.0, 1.0]])
    assert weighted(rows, [0.7, 0.3]) == pytest.approx([0.7 * 0.5 + 0.3 * 1.5, 1.0, 0.7 * 2 + 0.3 * 0.5])


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_the_median_is_that_of_numpy(values: list[float]) -> None:
    assert median(values) == pytest.approx(float(np.median(values)), rel=1e-12, abs=1e-12)


def test_the_median_of_nothing_is_zero() -> None:
    assert median([]) == 0.0


def test_an_objective_without_weight_does_not_matter_even_where_it_is_infinite() -> None:
    assert weighted(np.array([[1.0, np.inf], [3.0, 0.0]]), [1.0, 0.0]).tolist() == [0.5, 1.5]


def test_infinite_options_do_not_move_the_measure_of_the_others() -> None:
    assert relative([2.0, 4.0, np.inf]).tolist() == [2 / 3, 4 / 3, np.inf]
    assert relative([0.0, 0.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -0.1]])
def test_weights_that_weigh_nothing_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        weighted(np.ones((2, 2)), weights)


def test_the_smallest_allowed_score_wins() -> None:
    assert best(np.array([1.0, 3.0, 2.0]), np.array([False, True, True])) == 2


def test_nothing_is_chosen_when_nothing_is_allowed() -> None:
    assert best(np.array([1.0, 2.0]), np.array([False, False])) is None
    assert best(np.array([np.nan]), np.array([True])) is None


def test_near_equals_are_settled_by_the_next_figure_and_then_by_the_next() -> None:
    # 1.00005 lies within a ten-thousandth of 1, 1.01 does not; of the three equal ones
    # two finish first, and of those one has fewer racks
    score = np.array([1.0, 1.00005, 1.0, 1.01])
    days, racks = np.array([13.0, 12.0, 12.0, 1.0]), np.array([1.0, 33.0, 32.0, 1.0])
    allowed = np.ones(4, dtype=bool)
    assert best(score, allowed) == 0
    assert best(score, allowed, (days,)) == 1
    assert best(score, allowed, (days, racks)) == 2


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.booleans()), max_size=12))
def test_the_choice_equals_the_first_of_the_sorted_options(options: list[tuple[int, int, bool]]) -> None:
    score, tie = (np.array([o[k] for o in options], dtype=float) for k in (0, 1))
    allowed = np.array([o[2] for o in options], dtype=bool)
    able = [i for i, o in enumerate(options) if o[2]]
    slowly = min(able, key=lambda i: (options[i][0], options[i][1], i)) if able else None
    assert best(score, allowed, (tie,)) == slowly
