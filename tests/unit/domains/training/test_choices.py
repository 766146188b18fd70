"""Schedule, sharing in groups and offloading against hand calculations and published figures."""

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog import from_dimensions
from clusterwright.domains.fabric import all_gather_s, all_reduce_s, reduce_scatter_s
from clusterwright.domains.training import Asked, Job, legal_plans, memory_of, rank, shape_of, step_of
from tests.unit.domains.training.plans import EXACT, llama_70b, machine, plan, runs

HEADLESS = replace(llama_70b(), vocabulary=0.0)  # a head would burden the last stage only


# --- the zero-bubble schedule ---


def test_a_zero_bubble_schedule_leaves_t_f_plus_t_b_less_t_w_of_each_warm_up() -> None:
    # Qi 2023 (arXiv:2401.10241), table 1: (p - 1) (T_F + T_B - T_W); T_W is a third of the products.
    step, _ = step_of(runs(HEADLESS, plan(pp=4, micro_batches=16, schedule=1), machine(network_bytes_s=1e30)))
    work = (step.matmul_s + step.attention_s + step.memory_bound_s)[0]
    assert step.pp_bubble_s[0] == pytest.approx(3 / 16 * (work - 2 * step.matmul_s[0] / 3), rel=1e-6)


def test_with_equal_passes_a_third_of_the_bubble_is_left_as_published() -> None:
    # Qi 2023, section 2.1: with T_F = T_B = T_W the bubble is a third of that of 1F1B. Short sequences: no attention.
    some = runs(HEADLESS, plan(pp=8, micro_batches=64), machine(memory_bandwidth_bytes_s=1e30), sequence=64)
    plain, _ = step_of(some)
    zero, _ = step_of(replace(some, plans=plan(pp=8, micro_batches=64, schedule=1)))
    assert zero.pp_bubble_s[0] / plain.pp_bubble_s[0] == pytest.approx(1 / 3, rel=0.01)


def test_full_recomputation_makes_a_quarter_of_the_work_fill_the_bubble() -> None:
    # Forward runs twice: T_F = 2, T_B = T_W = 1 of 4; (2 + 1 - 1 + ...) leaves 1 - 2/4 = a half.
    some = runs(HEADLESS, plan(pp=8, micro_batches=64, recompute=2), machine(memory_bandwidth_bytes_s=1e30), 64)
    plain, _ = step_of(some)
    zero, _ = step_of(replace(some, plans=replace(some.plans, schedule=np.ones(1))))
    assert zero.pp_bubble_s[0] / plain.pp_bubble_s[0] == pytest.approx(1 / 2, rel=0.01)


def test_a_zero_bubble_schedule_holds_as_much_as_1f1b_and_the_logits_beside_it() -> None:
    plain = memory_of(llama_70b(), plan(pp=4, micro_batches=16), 8192)
    zero = memory_of(llama_70b(), plan(pp=4, micro_batches=16, schedule=1), 8192)
    assert zero.state_bytes[0] == plain.state_bytes[0]
    assert zero.activation_bytes[0] - plain.activation_bytes[0] == pytest.approx(6 * 8192 * 128256)


def test_the_search_takes_a_zero_bubble_schedule_only_when_asked() -> None:
    job = Job(llama_70b(), 8192, 512)
    assert not np.any(legal_plans(job, 1024, 8).schedule)
    asked = legal_plans(job, 1024, 8, Asked(schedule="zero-bubble"))
    assert len(asked)
    assert np.all((asked.schedule == 1) & (asked.pp > 1))


@pytest.mark.parametrize(
    ("schedule", "low", "high"), [("1f1b", 1, 1), ("interleaved", 2, 10), ("zero-bubble", 1, 10), ("auto", 1, 10)]
)
def test_a_schedule_says_how_many_chunks_a_stage_may_have(schedule: str, low: int, high: int) -> None:
    chunks = legal_plans(Job(llama_70b(), 8192, 512), 1024, 8, Asked(schedule=schedule)).interleave
    assert (chunks.min(), chunks.max()) == (low, high)


def test_chunks_that_are_fixed_are_kept_and_need_whole_rounds_of_micro_batches() -> None:
    plans = legal_plans(Job(llama_70b(), 8192, 512), 1024, 8, Asked(interleave=5))
    assert len(plans)
    assert np.all(plans.interleave == 5)
    assert np.all((plans.pp > 1) & (plans.micro_batches % plans.pp == 0) & (5 * plans.pp <= 80))


