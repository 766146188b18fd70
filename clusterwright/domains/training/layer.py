"""Time of the computing in one micro-batch on one rank: products, attention, element-wise work, by roofline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.compute import attention_s, matmul_s, memory_bound_s
from clusterwright.domains.training.plans import FULL, SELECTIVE, Machines, Runs
from clusterwright.domains.training.shape import Product

__all__ = ["Work", "work_of"]

Floats = NDArray[np.float64]

BACKWARD_PRODUCTS = 2.0
"""A product's backward pass is two products of the same size: for its input and for its weights."""
BACKWARD_ATTENTION = 2.5
"""Flash attention recomputes the scores: five products backward for two forward (Dao 2023)."""
STREAM_PASSES = 10.0
"""Elements moved a hidden element and layer, forward: two norms (4), two residual sums (6)."""
ATTENTION_PASSES = 4.0
"""Elements moved a query, key or value element, forward: rotation (2), in and out of attention (2)."""
ROUTING_PASSES = 4.0
"""Elements moved a routed hidden element, forward: permute (2), restore (2)."""
HEAD_BYTES = 16.0
"""Bytes moved a logit, forward and backward: written in two bytes, read and written in four for softmax and loss."""


@dataclass(frozen=True)
class Work:
    """Seconds of one micro-batch through ALL layers and the head, were one rank (with its tp, cp, ep shares) to do it.

    Attributes:
        matmul_s: products, forward, backward and recomputed.
        attention_s: fused attention likewise.
        memory_bound_s: element-wise work likewise.
        head_s: the part of all three that the head takes (it stands on the last stage only).
    """

    matmul_s: Floats
    attention_s: Floats
    memory_bound_s: Floats
    head_s: Floats

    @property
    def total_s(self) -> Floats:
        """All of it."""
        return self.matmul_s + self.attention_s + self.memory_bound_s


def work_of(runs: Runs) -> Work:
    """Computing time of one micro-batch of each run."""
    shape, plans, machines, tokens, physics = runs.shape, runs.plans, runs.machines, runs.tokens, runs.physics
    again = (plans.recompute == FULL).astype(np.float64)
    passes = 1.0 + BACKWARD_PRODUCTS + again
    layers = _layer_products_s(runs)
    head_products = 3.0 * _products_s((Product(shape.hidden, shape.vocabulary, "columns"),), tokens, plans.tp, machines)
    head_products = head_products / physics.matmul
    head_memory = memory_bound_s(
        HEAD_BYTES * tokens * shape.vocabulary / plans.tp,
        bandwidth_bytes_s=physics.memory * machines.memory_bandwidth_bytes_s,
    )
    flop = shape.layers * shape.attention_flop(runs.sequence) * plans.micro_batch / (plans.cp * plans.tp)
    attention = attention_s(flop, achievable_flops=physics.attention * machines.achievable_bf16_flops)
    memory = memory_bound_s(
        _element_bytes(runs),
        bandwidth_bytes_s=physics.memory * machines.memory_bandwidth_bytes_s,
    )
    return Work(
        matmul_s=passes * layers + head_products,
        attention_s=(1.0 + BACKWARD_ATTENTION + again) * attention,
        memory_bound_s=memory + head_memory,
        head_s=head_products + head_memory,
    )


def _products_s(products: tuple[Product, ...], tokens: Floats, tp: Floats, machines: Machines) -> Floats:
    """Seconds of products, forward, at the best measured rate."""
    total = np.zeros_like(tokens)
    for product in products:
        total = total + matmul_s(
            tokens,
            product.inner / (tp if product.cut == "inner" else np.ones_like(tp)),
            product.columns / (tp if product.cut == "columns" else np.ones_like(tp)),
            achievable_flops=machines.achievable_flops,
            bandwidth_bytes_s=machines.memory_bandwidth_bytes_s,
            bytes_per_element=machines.bytes_per_element,
        )
    return total


def _layer_products_s(runs: Runs) -> Floats:
    """Seconds of all layers' products, forward."""
    shape, plans, machines, tokens = runs.shape, runs.plans, runs.machines, runs.tokens
    total = shape.layers * _products_s(shape.attention, tokens, plans.tp, machines)
    if shape.dense_layers:
        total = total + shape.dense_layers * _products_s(shape.feed_forward, tokens, plans.tp, machines)
    if shape.moe_layers:
        local = np.maximum(shape.experts / plans.ep, 1.0)
        rows = tokens * shape.active_experts * plans.expert_tp / plans.tp / local
        experts = local * _products_s(shape.expert, rows, plans.expert_tp, machines)
        total = total + shape.moe_layers * (experts + _products_s(shape.shared, tokens, plans.tp, machines))
    return total / runs.physics.matmul


def _element_bytes(runs: Runs) -> Floats:
    """Bytes that element-wise work moves: forward, twice as much backward, again when recomputed."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    cut = np.where(plans.sequence_parallel > 0, plans.tp, 1.0)
    heads = ATTENTION_PASSES * (shape.query_width + shape.key_value_width) / plans.tp
    per_width = 3.0 if shape.gated else 2.0
    dense = per_width * shape.feed_forward_width / plans.tp
    routed = shape.active_experts * (per_width * shape.expert_width + ROUTING_PASSES * shape.hidden) / plans.tp
    mixture = per_width * shape.shared_width / plans.tp + routed
    per_token = shape.layers * (STREAM_PASSES * shape.hidden / cut + heads)
    per_token = per_token + shape.dense_layers * dense + shape.moe_layers * mixture
    forward = 2.0 * tokens * per_token
    passes = 3.0 + (plans.recompute >= SELECTIVE)
    return passes * forward
