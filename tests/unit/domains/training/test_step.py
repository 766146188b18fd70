"""The step time and its parts against hand calculations, with every rate as on paper."""

from dataclasses import fields, replace

import numpy as np
import pytest

from clusterwright.domains.fabric import all_gather_s, all_reduce_s, reduce_scatter_s
from clusterwright.domains.training import PHYSICS, Plans, Step, shape_of, step_of
from clusterwright.domains.training.software import Software
from tests.unit.domains.designs import catalog
from tests.unit.domains.training.plans import EXACT, llama_70b, machine, plan, runs


def _part(name: str, plans: Plans, **figures: float) -> float:
    step, _ = step_of(runs(llama_70b(), plans, machine(**figures)))
    return float(getattr(step, name)[0])


def test_the_parts_sum_to_the_step() -> None:
    step, _ = step_of(replace(runs(llama_70b(), plan(tp=4, pp=4, dp=8, micro_batches=8)), physics=PHYSICS))
    assert sum(getattr(step, f.name) for f in fields(Step)) == pytest.approx(step.total_s)
    assert all(getattr(step, f.name)[0] >= 0 for f in fields(Step))


def test_with_unlimited_bandwidth_products_take_six_operations_a_weight_and_token() -> None:
    # 6 x 69.5e9 x 8192 tokens / 800 TFLOP/s = 4.27 s; the bytes of the roofline vanish.
    took = _part("matmul_s", plan(), memory_bandwidth_bytes_s=1e30)
    assert took == pytest.approx(6 * llama_70b().matmul_parameters * 8192 / 800e12)


def test_full_recomputation_repeats_the_layers_but_not_the_head() -> None:
    plain = _part("matmul_s", plan(), memory_bandwidth_bytes_s=1e30)
    again = _part("matmul_s", plan(recompute=2), memory_bandwidth_bytes_s=1e30)
    layers = 2 * (llama_70b().matmul_parameters - 128256 * 8192) * 8192 / 800e12
    assert again - plain == pytest.approx(layers)


def test_flash_attention_does_seven_halves_of_its_forward_work() -> None:
    # Forward 80 x 2 x 8192^2/2 x 16384; backward 2.5 times as much.
    forward = 80 * 2 * 8192**2 / 2 * 16384
    assert _part("attention_s", plan()) == pytest.approx(3.5 * forward / 800e12)
    assert _part("attention_s", plan(tp=8)) == pytest.approx(3.5 * forward / 8 / 800e12)


def test_the_bubble_is_the_filling_of_the_pipeline() -> None:
    # Even stages, no communication to speak of: (pp - 1) / m of the work of a rank.
    shape = replace(llama_70b(), vocabulary=0.0)  # a head would burden the last stage only
    on = machine(network_bytes_s=1e30)
    step, _ = step_of(runs(shape, plan(pp=4, micro_batches=16), on))
    work = step.matmul_s + step.attention_s + step.memory_bound_s
    assert step.pp_bubble_s[0] == pytest.approx(3 / 16 * work[0], rel=1e-6)


def test_interleaving_divides_the_bubble_by_the_chunks() -> None:
    shape = replace(llama_70b(), vocabulary=0.0)
    plain, _ = step_of(runs(shape, plan(pp=4, micro_batches=16)))
    cut, _ = step_of(runs(shape, plan(pp=4, micro_batches=16, interleave=5)))
    assert cut.pp_bubble_s[0] == pytest.approx(plain.pp_bubble_s[0] / 5, rel=1e-6)


def test_uneven_stages_wait_for_the_fullest() -> None:
    # 80 layers over 3 stages: 27 instead of 26.67, 1.25 % more on each of 300 micro-batches.
    shape = replace(llama_70b(), vocabulary=0.0)
    step, _ = step_of(runs(shape, plan(pp=3, micro_batches=300)))
    work = float((step.matmul_s + step.attention_s + step.memory_bound_s)[0])
    assert step.pp_bubble_s[0] == pytest.approx(work * (27 * 3 / 80 - 1) + work * 27 * 3 / 80 * 2 / 300, rel=2e-3)


