"""Parallel plans and machines as columns: one row a plan, one row the machine it runs on."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.physics import PHYSICS, Physics
from clusterwright.domains.training.shape import ModelShape, Number
from clusterwright.domains.training.software import MODERN, Software
from clusterwright.units import RECOMPUTED

__all__ = [
    "ADDED",
    "FULL",
    "NONE",
    "OFFLOADS",
    "RECOMPUTE",
    "SELECTIVE",
    "USUAL_HOST",
    "ZERO_BUBBLE",
    "Machines",
    "Plans",
    "Runs",
    "recomputed",
    "stacked",
]

Floats = NDArray[np.float64]

NONE, SELECTIVE, FULL = 0.0, 1.0, 2.0
RECOMPUTE = RECOMPUTED
"""Activations kept: all; all but norms, activation functions and attention scores; only the inputs of layers."""
ZERO_BUBBLE = 1.0
"""Pipeline schedule that computes gradients of weights apart, to fill the bubble (ZB-H1)."""
OFFLOADS = ("none", "optimizer", "activations", "both")
"""What lies in the memory of the host, by its number in :attr:`Plans.offload`: bit 1 optimizer, bit 2 activations."""
ADDED = ("schedule", "offload", "shard_group")
"""Columns of plans that are zero where nothing is said."""
USUAL_HOST = {"host_link_bytes_s": 25e9, "host_bandwidth_bytes_s": 51.2e9, "host_memory_bytes": 250e9}
"""What one of eight accelerators has of a host where nobody says: PCIe 4.0 x16, an eighth of two sockets with eight
channels of DDR4-3200, an eighth of 2 TB."""


def _not_said() -> Floats:
    """Stands for a column of defaults."""
    return np.zeros(())


class _Columns:
    """Equal-length float arrays by field name."""

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Self:
        """Some of the rows."""
        return type(self)(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Plans(_Columns):
    """How a job is cut up, shape (P,) each.

    Attributes:
        tp: tensor-parallel ranks.
        pp: pipeline stages.
        cp: context-parallel ranks.
        ep: expert-parallel ranks; they lie across the data-, context- and tensor-parallel ones.
        dp: data-parallel ranks.
        interleave: model chunks on one pipeline rank (virtual stages); 1 without.
        micro_batch: sequences in a micro-batch.
        micro_batches: micro-batches of one rank in a step.
        recompute: :data:`NONE`, :data:`SELECTIVE` or :data:`FULL`.
        shard: what data-parallel ranks share out: 0 nothing, 1 optimizer state, 2 also gradients, 3 also weights.
        sequence_parallel: 1 where norms and residuals are cut along the sequence by the tensor-parallel ranks.
        schedule: 0 for 1F1B (interleaved where ``interleave`` is above 1), :data:`ZERO_BUBBLE`.
        offload: what lies in the memory of the host, as in :data:`OFFLOADS`.
        shard_group: data-parallel ranks that share out among themselves, whole copies of the group beside them
            (HSDP); 0 where all share.
    """

    tp: Floats
    pp: Floats
    cp: Floats
    ep: Floats
    dp: Floats
    interleave: Floats
    micro_batch: Floats
    micro_batches: Floats
    recompute: Floats
    shard: Floats
    sequence_parallel: Floats
    schedule: Floats = field(default_factory=_not_said)
    offload: Floats = field(default_factory=_not_said)
    shard_group: Floats = field(default_factory=_not_said)

    def __post_init__(self) -> None:
        for name in ADDED:
            if getattr(self, name).ndim == 0:
                object.__setattr__(self, name, np.zeros_like(self.tp))

    @property
    def gpus(self) -> Floats:
        """Accelerators that the plan uses."""
        return self.tp * self.pp * self.cp * self.dp

    @property
    def batch(self) -> Floats:
        """Sequences in a step."""
        return self.dp * self.micro_batch * self.micro_batches

    @property
    def expert_tp(self) -> Floats:
        """Ranks that share one expert: none when experts are spread, all tensor-parallel ranks when they are not."""
        return np.where(self.ep > 1, 1.0, self.tp)

    @property
    def copies(self) -> Floats:
        """Ranks that hold the same common weights and reduce their gradients."""
        return self.dp * self.cp

    @property
    def expert_copies(self) -> Floats:
        """Ranks that hold the same experts."""
        return np.maximum(self.tp * self.cp * self.dp / (self.ep * self.expert_tp), 1.0)

    def sharing(self, copies: Floats) -> Floats:
        """Ranks among ``copies`` that share out state: all, or those of a group."""
        return np.where(self.shard_group > 0, np.minimum(self.shard_group, copies), copies)

    @property
    def offloads_optimizer(self) -> NDArray[np.bool_]:
        """Where master weights and moments lie in the memory of the host, which updates them."""
        return np.asarray(self.offload % 2.0 == 1.0)

    @property
    def offloads_gradients(self) -> NDArray[np.bool_]:
        """Where gradients go there as well, as soon as they are reduced: with ZeRO 2 and 3, not with ZeRO 1."""
        return self.offloads_optimizer & (self.shard >= 2)

    @property
    def offloads_activations(self) -> NDArray[np.bool_]:
        """Where kept activations go to the memory of the host and back."""
        return np.asarray(self.offload >= 2.0)


@dataclass(frozen=True)
class Machines(_Columns):
    """The machine under each plan, shape (P,) each, SI units.

    Attributes:
        memory_bytes: of one accelerator.
        memory_bandwidth_bytes_s: of one accelerator.
        peak_flops: dense peak at the precision of the training.
        achievable_flops: best measured matrix product at that precision.
        achievable_bf16_flops: the same in BF16, in which attention runs.
        bytes_per_element: of matrix operands at that precision.
        power_ratio: power limit over that of the part on which the best product was measured.
        power_density: power limit over the BF16 peak, W s/FLOP.
        domain: accelerators in a scale-up domain.
        scaleup_bytes_s: to the scale-up domain, one direction, one accelerator.
        network_bytes_s: to the fabric, one direction, one accelerator's share, as far as collectives reach it.
        latency_s: of the fabric, end to end.
        host_link_bytes_s: to the memory of the host, one direction, one accelerator.
        host_bandwidth_bytes_s: one accelerator's share of the bandwidth of that memory.
        host_memory_bytes: one accelerator's share of that memory.
        node: accelerators in a server; more than ``domain`` where a server holds several scale-up domains.
        bridge_bytes_s: between the scale-up domains of one server (PCIe), one direction, one accelerator's share.
    """

    memory_bytes: Floats
    memory_bandwidth_bytes_s: Floats
    peak_flops: Floats
    achievable_flops: Floats
    achievable_bf16_flops: Floats
    bytes_per_element: Floats
    power_ratio: Floats
    power_density: Floats
    domain: Floats
    scaleup_bytes_s: Floats
    network_bytes_s: Floats
    latency_s: Floats
    host_link_bytes_s: Floats = field(default_factory=_not_said)
    host_bandwidth_bytes_s: Floats = field(default_factory=_not_said)
    host_memory_bytes: Floats = field(default_factory=_not_said)
    node: Floats = field(default_factory=_not_said)
    bridge_bytes_s: Floats = field(default_factory=_not_said)

    def __post_init__(self) -> None:
        """Where nothing is said of the server, it is one scale-up domain with a usual host."""
        usual = {"node": self.domain, "bridge_bytes_s": self.network_bytes_s}
        usual |= {name: np.full_like(self.memory_bytes, value) for name, value in USUAL_HOST.items()}
        for name, column in usual.items():
            if getattr(self, name).ndim == 0:
                object.__setattr__(self, name, column)


@dataclass(frozen=True)
class Runs:
    """What is timed: plans of one model, each on its machine.

    Attributes:
        shape: the model.
        sequence: tokens in a sequence, one number or shape (P,).
        plans: shape (P,).
        machines: shape (P,).
        physics: global constants.
        software: traits of the software.
    """

    shape: ModelShape
    sequence: Number
    plans: Plans
    machines: Machines
    physics: Physics = PHYSICS
    software: Software = MODERN

    @property
    def tokens(self) -> Floats:
        """Tokens of one micro-batch on the ranks that share them by tensor parallelism, shape (P,)."""
        return self.plans.micro_batch * self.sequence / self.plans.cp


def recomputed(plans: Plans) -> Floats:
    """Share of the forward products that is repeated: 1 where recomputation is full, a part where it is in between."""
    return np.clip(plans.recompute - SELECTIVE, 0.0, 1.0)


def stacked(rows: list[Plans]) -> Plans:
    """Several sets of plans, one below the other."""
    return Plans(**{f.name: np.concatenate([getattr(r, f.name) for r in rows]) for f in fields(Plans)})
