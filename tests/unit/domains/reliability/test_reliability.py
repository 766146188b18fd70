"""Failures, checkpoints and spares against published formulas and hand calculations."""

import numpy as np
import pytest

from clusterwright.domains.reliability.checkpoints import (
    daly_interval,
    ettr,
    ettr_first_order,
    finish,
    first_order_loss,
    largest_job,
    young_interval,
)
from clusterwright.domains.reliability.rates import mtti, node_availability, node_failure_rate
from clusterwright.domains.reliability.spares import enough_nodes, enough_nodes_up, spare_nodes

DAY = 86400.0


def a(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def per_node(rate_per_1000_node_days: float) -> np.ndarray:
    return node_failure_rate(a(rate_per_1000_node_days), a(8))


@pytest.mark.parametrize(
    ("rate", "nodes", "hours"),
    [(6.5, 2048, 1.80), (6.5, 16384, 0.225), (3.79, 2048, 3.09)],  # 24 / (N r); the last is 54 d x 24 / 419
)
def test_time_to_interruption_is_what_was_published(rate: float, nodes: int, hours: float) -> None:
    assert mtti(a(nodes), per_node(rate))[0] / 3600 == pytest.approx(hours, rel=6e-3)


def test_a_node_with_half_the_gpus_fails_half_as_often() -> None:
    assert node_failure_rate(a(3.79), a(4))[0] == pytest.approx(per_node(3.79)[0] / 2)


def test_the_checkpoint_interval_of_128_nodes() -> None:
    # M = 1 / (128 x 6.5e-3 / d) = 103,846 s; sqrt(2 x 25 x 103,846) = 2,279 s = 38.0 min
    m = mtti(a(128), per_node(6.5))
    assert young_interval(a(25), m)[0] / 60 == pytest.approx(38.0, abs=0.05)
    # Daly: 2,279 x (1 + sqrt(25 / 207,692) / 3 + 25 / (18 x 103,846)) - 25 = 2,262
    assert daly_interval(a(25), m)[0] == pytest.approx(2262.0, abs=1.0)


def test_daly_waits_a_whole_mtti_when_a_checkpoint_takes_longer_than_two() -> None:
    assert daly_interval(a(500), a(200))[0] == 200


def test_the_published_effective_training_time_ratios() -> None:
    # arXiv:2410.21680, first order (1 - N r (u0 + dt/2)) / (1 + w/dt): 0.973 and 0.850
    m = mtti(a(128), per_node(6.5))
    assert ettr_first_order(a(38 * 60), a(25), a(600), m)[0] == pytest.approx(0.973, abs=0.0005)
    assert ettr(a(38 * 60), a(25), a(600), m)[0] == pytest.approx(0.973, abs=0.001)
    m = mtti(a(2048), per_node(3.79))
    assert ettr_first_order(a(19.3 * 60), a(60), a(600), m)[0] == pytest.approx(0.850, abs=0.0005)
    assert ettr(a(19.3 * 60), a(60), a(600), m)[0] == pytest.approx(0.850, abs=0.006)


def test_the_first_order_loses_its_meaning_where_the_exact_form_does_not() -> None:
    # (600 + 600/2) / 1000 = 0.9 of the time to interruption; beyond 1 the first order says nothing is left
    assert first_order_loss(a(600), a(600), a(1000))[0] == pytest.approx(0.9)
    assert ettr_first_order(a(600), a(60), a(600), a(800))[0] == 0
    assert 0 < ettr(a(600), a(60), a(600), a(800))[0] < 1


def test_the_largest_job_is_the_one_that_reaches_the_target() -> None:
    rate, save, restart = per_node(3.79), a(20), a(465)
    nodes = largest_job(rate, save, restart, a(0.9))
    m = mtti(nodes, rate)
    assert ettr(daly_interval(save, m), save, restart, m)[0] == pytest.approx(0.9, abs=1e-6)
    # Llama 3 says more than 0.90 on 2,048 nodes
    assert 1500 < nodes[0] < 3000


def test_runs_that_fit_beside_each_other_do_not_wait() -> None:
    times, gpus = [a(10, 10), a(7, 7)], [a(512, 512), a(512, 1024)]
    assert list(finish(times, gpus, a(1024, 1024))) == [7, 17]


def test_the_ratio_equals_a_simulation_of_failures() -> None:
    rng = np.random.default_rng(7)
    mean, interval, save, restart = 3000.0, 600.0, 60.0, 300.0
    done, clock = 0.0, 0.0
    for _ in range(20000):
        while True:  # one segment until it is saved
            fails = rng.exponential(mean)
            if fails >= interval + save:
                clock += interval + save
                break
            clock += fails
            while (again := rng.exponential(mean)) < restart:  # failures during the restart
                clock += again
            clock += restart
        done += interval
    assert ettr(a(interval), a(save), a(restart), a(mean))[0] == pytest.approx(done / clock, rel=0.01)


def test_the_ratio_is_finite_for_jobs_that_cannot_run() -> None:
    assert 0 < ettr(a(10), a(60), a(600), a(1.0))[0] < 1e-6


@pytest.mark.parametrize(("availability", "spares"), [(0.99, 6), (0.994, 5), (0.995, 4), (0.999, 2)])
def test_spares_for_three_nines_of_128_nodes(availability: float, spares: int) -> None:
    assert spare_nodes(a(128), a(availability), a(0.999), a(1))[0] == spares


def test_spares_are_the_fewest_that_reach_the_target() -> None:
    for nodes in (1, 8, 2048, 69375):
        count = int(spare_nodes(a(nodes), a(0.9935), a(0.999), a(1))[0])
        assert enough_nodes(nodes, count, 0.9935) >= 0.999 > enough_nodes(nodes, count - 1, 0.9935)


def test_many_nodes_agree_with_the_normal_approximation() -> None:
    # 100,000 nodes, 0.5 % down: mean 500, deviation 22.3; 3.09 deviations for 99.9 %: 569, exact just below LARGE
    count = spare_nodes(a(100_000), a(0.995), a(0.999), a(1))[0]
    assert count == pytest.approx((100_000 + 572) * 0.005 + 3.09 * 22.4, abs=4)


def test_rack_scale_systems_are_spared_whole() -> None:
    # 8 racks of 18 nodes, 0.9992 ^ 18 = 0.9857 each: P(at most 1 of 9 down) = 0.8784 + 0.1147 = 0.9931
    assert spare_nodes(a(144), a(0.9992), a(0.99), a(18))[0] == 18
    assert enough_nodes_up([a(144)], [a(18)], a(0.9992), a(18))[0] == pytest.approx(0.9931, abs=3e-4)
    # 0.9968 ^ 18 = 0.944: one spare rack of nine leaves 0.913, three leave 0.997
    assert spare_nodes(a(144), a(0.9968), a(0.99), a(18))[0] == 54


def test_availability_is_up_time_over_all_time() -> None:
    # one failure in 264 d, 1.67 d to mend: 264 / 265.67
    assert node_availability(a(1 / (264 * DAY)), a(1.67 * DAY))[0] == pytest.approx(264 / 265.67)


def test_the_weakest_site_decides() -> None:
    found = enough_nodes_up([a(128), a(128)], [a(5), a(2)], a(0.994), a(1))[0]
    assert found == pytest.approx(enough_nodes(128, 2, 0.994))
