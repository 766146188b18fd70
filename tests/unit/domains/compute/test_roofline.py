"""The roofline: operations, bytes and seconds of a kernel by its shape, against hand calculations."""

import numpy as np
import pytest

from clusterwright.domains.compute import attention_s, matmul_bytes, matmul_flop, matmul_s, memory_bound_s
from clusterwright.domains.compute.roofline import attention_flop

ONE = np.ones(1)


def _seconds(m: float, k: float, n: float, width: float = 2.0) -> float:
    made = matmul_s(
        m * ONE,
        k * ONE,
        n * ONE,
        achievable_flops=800e12 * ONE,
        bandwidth_bytes_s=3.35e12 * ONE,
        bytes_per_element=width * ONE,
    )
    return float(made[0])


def test_a_product_takes_two_operations_for_each_of_m_k_n() -> None:
    assert matmul_flop(8192 * ONE, 4096 * ONE, 1024 * ONE)[0] == 2 * 8192 * 4096 * 1024


def test_operands_cross_the_bus_at_their_precision_and_the_result_in_two_bytes() -> None:
    # 1-byte operands: 10x20 + 20x30 = 800 B; result 10x30 in 2 B = 600 B.
    assert matmul_bytes(10 * ONE, 20 * ONE, 30 * ONE, ONE)[0] == 1400


def test_a_large_square_product_runs_near_the_best_measured_rate() -> None:
    # 2 x 8192^3 = 1.0995e12 FLOP at 800 TFLOP/s = 1.3744 ms; 3 x 8192^2 x 2 B = 402.7 MB at 3.35 TB/s = 0.1202 ms.
    assert _seconds(8192, 8192, 8192) == pytest.approx(1.3744e-3 + 0.1202e-3, rel=1e-3)


def test_a_product_with_few_rows_is_bound_by_reading_its_weights() -> None:
    # 8 rows: 2 x 8 x 8192^2 = 1.07e9 FLOP = 1.3 us, but 134 MB of weights = 40 us.
    assert _seconds(8, 8192, 8192) == pytest.approx(40.1e-6 + 1.34e-6, rel=0.01)


def test_halving_the_operands_bytes_does_not_halve_the_result() -> None:
    assert _seconds(8, 8192, 8192, 1.0) / _seconds(8, 8192, 8192, 2.0) == pytest.approx(0.52, abs=0.02)


def test_causal_attention_does_half_of_the_pairs() -> None:
    # Scores 2 s^2 q and values 2 s^2 v, halved by the mask: 1024^2 x (512 + 512).
    assert attention_flop(1024 * ONE, 512 * ONE, 512 * ONE)[0] == 1024**2 * 1024
    assert attention_s(4e12 * ONE, achievable_flops=4e14 * ONE)[0] == pytest.approx(0.01)


def test_element_wise_work_is_bytes_over_bandwidth() -> None:
    assert memory_bound_s(6.7e9 * ONE, bandwidth_bytes_s=3.35e12 * ONE)[0] == pytest.approx(2e-3)
