"""A model as matrix products: parameters and operations against hand calculations."""

import pytest

from clusterwright.catalog import from_dimensions
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


HYBRID = {
    "layers": 10, "state_layers": 8, "bare_layers": 2, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128,
    "ffn_hidden": 16384, "gated_mlp": False, "vocab": 100_000, "state_heads": 128, "state_head_dim": 64,
    "state_size": 128, "state_groups": 8,
}  # fmt: skip


def test_a_hybrid_counts_its_state_space_blocks_by_hand() -> None:
    # A block: in 4096 x (2 x 8192 + 2 x 8 x 128 + 128), out 8192 x 4096; 2 of 10 mixers are attention, 2 have no MLP.
    shape = shape_of(from_dimensions(HYBRID))
    block = 4096 * (2 * 8192 + 2048 + 128) + 8192 * 4096
    attention = 4096 * (4096 + 2048) + 4096 * 4096
    assert shape.common_parameters == 8 * block + 2 * attention + 8 * 2 * 4096 * 16384
    assert shape.parameters == pytest.approx(from_dimensions(HYBRID).parameters, rel=2e-3)


def test_the_scan_of_a_hybrid_counts_and_attention_only_where_it_is() -> None:
    shape = shape_of(from_dimensions(HYBRID))
    # Chunks of 128: 128 x 2048 scores of the maps, (2 x 128 + 4 x 128) x 8192 an element; attention in 2 layers.
    scan = 128 * 2048 + (256 + 512) * 8192
    attention = 3 * 2 * 2 * (8192 / 2) * (4096 + 4096)
    assert shape.flop_per_token(8192) == pytest.approx(6 * shape.matmul_parameters + attention + 3 * 8 * scan)


def test_experts_in_a_latent_width_are_smaller_and_so_are_the_tokens_they_get() -> None:
    mixture = {**HYBRID, "experts": 64, "top_k": 8, "expert_ffn_hidden": 2688, "expert_latent": 1024}
    shape = shape_of(from_dimensions(mixture))
    assert shape.expert_parameters == 8 * 64 * 2 * 1024 * 2688
    assert (shape.routed_width, shape.hidden) == (1024, 4096)
    assert shape.parameters == pytest.approx(from_dimensions(mixture).parameters, rel=2e-3)


def test_a_window_cuts_the_pairs_that_attention_sees() -> None:
    shape = shape_of(catalog().model("gpt-oss-120b"))
    # Half the layers look back 128 tokens: 128 x 8192 - 128^2 / 2 pairs instead of 8192^2 / 2.
    full, windowed = 8192**2 / 2, 128 * 8192 - 128**2 / 2
    assert shape.attended_pairs(8192) == pytest.approx((full + windowed) / 2)
