"""Scheduling: who starts the jobs, and the servers that manage, watch and guard the cluster."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.scheduling import servers
from clusterwright.domains.scheduling.findings import FINDINGS
from clusterwright.domains.scheduling.sizing import size
from clusterwright.domains.scheduling.telling import choose_scheduler, fill_nodes, fill_services, options, say
from clusterwright.spec import Spec

__all__ = ["FINDINGS", "LAWS", "apply", "size"]

LAWS = laws(
    servers.per_nodes,
    servers.series,
    servers.observability_nodes,
    servers.summed,
    servers.each,
    servers.site_part,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Choose the scheduler; fill the node groups and the services; say why."""
    kind = choose_scheduler(cluster, spec)
    cluster.answers["scheduler_options"] = options(kind)
    fill_nodes(cluster, spec)
    fill_services(cluster, kind)
    say(cluster, spec, catalog, kind)
