"""Collectives: how long ranks take to exchange data over a scale-up domain and the scale-out network.

All functions work element by element on arrays of any shapes that broadcast together; SI units, so that one call
weighs thousands of plans. A group of ``ranks`` sits in scale-up domains (a server behind NVLink, a rack of 72) with
``ranks_in_domain`` of the group in each; every rank owns a network card of its own towards the other domains.

The model is the alpha-beta model of NCCL's algorithms: a fixed cost of starting, a latency for each sequential step,
one chunk's transfer for filling each stage of a tree's pipeline, and the bytes over the slowest stage, because the
stages inside and outside the domain run at the same time. All-reduce takes the quicker of ring and double binary
tree, and between two domains the tree, as NCCL's tuner does. Constants are measured: see :data:`START_S` and the
names after it.

Nothing here decides whether the time is hidden behind arithmetic: the training domain does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clusterwright.cluster import law

__all__ = [
    "CHUNK_BYTES",
    "NIC_EFFICIENCY",
    "SCALEUP_EFFICIENCY",
    "SCALEUP_STEP_S",
    "START_S",
    "SWITCH_REDUCTION_EFFICIENCY",
    "TREE_EFFICIENCY",
    "all_gather_s",
    "all_reduce_s",
    "all_to_all_s",
    "reduce_scatter_s",
    "send_s",
]

Floats = NDArray[np.float64]

START_S = 14.2e-6
"""Starting a collective, s: a 0 B all-reduce on 32 nodes x 8 A100 (github.com/NVIDIA/nccl/issues/652)."""
SCALEUP_STEP_S = 1e-6
"""One sequential step inside a scale-up domain, s (estimate; a hop over NVLink and a flag)."""
SCALEUP_EFFICIENCY = 0.785
"""Share of the scale-up rate that a ring reaches: 365.6 of 450 GB/s on 8 H100, 682.2 of 900 on 8 B200."""
SWITCH_REDUCTION_EFFICIENCY = 0.99
"""Bus bandwidth over scale-up rate when the NVLink switch adds: 473.1 of 450 GB/s (H100), 838 of 900 (B200)."""
NIC_EFFICIENCY = 0.94
"""Share of the link rate that NCCL reaches: 46-48 of 50 GB/s (github.com/NVIDIA/nccl-tests/issues/290)."""
TREE_EFFICIENCY = 0.565
"""Rate of the tree over the ring's beyond two domains: 24.58 over 43.53 GB/s (github.com/NVIDIA/nccl/issues/319)."""
CHUNK_BYTES = 1024.0**2
"""A stage of the tree's pipeline holds this much, B: fitted once to the rise from 18.5 GB/s at 2 MiB to 41.3 GB/s at
32 MiB between two H100 (github.com/NVIDIA/nccl-tests/issues/232); the law meets the five points within 9 %."""
PARALLEL_PEERS = 8.0
"""Peers that an all-to-all serves at the same time (estimate: channels of NCCL's point-to-point path)."""

_SOURCE = (
    "alpha-beta model of NCCL ring and tree (R. Thakur et al., IJHPCA 19 (2005) 49; "
    "P. Sanders et al., Parallel Computing 35 (2009) 581); constants from published nccl-tests runs"
)
_VALID = "1 to 100,000 ranks, 1 kB to 100 GB; healthy network without other jobs' traffic"


