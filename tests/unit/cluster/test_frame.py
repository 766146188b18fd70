"""The frame computes by laws, carries intervals, and remembers where numbers come from."""

import numpy as np
import pytest

from clusterwright.cluster import Cluster, Frame, Table, assumed, law, laws


@law("test.product", formula="a * b", unit="W", source="arithmetic")
def product(a, b):
    """A product."""
    return a * b


@law("test.total", formula="sum", unit="W", source="arithmetic")
def total(parts):
    """A sum of a list of figures."""
    return sum(parts)


@law("test.guess", formula="a", unit="1", source="a fit", spread=0.1, bounds=(0.0, 1.0))
def guess(a):
    """A law with an error of its own."""
    return a


def frame(**given: tuple[float, float, float]) -> Frame:
    made = Frame()
    for name, (low, value, high) in given.items():
        made.give(name, value, assumed("test"), low=low, high=high)
    return made


def test_an_interval_is_the_root_of_the_squared_moves() -> None:
    # a = 2 (1..3), b = 5 (4..7): moves down: (1-2)*5 = -5 and (4-5)*2 = -2; up: +5 and +4
    made = frame(a=(1, 2, 3), b=(4, 5, 7))
    made.derive("p_w", product, a="a", b="b")
    found = made.estimate("p_w")
    assert found.value == 10
    assert found.low == pytest.approx(10 - np.hypot(5, 2))
    assert found.high == pytest.approx(10 + np.hypot(5, 4))


def test_a_list_of_inputs_moves_one_at_a_time() -> None:
    made = frame(a=(1, 2, 3), b=(4, 5, 7))
    made.derive("t_w", total, parts=["a", "b"])
    found = made.estimate("t_w")
    assert (found.value, found.low, found.high) == pytest.approx((7, 7 - np.hypot(1, 1), 7 + np.hypot(1, 2)))
    assert made.figure("t_w").provenance.inputs == {"parts": ["a", "b"]}


def test_a_laws_own_spread_and_bounds_are_kept() -> None:
    made = frame(a=(0.95, 0.95, 0.95))
    made.derive("g", guess, a="a")
    found = made.estimate("g")
    assert (found.low, found.high) == pytest.approx((0.855, 1.0))


def test_a_missing_input_is_named() -> None:
    with pytest.raises(KeyError, match="no figure 'nowhere'"):
        Frame().derive("p_w", product, a="nowhere", b="nowhere")


def test_candidates_and_the_winner_compute_the_same() -> None:
    many = Frame(3, intervals=False)
    many.give("a", [1, 2, 3], assumed("test"))
    many.give("b", 5, assumed("test"))
    assert many.derive("p_w", product, a="a", b="b").tolist() == [5, 10, 15]


def test_a_varied_figure_moves_everything_that_stands_on_it() -> None:
    made = Frame(2, intervals=False)
    made.vary("a", [1.0, 2.0])
    made.give("a", 3, assumed("test"))
    made.give("b", 5, assumed("test"))
    assert made.derive("p_w", product, a="a", b="b").tolist() == [15, 30]


def test_totals_nest_and_counts_are_plain() -> None:
    cluster = Cluster(head={"name": "x"})
    cluster.frame.give("compute.gpus", 8, assumed("test"), count=True)
    cluster.frame.give("training[1].mfu", 0.4, assumed("test"), low=0.3, high=0.5)
    cluster.frame.choose("compute.accelerator", "h100", assumed("test"))
    assert cluster.tree() == {
        "compute": {"gpus": 8, "accelerator": "h100"},
        "training": [{}, {"mfu": {"value": 0.4, "low": 0.3, "high": 0.5}}],
    }


def test_a_row_must_fill_every_column() -> None:
    table = Table.empty("services")
    table.add(name="a", layer="scheduler", nodes=4, role="compute", why="w")
    with pytest.raises(ValueError, match="why"):
        table.add(name="a", layer="scheduler", nodes=4, role="compute")
    assert table.where(name="a") == [{"name": "a", "layer": "scheduler", "nodes": 4, "role": "compute", "why": "w"}]


def test_a_law_listed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        laws(product, product)
