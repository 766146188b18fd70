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

SCAN_CHUNK = 128.0
"""Tokens that a state-space scan works on at a time (Mamba 2 kernels)."""

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
        mixing: products of a state-space block, which stands in place of attention in ``state_layers``.
        state_layers: layers with such a block.
        state_width: elements a token inside the block.
        state_size: state elements of each of them.
        state_maps: input and output map elements a token (twice groups x state size).
        bare_layers: layers without a feed-forward part.
        latent_width: width that tokens are projected to before routed experts; 0 where they are not.
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
    mixing: tuple[Product, ...] = ()
    state_layers: Number = 0.0
    state_width: Number = 0.0
    state_size: Number = 0.0
    state_maps: Number = 0.0
    bare_layers: Number = 0.0
    latent_width: Number = 0.0

    @property
    def routed_width(self) -> Number:
        """Elements a token as experts take and give it."""
        return np.where(np.asarray(self.latent_width) > 0, self.latent_width, self.hidden)

    @property
    def attention_layers(self) -> Number:
        """Layers with attention."""
        return self.layers - self.state_layers

    @property
    def dense_layers(self) -> Number:
        """Layers with a feed-forward part without experts."""
        return self.layers - self.moe_layers - self.bare_layers

    @property
    def common_parameters(self) -> Number:
        """Weights of all layers that every token passes (norms and biases, below 0.1 %, are left out)."""
        dense = self.dense_layers * _weights(self.feed_forward)
        mixing = self.attention_layers * _weights(self.attention) + self.state_layers * _weights(self.mixing)
        return mixing + dense + self.moe_layers * _weights(self.shared)

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
        whole = 2.0 * self.attended_pairs(sequence) * (self.query_width + self.value_width)
        return whole * self.attention_layers / self.layers

    @property
    def scan_flop(self) -> Number:
        """Forward operations a token of one state-space block beside its products (Dao and Gu 2024, section 6).

        In chunks of Q: scores of the maps 2 Q a map element, their product with the inputs 2 Q an element, and states
        made and read 4 N an element.
        """
        return SCAN_CHUNK * self.state_maps + (2.0 * SCAN_CHUNK + 4.0 * self.state_size) * self.state_width

    def flop_per_token(self, sequence: Number) -> Number:
        """Model operations of training one token: 6 a matmul weight, and causal attention forward and backward."""
        attention = 3.0 * self.layers * self.attention_flop(sequence) / sequence
        return 6.0 * self.matmul_parameters + attention + 3.0 * self.state_layers * self.scan_flop


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


def _mixing(model: ModelArchitecture) -> tuple[Product, ...]:
    """Products of a state-space block: in (gate, inputs, maps, a step a head) and out."""
    if not model.state_layers:
        return ()
    width = float(model.state_width)
    into = 2.0 * width + 2.0 * model.state_groups * model.state_size + model.state_heads
    return Product(float(model.hidden), into, "columns"), Product(width, float(model.hidden), "inner")


def _latent(model: ModelArchitecture) -> tuple[Product, ...]:
    """Projections of a token to the width of the experts and back."""
    if not model.expert_latent:
        return ()
    hidden, latent = float(model.hidden), float(model.expert_latent)
    return Product(hidden, latent, "none"), Product(latent, hidden, "none")


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
        shared=router + _latent(model) + _mlp(float(model.hidden), shared_width, model.gated_mlp),
        expert=_mlp(float(model.expert_latent or model.hidden), float(model.expert_ffn_hidden), model.gated_mlp)
        if moe
        else (),
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
        window_share=model.window_layers / max(model.layers - model.state_layers, 1),
        mixing=_mixing(model),
        state_layers=float(model.state_layers),
        state_width=float(model.state_width),
        state_size=float(model.state_size),
        state_maps=2.0 * model.state_groups * model.state_size,
        bare_layers=float(model.bare_layers),
        latent_width=float(model.expert_latent) if moe else 0.0,
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
