"""Memory of one accelerator: state of the weights, activations of the pipeline's in-flight micro-batches, reserve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.plans import FULL, NONE, ZERO_BUBBLE, Plans
from clusterwright.domains.training.shape import ModelShape, Number

__all__ = [
    "CHECKPOINT_BYTES",
    "EAGER_GRADIENT_BYTES",
    "EAGER_RESERVE_BYTES",
    "GRADIENT_BYTES",
    "OPTIMIZER_BYTES",
    "RESERVE_BYTES",
    "SPREAD",
    "USABLE_FRACTION",
    "USABLE_HOST_FRACTION",
    "WEIGHT_BYTES",
    "Memory",
    "activations_bytes",
    "fits",
    "fits_host",
    "impossible",
    "in_flight",
    "memory_of",
    "on_rank",
    "updated_parameters",
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
LOGIT_BYTES = 6.0
"""Bytes a logit where the loss is one kernel that keeps to its rank's part of the vocabulary: BF16 and FP32."""
EAGER_LOGIT_BYTES = 18.0
"""The same where the loss is made of plain operators on the whole vocabulary: in BF16 (2) and as gathered (2), in FP32
(4), their softmax (4), gradients in FP32 (4) and BF16 (2)."""
EAGER_NORM_BYTES = 16.0
"""Bytes a hidden value that two norms of plain operators keep beside fused ones: input and result in FP32 each."""
EAGER_GRADIENT_BYTES = 2.0
"""Gradients in BF16, as frameworks without main gradients keep them."""
EAGER_RESERVE_BYTES = 6e9
"""The most that the reserve is seen to take."""
STAGED_LAYERS = 2.0
"""Layers whose offloaded activations are on the accelerator at a time: the one at work and the one on the way."""
SPREAD = 0.10
"""Half-width of the 80 % interval of the law."""
USABLE_HOST_FRACTION = 0.75
"""Share of the main memory that offloading may fill; the rest is for the system, data loading and pinned copies."""
USABLE_FRACTION = 0.92
"""Share of the memory that a plan may fill; the rest is lost to fragmentation of the allocator."""


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest rank, shape (P,) each."""

    state_bytes: Floats
    activation_bytes: Floats
    buffer_bytes: Floats
    """A layer's fresh weight gradients, and what a pipeline stage has sent and keeps."""
    host_bytes: Floats
    """In the memory of the host, of what is offloaded there."""

    @property
    def allocated_bytes(self) -> Floats:
        """All tensors: what the framework's allocator counts."""
        return self.state_bytes + self.activation_bytes + self.buffer_bytes

    @property
    def total_bytes(self) -> Floats:
        """With the reserve: what the device counts."""
        return self.allocated_bytes + RESERVE_BYTES


def fits_host(memory: Memory, host_bytes: Floats) -> NDArray[np.bool_]:
    """Whether what is offloaded finds room in an accelerator's share of the main memory."""
    return np.asarray(memory.host_bytes <= USABLE_HOST_FRACTION * host_bytes)


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
    eager: bool = False,
    gradient_bytes: float = GRADIENT_BYTES,
    frees_outputs: Number = 1.0,
) -> Memory:
    """Memory of each plan.

    ``eager``: norms and loss are plain operators, which keep more than fused kernels (815 published cases that ran or
    ran out, Hagemann 2023, arXiv:2311.05610).

    Under 1F1B the first stage holds the activations of ``pp`` micro-batches, interleaving adds
    ``(pp - 1) / (pp x interleave)`` of them (Narayanan 2021; Korthikanti 2022, table 2, with flash attention, so
    without the scores). A zero-bubble schedule (ZB-H1) keeps as much as 1F1B (Qi 2023, table 1). Optimizer state in
    the memory of the host frees the accelerator of master weights and moments, with ZeRO 2 and 3 of gradients as well
    (ZeRO-Offload, arXiv:2101.06840, section 4). Offloaded activations leave two layers of one micro-batch.
    """
    frozen, fused = np.asarray(frozen_weights) > 0, np.asarray(fused_attention) > 0
    kept, working = _activation_bytes(shape, plans, sequence, fused, eager)
    state = _state_bytes(shape, plans, frozen, gradient_bytes)
    fresh = np.where(frozen, 0.0, WEIGHT_BYTES * shape.common_parameters / shape.layers) / plans.tp
    buffers = fresh + np.where(np.asarray(frees_outputs) > 0, 0.0, _sent_bytes(shape, plans, sequence))
    if not np.any(plans.offload):
        return Memory(state, kept + working, buffers, np.zeros_like(state))
    each = OPTIMIZER_BYTES + np.where(plans.offloads_gradients, gradient_bytes, 0.0)
    host = np.where(plans.offloads_optimizer & ~frozen, each * updated_parameters(shape, plans), 0.0)
    staged = np.minimum(STAGED_LAYERS / on_rank(shape, plans), 1.0) * kept / in_flight(plans)
    away = np.where(plans.offloads_activations, np.maximum(kept - staged, 0.0), 0.0)
    return Memory(state, kept - away + working, buffers, host + away)


def updated_parameters(shape: ModelShape, plans: Plans) -> Floats:
    """Parameters that one rank of a mean stage updates."""
    common = (shape.common_parameters + shape.embedding_parameters) / (plans.pp * plans.tp)
    experts = shape.expert_parameters / (plans.pp * plans.ep * plans.expert_tp)
    shared = plans.shard > 0
    apart = common / plans.sharing(plans.copies) + experts / plans.sharing(plans.expert_copies)
    return np.where(shared, apart, common + experts)


