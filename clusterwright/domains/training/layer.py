"""Time of the computing in one micro-batch on one rank: products, attention, element-wise work, by roofline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.compute import attention_s, matmul_s, memory_bound_s
from clusterwright.domains.training.plans import FULL, SELECTIVE, Runs
from clusterwright.domains.training.rates import Rates, rates_of
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
SCORE_BYTES = 12.0
"""Bytes moved a score, forward, where scores are written: written (2), softmax (4), dropout (4), read again (2)."""
HEAD_BYTES = 16.0
"""Bytes moved a logit, forward and backward: written in two bytes, read and written in four for softmax and loss."""
CAST_BYTES = 4.0
"""Bytes moved an operand element that is cast to 8 or 4 bits: read (2), written as is and transposed (2)."""
DENSE_KERNELS = 14.0
"""Kernels that a dense layer launches forward; backward twice as many."""
MIXTURE_KERNELS = 50.0
"""Kernels more of a mixture layer, forward: routing, permutation, exchange, grouped products."""


@dataclass(frozen=True)
class Work:
    """Seconds of one micro-batch through ALL layers and the head, were one rank (with its tp, cp, ep shares) to do it.

    Attributes:
        matmul_s: products, forward, backward and recomputed.
        attention_s: fused attention likewise.
        memory_bound_s: element-wise work likewise.
        head_s: the part of all three that the head takes (it stands on the last stage only).
        host_s: time the host takes to launch all of it.
    """

    matmul_s: Floats
    attention_s: Floats
    memory_bound_s: Floats
    head_s: Floats
    host_s: Floats

    @property
    def total_s(self) -> Floats:
        """All that the accelerator does."""
        return self.matmul_s + self.attention_s + self.memory_bound_s


def work_of(runs: Runs) -> Work:
    """Computing time of one micro-batch of each run."""
    plans, machines, tokens = runs.plans, runs.machines, runs.tokens
    rates = rates_of(runs)
    again = (plans.recompute == FULL).astype(np.float64)
    passes = 1.0 + BACKWARD_PRODUCTS + again
    head = (Product(runs.shape.hidden, runs.shape.vocabulary, "columns"),)
    head_products = 3.0 * _products_s(head, tokens, plans.tp, runs, rates.bf16, 2.0)
    bandwidth = runs.physics.memory * machines.memory_bandwidth_bytes_s
    head_memory = memory_bound_s(
        HEAD_BYTES * tokens * runs.shape.vocabulary / plans.tp, bandwidth_bytes_s=bandwidth
    )
    return Work(
        matmul_s=passes * _layer_products_s(runs, rates) + head_products,
        attention_s=_attention_s(runs, rates, again),
        memory_bound_s=memory_bound_s(_element_bytes(runs), bandwidth_bytes_s=bandwidth) + head_memory,
        head_s=head_products + head_memory,
        host_s=_host_s(runs, passes),
    )


def _products_s(
    products: tuple[Product, ...], tokens: Floats, tp: Floats, runs: Runs, rate: Floats, width: Floats | float
) -> Floats:
    """Seconds of products, forward."""
    total = np.zeros_like(tokens)
    for product in products:
        total = total + matmul_s(
            tokens,
            np.asarray(product.inner / (tp if product.cut == "inner" else 1.0)),
            np.asarray(product.columns / (tp if product.cut == "columns" else 1.0)),
            achievable_flops=rate,
            bandwidth_bytes_s=runs.machines.memory_bandwidth_bytes_s,
            bytes_per_element=np.asarray(width),
            depth=runs.physics.depth,
        )
    return total


def _layer_products_s(runs: Runs, rates: Rates) -> Floats:
    """Seconds of all layers' products, forward."""
    shape, plans, tokens, width = runs.shape, runs.plans, runs.tokens, runs.machines.bytes_per_element
    total = shape.layers * _products_s(shape.attention, tokens, plans.tp, runs, rates.products, width)
    total = total + shape.dense_layers * _products_s(shape.feed_forward, tokens, plans.tp, runs, rates.products, width)
    if shape.expert:
        local = np.maximum(shape.experts / plans.ep, 1.0)
        uneven = 1.0 + (runs.physics.natural - 1.0) * runs.software.natural_routing * (plans.ep > 1)
        rows = tokens * shape.active_experts * plans.expert_tp / plans.tp / local * uneven
        experts = local * _products_s(shape.expert, rows, plans.expert_tp, runs, rates.grouped, width)
        shared = _products_s(shape.shared, tokens, plans.tp, runs, rates.products, width)
        total = total + shape.moe_layers * (experts + shared)
    return np.asarray(total)


