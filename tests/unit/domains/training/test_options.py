"""The legal plans: what is generated obeys every rule, and what a person fixes is kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.domains.training import Asked, Job, legal_plans, shape_of
from tests.unit.domains.designs import catalog

MODELS = ("llama-3-8b", "llama-3-70b", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3")


def _job(model: str = "llama-3-70b", batch: float = 512, sequence: int = 8192) -> Job:
    return Job(shape_of(catalog().model(model)), sequence, batch)


@settings(max_examples=40, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    gpus=st.integers(1, 5000),
    domain=st.sampled_from([1, 2, 8, 72]),
    batch=st.integers(1, 4096),
)
def test_every_generated_plan_is_legal(model: str, gpus: int, domain: int, batch: int) -> None:
    job = _job(model, batch)
    plans = legal_plans(job, gpus, domain)
    assert len(plans)
    assert np.all(plans.gpus <= gpus)
    assert np.all(plans.tp <= domain)
    assert np.all(job.shape.heads % plans.tp == 0)
    assert np.all(plans.pp * plans.interleave <= job.shape.layers)
    assert np.all((plans.tp * plans.cp * plans.dp) % plans.ep == 0)
    if job.shape.moe_layers:
        assert np.all(job.shape.experts % plans.ep == 0)
    interleaved = plans.interleave > 1
    assert np.all(plans.micro_batches[interleaved] % plans.pp[interleaved] == 0)


def test_a_dense_model_has_no_expert_ranks() -> None:
    assert np.all(legal_plans(_job(), 1024, 8).ep == 1)


def test_a_batch_that_divides_is_kept_exactly() -> None:
    plans = legal_plans(_job(batch=512), 1024, 8)
    assert np.any((plans.batch == 512) & (plans.gpus == 1024))


def test_a_gpu_count_without_factors_leaves_some_idle() -> None:
    # 1,021 is prime: dp 127 with tp 8 uses 1,016.
    plans = legal_plans(_job(), 1021, 8)
    assert np.all(plans.gpus <= 1021)
    assert np.max(plans.gpus[plans.tp == 8]) == 1016


def test_what_is_fixed_is_kept() -> None:
    plans = legal_plans(_job(), 1024, 8, Asked(tp=8, pp=4, micro_batch=2))
    assert len(plans)
    assert np.all((plans.tp == 8) & (plans.pp == 4) & (plans.micro_batch == 2))


@pytest.mark.parametrize(
    "asked",
    [
        Asked(tp=16),  # wider than the server
        Asked(tp=3),  # does not divide 64 heads
        Asked(pp=81),  # more stages than layers
        Asked(ep=8),  # no experts
        Asked(tp=8, pp=8, dp=32),  # 2,048 of 1,024 GPUs
    ],
)
def test_a_contradiction_has_no_plan(asked: Asked) -> None:
    assert len(legal_plans(_job(), 1024, 8, asked)) == 0


def test_llamas_126_layers_may_be_cut_into_eight_stages() -> None:
    # 16 stages of 8 = 128 slots, 1.6 % empty; 100 stages would waste 59 %.
    stages = set(legal_plans(_job("llama-3.1-405b"), 16384, 8).pp)
    assert {8.0, 9.0, 16.0} <= stages
    assert 100.0 not in stages
