"""What storage must hold and move: data, checkpoints, system volumes, and how fast."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = [
    "dataset_from_tokens",
    "hot_capacity",
    "largest",
    "object_capacity",
    "read_rate",
    "serves",
    "site_volumes",
    "stands_here",
    "token_rate",
    "write_rate",
]


@law("storage.largest", formula="largest of several", unit="as its inputs", source="the largest decides")
def largest(parts: list[Floats]) -> Floats:
    """The largest of several figures, shape (n,)."""
    return np.asarray(np.max(parts, axis=0), dtype=np.float64)


@law(
    "storage.dataset",
    formula="sum over the runs of tokens x bytes per token",
    unit="byte",
    source="tokenised data, an integer a token",
    valid="text; images and video need far more",
)
def dataset_from_tokens(tokens: list[Floats], each_bytes: Floats) -> Floats:
    """Training data of all runs when the spec does not say how much there is, shape (n,)."""
    return np.asarray(np.sum(tokens, axis=0) * each_bytes, dtype=np.float64)


@law(
    "storage.hot_capacity",
    formula="(dataset + kept x sum of the runs' checkpoints) x (1 + scratch) where the site has nodes",
    unit="byte",
    source="every site holds a copy of the data, so that a run reads nothing across sites",
)
def hot_capacity(
    dataset_bytes: Floats, kept: Floats, checkpoints_bytes: list[Floats], scratch: Floats, nodes: Floats
) -> Floats:
    """Usable capacity of a site's parallel file system, shape (n,)."""
    whole = (dataset_bytes + kept * np.sum(checkpoints_bytes, axis=0)) * (1.0 + scratch)
    return np.asarray(np.where(nodes > 0, whole, 0.0), dtype=np.float64)


@law(
    "storage.object_capacity",
    formula="raw factor x dataset + archived x sum of the runs' checkpoints",
    unit="byte",
    source="raw data before cleaning and tokenising, and checkpoints kept for good",
)
def object_capacity(
    dataset_bytes: Floats, raw_factor: Floats, archived: Floats, checkpoints_bytes: list[Floats]
) -> Floats:
    """Capacity of the object store, one for all sites, shape (n,)."""
    return np.asarray(raw_factor * dataset_bytes + archived * np.sum(checkpoints_bytes, axis=0), dtype=np.float64)


@law(
    "storage.site_volumes",
    formula="nodes x system volume",
    unit="byte",
    source="arithmetic",
)
def site_volumes(nodes: Floats, each_bytes: Floats) -> Floats:
    """Block storage of a site, shape (n,)."""
    return nodes * each_bytes


@law(
    "storage.token_rate",
    formula="tokens/s x bytes per token, of the fastest run",
    unit="byte/s",
    source="every token is read once",
    valid="text",
)
def token_rate(tokens_per_s: list[Floats], each_bytes: Floats) -> Floats:
    """What training itself reads, shape (n,): megabytes a second even for a large run."""
    return np.asarray(np.max(tokens_per_s, axis=0) * each_bytes, dtype=np.float64)


@law(
    "storage.read_rate",
    formula="max(nodes x guideline per node, checkpoint / (time allowed x streaming share), tokens read)",
    unit="byte/s",
    source="DGX SuperPOD guideline 'better': 160 GB/s of 128 nodes; the restart's reading time",
)
def read_rate(
    nodes: Floats,
    per_node_bytes_s: Floats,
    checkpoint_bytes: Floats,
    allowed_s: Floats,
    streaming: Floats,
    training_bytes_s: Floats,
) -> Floats:
    """Read rate that a site's parallel file system is rated for, shape (n,)."""
    restart = np.maximum(checkpoint_bytes / (allowed_s * streaming), training_bytes_s)
    return np.where(nodes > 0, np.maximum(nodes * per_node_bytes_s, restart), 0.0)


@law(
    "storage.write_rate",
    formula="max(nodes x guideline per node, checkpoint / (time allowed x streaming share))",
    unit="byte/s",
    source="DGX SuperPOD guideline 'better': 80 GB/s of 128 nodes; the checkpoint's stall",
)
def write_rate(
    nodes: Floats, per_node_bytes_s: Floats, checkpoint_bytes: Floats, allowed_s: Floats, streaming: Floats
) -> Floats:
    """Write rate that a site's parallel file system is rated for, shape (n,)."""
    stall = checkpoint_bytes / (allowed_s * streaming)
    return np.where(nodes > 0, np.maximum(nodes * per_node_bytes_s, stall), 0.0)


@law(
    "storage.serves",
    formula="1 if nodes > nodes that keep their data themselves, else 0",
    unit="1",
    source="catalogue: planning/storage_in_nodes_most",
    count=True,
)
def serves(nodes: Floats, most_without: Floats) -> Floats:
    """Whether a cluster of that size has the tier at all, shape (n,)."""
    return np.asarray(nodes > most_without, dtype=np.float64)


@law(
    "storage.stands_here",
    formula="figure x 1 at the site that holds it, else x 0",
    unit="as its inputs",
    source="one object store for all sites, at the first",
)
def stands_here(figure: Floats, here: Floats) -> Floats:
    """A site's part of a tier that stands at one site, shape (n,)."""
    return figure * here
