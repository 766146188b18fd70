"""Communication of one step on one rank: volumes, the links they take, and what stays exposed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.fabric import all_gather_s, all_reduce_s, all_to_all_s, reduce_scatter_s, send_s
from clusterwright.domains.training.layer import Work
from clusterwright.domains.training.memory import GRADIENT_BYTES, WEIGHT_BYTES
from clusterwright.domains.training.plans import FULL, Runs

__all__ = ["Flow", "Traffic", "traffic_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Flow:
    """One kind of communication in one step on one rank, shape (P,) each.

    Attributes:
        volume_bytes: what the rank sends.
        wire_s: how long that takes on its links.
        exposed_s: the part of it that computing does not hide.
    """

    volume_bytes: Floats
    wire_s: Floats
    exposed_s: Floats

    @classmethod
    def where(cls, talks: NDArray[np.bool_], volume_bytes: Floats, wire_s: Floats, exposed_s: Floats) -> Flow:
        """A flow that is nothing for the plans that do not talk."""
        return cls(*(np.where(talks, part, 0.0) for part in (volume_bytes, wire_s, exposed_s)))


@dataclass(frozen=True)
class Traffic:
    """All communication of a step.

    Attributes:
        tp: tensor-parallel all-reduces (or gathers and scatters).
        cp: keys and values between context-parallel ranks.
        ep: tokens to their experts and back.
        pp: activations and their gradients between pipeline stages.
        dp: gradients reduced and weights gathered.
    """

    tp: Flow
    cp: Flow
    ep: Flow
    pp: Flow
    dp: Flow


@dataclass(frozen=True)
class _Group:
    """A group of ranks that talk: how many, how many of them share a scale-up domain, and the links they use."""

    ranks: Floats
    inside: Floats
    outside_bytes_s: Floats
    runs: Runs

    @classmethod
    def of(cls, ranks: Floats, stride: Floats, runs: Runs) -> _Group:
        """``ranks`` that are ``stride`` ranks apart, numbered so that near ones share a domain, and then a server."""
        machines = runs.machines
        outside = np.where(ranks * stride <= machines.node, machines.bridge_bytes_s, machines.network_bytes_s)
        return cls(ranks, np.clip(machines.domain // stride, 1.0, ranks), outside, runs)

    def all_reduce_s(self, payload: Floats) -> Floats:
        """Seconds of one all-reduce while the machine computes."""
        return np.asarray(all_reduce_s(payload, self.ranks, self.inside, *self._links(), nic_efficiency=1.0))

    def all_gather_s(self, payload: Floats) -> Floats:
        """Seconds of one all-gather while the machine computes."""
        return np.asarray(all_gather_s(payload, self.ranks, self.inside, *self._links(), nic_efficiency=1.0))

    def reduce_scatter_s(self, payload: Floats) -> Floats:
        """Seconds of one reduce-scatter while the machine computes."""
        return np.asarray(reduce_scatter_s(payload, self.ranks, self.inside, *self._links(), nic_efficiency=1.0))

    def exchange_s(self, inside: Floats, outside: Floats) -> Floats:
        """Seconds of one exchange of tokens: by the fabric's all-to-all inside a domain, by the network beside it.

        Args:
            inside: bytes that a rank sends to others of its domain.
            outside: bytes that it sends to other domains.
        """
        machines, reached = self.runs.machines, self.runs.physics.all_to_all
        links = reached * machines.scaleup_bytes_s, reached * self.outside_bytes_s, machines.latency_s
        whole = inside / np.maximum(1.0 - 1.0 / self.inside, 0.5)
        near = np.asarray(all_to_all_s(whole, self.inside, self.inside, *links, nic_efficiency=1.0))
        far = np.asarray(send_s(outside, links[1], links[2] * np.maximum(self.ranks - self.inside, 1.0) / 8.0, 1.0))
        return np.asarray(np.maximum(near, far))

    def send_s(self, payload: Floats) -> Floats:
        """Seconds of one message to the next rank; the slowest hop of the group counts."""
        scaleup, network, latency = self._links()
        return np.asarray(send_s(payload, np.where(self.inside < self.ranks, network, scaleup), latency, 1.0))

    def _links(self) -> tuple[Floats, Floats, Floats]:
        machines, reached = self.runs.machines, self.runs.physics.collectives
        return reached * machines.scaleup_bytes_s, reached * self.outside_bytes_s, machines.latency_s


def traffic_of(runs: Runs, work: Work) -> Traffic:
    """Communication of each run in one step; ``work`` is what it can hide behind."""
    return Traffic(
        tp=_tensor(runs),
        cp=_context(runs, work),
        ep=_expert(runs),
        pp=_pipeline(runs),
        dp=_data(runs, work),
    )


def _tensor(runs: Runs) -> Flow:
    """Two all-reduces a layer forward and two backward (or as many gathers and scatters), two more recomputed.

    Where the sequence is cut, what a product in fewer bits gathers is cast first (Transformer Engine, float8 all-gather
    of torchtitan), unless it is scaled by rows; what is scattered is summed in two bytes.
    """
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    group = _Group.of(plans.tp, np.ones_like(tokens), runs)
    narrow = (plans.sequence_parallel > 0) & (np.asarray(runs.software.row_scaled) <= 0)
    gathered = np.where(narrow, np.minimum(runs.machines.bytes_per_element, 2.0), 2.0)
    size = 0.5 * (2.0 + gathered) * tokens * shape.hidden
    parts = shape.layers - 0.5 * shape.bare_layers
    count = parts * np.where(plans.recompute == FULL, 6.0, 4.0) * plans.micro_batches / plans.pp
    wire = count * group.all_reduce_s(size)
    hides = (plans.sequence_parallel > 0) & (np.asarray(runs.software.tp_overlap) > 0)
    exposed = wire * np.where(hides, runs.physics.tp_exposed, 1.0)
    volume = count * 2.0 * size * (1.0 - 1.0 / plans.tp)
    return Flow.where(plans.tp > 1, volume, wire, exposed)


def _context(runs: Runs, work: Work) -> Flow:
    """Keys and values of all context ranks, forward once, backward with their gradients, behind attention."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    group = _Group.of(plans.cp, plans.tp, runs)
    own = 2.0 * tokens * shape.key_value_width / plans.tp
    count = shape.attention_layers * np.where(plans.recompute == FULL, 4.0, 3.0) * plans.micro_batches / plans.pp
    wire = count * group.all_gather_s(own * plans.cp)
    window = work.attention_s * plans.micro_batches / plans.pp
    exposed = np.maximum(wire - window, runs.physics.dp_exposed * wire)
    return Flow.where(plans.cp > 1, count * own * (plans.cp - 1.0), wire, exposed)