# --- sharing out ---


@pytest.mark.parametrize(("word", "stage"), [("zero-0", 0), ("auto", 1), ("zero-2", 2), ("zero-3", 3), ("fsdp", 3)])
def test_a_word_for_sharing_is_its_zero_stage(word: str, stage: int) -> None:
    assert set(legal_plans(Job(llama_70b(), 8192, 512), 64, 8, Asked(sharding=word)).shard) == {float(stage)}


def test_groups_share_out_only_among_themselves() -> None:
    # 64 ranks in groups of 8 hold what 8 ranks hold.
    grouped = memory_of(llama_70b(), plan(dp=64, shard=3, shard_group=8), 8192).state_bytes[0]
    assert grouped == memory_of(llama_70b(), plan(dp=8, shard=3), 8192).state_bytes[0]


def test_groups_gather_inside_and_add_up_across_once_a_step() -> None:
    weights = llama_70b().parameters
    _, traffic = step_of(runs(llama_70b(), plan(dp=64, shard=3, shard_group=8, micro_batches=4)))
    links = (450e9, 50e9, 5e-6)
    gather = all_gather_s(2 * weights, 8, 8, *links, nic_efficiency=1.0)
    scatter = reduce_scatter_s(4 * weights, 8, 8, *links, nic_efficiency=1.0)
    across = all_reduce_s(4 * weights / 8, 8, 1, *links, nic_efficiency=1.0)
    assert traffic.dp.wire_s[0] == pytest.approx(4 * float(2 * gather + scatter) + float(across))


def test_hybrid_groups_divide_the_ranks_and_lie_between_one_and_all() -> None:
    plans = legal_plans(Job(llama_70b(), 8192, 512), 256, 8, Asked(sharding="hsdp"))
    assert len(plans)
    assert np.all((plans.shard_group > 1) & (plans.shard_group < plans.copies))
    assert np.all(plans.copies % plans.shard_group == 0)
    fixed = legal_plans(Job(llama_70b(), 8192, 512), 256, 8, Asked(sharding="hsdp", shard_group=16))
    assert set(fixed.shard_group) == {16.0}


# --- offloading ---


def test_offloading_the_optimizer_leaves_six_bytes_a_parameter_and_twelve_on_the_host() -> None:
    need = memory_of(llama_70b(), plan(dp=8, offload=1), 8192)
    assert need.state_bytes[0] == pytest.approx(6 * llama_70b().parameters)
    assert need.host_bytes[0] == pytest.approx(12 * llama_70b().parameters / 8)


def test_with_zero_2_gradients_go_to_the_host_as_well() -> None:
    need = memory_of(llama_70b(), plan(dp=8, offload=1, shard=2), 8192)
    assert need.state_bytes[0] == pytest.approx(2 * llama_70b().parameters)
    assert need.host_bytes[0] == pytest.approx(16 * llama_70b().parameters / 8)


def test_zero_offload_trains_13b_on_one_32_gb_gpu_and_not_17b_as_published() -> None:
    # ZeRO-Offload (arXiv:2101.06840), section 6.2.1: 13B on one V100 of 32 GB, 1.4B without. 65 layers of 4,096.
    def need(layers: int, **choices: float) -> float:
        sizes = {"layers": layers, "hidden": 4096, "heads": 32, "kv_heads": 32, "ffn_hidden": 16384, "vocab": 50257}
        shape = shape_of(from_dimensions({**sizes, "gated_mlp": False}))
        return float(memory_of(shape, plan(recompute=2, **choices), 1024).total_bytes[0])

    room = 0.92 * 32 * 2**30
    assert need(65, offload=1, shard=2) < room
    assert need(84, offload=1, shard=2) > room
    assert need(8) > room  # 1.8B


@pytest.mark.parametrize(("parameters", "published_s"), [(1e9, 0.22), (10e9, 2.57)])
def test_the_update_on_the_host_takes_as_long_as_cpu_adam_was_measured(parameters: float, published_s: float) -> None:
    # ZeRO-Offload, table 4, on a DGX-2: two sockets of six channels DDR4-2666, 256 GB/s.
    ranks = llama_70b().parameters / parameters
    on = machine(host_bandwidth_bytes_s=256e9, host_link_bytes_s=1e30)
    step, _ = step_of(runs(llama_70b(), plan(dp=round(ranks), offload=1), on))
    held = llama_70b().parameters / round(ranks)
    assert step.offload_s[0] / held == pytest.approx(published_s / parameters, rel=0.12)
    assert step.optimizer_s[0] == 0


