"""How large and how fast the tiers of storage must be, and how many building blocks that takes."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = [
    "blocks",
    "dataset_from_tokens",
    "drive_rate",
    "each_times",
    "hot_capacity",
    "largest",
    "object_capacity",
    "per_node",
    "site_rate",
    "site_share",
    "tier_total",
    "transfer_time",
    "wanted_rate",
]


@law("storage.largest", formula="largest of the runs", unit="SI", source="the largest checkpoint decides")
def largest(parts: list[Floats]) -> Floats:
    """The largest of several figures."""
    return np.asarray(np.max(parts, axis=0))


@law(
    "storage.dataset",
    formula="tokens x bytes per token",
    unit="byte",
    source="tokenised data, one 32-bit integer a token",
    valid="text; images and video need far more",
)
def dataset_from_tokens(tokens: list[Floats], token_bytes: Floats) -> Floats:
    """Training data of all runs, when the spec does not say how much there is."""
    return np.asarray(sum(tokens) * token_bytes, dtype=np.float64)


@law(
    "storage.hot_capacity",
    formula="(dataset + kept x sum of checkpoints) x (1 + scratch)",
    unit="byte",
    source="what training reads and writes, and room for code, logs and intermediate data",
)
def hot_capacity(
    dataset_bytes: Floats, checkpoints_kept: Floats, checkpoints_bytes: list[Floats], scratch: Floats
) -> Floats:
    """Usable capacity of the parallel file system."""
    return np.asarray((dataset_bytes + checkpoints_kept * sum(checkpoints_bytes)) * (1.0 + scratch), dtype=np.float64)


@law(
    "storage.object_capacity",
    formula="raw factor x dataset + archived x checkpoint",
    unit="byte",
    source="raw data before cleaning and tokenising, and checkpoints kept for good",
)
def object_capacity(dataset_bytes: Floats, raw_factor: Floats, archived: Floats, checkpoint_bytes: Floats) -> Floats:
    """Capacity of the object store."""
    return raw_factor * dataset_bytes + archived * checkpoint_bytes


@law("storage.per_node", formula="nodes x per node", unit="SI", source="arithmetic")
def per_node(nodes: Floats, each: Floats) -> Floats:
    """A figure of every node, summed."""
    return nodes * each


@law(
    "storage.wanted_rate",
    formula="max(nodes x guideline per node, checkpoint / time allowed / share of the largest site)",
    unit="byte/s",
    source="DGX SuperPOD guideline 'better' (160 GB/s read, 80 GB/s write for 128 nodes), and the checkpoint's stall",
)
def wanted_rate(
    nodes: Floats, per_node_bytes_s: Floats, checkpoint_bytes: Floats, allowed_s: Floats, share: Floats
) -> Floats:
    """Read or write rate that the parallel file system must sustain."""
    return np.maximum(nodes * per_node_bytes_s, checkpoint_bytes / allowed_s / share)


@law(
    "storage.blocks",
    formula="ceil(max(capacity / usable of one, read / read of one, write / write of one, fewest))",
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
) -> Floats:
    """Building blocks of a tier: whatever needs most of them decides."""
    needs = [
        capacity_bytes / (block_bytes * usable),
        read_bytes_s / block_read_bytes_s,
        write_bytes_s / block_write_bytes_s,
        fewest,
    ]
    return np.asarray(np.ceil(np.max(np.broadcast_arrays(*needs), axis=0) - 1e-9))


@law("storage.each_times", formula="blocks x of one", unit="SI", source="arithmetic")
def each_times(blocks: Floats, each: Floats) -> Floats:
    """A figure of one building block, for all of them."""
    return blocks * each


@law("storage.tier_total", formula="sum over the tiers", unit="SI", source="arithmetic")
def tier_total(parts: list[Floats]) -> Floats:
    """Sum over the tiers."""
    return np.asarray(sum(parts), dtype=np.float64)


@law(
    "storage.drive_rate",
    formula="capacity / capacity of a drive x rate of a drive",
    unit="byte/s",
    source="drives work side by side",
)
def drive_rate(capacity_bytes: Floats, drive_bytes: Floats, drive_bytes_s: Floats) -> Floats:
    """Aggregate rate of the local drives."""
    return capacity_bytes / drive_bytes * drive_bytes_s


@law("storage.site_share", formula="total x share of the site", unit="SI", source="each site holds its part")
def site_share(total: Floats, share: Floats) -> Floats:
    """A site's part of a total."""
    return total * share


@law(
    "storage.site_rate",
    formula="rate x share of the largest site",
    unit="byte/s",
    source="a job runs at one site and reaches the file system of that site",
)
def site_rate(rate_bytes_s: Floats, shares: list[Floats]) -> Floats:
    """Rate that one job sees."""
    return np.asarray(rate_bytes_s * np.max(shares, axis=0))


@law("storage.transfer_time", formula="bytes / rate", unit="s", source="arithmetic, sharded evenly over the ranks")
def transfer_time(size_bytes: Floats, rate_bytes_s: Floats) -> Floats:
    """Time to write or read a checkpoint."""
    return size_bytes / rate_bytes_s