def _expert(runs: Runs) -> Flow:
    """Dispatch and combine of each mixture layer, forward and backward; exposed, for experts wait for their tokens."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    if not shape.expert:
        nothing = np.zeros_like(tokens)
        return Flow(nothing, nothing, nothing)
    group = _Group.of(plans.ep, np.ones_like(tokens), runs)
    uneven = 1.0 + (runs.physics.natural - 1.0) * runs.software.natural_routing
    token = 2.0 * tokens * shape.routed_width / plans.tp * uneven
    domains = np.maximum(plans.ep / group.inside, 1.0)
    away = (domains - 1.0) * (1.0 - (1.0 - 1.0 / domains) ** shape.active_experts)
    copies = shape.active_experts * (1.0 - 1.0 / domains)
    outside = token * np.where(np.asarray(runs.software.once_per_domain) > 0, np.minimum(away, copies), copies)
    inside = token * shape.active_experts * (1.0 - 1.0 / group.inside)
    once = group.exchange_s(inside, outside)
    hides = (plans.interleave > 1) & (domains > 1)
    exposed = np.where(hides, runs.physics.ep_overlapped, runs.physics.ep_exposed)
    count = shape.moe_layers * np.where(plans.recompute == FULL, 6.0, 4.0) * plans.micro_batches / plans.pp
    wire = count * once
    return Flow.where(
        plans.ep > 1, np.asarray(count * (inside + outside)), np.asarray(wire), np.asarray(wire) * exposed
    )


def _pipeline(runs: Runs) -> Flow:
    """Activations and their gradients from stage to stage, once a chunk and micro-batch; interleaving hides half."""
    shape, plans, tokens = runs.shape, runs.plans, runs.tokens
    group = _Group.of(plans.pp, plans.tp * plans.cp * plans.dp, runs)
    size = 2.0 * tokens * shape.hidden / plans.tp
    count = 2.0 * plans.micro_batches * plans.interleave
    wire = count * group.send_s(size)
    return Flow.where(
        plans.pp > 1, count * size, wire, wire * np.where(plans.interleave > 1, runs.physics.pp_exposed, 1.0)
    )


def _data(runs: Runs, work: Work) -> Flow:
    """Gradients reduced and weights gathered: once a step, or at every micro-batch where weights are shared out.

    Where groups of ranks share out among themselves (HSDP), both stay inside a group, and once a step the groups add
    up what each rank holds of the gradients, behind what is left of the backward pass.
    """
    shape, plans = runs.shape, runs.plans
    common = (shape.common_parameters + shape.embedding_parameters) / (plans.pp * plans.tp)
    parts = [(np.asarray(common), plans.copies, plans.tp)]
    if shape.expert:
        experts = shape.expert_parameters / (plans.pp * plans.ep * plans.expert_tp)
        apart = plans.tp * plans.cp * plans.dp / plans.expert_copies
        parts.append((np.asarray(experts), plans.expert_copies, apart))
    always = plans.shard >= 3
    gradient = np.where(np.asarray(runs.software.half_gradients) > 0, WEIGHT_BYTES, GRADIENT_BYTES)
    gathers = np.where(always, 2.0, 1.0)
    times = np.where(always, plans.micro_batches, 1.0)
    wire, volume, across = (np.zeros_like(parts[0][0]) for _ in range(3))
    for weights, copies, stride in parts:
        sharing = plans.sharing(copies)
        group = _Group.of(sharing, stride, runs)
        gather = gathers * group.all_gather_s(WEIGHT_BYTES * weights)
        reduce = group.reduce_scatter_s(gradient * weights)
        wire = wire + np.where(weights > 0, reduce + gather, 0.0)
        volume = volume + (gradient + gathers * WEIGHT_BYTES) * weights * (1.0 - 1.0 / group.ranks)
        if np.any(sharing < copies):
            groups = _Group.of(np.ceil(copies / sharing), stride * sharing, runs)
            across = across + groups.all_reduce_s(gradient * weights / sharing)
            volume = volume + 2.0 * gradient * weights / sharing * (1.0 - 1.0 / groups.ranks) / times
    behind = work.pace_s / plans.pp * (plans.pp - (plans.pp - 1.0) / plans.interleave)
    overlapped = np.maximum(wire - behind, runs.physics.dp_exposed * wire)
    hides = (plans.shard > 0) & (np.asarray(runs.software.dp_overlap) > 0)
    exposed = times * np.where(hides, overlapped, wire)
    left = np.maximum(behind - wire, 0.0)
    exposed = exposed + np.where(hides, np.maximum(across - left, runs.physics.dp_exposed * across), across)
    frozen = np.where(np.asarray(runs.software.frozen_weights) > 0, 0.0, 1.0)
    return Flow(frozen * times * volume, frozen * (times * wire + across), frozen * exposed)
