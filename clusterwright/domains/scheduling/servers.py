"""How many servers beside the compute nodes a cluster needs."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = ["each", "observability_nodes", "per_nodes", "series", "site_part", "summed"]


@law(
    "scheduling.per_nodes",
    formula="max(fewest, ceil(nodes / nodes served by one))",
    unit="1",
    source="one active and one standby at least; more as the cluster grows",
    count=True,
)
def per_nodes(nodes: Floats, served: Floats, fewest: Floats) -> Floats:
    """Servers of a role that each serve a number of nodes."""
    return np.maximum(fewest, np.ceil(nodes / served - 1e-9))


@law(
    "scheduling.series",
    formula="GPUs x series per GPU + nodes x series per node",
    unit="1",
    source="dcgm-exporter and node-exporter with the fields that this product switches on",
)
def series(gpus: Floats, gpu_series: Floats, nodes: Floats, node_series: Floats) -> Floats:
    """Time series that the monitoring keeps."""
    return gpus * gpu_series + nodes * node_series


@law(
    "scheduling.observability_nodes",
    formula="fewest + ceil(series / series held by one server)",
    unit="1",
    source="Prometheus holds some millions of active series on one server",
    count=True,
)
def observability_nodes(series: Floats, held: Floats, fewest: Floats) -> Floats:
    """Servers for metrics, logs, alerts and dashboards."""
    return fewest + np.ceil(series / held - 1e-9)


@law("scheduling.summed", formula="sum over the roles", unit="1", source="arithmetic", count=True)
def summed(parts: list[Floats]) -> Floats:
    """All servers beside the compute nodes."""
    return np.asarray(sum(parts), dtype=np.float64)


@law("scheduling.each", formula="servers x of one", unit="SI", source="arithmetic")
def each(servers: Floats, of_one: Floats) -> Floats:
    """A figure of one server, for all of them."""
    return servers * of_one


@law("scheduling.site_part", formula="total x share of the site", unit="SI", source="each site is managed by its part")
def site_part(total: Floats, share: Floats) -> Floats:
    """A site's part of a total."""
    return total * share
