"""Building blocks of a tier, what they hold and move, and how long a checkpoint takes."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = ["blocks", "count", "drive_rate", "each_times", "in_nodes", "job_rate", "tier_total", "transfer_time"]


@law(
    "storage.blocks",
    formula="ceil(max(capacity / usable of one, read / read of one, write / write of one, fewest)); 0 where nothing is "
    "wanted or the cluster is too small for the tier",
    unit="1",
    source="arithmetic over the catalogue's building block",
    count=True,
)
def blocks(
    capacity_bytes: Floats,
    block_bytes: Floats,
    usable: Floats,
    read_bytes_s: Floats,
    block_read_bytes_s: Floats,
    write_bytes_s: Floats,
    block_write_bytes_s: Floats,
    fewest: Floats,
    serves: Floats,
) -> Floats:
    """Building blocks of a tier, shape (n,): whatever needs most of them decides."""
    needs = [
        capacity_bytes / (block_bytes * usable),
        read_bytes_s / block_read_bytes_s,
        write_bytes_s / block_write_bytes_s,
        fewest,
    ]
    most = np.ceil(np.max(np.broadcast_arrays(*needs), axis=0) - 1e-9)
    return np.asarray(np.where(capacity_bytes > 0, most * serves, 0.0), dtype=np.float64)


@law("storage.count", formula="sum over the sites", unit="1", source="arithmetic", count=True)
def count(parts: list[Floats]) -> Floats:
    """Building blocks of all sites, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law("storage.each_times", formula="number x of one", unit="as its inputs", source="arithmetic")
def each_times(blocks: Floats, each: Floats) -> Floats:
    """A figure of one, for all of them, shape (n,)."""
    return blocks * each


@law("storage.tier_total", formula="sum", unit="as its inputs", source="arithmetic")
def tier_total(parts: list[Floats]) -> Floats:
    """Sum over tiers or sites, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law(
    "storage.drive_rate",
    formula="capacity / capacity of a drive x rate of a drive",
    unit="byte/s",
    source="drives work side by side",
)
def drive_rate(capacity_bytes: Floats, drive_bytes: Floats, drive_bytes_s: Floats) -> Floats:
    """Aggregate rate of the local drives, shape (n,)."""
    return capacity_bytes / drive_bytes * drive_bytes_s


@law(
    "storage.job_rate",
    formula="rate of the site that has most; of the nodes' own drives where there is no shared file system",
    unit="byte/s",
    source="a job runs at one site and reaches the file system of that site",
)
def job_rate(sites_bytes_s: list[Floats], drives_bytes_s: Floats) -> Floats:
    """Rated speed that one job reaches, shape (n,)."""
    shared = np.max(sites_bytes_s, axis=0)
    return np.where(shared > 0, shared, drives_bytes_s)


@law(
    "storage.transfer_time",
    formula="fixed part + bytes / (rate x streaming share)",
    unit="s",
    source="every rank writes or reads its own shard at the same time",
    valid="synchronous; an asynchronous checkpoint blocks only while it is copied to host memory",
    bounds=(0.0, float("inf")),
)
def transfer_time(fixed_s: Floats, size_bytes: Floats, rate_bytes_s: Floats, streaming: Floats) -> Floats:
    """Time to write or read a checkpoint, shape (n,)."""
    return fixed_s + size_bytes / np.maximum(rate_bytes_s * streaming, 1.0)


@law(
    "storage.in_nodes",
    formula="copies x checkpoint / nodes / capacity of the drives of a node",
    unit="1",
    source="each node keeps its own shard and a neighbour's",
    bounds=(0.0, float("inf")),
)
def in_nodes(copies: Floats, checkpoint_bytes: Floats, nodes: Floats, node_bytes: Floats) -> Floats:
    """Share of a node's local drives that checkpoint copies fill, shape (n,)."""
    return copies * checkpoint_bytes / np.maximum(nodes, 1.0) / np.maximum(node_bytes, 1.0)