def test_a_slow_link_bounds_the_update_by_four_bytes_a_gradient() -> None:
    on = machine(host_bandwidth_bytes_s=1e30, host_link_bytes_s=1e9)
    step, _ = step_of(runs(llama_70b(), plan(dp=8, offload=1), on))
    assert step.offload_s[0] == pytest.approx(4 * llama_70b().parameters / 8 / 1e9)


def test_offloaded_activations_leave_two_layers_and_the_logits_on_the_gpu() -> None:
    # A layer keeps 2 x (4 x 8192 + 8192 + 2048 + 8192 + 3 x 28672) = 274,432 B of a token; 20 layers, 4 micro-batches.
    layer = 274_432 * 8192
    plain = memory_of(llama_70b(), plan(pp=4, micro_batches=16), 8192)
    moved = memory_of(llama_70b(), plan(pp=4, micro_batches=16, offload=2), 8192)
    assert plain.activation_bytes[0] == pytest.approx(20 * 4 * layer)
    # The last stage has the logits of its one micro-batch, 6 B each, beside two layers.
    assert moved.activation_bytes[0] == pytest.approx(2 * layer + 6 * 8192 * 128_256)
    assert moved.host_bytes[0] == pytest.approx((20 * 4 - 2) * layer)


def test_activations_show_as_far_as_their_transfer_is_longer_than_the_pass_that_hides_it() -> None:
    out = 80 * 274_432 * 8192  # one micro-batch through all layers
    step, _ = step_of(runs(llama_70b(), plan(offload=2), machine(host_link_bytes_s=2e10)))
    busy = float((step.matmul_s + step.attention_s + step.memory_bound_s)[0])
    once = out / 2e10
    expected = max(once - busy / 3, 0) + max(once - 2 * busy / 3, 0)
    assert expected > 0
    assert step.offload_s[0] == pytest.approx(expected)
    fast, _ = step_of(runs(llama_70b(), plan(offload=2), machine(host_link_bytes_s=1e12)))
    assert fast.offload_s[0] == 0
    ends = replace(
        runs(llama_70b(), plan(offload=2), machine(host_link_bytes_s=1e12)), physics=replace(EXACT, dp_exposed=0.1)
    )
    assert step_of(ends)[0].offload_s[0] == pytest.approx(2 * 0.1 * out / 1e12)


def _ranked(gpus: int, asked: Asked, **figures: float) -> set[tuple[float, bool]]:
    ranked = rank(Job(llama_70b(), 8192, 512), machine(**figures), np.array([float(gpus)]), asked)
    return {(float(o), bool(f)) for o, f in zip(ranked.plans.offload, ranked.fits, strict=True)}


def test_offloading_is_tried_only_where_nothing_fits() -> None:
    assert {o for o, _ in _ranked(64, Asked())} == {0.0}
    assert (1.0, True) in _ranked(8, Asked())  # 70.6e9 x 18 / 8 = 159 GB of state; 53 GB without the optimizer
    assert {f for _, f in _ranked(8, Asked(offload="none"))} == {False}


def test_what_the_host_cannot_hold_does_not_fit() -> None:
    assert True in {f for _, f in _ranked(8, Asked(offload="optimizer"), host_memory_bytes=150e9)}
    # 12 x 70.6e9 / 8 = 106 GB a GPU; three quarters of 100 GB can be filled
    assert True not in {f for _, f in _ranked(8, Asked(offload="optimizer"), host_memory_bytes=100e9)}


# --- idle accelerators ---


@pytest.mark.parametrize("batch", [488.28, 512.0])
def test_no_job_is_slower_on_more_gpus(batch: float) -> None:
    # At 1,184 = 37 x 32 no plan uses all GPUs and comes near the batch; 1,024 of them must be weighed.
    job, counts = Job(llama_70b(), 8192, batch), np.arange(960.0, 1505.0, 32.0)
    on = machine().take(np.zeros(len(counts), dtype=np.intp))
    ranked = rank(job, on, counts)
    speed = ranked.plans.batch / ranked.step_s * ranked.fits
    best = [
        float(speed[rows][np.argmax(ranked.score[rows])])
        for rows in (np.flatnonzero(ranked.owner == k) for k in range(len(counts)))
    ]
    assert all(later >= 0.99 * max(best[: k + 1]) for k, later in enumerate(best))
