"""Memory of a plan against hand calculations: bytes of state a parameter, activations in flight."""

import numpy as np
import pytest

from clusterwright.domains.training import Plans, memory_of, shape_of
from clusterwright.domains.training.memory import RESERVE_BYTES
from tests.unit.domains.designs import catalog
from tests.unit.domains.training.plans import llama_70b, plan

LAYER = 8192 * (8192 + 2048) + 8192**2 + 3 * 8192 * 28672
ENDS = 2 * 128256 * 8192


def _state(plans: Plans) -> float:
    return float(memory_of(llama_70b(), plans, 8192).state_bytes[0])


def test_alone_a_gpu_holds_eighteen_bytes_a_parameter() -> None:
    # BF16 weight 2 + FP32 gradient 4 + FP32 master and two moments 12.
    assert _state(plan()) == pytest.approx(18 * (80 * LAYER + ENDS))


def test_the_optimizer_state_is_shared_out_over_the_data_parallel_ranks() -> None:
    assert _state(plan(dp=64)) == pytest.approx((6 + 12 / 64) * (80 * LAYER + ENDS))
    assert _state(plan(dp=64, shard=0)) == pytest.approx(18 * (80 * LAYER + ENDS))


def test_sharing_out_everything_divides_all_eighteen_bytes() -> None:
    # Two layers are whole at a time, in two bytes a weight.
    assert _state(plan(dp=64, shard=3)) == pytest.approx(18 / 64 * (80 * LAYER + ENDS) + 2 * 2 * LAYER)


def test_tensor_and_pipeline_ranks_divide_the_weights() -> None:
    # An end stage holds a quarter of the layers and one of embedding and head; tp 8 cuts both.
    assert _state(plan(tp=8, pp=4, dp=32)) == pytest.approx((6 + 12 / 32) * (20 * LAYER + ENDS / 2) / 8)


def test_an_uneven_pipeline_counts_its_fullest_stage() -> None:
    # 80 layers over 3 stages: 27 on the fullest.
    assert _state(plan(pp=3)) == pytest.approx(18 * (27 * LAYER + ENDS / 2))


def test_experts_are_divided_by_their_own_ranks() -> None:
    model = catalog().model("mixtral-8x7b")
    shape = shape_of(model)
    spread = memory_of(shape, plan(ep=8, dp=8), 4096).state_bytes[0]
    # Routed experts: an eighth on each of 8 ranks, so no copies to share the optimizer state with (18 bytes); the rest
    # is copied 8 times (6 + 12/8 bytes).
    rest = shape.parameters - shape.expert_parameters
    assert spread == pytest.approx(18 * shape.expert_parameters / 8 + 7.5 * rest)


def _activations(plans: Plans) -> float:
    return float(memory_of(llama_70b(), plans, 8192).activation_bytes[0])


def test_full_recomputation_keeps_the_inputs_of_the_layers_and_one_layer_at_work() -> None:
    # Inputs: 8192 tokens x 8192 x 2 B x 20 layers x 4 micro-batches in flight / tp 8 = 1.34 GB.
    inputs = 8192 * 8192 * 2 * 20 * 4 / 8
    # A layer at work: 2 B x (4 x 8192 + 8192 + 2048 + 8192 + 3 x 28672) a token / 8.
    working = 8192 * 2 * (4 * 8192 + 8192 + 2048 + 8192 + 3 * 28672) / 8
    assert _activations(plan(tp=8, pp=4, micro_batches=16, recompute=2)) == pytest.approx(inputs + working)


def test_one_stage_holds_one_micro_batch_whatever_their_number() -> None:
    assert _activations(plan(tp=8, micro_batches=64)) == _activations(plan(tp=8, micro_batches=1))


def test_fewer_micro_batches_than_stages_hold_only_those() -> None:
    few = _activations(plan(pp=8, micro_batches=2))
    assert few == pytest.approx(_activations(plan(pp=8, micro_batches=8)) / 4)


def test_interleaving_holds_more_micro_batches() -> None:
    # Narayanan 2021: 1 + (pp - 1) / (pp x chunks) times as much: pp 4, 5 chunks: 1.15.
    plain, cut = plan(pp=4, micro_batches=16), plan(pp=4, micro_batches=16, interleave=5)
    assert _activations(cut) / _activations(plain) == pytest.approx(1.15)


def test_recomputing_more_never_needs_more_memory() -> None:
    levels = [_activations(plan(tp=4, pp=8, micro_batches=32, recompute=r)) for r in (0, 1, 2)]
    assert levels[0] > levels[1] > levels[2]


def test_the_reserve_is_part_of_the_total() -> None:
    need = memory_of(llama_70b(), plan(tp=8, dp=2), 8192)
    allocated = need.state_bytes + need.activation_bytes + need.buffer_bytes
    assert np.all(need.allocated_bytes == allocated)
    assert np.all(need.total_bytes == allocated + RESERVE_BYTES)


def test_gradients_in_two_bytes_leave_sixteen_bytes_a_parameter() -> None:
    halved = memory_of(llama_70b(), plan(), 8192, gradient_bytes=2.0)
    assert halved.state_bytes[0] == pytest.approx(16 * (80 * LAYER + ENDS))


def test_a_layers_fresh_gradients_are_held_in_two_bytes_and_none_where_weights_are_frozen() -> None:
    assert memory_of(llama_70b(), plan(tp=8), 8192).buffer_bytes[0] == pytest.approx(2 * LAYER / 8)
    assert memory_of(llama_70b(), plan(tp=8), 8192, frozen_weights=1.0).buffer_bytes[0] == 0


def test_a_stage_that_keeps_what_it_sent_holds_an_output_for_each_micro_batch_in_flight() -> None:
    # Korthikanti 2022, appendix B: 2 s b h bytes for each of the pp micro-batches; tp 8 cuts the sequence.
    freed, kept = (
        memory_of(llama_70b(), plan(tp=8, pp=4, micro_batches=16), 8192, frees_outputs=f) for f in (1.0, 0.0)
    )
    assert kept.buffer_bytes[0] - freed.buffer_bytes[0] == pytest.approx(4 * 2 * 8192 * 8192 / 8)
    alone = memory_of(llama_70b(), plan(tp=8, micro_batches=16), 8192, frees_outputs=0.0)
    assert alone.buffer_bytes[0] == pytest.approx(2 * LAYER / 8)
