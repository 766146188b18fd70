"""A model as matrix products: parameters and operations against hand calculations."""

import pytest

from clusterwright.domains.training import shape_of
from tests.unit.domains.designs import catalog


def test_llama_3_70b_counts_its_parameters() -> None:
    # A layer: 8192 x (8192 + 2 x 1024) + 8192^2 + 3 x 8192 x 28672 = 855.6e6; x 80 + 2 x 128256 x 8192 = 70.55e9.
    shape = shape_of(catalog().model("llama-3-70b"))
    layer = 8192 * (8192 + 2048) + 8192**2 + 3 * 8192 * 28672
    assert shape.parameters == 80 * layer + 2 * 128256 * 8192
    assert shape.matmul_parameters == 80 * layer + 128256 * 8192


def test_operations_of_a_token_follow_the_causal_convention() -> None:
    # 6 x 69.5e9 matmul parameters = 4.170e11; attention 3 x 80 layers x 2 x (8192/2 pairs) x 16384 = 3.22e10.
    flop = shape_of(catalog().model("llama-3-70b")).flop_per_token(8192)
    assert flop == pytest.approx(6 * 69.5024e9 + 3 * 80 * 2 * 4096 * 16384, rel=1e-4)
    # One trillion tokens: the 4.49e23 operations of the worked example.
    assert flop * 1e12 == pytest.approx(4.49e23, rel=0.002)


@pytest.mark.parametrize("name", ["llama-3-70b", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3", "gpt-3-175b"])
def test_the_shape_counts_what_the_architecture_counts(name: str) -> None:
    model = catalog().model(name)
    assert shape_of(model).parameters == pytest.approx(model.parameters, rel=2e-3)  # norms and biases are left out


def test_a_mixture_multiplies_only_its_active_experts() -> None:
    model = catalog().model("deepseek-v3")
    shape = shape_of(model)
    # Active parameters without the input embedding; 37.5e9 active of 671e9.
    active = model.active_parameters - model.embedding_parameters
    assert shape.matmul_parameters == pytest.approx(active, rel=2e-3)
    assert shape.matmul_parameters < 0.06 * shape.parameters


def test_a_window_cuts_the_pairs_that_attention_sees() -> None:
    shape = shape_of(catalog().model("gpt-oss-120b"))
    # Half the layers look back 128 tokens: 128 x 8192 - 128^2 / 2 pairs instead of 8192^2 / 2.
    full, windowed = 8192**2 / 2, 128 * 8192 - 128**2 / 2
    assert shape.attended_pairs(8192) == pytest.approx((full + windowed) / 2)
