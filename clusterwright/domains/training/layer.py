"""Time of the computing in one micro-batch on one rank: products, attention, element-wise work, by roofline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.compute import attention_s, matmul_s, memory_bound_s
from clusterwright.domains.training.plans import SELECTIVE, Runs, recomputed
from clusterwright.domains.training.rates import Rates, rates_of
from clusterwright.domains.training.shape import SCAN_CHUNK, ModelShape, Number, Product

__all__ = ["HOST_CORNER", "Work", "work_of"]

Floats = NDArray[np.float64]

BACKWARD_ATTENTION = 2.5
"""Flash attention recomputes the scores: five products backward for two forward (Dao 2023)."""
BACKWARD_SCAN = 3.0
"""Bytes that the backward pass of a state-space block moves over those of the forward one."""
STREAM_PASSES = 10.0
"""Elements moved a hidden element and layer, forward: two norms (4), two residual sums (6)."""
ATTENTION_PASSES = 4.0
"""Elements moved a query, key or value element, forward: rotation (2), in and out of attention (2)."""
ROUTING_PASSES = 4.0
"""Elements moved a routed hidden element, forward: permute (2), restore (2)."""
LAST_PRODUCT = 0.3
"""Share of a layer's products that recomputation leaves out when it stops at the last input needed: the down
projection, 4 of 12 h^2 in a plain layer, a quarter in a gated one."""
STREAMS = 2.0
"""Experts' products that fill each other's last waves where each is a kernel of its own (several streams)."""
FUSED_SHARE = 0.4
"""Share of the experts' element-wise traffic that is left where permutation, activation and casts are fused."""
SELECTIVE_PASSES = 0.5
"""Share of the element-wise work that selective recomputation repeats: norms and activations, not the residual sums."""
ACCUMULATED_BYTES = 8.0
"""Bytes moved a weight and micro-batch to accumulate its gradient in FP32."""
SCORE_BYTES = 12.0
"""Bytes moved a score, forward, where scores are written: written (2), softmax (4), dropout (4), read again (2)."""
HEAD_BYTES = 16.0
"""Bytes moved a logit, forward and backward: written in two bytes, read and written in four for softmax and loss."""
CAST_BYTES = 2.0
"""Bytes moved an operand element that is cast to 8 or 4 bits: written as is and transposed (2); what makes the element
casts it before it leaves the registers."""
SEPARATE_CAST_BYTES = 6.0
"""The same where kernels of their own do it: read for the largest value (2), read again (2), written twice (2)."""
DENSE_KERNELS = 14.0
"""Kernels that a dense layer launches forward; backward twice as many."""
MIXTURE_KERNELS = 30.0
"""Kernels more of a mixture layer, forward: routing, permutation, exchange, grouped products."""
HOST_CORNER = 3.0
"""Exponent of the soft maximum of accelerator and host time: layers differ, so the corner is not sharp."""


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

    @property
    def pace_s(self) -> Floats:
        """All of it with the waits for the host: what traffic can hide behind."""
        return np.asarray((self.total_s**HOST_CORNER + self.host_s**HOST_CORNER) ** (1.0 / HOST_CORNER))


def work_of(runs: Runs) -> Work:
    """Computing time of one micro-batch of each run."""
    plans, machines, tokens = runs.plans, runs.machines, runs.tokens
    rates = rates_of(runs)
    again = recomputed(plans)
    whole = (np.asarray(runs.software.whole_recompute) > 0) | (again < 1.0)
    forward = 1.0 + again * np.where(whole, 1.0, 1.0 - LAST_PRODUCT)
    head = (Product(runs.shape.hidden, runs.shape.vocabulary, "columns"),)
    head_products = _products_s(head, _Passes(runs, tokens, plans.tp, rates.bf16, 2.0, np.ones_like(again)))
    bandwidth = runs.physics.memory * machines.memory_bandwidth_bytes_s
    head_memory = memory_bound_s(HEAD_BYTES * tokens * runs.shape.vocabulary / plans.tp, bandwidth_bytes_s=bandwidth)
    return Work(
        matmul_s=_layer_products_s(runs, rates, forward) + head_products,
        attention_s=_attention_s(runs, rates, again),
        memory_bound_s=memory_bound_s(_element_bytes(runs), bandwidth_bytes_s=bandwidth) + head_memory,
        head_s=head_products + head_memory,
        host_s=_host_s(runs, 3.0 + again),
    )