def _shape(ranks: ArrayLike, ranks_in_domain: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Ranks n, ranks r of the group in one domain, and domains m = n / r, each at least 1."""
    n = np.maximum(np.asarray(ranks, dtype=np.float64), 1.0)
    r = np.clip(np.asarray(ranks_in_domain, dtype=np.float64), 1.0, n)
    return n, r, np.maximum(n / r, 1.0)


def _out_rate(r: Floats, nic: ArrayLike, efficiency: ArrayLike, oversubscription: ArrayLike) -> Floats:
    """Bytes a second that leave a domain for this group: its ranks' cards together."""
    rate: Floats = r * np.asarray(nic) * np.asarray(efficiency) / np.maximum(np.asarray(oversubscription), 1.0)
    return rate


def _one_way_s(
    payload: Floats, n: Floats, r: Floats, m: Floats, inside: Floats, outside: Floats, latency: Floats
) -> Floats:
    """One pass of a ring over all ranks: each moves (n-1)/n of the payload; the slower stage sets the pace.

    A rank's last hop inside a domain is missing when the group has one rank a domain; the network stage is missing
    when the group stays in one domain.
    """
    moved = payload * (n - 1.0) / n
    stage_in = np.where(r > 1.0, moved / inside, 0.0)
    stage_out = np.where(m > 1.0, moved / outside, 0.0)
    steps = (n - m) * SCALEUP_STEP_S + np.where(m > 1.0, m - 1.0, 0.0) * latency
    one_way: Floats = steps + np.maximum(stage_in, stage_out)
    return one_way


def _tree_s(payload: Floats, r: Floats, m: Floats, inside: Floats, outside: Floats, latency: Floats) -> Floats:
    """Up and down a double binary tree over the domains, the ranks of a domain as a chain below each of its nodes."""
    depth = 2.0 * np.ceil(np.log2(m))
    rate = outside * np.where(m > 2.0, TREE_EFFICIENCY, 1.0)
    fill = depth * (latency + np.minimum(payload, CHUNK_BYTES * r) / outside)
    stage_out = 2.0 * payload * (m - 1.0) / m / rate
    stage_in = np.where(r > 1.0, 2.0 * payload * (r - 1.0) / r / inside, 0.0)
    tree: Floats = fill + 2.0 * (r - 1.0) * SCALEUP_STEP_S + np.maximum(stage_out, stage_in)
    return tree


@law(
    "fabric.all_reduce",
    formula="t0 + min(ring if m > 2: 2 (m-1) L + 2 (n-m) l + max(2 N (n-1)/n / B_in, 2 N (n-1)/n / (r B_nic)), "
    "tree: 2 log2(m) (L + chunk/B_nic) + 2 (r-1) l + max(2 N (r-1)/r / B_in, 2 N (m-1)/m / (k r B_nic))), "
    "k = 1 if m = 2 else 0.565",
    unit="s",
    source=_SOURCE,
    valid=_VALID,
    spread=0.15,
    bounds=(0.0, float("inf")),
)
def all_reduce_s(
    payload_bytes: ArrayLike,
    ranks: ArrayLike,
    ranks_in_domain: ArrayLike,
    scaleup_bandwidth_bytes_s: ArrayLike,
    nic_bandwidth_bytes_s: ArrayLike,
    latency_s: ArrayLike,
    oversubscription: ArrayLike = 1.0,
    nic_efficiency: ArrayLike = NIC_EFFICIENCY,
    switch_reduction: ArrayLike = 0.0,
) -> Floats:
    """Seconds until every rank holds the sum of all ranks' buffers.

    Args:
        payload_bytes: N, the buffer of one rank, B.
        ranks: n, of the group; 1 takes no time.
        ranks_in_domain: r, of the group inside one scale-up domain.
        scaleup_bandwidth_bytes_s: line rate of one rank inside the domain, one direction.
        nic_bandwidth_bytes_s: line rate of the network for one rank, one direction.
        latency_s: L, end to end over the network for a small message.
        oversubscription: of the uplinks that the group's traffic crosses; 1 for a ring laid along full-rate leaves.
        nic_efficiency: share of the line rate that collectives reach.
        switch_reduction: 1 where the scale-up switch adds (NVLink SHARP, H100 and later) and the group stays inside.

    Returns:
        Time in s, the broadcast shape of the arguments.
    """
    n, r, m = _shape(ranks, ranks_in_domain)
    payload, latency = np.asarray(payload_bytes, dtype=np.float64), np.asarray(latency_s, dtype=np.float64)
    adds = (np.asarray(switch_reduction) > 0.0) & (m <= 1.0)
    reached = np.where(adds, SWITCH_REDUCTION_EFFICIENCY, SCALEUP_EFFICIENCY)
    inside = np.maximum(np.asarray(scaleup_bandwidth_bytes_s) * reached, 1.0)
    outside = _out_rate(r, nic_bandwidth_bytes_s, nic_efficiency, oversubscription)
    ring = 2.0 * _one_way_s(payload, n, r, m, inside, outside, latency)
    tree = _tree_s(payload, r, m, inside, outside, latency)
    quicker = np.where(m > 2.0, np.minimum(ring, tree), tree)
    time: Floats = np.where(n > 1.0, START_S + np.where(m > 1.0, quicker, ring), 0.0)
    return time


def _pass_s(
    payload_bytes: ArrayLike,
    ranks: ArrayLike,
    ranks_in_domain: ArrayLike,
    scaleup: ArrayLike,
    nic: ArrayLike,
    latency: ArrayLike,
    oversubscription: ArrayLike,
    efficiency: ArrayLike,
) -> Floats:
    """One pass of the ring with its start: all-gather and reduce-scatter are the same traffic, mirrored in time."""
    n, r, m = _shape(ranks, ranks_in_domain)
    inside = np.maximum(np.asarray(scaleup) * SCALEUP_EFFICIENCY, 1.0)
    outside = _out_rate(r, nic, efficiency, oversubscription)
    ring = _one_way_s(np.asarray(payload_bytes), n, r, m, inside, outside, np.asarray(latency))
    time: Floats = np.where(n > 1.0, START_S + ring, 0.0)
    return time


_ONE_WAY = "t0 + (m-1) L + (n-m) l + max(N (n-1)/n / B_in, N (n-1)/n / (r B_nic))"


@law(
    "fabric.all_gather",
    formula=_ONE_WAY,
    unit="s",
    source=_SOURCE,
    valid=_VALID,
    spread=0.15,
    bounds=(0.0, float("inf")),
)
def all_gather_s(
    payload_bytes: ArrayLike,
    ranks: ArrayLike,
    ranks_in_domain: ArrayLike,
    scaleup_bandwidth_bytes_s: ArrayLike,
    nic_bandwidth_bytes_s: ArrayLike,
    latency_s: ArrayLike,
    oversubscription: ArrayLike = 1.0,
    nic_efficiency: ArrayLike = NIC_EFFICIENCY,
) -> Floats:
    """Seconds until every rank holds the pieces of all; ``payload_bytes`` is the whole that each ends up with.

    Other arguments as :func:`all_reduce_s`.
    """
    return _pass_s(
        payload_bytes,
        ranks,
        ranks_in_domain,
        scaleup_bandwidth_bytes_s,
        nic_bandwidth_bytes_s,
        latency_s,
        oversubscription,
        nic_efficiency,
    )


@law(
    "fabric.reduce_scatter",
    formula=_ONE_WAY,
    unit="s",
    source=_SOURCE,
    valid=_VALID,
    spread=0.15,
    bounds=(0.0, float("inf")),
)
def reduce_scatter_s(
    payload_bytes: ArrayLike,
    ranks: ArrayLike,
    ranks_in_domain: ArrayLike,
    scaleup_bandwidth_bytes_s: ArrayLike,
    nic_bandwidth_bytes_s: ArrayLike,
    latency_s: ArrayLike,
    oversubscription: ArrayLike = 1.0,
    nic_efficiency: ArrayLike = NIC_EFFICIENCY,
) -> Floats:
    """Seconds until every rank holds its piece of the sum; ``payload_bytes`` is the whole buffer that each starts with.

    Other arguments as :func:`all_reduce_s`.
    """
    return _pass_s(
        payload_bytes,
        ranks,
        ranks_in_domain,
        scaleup_bandwidth_bytes_s,
        nic_bandwidth_bytes_s,
        latency_s,
        oversubscription,
        nic_efficiency,
    )


@law(
    "fabric.all_to_all",
    formula="t0 + ceil((n-r)/8) L + ceil((r-1)/8) l + max(N (r-1)/n / B_in, N (n-r)/n / B_nic)",
    unit="s",
    source=_SOURCE,
    valid=_VALID,
    spread=0.25,
    bounds=(0.0, float("inf")),
)
def all_to_all_s(
    payload_bytes: ArrayLike,
    ranks: ArrayLike,
    ranks_in_domain: ArrayLike,
    scaleup_bandwidth_bytes_s: ArrayLike,
    nic_bandwidth_bytes_s: ArrayLike,
    latency_s: ArrayLike,
    oversubscription: ArrayLike = 1.0,
    nic_efficiency: ArrayLike = NIC_EFFICIENCY,
) -> Floats:
    """Seconds until every rank has sent each other rank a piece of its own; ``payload_bytes`` is all that one sends.

    The piece that stays is not moved; pieces for ranks of the same domain and of other domains travel at the same
    time. Every rank's share outside leaves by its own network card. Other arguments as :func:`all_reduce_s`.
    """
    n, r, m = _shape(ranks, ranks_in_domain)
    payload = np.asarray(payload_bytes, dtype=np.float64)
    inside = np.maximum(np.asarray(scaleup_bandwidth_bytes_s) * SCALEUP_EFFICIENCY, 1.0)
    outside = _out_rate(np.asarray(1.0), nic_bandwidth_bytes_s, nic_efficiency, oversubscription)
    stage_in = payload * (r - 1.0) / n / inside
    stage_out = np.where(m > 1.0, payload * (n - r) / n / outside, 0.0)
    waves = np.ceil((n - r) / PARALLEL_PEERS) * np.asarray(latency_s)
    waves = waves + np.ceil((r - 1.0) / PARALLEL_PEERS) * SCALEUP_STEP_S
    time: Floats = np.where(n > 1.0, START_S + waves + np.maximum(stage_in, stage_out), 0.0)
    return time


@law(
    "fabric.send",
    formula="t0 + L + (N + min(N, chunk)) / B",
    unit="s",
    source=_SOURCE,
    valid=_VALID,
    spread=0.15,
    bounds=(0.0, float("inf")),
)
def send_s(
    payload_bytes: ArrayLike,
    bandwidth_bytes_s: ArrayLike,
    latency_s: ArrayLike,
    efficiency: ArrayLike = NIC_EFFICIENCY,
) -> Floats:
    """Seconds from one rank to another: the latency, one chunk into the buffer, and the message at the link's rate.

    Args:
        payload_bytes: N of the message, B; 0 takes no time.
        bandwidth_bytes_s: line rate between the two, one direction: of the network card, or inside the domain.
        latency_s: L, end to end.
        efficiency: share of the line rate that is reached.
    """
    payload = np.asarray(payload_bytes, dtype=np.float64)
    rate = np.asarray(bandwidth_bytes_s) * np.asarray(efficiency)
    moved = (payload + np.minimum(payload, CHUNK_BYTES)) / rate
    time: Floats = np.where(payload > 0.0, START_S + np.asarray(latency_s) + moved, 0.0)
    return time
