"""Memory of one accelerator: state of the weights, activations of the pipeline's in-flight micro-batches, reserve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.plans import FULL, NONE, Plans
from clusterwright.domains.training.shape import ModelShape, Number

__all__ = [
    "CHECKPOINT_BYTES",
    "GRADIENT_BYTES",
    "OPTIMIZER_BYTES",
    "RESERVE_BYTES",
    "SPREAD",
    "USABLE_FRACTION",
    "WEIGHT_BYTES",
    "Memory",
    "fits",
    "impossible",
    "memory_of",
]

Floats = NDArray[np.float64]

WEIGHT_BYTES = 2.0
"""BF16 weights (also with FP8 products, whose casts are transient)."""
GRADIENT_BYTES = 4.0
"""Gradients accumulate in FP32."""
OPTIMIZER_BYTES = 12.0
"""FP32 master weight and two Adam moments; shared out over the data-parallel ranks from ``shard`` 1 on."""
CHECKPOINT_BYTES = WEIGHT_BYTES + OPTIMIZER_BYTES
"""Weights and optimizer state; gradients are not saved."""
RESERVE_BYTES = 2.5e9
"""What the device holds beside tensors: driver context and kernels (1.6 GB on an A100 as BigScience saw it), buffers of
the communicators (about 1 GB)."""
GATHERED_LAYERS = 2.0
"""Layers whose weights are whole on a rank at a time where weights are shared out: the one at work and the next."""
SCORE_BYTES = 5.0
"""Bytes kept a score where attention is not fused: scores (2), their softmax (2), the dropout mask (1)."""
SPREAD = 0.10
"""Half-width of the 80 % interval of the law."""
USABLE_FRACTION = 0.92
"""Share of the memory that a plan may fill; the rest is lost to fragmentation of the allocator."""


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest rank, shape (P,) each."""

    state_bytes: Floats
    activation_bytes: Floats
    buffer_bytes: Floats
    """A layer's fresh weight gradients, and what a pipeline stage has sent and keeps."""

    @property
    def allocated_bytes(self) -> Floats:
        """All tensors: what the framework's allocator counts."""
        return self.state_bytes + self.activation_bytes + self.buffer_bytes

    @property
    def total_bytes(self) -> Floats:
        """With the reserve: what the device counts."""
        return self.allocated_bytes + RESERVE_BYTES


def fits(memory_bytes: Floats | float, available_bytes: Floats | float) -> NDArray[np.bool_]:
    """Whether a plan may be said to fit: with room for what the allocator loses."""
    return np.asarray(memory_bytes) <= USABLE_FRACTION * np.asarray(available_bytes)


def impossible(memory_bytes: Floats | float, available_bytes: Floats | float) -> NDArray[np.bool_]:
    """Whether a plan can be called impossible: it would not fit even if the law were too high by its spread."""
    return np.asarray(memory_bytes) * (1.0 - SPREAD) > np.asarray(available_bytes)


def memory_of(
    shape: ModelShape,
    plans: Plans,
    sequence: Number,
    fused_attention: Number = 1.0,
    frozen_weights: Number = 0.0,
    gradient_bytes: Number = GRADIENT_BYTES,
    frees_outputs: Number = 1.0,
) -> Memory:
    """Memory of each plan.

    Under 1F1B the first stage holds the activations of ``pp`` micro-batches, interleaving adds
    ``(pp - 1) / (pp x interleave)`` of them (Narayanan 2021; Korthikanti 2022, table 2, with flash attention, so
    without the scores).
    """
    state = _state_bytes(shape, plans, np.asarray(frozen_weights) > 0, np.asarray(gradient_bytes, dtype=np.float64))
    fresh = np.where(np.asarray(frozen_weights) > 0, 0.0, WEIGHT_BYTES * shape.common_parameters / shape.layers)
    sent = np.where(np.asarray(frees_outputs) > 0, 0.0, _sent_bytes(shape, plans, sequence))
    activations = _activation_bytes(shape, plans, sequence, np.asarray(fused_attention) > 0)
    return Memory(state, activations, np.asarray(fresh / plans.tp + sent))


def _sent_bytes(shape: ModelShape, plans: Plans, sequence: Number) -> Floats:
    """Outputs of the micro-batches in flight on the first stage, once sent (Korthikanti 2022, appendix B)."""
    in_flight = np.where(plans.pp > 1, np.minimum(plans.pp, plans.micro_batches), 0.0)
    return np.asarray(plans.micro_batch * sequence / plans.cp * _input_bytes(shape, plans) * in_flight)


