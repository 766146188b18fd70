"""What lies in the memory of the host: traffic over its link, the update on its processors, what stays exposed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.memory import (
    GRADIENT_BYTES,
    WEIGHT_BYTES,
    activations_bytes,
    updated_parameters,
)
from clusterwright.domains.training.performance import offload_s
from clusterwright.domains.training.plans import Runs, recomputed

__all__ = ["HOST_SHARE", "OPTIMIZER_TRAFFIC_BYTES", "link_bytes", "offloading_s"]

Floats = NDArray[np.float64]

OPTIMIZER_TRAFFIC_BYTES = 30.0
"""Bytes the Adam step moves a parameter: reads gradient, master, two moments (16), writes the three and BF16 (14)."""
HOST_SHARE = 0.5
"""Share of the bandwidth of its memory at which the host runs Adam: CPU-Adam takes 0.22 s for 1B and 2.57 s for 10B
parameters on a DGX-2 of 256 GB/s (ZeRO-Offload, arXiv:2101.06840, table 4), 0.53 and 0.46 of it."""


def link_bytes(runs: Runs) -> tuple[Floats, Floats]:
    """Bytes that a rank sends to the memory of the host in a step, and that it gets back, shape (P,) each.

    Optimizer state: gradients go, once in four bytes with ZeRO 1, in two bytes at each micro-batch with ZeRO 2 and 3;
    weights come back in two. Activations go once and come back once.
    """
    updated, kept = _updated(runs), _moved_bytes(runs)
    return _gradient_bytes(runs, updated) + kept, WEIGHT_BYTES * updated + kept


def _updated(runs: Runs) -> Floats:
    """Parameters that the host updates for one rank."""
    there = runs.plans.offloads_optimizer & (np.asarray(runs.software.frozen_weights) <= 0)
    return np.where(there, updated_parameters(runs.shape, runs.plans), 0.0)


def _gradient_bytes(runs: Runs, updated: Floats) -> Floats:
    often = WEIGHT_BYTES * runs.plans.micro_batches
    return np.asarray(np.where(runs.plans.offloads_gradients, often, GRADIENT_BYTES) * updated)


def _moved_bytes(runs: Runs) -> Floats:
    """Activations that a rank keeps of all micro-batches of a step; 0 where they stay on the accelerator."""
    plans = runs.plans
    layers = runs.shape.layers / plans.pp * plans.micro_batches
    layer = activations_bytes(runs.shape, plans, runs.sequence, np.asarray(runs.software.fused_attention) > 0)
    return np.where(plans.offloads_activations, layers * layer, 0.0)


def offloading_s(runs: Runs, busy: Floats) -> Floats:
    """Exposed seconds of offloading in a step.

    The update stands between two steps: gradients go, the host updates, weights come back, tile after tile, so that
    the slowest of the three counts (ZeRO-Offload, section 5.1; Megatron-LM ``--overlap-cpu-optimizer-d2h-h2d``). With
    ZeRO 2 and 3 gradients go behind the backward pass. Activations go behind the forward pass and come back behind
    the backward one; what is longer shows, and the ends always do. No step is delayed to hide the update.

    Args:
        runs: what is timed.
        busy: seconds of computing of a rank in a step, shape (P,).
    """
    plans, machines = runs.plans, runs.machines
    if not np.any(plans.offload):
        return np.zeros_like(busy)
    updated = _updated(runs)
    host = OPTIMIZER_TRAFFIC_BYTES * updated / (HOST_SHARE * machines.host_bandwidth_bytes_s)
    kept, gradients = (b / machines.host_link_bytes_s for b in (_moved_bytes(runs), _gradient_bytes(runs, updated)))
    early = plans.offloads_gradients
    transfer = np.where(early, WEIGHT_BYTES * updated / machines.host_link_bytes_s, gradients)
    forward = busy / (3.0 + recomputed(plans))
    back = np.maximum(kept, np.where(early, gradients, 0.0))  # the two directions of the link work at the same time
    hides = ((kept, forward), (back, busy - forward))
    shown = sum((np.maximum(t - w, runs.physics.dp_exposed * t) for t, w in hides), start=np.zeros_like(busy))
    return np.asarray(offload_s(host, transfer, np.asarray(shown)))