def _sent_bytes(shape: ModelShape, plans: Plans, sequence: Number) -> Floats:
    """Outputs of the micro-batches in flight on the first stage, once sent (Korthikanti 2022, appendix B)."""
    micro_batches = np.where(plans.pp > 1, np.minimum(plans.pp, plans.micro_batches), 0.0)
    return np.asarray(plans.micro_batch * sequence / plans.cp * _input_bytes(shape, plans) * micro_batches)


def _state_bytes(shape: ModelShape, plans: Plans, frozen: NDArray[np.bool_], gradient_bytes: float) -> Floats:
    fullest = np.ceil(shape.layers / (plans.pp * plans.interleave)) * plans.interleave / shape.layers
    ends = np.where(plans.pp > 1, shape.vocabulary * shape.hidden, shape.embedding_parameters)
    common = (shape.common_parameters * fullest + ends) / plans.tp
    stage = np.ceil(shape.layers / (plans.pp * plans.interleave)) * plans.interleave
    mixtures = np.minimum(stage, shape.moe_layers) / np.maximum(shape.moe_layers, 1.0)
    experts = shape.expert_parameters * mixtures / (plans.ep * plans.expert_tp)
    gathered = np.where(plans.shard >= 3, GATHERED_LAYERS * WEIGHT_BYTES * shape.common_parameters / shape.layers, 0.0)
    return np.asarray(
        common * _bytes_per_parameter(plans, plans.sharing(plans.copies), frozen, gradient_bytes)
        + experts * _bytes_per_parameter(plans, plans.sharing(plans.expert_copies), frozen, gradient_bytes)
        + gathered / plans.tp
    )


def _bytes_per_parameter(plans: Plans, copies: Floats, frozen: NDArray[np.bool_], gradient_bytes: float) -> Floats:
    weights = WEIGHT_BYTES / np.where(plans.shard >= 3, copies, 1.0)
    gradients = gradient_bytes / np.where(plans.shard >= 2, copies, 1.0)
    gradients = np.where(plans.offloads_gradients, 0.0, gradients)
    optimizer = np.where(plans.offloads_optimizer, 0.0, OPTIMIZER_BYTES)
    trained = gradients + optimizer / np.where(plans.shard >= 1, copies, 1.0)
    return weights + np.where(frozen, 0.0, trained)


def _activation_bytes(
    shape: ModelShape, plans: Plans, sequence: Number, fused: NDArray[np.bool_], eager: bool
) -> tuple[Floats, Floats]:
    """Kept for the backward pass by all layers of the rank, and in use by what is at work."""
    tokens = plans.micro_batch * sequence / plans.cp
    layer = _whole_bytes_per_token(shape, plans, sequence, fused, eager)
    stage = tokens * _kept_bytes_per_token(shape, plans, layer, eager) * on_rank(shape, plans)
    working = np.where(plans.recompute == NONE, 0.0, tokens * layer)
    logits = tokens * shape.vocabulary * (EAGER_LOGIT_BYTES if eager else LOGIT_BYTES / plans.tp)
    as_full = (plans.schedule == ZERO_BUBBLE) | plans.offloads_activations
    spare = np.where(as_full, 0.0, (in_flight(plans) - 1.0) * stage)  # the last stage has one micro-batch in flight
    return stage * in_flight(plans), np.maximum(working, logits - spare)


def _whole_bytes_per_token(
    shape: ModelShape, plans: Plans, sequence: Number, fused: NDArray[np.bool_], eager: bool
) -> Floats:
    """What a layer keeps of a token where nothing is recomputed."""
    scores = SCORE_BYTES * (shape.query_width / shape.head_width) * sequence / (plans.cp * plans.tp)
    whole = _layer_bytes_per_token(shape, plans, NONE) + _norm_bytes(shape, plans, eager)
    return np.asarray(whole + np.where(fused, 0.0, scores))


def _kept_bytes_per_token(shape: ModelShape, plans: Plans, whole: Floats, eager: bool) -> Floats:
    """What a layer keeps of a token at the plan's recomputation."""
    selective = _layer_bytes_per_token(shape, plans, 1.0) + _norm_bytes(shape, plans, eager)
    kept = np.where(plans.recompute == FULL, _input_bytes(shape, plans), selective)
    return np.where(plans.recompute == NONE, whole, kept)


def _norm_bytes(shape: ModelShape, plans: Plans, eager: bool) -> Floats | float:
    """What norms of plain operators keep of a token beside fused ones."""
    return EAGER_NORM_BYTES / 2.0 * _input_bytes(shape, plans) if eager else 0.0


def activations_bytes(shape: ModelShape, plans: Plans, sequence: Number, fused: NDArray[np.bool_]) -> Floats:
    """Bytes that the mean layer keeps of one micro-batch on one rank."""
    whole = _whole_bytes_per_token(shape, plans, sequence, fused, eager=False)
    return plans.micro_batch * sequence / plans.cp * _kept_bytes_per_token(shape, plans, whole, eager=False)


def on_rank(shape: ModelShape, plans: Plans) -> Floats:
    """Layers of the fullest rank."""
    return np.asarray(np.ceil(shape.layers / (plans.pp * plans.interleave)) * plans.interleave)


def in_flight(plans: Plans) -> Floats:
    """Micro-batches whose activations the fullest rank keeps at once; a zero-bubble schedule on every rank."""
    more = np.where(plans.interleave > 1, 1.0 + (plans.pp - 1.0) / (plans.pp * plans.interleave), 1.0)
    return np.minimum(plans.pp * more, plans.micro_batches * np.where(plans.pp > 1, more, 1.0))


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