def test_a_layer_has_four_tensor_parallel_all_reduces_a_micro_batch() -> None:
    once = all_reduce_s(2 * 8192 * 8192, 8, 8, 450e9, 50e9, 5e-6, nic_efficiency=1.0)
    assert _part("tp_s", plan(tp=8)) == pytest.approx(4 * 80 * float(once))
    assert _part("tp_s", plan(tp=8, recompute=2)) == pytest.approx(6 * 80 * float(once))
    assert _part("tp_s", plan()) == 0


def test_gradients_are_reduced_in_four_bytes_and_weights_gathered_in_two_behind_a_micro_batch() -> None:
    weights = llama_70b().parameters / 8
    on = machine(network_bytes_s=1e8)  # so slow that computing hides little
    step, traffic = step_of(runs(llama_70b(), plan(tp=8, dp=4), on))
    wire = reduce_scatter_s(4 * weights, 4, 1, 450e9, 1e8, 5e-6, nic_efficiency=1.0)
    wire = wire + all_gather_s(2 * weights, 4, 1, 450e9, 1e8, 5e-6, nic_efficiency=1.0)
    work = step.matmul_s + step.attention_s + step.memory_bound_s
    assert traffic.dp.wire_s[0] == pytest.approx(float(wire))
    assert step.dp_s[0] == pytest.approx(float(wire) - work[0], rel=1e-6)


def test_interleaved_chunks_hide_traffic_behind_the_last_round_of_micro_batches() -> None:
    # 4 stages of 5 chunks: a chunk's gradients are complete while the other four chunks of the last 4 micro-batches are
    # worked on: 4 - 3/5 = 3.4 micro-batches of a rank instead of one.
    on = machine(network_bytes_s=1e9)
    step, traffic = step_of(runs(llama_70b(), plan(tp=8, pp=4, dp=4, micro_batches=8, interleave=5), on))
    one = (step.matmul_s + step.attention_s + step.memory_bound_s)[0] / 8
    assert step.dp_s[0] == pytest.approx(traffic.dp.wire_s[0] - 3.4 * one, rel=1e-6)
    plain, slow = step_of(runs(llama_70b(), plan(tp=8, pp=4, dp=4, micro_batches=8), on))
    assert plain.dp_s[0] == pytest.approx(slow.dp.wire_s[0] - one, rel=1e-6)


def test_gradients_in_two_bytes_move_two_thirds_of_the_bytes() -> None:
    full = runs(llama_70b(), plan(tp=8, dp=4))
    half = replace(full, software=Software(half_gradients=1.0))
    assert step_of(half)[1].dp.volume_bytes[0] / step_of(full)[1].dp.volume_bytes[0] == pytest.approx((2 + 2) / (4 + 2))


def test_what_an_eight_bit_product_gathers_is_cast_first() -> None:
    sixteen, eight = plan(tp=8), machine(bytes_per_element=1.0)
    whole = step_of(runs(llama_70b(), sixteen))[1].tp.volume_bytes[0]
    # A gather in one byte and a scatter in two, instead of two and two.
    assert step_of(runs(llama_70b(), sixteen, eight))[1].tp.volume_bytes[0] / whole == pytest.approx(0.75)
    by_rows = replace(runs(llama_70b(), sixteen, eight), software=Software(row_scaled=1.0))
    assert step_of(by_rows)[1].tp.volume_bytes[0] == whole
    uncut = runs(llama_70b(), plan(tp=8, sequence_parallel=0), eight)
    assert step_of(uncut)[1].tp.volume_bytes[0] == whole