def _state_bytes(shape: ModelShape, plans: Plans, frozen: NDArray[np.bool_], gradient: Floats) -> Floats:
    fullest = np.ceil(shape.layers / (plans.pp * plans.interleave)) * plans.interleave / shape.layers
    ends = np.where(plans.pp > 1, shape.vocabulary * shape.hidden, shape.embedding_parameters)
    common = (shape.common_parameters * fullest + ends) / plans.tp
    stage = np.ceil(shape.layers / (plans.pp * plans.interleave)) * plans.interleave
    mixtures = np.minimum(stage, shape.moe_layers) / np.maximum(shape.moe_layers, 1.0)
    experts = shape.expert_parameters * mixtures / (plans.ep * plans.expert_tp)
    gathered = np.where(plans.shard >= 3, GATHERED_LAYERS * WEIGHT_BYTES * shape.common_parameters / shape.layers, 0.0)
    return np.asarray(
        common * _bytes_per_parameter(plans, plans.copies, frozen, gradient)
        + experts * _bytes_per_parameter(plans, plans.expert_copies, frozen, gradient)
        + gathered / plans.tp
    )


def _bytes_per_parameter(plans: Plans, copies: Floats, frozen: NDArray[np.bool_], gradient: Floats) -> Floats:
    weights = WEIGHT_BYTES / np.where(plans.shard >= 3, copies, 1.0)
    gradients = gradient / np.where(plans.shard >= 2, copies, 1.0)
    trained = gradients + OPTIMIZER_BYTES / np.where(plans.shard >= 1, copies, 1.0)
    return weights + np.where(frozen, 0.0, trained)


def _activation_bytes(shape: ModelShape, plans: Plans, sequence: Number, fused: NDArray[np.bool_]) -> Floats:
    tokens = plans.micro_batch * sequence / plans.cp
    scores = SCORE_BYTES * (shape.query_width / shape.head_width) * sequence / (plans.cp * plans.tp)
    scores = np.where(fused, 0.0, scores)
    layer = _layer_bytes_per_token(shape, plans, NONE) + scores
    kept = np.where(
        plans.recompute == NONE,
        layer,
        np.where(plans.recompute == FULL, _input_bytes(shape, plans), _layer_bytes_per_token(shape, plans, 1.0)),
    )
    on_rank = np.ceil(shape.layers / (plans.pp * plans.interleave)) * plans.interleave
    more = np.where(plans.interleave > 1, 1.0 + (plans.pp - 1.0) / (plans.pp * plans.interleave), 1.0)
    in_flight = np.minimum(plans.pp * more, plans.micro_batches * np.where(plans.pp > 1, more, 1.0))
    stages = tokens * kept * on_rank * in_flight
    working = np.where(plans.recompute == NONE, 0.0, tokens * layer)
    logits = np.where(plans.pp > 1, 0.0, 6.0 * tokens * shape.vocabulary / plans.tp)
    return stages + np.maximum(working, logits)


def _input_bytes(shape: ModelShape, plans: Plans) -> Floats:
    """Bytes a token that full recomputation keeps of a layer: its input."""
    return 2.0 * shape.hidden / np.where(plans.sequence_parallel > 0, plans.tp, 1.0)


def _layer_bytes_per_token(shape: ModelShape, plans: Plans, recompute: float) -> Floats:
    """Bytes a token that a mean layer keeps for its backward pass, two an element.

    Kept: the residual stream and the norm's result before each half (4 hidden; 2 when norms are recomputed), queries,
    keys, values and the attention output, the projections of the feed-forward part and the activation's result (the
    last is recomputed by ``selective``). Routed tokens are kept once before and once after the experts.
    """
    cut = np.where(plans.sequence_parallel > 0, plans.tp, 1.0)
    stream = (4.0 if recompute == NONE else 2.0) * shape.hidden / cut
    state = shape.state_layers / shape.layers
    block = 5.0 * shape.state_width + 2.0 * shape.state_maps
    attention = (1.0 - state) * (shape.query_width + shape.key_value_width + shape.value_width) / plans.tp
    attention = attention + state * block / plans.tp
    widths = 1.0 + shape.gated + (1.0 if recompute == NONE else 0.0)
    moe = shape.moe_layers / shape.layers
    dense = widths * shape.feed_forward_width / plans.tp
    routed = shape.active_experts * (widths * shape.expert_width + 2.0 * shape.routed_width) / plans.tp
    mixture = widths * shape.shared_width / plans.tp + routed
    plain = shape.dense_layers / shape.layers
    return 2.0 * (stream + attention + plain * dense + moe * mixture)
