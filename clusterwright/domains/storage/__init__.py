"""Storage: the tiers that data and checkpoints live on, their size, speed and blocks."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.storage import tiers
from clusterwright.domains.storage.findings import FINDINGS
from clusterwright.domains.storage.sizing import size
from clusterwright.domains.storage.telling import fill_storage, options, say
from clusterwright.spec import Spec

__all__ = ["FINDINGS", "LAWS", "apply", "size"]

LAWS = laws(
    tiers.largest,
    tiers.dataset_from_tokens,
    tiers.hot_capacity,
    tiers.object_capacity,
    tiers.per_node,
    tiers.wanted_rate,
    tiers.blocks,
    tiers.each_times,
    tiers.tier_total,
    tiers.drive_rate,
    tiers.site_share,
    tiers.site_rate,
    tiers.transfer_time,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the storage table, the options weighed, and what is worth saying."""
    fill_storage(cluster, catalog)
    cluster.answers["storage_options"] = options(cluster, catalog)
    say(cluster, spec, catalog)
