"""What one layer of a transformer does, as matrix products: the view of a model that time and memory laws need.

A model enters as products (inner x columns) and how tensor parallelism cuts them, with the widths of attention and of
the element-wise work. Grouped-query, latent and plain attention, gated and plain feed-forward parts, experts with or
without shared ones differ only here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clusterwright.catalog import ModelArchitecture

__all__ = ["ModelShape", "Number", "Product", "shape_of", "stacked_shapes"]

Number = float | NDArray[np.float64]
"""One model's figure, or one a row where several models stand side by side (:func:`stacked_shapes`)."""

Cut = Literal["columns", "inner", "none"]


@dataclass(frozen=True)
class Product:
    """One weight matrix: tokens x ``inner`` times ``inner`` x ``columns``.

    Attributes:
        inner: width of what goes in.
        columns: width of what comes out.
        cut: how tensor parallelism divides it: by ``columns``, by ``inner``, or not at all.
    """

    inner: Number
    columns: Number
    cut: Cut

    @property
    def parameters(self) -> Number:
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
        gated: 1 where the activation multiplies two projections (SwiGLU), else 0.
        head_width: query elements of one head.
        biased: 1 where the experts' products have biases, else 0.
        window: tokens that a windowed layer looks back; 0 without.
        window_share: share of the layers that are windowed.
    """

    layers: Number
    moe_layers: Number
    hidden: Number
    heads: Number
    vocabulary: Number
    embedding_parameters: Number
    attention: tuple[Product, ...]
    feed_forward: tuple[Product, ...]
    shared: tuple[Product, ...]
    expert: tuple[Product, ...]
    experts: Number
    active_experts: Number
    query_width: Number
    value_width: Number
    key_value_width: Number
    feed_forward_width: Number
    expert_width: Number
    shared_width: Number
    gated: Number
    head_width: Number
    biased: Number = 0.0
    window: Number = 0.0
    window_share: Number = 0.0

    @property
    def dense_layers(self) -> Number:
        """Layers without experts."""
        return self.layers - self.moe_layers

    @property
    def common_parameters(self) -> Number:
        """Weights of all layers that every token passes (norms and biases, below 0.1 %, are left out)."""
        dense = self.dense_layers * _weights(self.feed_forward)
        return self.layers * _weights(self.attention) + dense + self.moe_layers * _weights(self.shared)

    @property
    def expert_parameters(self) -> Number:
        """Weights of all routed experts."""
        return self.moe_layers * self.experts * _weights(self.expert)

    @property
    def parameters(self) -> Number:
        """All weights."""
        return self.common_parameters + self.expert_parameters + self.embedding_parameters

    @property
    def matmul_parameters(self) -> Number:
        """Weights that multiply each token: the active ones with the head, without the input embedding."""
        active = self.moe_layers * self.active_experts * _weights(self.expert)
        return self.common_parameters + active + self.vocabulary * self.hidden

    def attended_pairs(self, sequence: Number) -> Number:
        """Query-key pairs of one sequence in the mean layer: half of s^2, fewer in windowed layers."""
        full = 0.5 * sequence**2
        reach = np.minimum(np.where(np.asarray(self.window) > 0, self.window, sequence), sequence)
        windowed = reach * sequence - 0.5 * reach**2
        return np.asarray((1.0 - self.window_share) * full + self.window_share * windowed)

    def attention_flop(self, sequence: Number) -> Number:
        """Forward operations of attention in the mean layer, one sequence: 2 per pair and element of q and v."""
        return 2.0 * self.attended_pairs(sequence) * (self.query_width + self.value_width)

    def flop_per_token(self, sequence: Number) -> Number:
        """Model operations of training one token: 6 a matmul weight, and causal attention forward and backward."""
        attention = 3.0 * self.layers * self.attention_flop(sequence) / sequence
        return 6.0 * self.matmul_parameters + attention


def _weights(products: tuple[Product, ...]) -> Number:
    return sum((p.parameters for p in products), 0.0)


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
        gated=float(model.gated_mlp),
        head_width=float(model.qk_nope_head_dim + model.qk_rope_head_dim if model.is_latent else model.head_dim),
        biased=float(moe > 0 and model.biases == "all"),
        window=float(model.window),
        window_share=model.window_layers / model.layers,
    )


def stacked_shapes(shapes: Sequence[ModelShape]) -> ModelShape:
    """Several models as one whose figures are columns, one row a model; products that a model lacks are empty."""
    columns: dict[str, Any] = {}
    for field in fields(ModelShape):
        values = [getattr(s, field.name) for s in shapes]
        if isinstance(values[0], tuple):
            columns[field.name] = _stacked_products(values)
        else:
            columns[field.name] = np.array(values, dtype=np.float64)
    return ModelShape(**columns)


def _stacked_products(sets: Sequence[tuple[Product, ...]]) -> tuple[Product, ...]:
    made: list[Product] = []
    for cut in ("columns", "inner", "none"):
        alike = [[p for p in products if p.cut == cut] for products in sets]
        for k in range(max(map(len, alike))):
            inner = np.array([float(a[k].inner) if len(a) > k else 0.0 for a in alike])
            width = np.array([float(a[k].columns) if len(a) > k else 0.0 for a in alike])
            made.append(Product(inner, width, cut))
    return tuple(made)
