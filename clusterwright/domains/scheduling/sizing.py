"""The pass of the scheduling room over a frame: servers by site and role, their power, height and mass."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, assumed
from clusterwright.domains.scheduling import servers
from clusterwright.spec import Spec

__all__ = ["ROLES", "Role", "size"]


@dataclass(frozen=True)
class Role:
    """What a role is for and how many servers it takes.

    Attributes:
        name: of the role.
        planning: planning value with the nodes that one server serves; empty for observability, sized by its series.
        fewest: servers in any cluster that is not small.
        few: servers in a small cluster.
        why: what sizes it.
    """

    name: str
    planning: str
    fewest: float
    few: float
    why: str


ROLES = (
    Role("login", "nodes_per_login_server", 2, 1, "where people compile and submit; two, so that one can be mended"),
    Role(
        "scheduler", "nodes_per_scheduler_server", 3, 0, "controller, standby and database, or a control plane of three"
    ),
    Role(
        "management",
        "nodes_per_management_server",
        3,
        1,
        "provisioning, fabric manager, names, time; three for a quorum",
    ),
    Role("security", "nodes_per_security_server", 3, 0, "identity, secrets, access; three for a quorum"),
    Role("observability", "", 3, 0, "metrics in pairs by their series, logs"),
)
"""Roles of the servers beside compute; the names are those of the table ``nodes``."""
_EACH = {
    "power_w": "management_server_power_w",
    "units": "management_server_units",
    "weight_kg": "management_server_weight_kg",
}
_SERIES = {
    "gpu_series": "series_per_gpu",
    "node_series": "series_per_node",
    "held_series": "series_per_server",
}


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Derive ``scheduling.<role>_nodes``, ``management.*``, and per site ``sites[i].management.*``.

    Every site that has nodes has its own servers of every role, so that it works when the others are out of reach.

    Args:
        frame: needs ``sites[i].nodes`` and ``server.gpus``.
        spec: its sites.
        catalog: planning values.
    """
    _give(frame, catalog)
    sites = [f"sites[{i}]" for i in range(len(spec.sites))]
    for at in sites:
        _size_site(frame, at)
    for role in ROLES:
        own = f"scheduling.{role.name}_nodes"
        frame.derive(own, servers.count, parts=[f"{at}.scheduling.{role.name}_nodes" for at in sites])
    frame.derive("scheduling.series", servers.total, parts=[f"{at}.scheduling.series" for at in sites])
    frame.derive("management.nodes", servers.count, parts=[f"{at}.management.nodes" for at in sites])
    for figure in _EACH:
        frame.derive(f"management.{figure}", servers.total, parts=[f"{at}.management.{figure}" for at in sites])


def _give(frame: Frame, catalog: Catalog) -> None:
    """Planning values: nodes that a server serves, series, the server itself."""
    facts = {f"management.server_{figure}": key for figure, key in _EACH.items()}
    facts |= {f"scheduling.{name}": key for name, key in _SERIES.items()}
    facts |= {f"scheduling.{role.name}_served": role.planning for role in ROLES if role.planning}
    facts["scheduling.small_nodes"] = "small_cluster_nodes"
    for path, key in facts.items():
        frame.give_fact(path, catalog.planning(key), f"catalogue: planning/{key}")
    for role in ROLES:
        if role.planning:
            frame.give(f"scheduling.{role.name}_fewest", role.fewest, assumed(role.why), count=True)
            frame.give(f"scheduling.{role.name}_few", role.few, assumed("two servers run a small cluster"), count=True)


def _size_site(frame: Frame, at: str) -> None:
    nodes, small = f"{at}.nodes", "scheduling.small_nodes"
    frame.derive(
        f"{at}.scheduling.series",
        servers.series,
        nodes=nodes,
        node_gpus="server.gpus",
        gpu_series="scheduling.gpu_series",
        node_series="scheduling.node_series",
    )
    for role in ROLES:
        own = f"{at}.scheduling.{role.name}_nodes"
        if role.planning:
            frame.derive(
                own,
                servers.role_servers,
                nodes=nodes,
                served=f"scheduling.{role.name}_served",
                fewest=f"scheduling.{role.name}_fewest",
                few=f"scheduling.{role.name}_few",
                small=small,
            )
        else:
            frame.derive(
                own,
                servers.metrics_servers,
                nodes=nodes,
                series=f"{at}.scheduling.series",
                held="scheduling.held_series",
                small=small,
            )
    roles = [f"{at}.scheduling.{role.name}_nodes" for role in ROLES]
    frame.derive(f"{at}.management.nodes", servers.count, parts=roles)
    for figure in _EACH:
        frame.derive(
            f"{at}.management.{figure}",
            servers.each,
            servers=f"{at}.management.nodes",
            of_one=f"management.server_{figure}",
        )
