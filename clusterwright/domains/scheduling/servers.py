"""How many servers beside the compute nodes a site needs."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = ["count", "each", "metrics_servers", "role_servers", "series", "total"]


@law(
    "scheduling.role_servers",
    formula="max(fewest, ceil(nodes / nodes served by one)); the few of a small cluster; none without nodes",
    unit="1",
    source="one active and one standby at least, three where a quorum votes; more as the site grows",
    count=True,
)
def role_servers(nodes: Floats, served: Floats, fewest: Floats, few: Floats, small: Floats) -> Floats:
    """Servers of a role at a site, shape (n,).

    Args:
        nodes: compute nodes of the site.
        served: nodes that one server serves.
        fewest: servers of the role in any cluster that is not small.
        few: servers of the role in a small cluster.
        small: nodes up to which a cluster is small.
    """
    large = np.maximum(fewest, np.ceil(nodes / served - 1e-9))
    return np.where(nodes <= 0, 0.0, np.where(nodes <= small, few, large))


@law(
    "scheduling.series",
    formula="GPUs x series per GPU + nodes x series per node",
    unit="1",
    source="what the exporters of GPUs, hosts, network and scheduler give",
    bounds=(0.0, float("inf")),
)
def series(nodes: Floats, node_gpus: Floats, gpu_series: Floats, node_series: Floats) -> Floats:
    """Time series that the monitoring of a site keeps, shape (n,)."""
    return nodes * (node_gpus * gpu_series + node_series)


@law(
    "scheduling.metrics_servers",
    formula="2 x ceil(series / series of one server) + 1 for logs; none in a small cluster, where management does it",
    unit="1",
    source="metrics servers in pairs that scrape the same, so that one can fail",
    count=True,
)
def metrics_servers(nodes: Floats, series: Floats, held: Floats, small: Floats) -> Floats:
    """Observability servers of a site, shape (n,)."""
    return np.where(nodes <= small, 0.0, 2.0 * np.ceil(series / held - 1e-9) + 1.0)


@law("scheduling.count", formula="sum over roles or sites", unit="1", source="arithmetic", count=True)
def count(parts: list[Floats]) -> Floats:
    """A number of servers, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law("scheduling.each", formula="servers x of one", unit="as its inputs", source="arithmetic")
def each(servers: Floats, of_one: Floats) -> Floats:
    """Power, height or mass of all servers, shape (n,)."""
    return servers * of_one


@law("scheduling.total", formula="sum over the sites", unit="as its inputs", source="arithmetic")
def total(parts: list[Floats]) -> Floats:
    """A figure of all sites, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)
