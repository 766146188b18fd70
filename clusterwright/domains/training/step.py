"""The time of one optimizer step: computing, communication, bubble and overhead, as parts that sum to it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.layer import HOST_CORNER, Work, work_of
from clusterwright.domains.training.memory import updated_parameters
from clusterwright.domains.training.offload import OPTIMIZER_TRAFFIC_BYTES, offloading_s
from clusterwright.domains.training.plans import FULL, ZERO_BUBBLE, Plans, Runs, recomputed
from clusterwright.domains.training.shape import ModelShape
from clusterwright.domains.training.traffic import Traffic, traffic_of

__all__ = ["Step", "step_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """Exposed seconds of one step, shape (P,) each; they sum to the step time."""

    matmul_s: Floats
    attention_s: Floats
    memory_bound_s: Floats
    tp_s: Floats
    pp_bubble_s: Floats
    pp_s: Floats
    cp_s: Floats
    ep_s: Floats
    dp_s: Floats
    optimizer_s: Floats
    offload_s: Floats
    other_s: Floats

    def scaled(self, factor: Floats) -> Step:
        """All parts times ``factor``."""
        return Step(**{f.name: getattr(self, f.name) * factor for f in fields(self)})

    @property
    def total_s(self) -> Floats:
        """The step time."""
        return np.sum([getattr(self, f.name) for f in fields(self)], axis=0)  # type: ignore[no-any-return]


def step_of(runs: Runs) -> tuple[Step, Traffic]:
    """The step time of each run by its parts, and the communication in it."""
    plans, physics = runs.plans, runs.physics
    work = work_of(runs)
    traffic = traffic_of(runs, work)
    share = plans.micro_batches / plans.pp
    busy = share * work.total_s + traffic.tp.exposed_s + traffic.cp.exposed_s + traffic.ep.exposed_s
    waits = _waits_s(runs, share, busy, share * work.host_s)
    inner = busy + waits
    bubble = _bubble_s(runs.shape, plans, inner / share, work)
    moved = np.where(plans.offloads_optimizer, 0.0, OPTIMIZER_TRAFFIC_BYTES * updated_parameters(runs.shape, plans))
    optimizer = moved / (physics.memory * runs.machines.memory_bandwidth_bytes_s)
    offload = offloading_s(runs, share * work.pace_s)
    known = inner + bubble + traffic.pp.exposed_s + traffic.dp.exposed_s + optimizer + offload
    lost = physics.overhead * np.log2(np.maximum(plans.gpus, 1.0)) * known
    factor = np.asarray(runs.software.factor)
    step = Step(
        matmul_s=share * work.matmul_s,
        attention_s=share * work.attention_s,
        memory_bound_s=share * work.memory_bound_s,
        tp_s=traffic.tp.exposed_s,
        pp_bubble_s=bubble,
        pp_s=traffic.pp.exposed_s,
        cp_s=traffic.cp.exposed_s,
        ep_s=traffic.ep.exposed_s,
        dp_s=traffic.dp.exposed_s,
        optimizer_s=optimizer,
        offload_s=offload,
        other_s=waits + lost,
    )
    return step.scaled(factor), traffic


def _waits_s(runs: Runs, share: Floats, busy: Floats, host: Floats) -> Floats:
    """Time that the accelerator waits for the host: launches that run behind, and routing decided on the host.

    The host runs ahead while kernels are long; launching shows as far as it takes longer than they do, with a soft
    corner, for layers differ.
    """
    behind = (busy**HOST_CORNER + host**HOST_CORNER) ** (1.0 / HOST_CORNER) - busy
    routed = np.asarray(runs.shape.moe_layers * runs.software.host)
    passes = 3.0 + (runs.plans.recompute == FULL)
    return np.asarray(behind + share * passes * routed * runs.physics.expert_sync_s)


def _bubble_s(shape: ModelShape, plans: Plans, inner: Floats, work: Work) -> Floats:
    """Idle time of the pipeline: filling and draining, and waiting for the busiest stage.

    A rank holds whole layers: the fullest stage has ceil(layers / chunks) a chunk. Slots that this leaves empty are
    taken from the ends, where embedding and head stand; the last stage has the head besides. Filling and draining
    costs (pp - 1) / interleave of the busiest stage's micro-batches (Narayanan 2021, section 2.2). ZB-H1 computes the
    gradients of the weights apart and fills with them: (pp - 1) (T_F + T_B - T_W) instead of (pp - 1) (T_F + T_B + T_W)
    (Qi 2023, arXiv:2401.10241, table 1); its chunks divide that as they divide the bubble of 1F1B.
    """
    even = inner / plans.pp
    fullest = np.ceil(shape.layers / (plans.pp * plans.interleave)) * plans.interleave
    empty = fullest * plans.pp - shape.layers
    last = np.maximum(fullest - np.ceil(0.5 * empty), 0.0)
    layer = (inner - work.head_s) / shape.layers
    busiest = np.maximum(np.maximum(layer * fullest, layer * last + work.head_s), even)
    filling = (plans.pp - 1.0) / plans.interleave * busiest
    weights = np.minimum(work.matmul_s / (3.0 + recomputed(plans)) / inner, 1.0 / 3.0)
    filling = filling * np.where(plans.schedule == ZERO_BUBBLE, 1.0 - 2.0 * weights, 1.0)
    return np.asarray(np.where(plans.pp > 1, plans.micro_batches * (busiest - even) + filling, 0.0))