@dataclass(frozen=True)
class _Passes:
    """What products of one kind run with: rows of a rank, ranks that cut them, rate, bytes an element, forwards."""

    runs: Runs
    rows: Floats
    tp: Floats
    rate: Floats
    width: Floats | float
    forward: Floats
    together: Floats | float = 1.0

    def seconds(self, inner: Floats, columns: Floats) -> Floats:
        """Forward (as often as done), gradient of the input, gradient of the weights: the same work, three shapes."""
        rows = np.broadcast_to(self.rows, np.broadcast_shapes(self.rows.shape, inner.shape, columns.shape))
        frozen = np.asarray(self.runs.software.frozen_weights) > 0
        weights = np.where(frozen, 0.0, self._one(inner, rows, columns))
        return np.asarray(self.forward * self._one(rows, inner, columns) + self._one(rows, columns, inner) + weights)

    def _one(self, rows: Floats, inner: Floats, columns: Floats) -> Floats:
        took = matmul_s(
            rows,
            inner,
            columns,
            achievable_flops=self.rate,
            bandwidth_bytes_s=self.runs.machines.memory_bandwidth_bytes_s,
            bytes_per_element=np.asarray(self.width),
            depth=self.runs.physics.depth,
            wave=self.runs.physics.wave / self.together,
        )
        return np.asarray(took)


def _products_s(products: tuple[Product, ...], passes: _Passes) -> Floats:
    """Seconds of products, forward and backward."""
    total = np.zeros_like(passes.rows)
    for product in products:
        inner = np.asarray(product.inner / (passes.tp if product.cut == "inner" else 1.0))
        columns = np.asarray(product.columns / (passes.tp if product.cut == "columns" else 1.0))
        total = total + passes.seconds(inner, columns)
    return total


def _layer_products_s(runs: Runs, rates: Rates, forward: Floats) -> Floats:
    """Seconds of all layers' products, forward and backward."""
    shape, plans, tokens, width = runs.shape, runs.plans, runs.tokens, runs.machines.bytes_per_element
    plain = _Passes(runs, tokens, plans.tp, rates.products, width, forward)
    total = shape.attention_layers * _products_s(shape.attention, plain)
    if shape.mixing:
        total = total + shape.state_layers * _products_s(shape.mixing, plain)
    total = total + shape.dense_layers * _products_s(shape.feed_forward, plain)
    if shape.expert:
        local = _local_experts(runs)
        uneven = 1.0 + (runs.physics.natural - 1.0) * runs.software.natural_routing * (plans.ep > 1)
        rows = np.asarray(tokens * shape.active_experts * plans.expert_tp / plans.tp / local * uneven)
        together = np.where(np.asarray(runs.software.fused_experts) > 0, local, np.minimum(local, STREAMS))
        grouped = _Passes(runs, rows, plans.expert_tp, rates.grouped, width, forward, together)
        total = total + shape.moe_layers * (
            local * _products_s(shape.expert, grouped) + _products_s(shape.shared, plain)
        )
    return np.asarray(total)


def _local_experts(runs: Runs) -> Floats:
    """Experts on one rank."""
    return np.maximum(runs.shape.experts / runs.plans.ep, 1.0)


def _attention_s(runs: Runs, rates: Rates, again: Floats) -> Floats:
    """Attention of all layers, forward, backward and recomputed."""
    shape, plans, physics = runs.shape, runs.plans, runs.physics
    share = plans.micro_batch / (plans.cp * plans.tp)
    ends = 1.0 + physics.attention_depth * plans.cp / runs.sequence
    flop = np.asarray(shape.layers * shape.attention_flop(runs.sequence) * share) * ends
    scan = np.asarray(shape.state_layers * shape.scan_flop * runs.sequence * share)
    fused = attention_s(flop, achievable_flops=rates.attention) + attention_s(scan, achievable_flops=rates.scan)
    fused = (1.0 + BACKWARD_ATTENTION + again) * fused
    if np.all(np.asarray(runs.software.fused_attention) > 0):
        return np.asarray(fused)
    once = (plans.recompute >= SELECTIVE).astype(np.float64)
    scores = shape.attention_layers * (shape.query_width / shape.head_width) * runs.sequence**2 * share
    products = (
        2.0 * scores * shape.head_width * 2.0 / (rates.bf16 * shape.head_width / (shape.head_width + physics.depth))
    )
    bandwidth = physics.memory * runs.machines.memory_bandwidth_bytes_s
    passing = memory_bound_s(np.asarray(SCORE_BYTES * scores), bandwidth_bytes_s=bandwidth)
    written = (3.0 + once) * products + (2.0 + once) * passing
    return np.asarray(np.where(np.asarray(runs.software.fused_attention) > 0, fused, written))