def _attention_s(runs: Runs, rates: Rates, again: Floats) -> Floats:
    """Attention of all layers, forward, backward and recomputed."""
    shape, plans, physics = runs.shape, runs.plans, runs.physics
    share = plans.micro_batch / (plans.cp * plans.tp)
    ends = 1.0 + physics.attention_depth * plans.cp / runs.sequence
    flop = np.asarray(shape.layers * shape.attention_flop(runs.sequence) * share)
    fused = (1.0 + BACKWARD_ATTENTION + again) * attention_s(flop * ends, achievable_flops=rates.attention)
    if np.all(np.asarray(runs.software.fused_attention) > 0):
        return fused
    once = (plans.recompute >= SELECTIVE).astype(np.float64)
    scores = shape.layers * (shape.query_width / shape.head_width) * runs.sequence**2 * share
    products = 2.0 * scores * shape.head_width * 2.0 / (rates.bf16 * shape.head_width / (shape.head_width + physics.depth))
    bandwidth = physics.memory * runs.machines.memory_bandwidth_bytes_s
    passing = memory_bound_s(np.asarray(SCORE_BYTES * scores), bandwidth_bytes_s=bandwidth)
    written = (3.0 + once) * products + (2.0 + once) * passing
    return np.where(np.asarray(runs.software.fused_attention) > 0, fused, written)


def _element_bytes(runs: Runs) -> Floats:
    """Bytes that element-wise work moves: forward, twice as much backward, again when recomputed; and casts."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    cut = np.where(plans.sequence_parallel > 0, plans.tp, 1.0)
    heads = ATTENTION_PASSES * (shape.query_width + shape.key_value_width) / plans.tp
    per_width = 2.0 + shape.gated
    dense = per_width * shape.feed_forward_width / plans.tp
    routed = shape.active_experts * (per_width * shape.expert_width + ROUTING_PASSES * shape.hidden) / plans.tp
    mixture = per_width * shape.shared_width / plans.tp + routed
    per_token = shape.layers * (STREAM_PASSES * shape.hidden / cut + heads)
    per_token = per_token + shape.dense_layers * dense + shape.moe_layers * mixture
    forward = 2.0 * tokens * per_token
    passes = 3.0 + (plans.recompute >= SELECTIVE)
    return np.asarray(passes * forward + _cast_bytes(runs))


def _cast_bytes(runs: Runs) -> Floats:
    """Bytes that casting operands to fewer bits moves: inputs forward, gradients of outputs backward."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    again = (plans.recompute == FULL).astype(np.float64)

    def elements(products: tuple[Product, ...], tp: Floats) -> Floats:
        total = np.zeros_like(tokens)
        for p in products:
            ways = {"inner": (tp, 1.0), "columns": (1.0, tp), "none": (1.0, 1.0)}[p.cut]
            total = total + (1.0 + again) * p.inner / ways[0] + p.columns / ways[1]
        return total

    mixture = elements(shape.shared, plans.tp)
    mixture = mixture + shape.active_experts * plans.expert_tp / plans.tp * elements(shape.expert, plans.expert_tp)
    layers = shape.layers * elements(shape.attention, plans.tp) + shape.dense_layers * elements(
        shape.feed_forward, plans.tp
    )
    narrow = runs.machines.bytes_per_element < 2.0
    return np.where(narrow, CAST_BYTES * tokens * (layers + shape.moe_layers * mixture), 0.0)


def _host_s(runs: Runs, passes: Floats) -> Floats:
    """Time the host takes to launch the kernels of all layers, and to wait for routing."""
    shape, physics = runs.shape, runs.physics
    kernels = shape.layers * DENSE_KERNELS + shape.moe_layers * MIXTURE_KERNELS
    return np.asarray(runs.software.host * passes * physics.kernel_s * kernels)
