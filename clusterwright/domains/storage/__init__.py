"""Storage: the tiers that data and checkpoints live on, their size, speed and building blocks."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.storage import demand, tiers
from clusterwright.domains.storage.findings import FINDINGS
from clusterwright.domains.storage.sizing import size, size_checkpoint
from clusterwright.domains.storage.telling import fill_storage, options, say
from clusterwright.spec import Spec

__all__ = ["FINDINGS", "LAWS", "apply", "size", "size_checkpoint"]

LAWS = laws(
    demand.largest,
    demand.dataset_from_tokens,
    demand.hot_capacity,
    demand.object_capacity,
    demand.site_volumes,
    demand.token_rate,
    demand.read_rate,
    demand.write_rate,
    demand.serves,
    demand.stands_here,
    tiers.blocks,
    tiers.count,
    tiers.each_times,
    tiers.tier_total,
    tiers.drive_rate,
    tiers.in_nodes,
    tiers.job_rate,
    tiers.transfer_time,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the storage table and ``answers['storage_options']``, and say what is worth saying."""
    fill_storage(cluster, catalog)
    cluster.answers["storage_options"] = options(cluster, catalog, spec.finance.years)
    say(cluster, spec, catalog)