def _element_bytes(runs: Runs) -> Floats:
    """Bytes that element-wise work moves: forward, twice as much backward, again when recomputed; and casts."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    cut = np.where(plans.sequence_parallel > 0, plans.tp, 1.0)
    heads = ATTENTION_PASSES * (shape.query_width + shape.key_value_width) / plans.tp
    per_width = 2.0 + shape.gated
    dense = per_width * shape.feed_forward_width / plans.tp
    routed = shape.active_experts * (per_width * shape.expert_width + ROUTING_PASSES * shape.routed_width) / plans.tp
    routed = routed * np.where(np.asarray(runs.software.fused_experts) > 0, FUSED_SHARE, 1.0)
    bias = 2.0 * ((1.0 + shape.gated) * shape.expert_width + shape.hidden)
    routed = routed + shape.biased * shape.active_experts * bias / plans.tp
    mixture = per_width * shape.shared_width / plans.tp + routed
    streams = shape.layers - 0.5 * shape.bare_layers
    per_token = streams * STREAM_PASSES * shape.hidden / cut + shape.attention_layers * heads
    per_token = per_token + shape.state_layers * _state_elements(shape) / plans.tp
    per_token = per_token + shape.dense_layers * dense + shape.moe_layers * mixture
    forward = 2.0 * tokens * per_token
    passes = 3.0 + np.maximum(SELECTIVE_PASSES * (plans.recompute >= SELECTIVE), recomputed(plans))
    return np.asarray(passes * forward + _cast_bytes(runs) + _accumulated_bytes(runs))


def _state_elements(shape: ModelShape) -> Number:
    """Elements that a state-space block moves a token, as a third of forward and backward, beside its products.

    Forward (kernels of Mamba 2): convolution (in and out), scan (inputs twice, maps twice, result), gated norm (result,
    gate, out), and the states at the chunks' ends in four bytes: written, passed on (twice), read. Backward three times
    as much: states are made again, and gradients of inputs, maps, steps and decays each read inputs and gradients.
    """
    states = 2.0 * 4.0 * shape.state_width * shape.state_size / SCAN_CHUNK
    forward = (2.0 + 3.0 + 3.0) * shape.state_width + (2.0 + 2.0) * shape.state_maps + states
    return np.asarray((1.0 + BACKWARD_SCAN) / 3.0 * forward)


def _accumulated_bytes(runs: Runs) -> Floats:
    """Bytes that adding a micro-batch's weight gradients to the sum moves: read and written, four bytes each."""
    shape, plans = runs.shape, runs.plans
    frozen = np.asarray(runs.software.frozen_weights) > 0
    common = (shape.common_parameters + shape.vocabulary * shape.hidden) / plans.tp
    experts = shape.expert_parameters / (plans.ep * plans.expert_tp)
    each = np.where(np.asarray(runs.software.half_gradients) > 0, 0.5 * ACCUMULATED_BYTES, ACCUMULATED_BYTES)
    return np.asarray(np.where((plans.shard >= 3) | frozen, 0.0, each * (common + experts)))


def _cast_bytes(runs: Runs) -> Floats:
    """Bytes that casting operands to fewer bits moves: inputs forward, gradients of outputs backward."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    again = recomputed(plans)

    def elements(products: tuple[Product, ...], tp: Floats) -> Floats:
        total = np.zeros_like(tokens)
        for p in products:
            read = p.inner / (tp if p.cut == "inner" else 1.0)
            total = total + (1.0 + again) * read + p.columns / (tp if p.cut == "columns" else 1.0)
        return total

    mixture = elements(shape.shared, plans.tp)
    mixture = mixture + shape.active_experts * plans.expert_tp / plans.tp * elements(
        shape.expert, plans.expert_tp
    ) * np.where(np.asarray(runs.software.fused_experts) > 0, FUSED_SHARE, 1.0)
    layers = shape.attention_layers * elements(shape.attention, plans.tp)
    layers = layers + shape.state_layers * elements(shape.mixing, plans.tp)
    layers = layers + shape.dense_layers * elements(shape.feed_forward, plans.tp)
    narrow = runs.machines.bytes_per_element < 2.0
    each = np.where(np.asarray(runs.software.separate_casts) > 0, SEPARATE_CAST_BYTES, CAST_BYTES)
    return np.where(narrow, each * tokens * (layers + shape.moe_layers * mixture), 0.0)


def _host_s(runs: Runs, passes: Floats) -> Floats:
    """Time the host takes to launch the kernels of all layers, and to wait for routing."""
    shape, physics = runs.shape, runs.physics
    width = runs.machines.bytes_per_element
    each = np.where(width >= 2.0, 5.0, np.where(width == 1.0, 8.0, 16.0))
    mixture = MIXTURE_KERNELS + each * _local_experts(runs)
    kernels = shape.layers * DENSE_KERNELS + shape.moe_layers * mixture
    return np.asarray(runs.software.host * passes * physics.kernel_s * kernels)
