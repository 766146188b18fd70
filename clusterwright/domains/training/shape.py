"""What one layer of a transformer does, as matrix products: the view of a model that time and memory laws need.

A model enters as products (inner x columns) and how tensor parallelism cuts them, with the widths of attention and of
the element-wise work. Grouped-query, latent and plain attention, gated and plain feed-forward parts, experts with or
without shared ones differ only here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from clusterwright.catalog import ModelArchitecture

__all__ = ["ModelShape", "Product", "shape_of"]


@dataclass(frozen=True)
class Product:
    """One weight matrix: tokens x ``inner`` times ``inner`` x ``columns``.

    Attributes:
        inner: width of what goes in.
        columns: width of what comes out.
        cut: how tensor parallelism divides it: by ``columns``, by ``inner``, or not at all.
    """

    inner: float
    columns: float
    cut: Literal["columns", "inner", "none"]

    @property
    def parameters(self) -> float:
        """Weights in the matrix."""
        return self.inner * self.columns


@dataclass(frozen=True)
class ModelShape:
    """A transformer as the laws see it.

    Attributes:
        layers: all transformer layers.
        moe_layers: those whose feed-forward part is a mixture of experts.
        hidden: width of the residual stream.
        heads: query heads (tensor parallelism must divide them).
        vocabulary: size of the vocabulary.
        embedding_parameters: input embedding and the head's own matrix.
        attention: products of the attention part of a layer.
        feed_forward: products of a dense layer's feed-forward part.
        shared: products of a mixture layer that every token passes: router and shared experts.
        expert: products of one routed expert.
        experts: routed experts in a mixture layer.
        active_experts: routed experts that one token passes.
        query_width: query elements a token, all heads.
        value_width: value elements a token, all query heads.
        key_value_width: key and value elements a token, as stored and exchanged.
        feed_forward_width: elements between the two halves of a dense feed-forward part.
        expert_width: the same of one routed expert.
        shared_width: the same of the shared experts together.
        gated: whether the activation multiplies two projections (SwiGLU).
        window: tokens that a windowed layer looks back; 0 without.
        window_share: share of the layers that are windowed.
    """

    layers: float
    moe_layers: float
    hidden: float
    heads: float
    vocabulary: float
    embedding_parameters: float
    attention: tuple[Product, ...]
    feed_forward: tuple[Product, ...]
    shared: tuple[Product, ...]
    expert: tuple[Product, ...]
    experts: float
    active_experts: float
    query_width: float
    value_width: float
    key_value_width: float
    feed_forward_width: float
    expert_width: float
    shared_width: float
    gated: bool
    window: float = 0.0
    window_share: float = 0.0

    @property
    def dense_layers(self) -> float:
        """Layers without experts."""
        return self.layers - self.moe_layers

    @property
    def common_parameters(self) -> float:
        """Weights of all layers that every token passes (norms and biases, below 0.1 %, are left out)."""
        dense = self.dense_layers * _weights(self.feed_forward)
        return self.layers * _weights(self.attention) + dense + self.moe_layers * _weights(self.shared)

    @property
    def expert_parameters(self) -> float:
        """Weights of all routed experts."""
        return self.moe_layers * self.experts * _weights(self.expert)

    @property
    def parameters(self) -> float:
        """All weights."""
        return self.common_parameters + self.expert_parameters + self.embedding_parameters

    @property
    def matmul_parameters(self) -> float:
        """Weights that multiply each token: the active ones with the head, without the input embedding."""
        active = self.moe_layers * self.active_experts * _weights(self.expert)
        return self.common_parameters + active + self.vocabulary * self.hidden

    def attended_pairs(self, sequence: float) -> float:
        """Query-key pairs of one sequence in the mean layer: half of s^2, fewer in windowed layers."""
        full = 0.5 * sequence**2
        if not self.window or self.window >= sequence:
            return full
        windowed = self.window * sequence - 0.5 * self.window**2
        return (1.0 - self.window_share) * full + self.window_share * windowed

    def attention_flop(self, sequence: float) -> float:
        """Forward operations of attention in the mean layer, one sequence: 2 per pair and element of q and v."""
        return 2.0 * self.attended_pairs(sequence) * (self.query_width + self.value_width)

    def flop_per_token(self, sequence: float) -> float:
        """Model operations of training one token: 6 a matmul weight, and causal attention forward and backward."""
        attention = 3.0 * self.layers * self.attention_flop(sequence) / sequence
        return 6.0 * self.matmul_parameters + attention


def _weights(products: tuple[Product, ...]) -> float:
    return sum(p.parameters for p in products)


def _mlp(hidden: float, inner: float, gated: bool) -> tuple[Product, ...]:
    if inner <= 0:
        return ()
    return Product(hidden, inner * (2 if gated else 1), "columns"), Product(inner, hidden, "inner")


def _attention(model: ModelArchitecture) -> tuple[tuple[Product, ...], float, float, float]:
    """Products, query width, value width, key-value width."""
    hidden, heads = float(model.hidden), float(model.heads)
    if not model.is_latent:
        query, stored = heads * model.head_dim, 2.0 * model.kv_heads * model.head_dim
        products = (Product(hidden, query + stored, "columns"), Product(query, hidden, "inner"))
        return products, query, query, stored
    head = float(model.qk_nope_head_dim + model.qk_rope_head_dim)
    query, value = heads * head, heads * model.v_head_dim
    if model.q_lora_rank:
        ask = [Product(hidden, model.q_lora_rank, "none"), Product(model.q_lora_rank, query, "columns")]
    else:
        ask = [Product(hidden, query, "columns")]
    keep = (
        Product(hidden, model.kv_lora_rank + model.qk_rope_head_dim, "none"),
        Product(model.kv_lora_rank, heads * (model.qk_nope_head_dim + model.v_head_dim), "columns"),
    )
    return (*ask, *keep, Product(value, hidden, "inner")), query, value, query + value


@lru_cache(maxsize=256)
def shape_of(model: ModelArchitecture) -> ModelShape:
    """The shape of a catalogue architecture."""
    attention, query, value, stored = _attention(model)
    moe = float(model.moe_layers)
    shared_width = float(model.shared_experts * (model.shared_ffn_hidden or model.expert_ffn_hidden)) if moe else 0.0
    router = (Product(float(model.hidden), float(model.experts), "none"),) if moe else ()
    return ModelShape(
        layers=float(model.layers),
        moe_layers=moe,
        hidden=float(model.hidden),
        heads=float(model.heads),
        vocabulary=float(model.vocab),
        embedding_parameters=float(model.embedding_parameters + model.head_parameters),
        attention=attention,
        feed_forward=_mlp(float(model.hidden), float(model.ffn_hidden), model.gated_mlp),
        shared=router + _mlp(float(model.hidden), shared_width, model.gated_mlp),
        expert=_mlp(float(model.hidden), float(model.expert_ffn_hidden), model.gated_mlp) if moe else (),
        experts=float(model.experts),
        active_experts=float(model.top_k),
        query_width=query,
        value_width=value,
        key_value_width=stored,
        feed_forward_width=float(model.ffn_hidden),
        expert_width=float(model.expert_ffn_hidden),
        shared_width=shared_width,
        gated=model.gated_mlp,
        window=float(model.window),
        window_share=model.window_layers / model.layers,
    )