def test_two_boards_of_four_in_a_server_talk_over_pcie_and_not_over_the_network() -> None:
    halves = {"domain": 4.0, "node": 8.0, "bridge_bytes_s": 12.5e9, "network_bytes_s": 6.25e9}
    crossing = all_reduce_s(2 * 8192 * 8192, 8, 4, 450e9, 12.5e9, 5e-6, nic_efficiency=1.0)
    assert _part("tp_s", plan(tp=8), **halves) == pytest.approx(4 * 80 * float(crossing))
    inside = all_reduce_s(2 * 8192 * 8192, 4, 4, 450e9, 6.25e9, 5e-6, nic_efficiency=1.0)
    assert _part("tp_s", plan(tp=4), **halves) == pytest.approx(4 * 80 * float(inside))
    far = all_reduce_s(2 * 8192 * 8192, 16, 4, 450e9, 6.25e9, 5e-6, nic_efficiency=1.0)
    assert _part("tp_s", plan(tp=16), **halves) == pytest.approx(4 * 80 * float(far))


def test_hidden_traffic_leaves_its_ends_exposed() -> None:
    some = runs(llama_70b(), plan(tp=8, pp=4, dp=4, micro_batch=4, micro_batches=8))
    step, traffic = step_of(replace(some, physics=replace(EXACT, dp_exposed=0.1)))
    assert step.dp_s[0] == pytest.approx(0.1 * traffic.dp.wire_s[0])


def test_sharing_weights_out_gathers_them_twice_a_micro_batch() -> None:
    _, once = step_of(runs(llama_70b(), plan(dp=8, micro_batches=4)))
    _, always = step_of(runs(llama_70b(), plan(dp=8, micro_batches=4, shard=3)))
    # 4 + 2 bytes once against 4 x (4 + 2 x 2) bytes.
    assert always.dp.volume_bytes[0] / once.dp.volume_bytes[0] == pytest.approx(32 / 6)


def test_expert_ranks_send_each_token_to_its_experts_and_back() -> None:
    shape = shape_of(catalog().model("mixtral-8x7b"))
    _, traffic = step_of(runs(shape, plan(ep=8, dp=8), sequence=4096))
    # 32 layers x 4 times x 4096 tokens x 2 experts x 4096 x 2 B, seven eighths of it to other ranks.
    assert traffic.ep.volume_bytes[0] == pytest.approx(32 * 4 * 4096 * 2 * 4096 * 2 * 7 / 8)
    _, alone = step_of(runs(shape, plan(dp=8), sequence=4096))
    assert alone.ep.exposed_s[0] == 0


def test_a_ring_across_servers_is_slower_than_one_inside() -> None:
    # One 400 Gb/s card a server is 6.25 GB/s a GPU: a ring of 16 has 50 GB/s between the servers, 353 inside.
    inside, across = _part("tp_s", plan(tp=8)), _part("tp_s", plan(tp=16), network_bytes_s=6.25e9)
    assert across > 4 * inside
    assert _part("tp_s", plan(tp=16), network_bytes_s=6.25e9, domain=72.0) < 1.2 * inside


def test_adam_moves_thirty_bytes_for_each_parameter_of_the_rank() -> None:
    assert _part("optimizer_s", plan()) == pytest.approx(30 * llama_70b().parameters / 3.35e12, rel=1e-3)
    assert _part("optimizer_s", plan(dp=8)) == pytest.approx(30 * llama_70b().parameters / 8 / 3.35e12, rel=1e-3)


def test_stragglers_cost_their_share_at_each_doubling_of_the_gpus() -> None:
    shape, plans = llama_70b(), plan(tp=8, pp=4, dp=32, micro_batches=16)
    without, _ = step_of(runs(shape, plans))
    some, _ = step_of(replace(runs(shape, plans), physics=replace(EXACT, overhead=0.005)))
    assert some.total_s[0] == pytest.approx(without.total_s[0] * (1 + 0.005 * 10))  # 1,024 = 2^10


def test_many_plans_at_once_are_the_same_as_one_by_one() -> None:
    some = [plan(tp=8, pp=2, micro_batches=4), plan(tp=2, pp=8, cp=2, micro_batches=8), plan(dp=4)]
    together = Plans(**{f.name: np.concatenate([getattr(p, f.name) for p in some]) for f in fields(Plans)})
    on = machine().take(np.zeros(3, dtype=np.intp))
    all_at_once, _ = step_of(runs(llama_70b(), together, on))
    assert list(all_at_once.total_s) == [float(step_of(runs(llama_70b(), p))[0].total_s[0]) for p in some]
