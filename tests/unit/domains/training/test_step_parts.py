"""Parts of the step that the first law did not have, against hand calculations with every rate as on paper."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog import from_dimensions
from clusterwright.domains.compute import matmul_s
from clusterwright.domains.training import MODERN, PHYSICS, ModelShape, Plans, Step, best_products, shape_of, step_of
from clusterwright.domains.training.machine import Measured
from clusterwright.domains.training.physics import Physics
from clusterwright.domains.training.rates import rates_of
from clusterwright.domains.training.software import Software
from tests.unit.domains.designs import catalog
from tests.unit.domains.training.plans import EXACT, llama_70b, machine, plan, runs

FAST = machine(memory_bandwidth_bytes_s=1e30)
"""Bytes cost nothing."""


def part(name: str, plans: Plans, *, software: Software = MODERN, physics: Physics = EXACT, **more: float) -> float:
    shape = more.pop("shape", llama_70b())  # type: ignore[arg-type]
    on = machine(**({"memory_bandwidth_bytes_s": 1e30} | more))
    some = replace(runs(shape, plans, on), software=software, physics=physics)
    return float(getattr(step_of(some)[0], name)[0])


def test_depth_and_wave_lengthen_a_product_by_hand() -> None:
    # 2 (1000 x 2000 + 500,000) (4000 + 100) / 1e12 = 20.5 ms instead of 16 ms.
    took = matmul_s(
        np.array(1000.0), np.array(4000.0), np.array(2000.0), achievable_flops=np.array(1e12),
        bandwidth_bytes_s=np.array(1e30), bytes_per_element=np.array(2.0), depth=100.0, wave=5e5,
    )  # fmt: skip
    assert took == pytest.approx(20.5e-3)


def test_the_three_passes_of_a_product_have_three_shapes() -> None:
    # Only the head: forward sums over hidden, its input's gradient over the vocabulary, its weights' over tokens.
    shape = replace(llama_70b(), layers=1e-12, vocabulary=100_000.0)
    tokens, hidden, vocabulary, k0, w = 8192, 8192, 100_000, 100, 1e6
    by_hand = (
        (tokens * vocabulary + w) * (hidden + k0)
        + (tokens * hidden + w) * (vocabulary + k0)
        + (hidden * vocabulary + w) * (tokens + k0)
    )
    some = replace(EXACT, depth=float(k0), wave=w)
    assert part("matmul_s", plan(), shape=shape, physics=some) == pytest.approx(2 * by_hand / 800e12, rel=1e-6)


def test_the_head_makes_the_last_stage_the_busiest() -> None:
    # 80 layers over 8 stages: 10 each; a head as heavy as 5 layers makes the last one half as slow again.
    layer = (llama_70b().matmul_parameters - 128256 * 8192) / 80
    shape = replace(llama_70b(), vocabulary=5 * layer / 8192, query_width=0.0, value_width=0.0)
    plans = plan(pp=8, micro_batches=800)
    step = step_of(runs(shape, plans, machine(memory_bandwidth_bytes_s=1e30, network_bytes_s=1e30)))[0]
    one = 6 * layer * 8192 / 800e12
    # 800 micro-batches of 15 layers, and 7 more to fill and drain.
    assert (step.matmul_s + step.pp_bubble_s)[0] == pytest.approx(807 * 15 * one, rel=2e-3)


def test_an_uneven_split_leaves_room_for_the_head() -> None:
    # 126 layers on 16 stages: 8 each but 7 on both ends, as Llama 3.1 405B was trained: the head (0.66 layers) is free.
    shape = shape_of(catalog().model("llama-3.1-405b"))
    plans = plan(pp=16, micro_batches=1600)
    step = step_of(runs(shape, plans, machine(memory_bandwidth_bytes_s=1e30, network_bytes_s=1e30)))[0]
    work = (step.matmul_s + step.attention_s)[0]
    head = 6 * 128256 * 16384 * 8192 / 800e12 * 1600 / 16
    fullest = (work - head) * 8 * 16 / 126
    assert (work + step.pp_bubble_s[0]) == pytest.approx(fullest * 1615 / 1600, rel=2e-3)


def test_attention_that_is_not_fused_does_all_pairs_and_moves_its_scores() -> None:
    # Forward and backward: 3 x 2 products of s^2 x 8192; no causal saving. 2 x 12 bytes a score and head.
    old = replace(MODERN, fused_attention=0.0)
    flop = 80 * 3 * 2 * 2 * 8192**2 * 8192
    assert part("attention_s", plan(), software=old) == pytest.approx(flop / 800e12)
    moved = 80 * 64 * 8192**2 * 12 * 2
    slow = part("attention_s", plan(), software=old, memory_bandwidth_bytes_s=3e12)
    assert slow - flop / 800e12 == pytest.approx(moved / 3e12)


def test_recomputation_that_stops_early_spares_the_last_product() -> None:
    whole = part("matmul_s", plan(recompute=2))
    early = part("matmul_s", plan(recompute=2), software=replace(MODERN, whole_recompute=0.0))
    layers = 2 * (llama_70b().matmul_parameters - 128256 * 8192) * 8192 / 800e12
    assert whole - early == pytest.approx(0.3 * layers)


def test_frozen_weights_have_no_gradients_of_their_own() -> None:
    frozen = replace(MODERN, frozen_weights=1.0)
    assert part("matmul_s", plan(), software=frozen) == pytest.approx(2 / 3 * part("matmul_s", plan()))
    assert part("dp_s", plan(dp=8), software=frozen) == 0


def test_a_token_crosses_to_a_domain_once() -> None:
    # 64 experts' ranks in 8 domains of 8, 8 experts a token: 7 (1 - (7/8)^8) = 4.59 crossings instead of 7.
    shape = shape_of(catalog().model("qwen3-235b-a22b"))
    plans = plan(ep=64, dp=64)
    once = step_of(runs(shape, plans, sequence=4096))[1].ep
    each = step_of(replace(runs(shape, plans, sequence=4096), software=replace(MODERN, once_per_domain=0.0)))[1].ep
    token = 94 * 4 * 2 * 4096 * 4096
    assert once.volume_bytes[0] == pytest.approx(token * (7 * (1 - (7 / 8) ** 8) + 8 * 7 / 8))
    assert each.volume_bytes[0] == pytest.approx(token * (7 + 7))
    assert once.wire_s[0] < 0.7 * each.wire_s[0]


def test_small_kernels_wait_for_the_host_and_large_ones_do_not() -> None:
    # 80 layers x 14 kernels x 3 passes x 10 us = 33.6 ms of launching.
    slow = replace(EXACT, kernel_s=10e-6)
    small = step_of(replace(runs(llama_70b(), plan(tp=8), FAST, sequence=64), physics=slow))[0]
    busy = (small.matmul_s + small.attention_s + small.memory_bound_s + small.tp_s)[0]
    assert small.total_s[0] == pytest.approx((busy**3 + 33.6e-3**3) ** (1 / 3), rel=0.02)
    large = step_of(replace(runs(llama_70b(), plan(), FAST, sequence=8192), physics=slow))[0]
    assert large.other_s[0] < 1e-3 * large.total_s[0]


def test_weights_in_eight_bits_leave_the_head_in_sixteen() -> None:
    sixteen = part("matmul_s", plan())
    eight = part("matmul_s", plan(), achievable_flops=1600e12, bytes_per_element=1.0)
    head = 6 * 128256 * 8192 * 8192 / 800e12
    assert eight - head == pytest.approx((sixteen - head) / 2)


def test_casts_by_kernels_of_their_own_move_three_times_the_bytes() -> None:
    # Operands of an 80-layer model, forward and as gradients: 2 bytes an element where fused, 6 where not.
    bandwidth, elements = 3e12, 80 * (2 * 8192 + 8192 + 28672 + (8192 + 2048) + 8192 + 2 * 28672 + 8192) * 8192
    narrow = {"bytes_per_element": 1.0, "memory_bandwidth_bytes_s": bandwidth}
    apart = part("memory_bound_s", plan(), software=replace(MODERN, separate_casts=1.0), **narrow)
    assert apart - part("memory_bound_s", plan(), **narrow) == pytest.approx(4 * elements / bandwidth)


def test_a_state_space_block_moves_its_elements_and_scans_them_by_hand() -> None:
    dims = {"layers": 1, "state_layers": 1, "bare_layers": 1, "hidden": 1024, "heads": 8, "ffn_hidden": 1, "vocab": 1}
    dims |= {"state_heads": 32, "state_head_dim": 64, "state_size": 128, "state_groups": 1}
    shape = shape_of(from_dimensions(dims))
    # Scan: 128 x 256 + (2 x 128 + 4 x 128) x 2048 operations a token forward, 3.5 times in all; no attention.
    scan = 8192 * (128 * 256 + 768 * 2048)
    assert part("attention_s", plan(), shape=shape) == pytest.approx(3.5 * scan / 800e12)  # type: ignore[arg-type]
    # Forward 8 x 2048 + 4 x 256 + states 2 x 4 x 2048, backward three times that: two bytes each; half of a layer's
    # streams (no MLP): 3 passes x 5 x 1024; adding weight gradients: 8 bytes each; 16 bytes for the one logit.
    moved = 2 * 8192 * (4 * (8 * 2048 + 4 * 256 + 8 * 2048) + 3 * 5 * 1024)
    weights = 1024 * (2 * 2048 + 256 + 32) + 2048 * 1024
    moved += 8 * (weights + 1024) + 16 * 8192
    slow = part("memory_bound_s", plan(), shape=shape, memory_bandwidth_bytes_s=3e12)  # type: ignore[arg-type]
    assert slow == pytest.approx(moved / 3e12)


def test_a_part_that_nobody_measured_takes_its_nearest_relative_and_its_power() -> None:
    known = Measured(np.array([989e12]), np.array([700.0]), np.array([450e9]), np.array([794.5e12]))
    best, power = best_products(np.array([989e12]), np.array([500.0]), np.array([450e9]), 0.0, known)
    assert (best[0], power[0]) == (pytest.approx(794.5e12), pytest.approx(500 / 700))
    best, power = best_products(np.array([312e12]), np.array([400.0]), np.array([300e9]), 0.0, known)
    # No part of about that peak: 0.80 x (1.282 / 0.7)^0.15 = 0.876 (measured: 0.869).
    assert best[0] / 312e12 == pytest.approx(0.876, abs=0.001)
    assert power[0] == 1
    best, power = best_products(np.array([989e12]), np.array([500.0]), np.array([450e9]), 700e12, known)
    assert (best[0], power[0]) == (700e12, 1)


def test_less_power_makes_products_slower_by_its_exponent() -> None:
    full, capped = (part("matmul_s", plan(), physics=replace(EXACT, power=0.5), power_ratio=r) for r in (1.0, 0.25))
    assert capped == pytest.approx(2 * full)


SHAPES: list[ModelShape] = [shape_of(catalog().model(m)) for m in ("llama-3-8b", "mixtral-8x7b", "deepseek-v3")]
POWERS = st.sampled_from([1, 2, 4, 8, 16])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SHAPES), POWERS, POWERS, POWERS, POWERS, st.sampled_from([1, 3]), st.sampled_from([0.0, 1.0, 2.0])
)
def test_any_plan_takes_a_positive_time_and_a_better_machine_never_takes_longer(
    shape: ModelShape, tp: int, pp: int, dp: int, micro: int, count: int, recompute: float
) -> None:
    ep = float(min(dp, 8)) if shape.expert else 1.0
    plans = plan(tp=tp, pp=pp, dp=dp, ep=ep, micro_batch=micro, micro_batches=count, recompute=recompute)
    slow = step_of(replace(runs(shape, plans, machine(), 4096), physics=PHYSICS))[0]
    for f in fields(Step):
        value = getattr(slow, f.name)[0]
        assert np.isfinite(value)
        assert value >= 0
    better = {
        "memory_bandwidth_bytes_s": 6.7e12,
        "network_bytes_s": 100e9,
        "scaleup_bytes_s": 900e9,
        "latency_s": 2e-6,
        "power_ratio": 1.2,
    }
    for name, value in better.items():
        quick = step_of(replace(runs(shape, plans, machine(**{name: value}), 4096), physics=PHYSICS))[0]
        assert quick.total_s[0] <= slow.total_s[0] * (1 + 1e-9), name


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(SHAPES), POWERS, st.sampled_from([1, 2, 4]))
def test_more_work_takes_longer(shape: ModelShape, tp: int, count: int) -> None:
    def total(**dimensions: float) -> float:
        return float(
            step_of(replace(runs(shape, plan(tp=tp, **dimensions), machine(), 4096), physics=PHYSICS))[0].total_s[0]
        )

    assert total(micro_batches=count + 1) > total(micro_batches=count)
    assert total(micro_batches=count, recompute=2.0) > total(micro_batches=count)
    assert total(micro_batches=count, micro_batch=2) > total(micro_batches=count)


def test_no_product_lasts_above_the_best_measured_one() -> None:
    # Four times the usual power behind a FLOP/s, exponent 1: 0.9 x 4 of the best product, were it not for the limit.
    dense = machine(power_density=4.0 * 0.7e-12)
    physics = replace(EXACT, matmul=0.9, sustained=1.0)
    rates = rates_of(replace(runs(llama_70b(), plan(), dense), physics=physics))
    assert rates.products[0] == pytest.approx(dense.achievable_flops[0])
    assert rates.bf16[0] == pytest.approx(dense.achievable_bf16_flops[0])
