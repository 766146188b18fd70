"""Node groups and findings of the scheduling room."""

from __future__ import annotations

from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.domains.scheduling.choice import OFFERS, known_nodes
from clusterwright.domains.scheduling.findings import FINDINGS
from clusterwright.domains.scheduling.sizing import ROLES
from clusterwright.spec import Spec

__all__ = ["fill_nodes", "say"]

_SERVER = "management-server"
_SOCKETS = 2


def fill_nodes(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Groups of servers beside the compute nodes, site by site."""
    table, value = cluster.tables["nodes"], cluster.value
    for i, site in enumerate(spec.sites):
        for role in ROLES:
            count = int(value(f"sites[{i}].scheduling.{role.name}_nodes"))
            if count:
                table.add(
                    name=f"s{i + 1}-{role.name}",
                    site=site.name,
                    role=role.name,
                    server=_SERVER,
                    accelerator="",
                    gpus=0,
                    cpus=_SOCKETS,
                    memory_bytes=catalog.planning("management_server_memory_bytes").value,
                    nics=0,
                    local_nvme_bytes=catalog.planning("management_server_nvme_bytes").value,
                    power_w=value("management.server_power_w"),
                    units=value("management.server_units"),
                    weight_kg=value("management.server_weight_kg"),
                    count=count,
                )


def say(cluster: Cluster, spec: Spec, catalog: Catalog, kind: str, options: list[dict[str, Any]]) -> None:
    """Why this scheduler, whether it brings what is needed and is known to run that many nodes."""
    place = spec.place("scheduler.kind") if spec.scheduler.kind else "scheduling.scheduler"
    named = "named by the spec" if spec.scheduler.kind else "chosen"
    best_for = next(offer.best_for for offer in OFFERS if offer.name == kind)
    cluster.say(FINDINGS["SCHEDULING-CHOICE"].at("scheduling.scheduler", f"{kind}, {named}: {best_for}"))
    lacks = next(row["lacks"] for row in options if row["name"] == kind)
    if lacks:
        message = f"{kind} brings no {' and no '.join(lacks)}, which training on a shared cluster needs"
        cluster.say(FINDINGS["SCHEDULING-LACKS"].at(place, message, "run it inside Slurm or Kubernetes"))
    nodes = max(cluster.value(f"sites[{i}].nodes") for i in range(len(spec.sites)))
    most = known_nodes(catalog, kind)
    if nodes > most:
        message = f"{nodes:,.0f} nodes at one site; {most:,.0f} under one {kind} controller are published"
        hint = "split the site into several clusters with a federation of queues above them"
        cluster.say(FINDINGS["SCHEDULING-LARGE"].at(place, message, hint))
    small = cluster.value("scheduling.small_nodes")
    if 0 < nodes <= small:
        message = f"{nodes:.0f} nodes: one login and one management server carry every role"
        cluster.say(FINDINGS["SCHEDULING-SMALL"].at("management.nodes", message))
