"""The scheduling room over a frame: servers by role, their power, height and weight."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, assumed
from clusterwright.domains.scheduling import servers
from clusterwright.spec import Spec

__all__ = ["ROLES", "size"]

ROLES = {
    # role: (nodes served by one server, fewest, why)
    "login": (256.0, 2.0, "where people compile and submit; two, so that one can be mended"),
    "scheduler": (4096.0, 3.0, "controller, its standby, and the accounting database"),
    "management": (512.0, 3.0, "provisioning, fabric manager, boot and time; three for a quorum"),
    "security": (4096.0, 3.0, "identity, secrets, bastion; three for a quorum"),
}
OBSERVABILITY_FEWEST = 2.0
GPU_SERIES = 70.0
NODE_SERIES = 900.0
HELD_SERIES = 4e6
_EACH = {
    "power_w": "management_server_power_w",
    "units": "management_server_units",
    "weight_kg": "management_server_weight_kg",
}


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Login, scheduler, management, observability and security servers.

    Needs ``compute.nodes`` and ``compute.gpus``; derives ``scheduling.*_nodes`` and ``management.*``, also per site.
    """
    for role, (served, fewest, why) in ROLES.items():
        frame.give(f"scheduling.{role}_served", served, assumed(f"nodes that one {role} server serves: {why}"))
        frame.give(f"scheduling.{role}_fewest", fewest, assumed(why), count=True)
        frame.derive(
            f"scheduling.{role}_nodes",
            servers.per_nodes,
            nodes="compute.nodes",
            served=f"scheduling.{role}_served",
            fewest=f"scheduling.{role}_fewest",
        )
    _observability(frame)
    roles = [f"scheduling.{role}_nodes" for role in (*ROLES, "observability")]
    frame.derive("management.nodes", servers.summed, parts=roles)
    for figure, key in _EACH.items():
        frame.give_fact(f"management.server_{figure}", catalog.planning(key), f"catalogue: planning/{key}")
        frame.derive(
            f"management.{figure}", servers.each, servers="management.nodes", of_one=f"management.server_{figure}"
        )
        for i in range(len(spec.sites)):
            frame.derive(
                f"sites[{i}].management.{figure}",
                servers.site_part,
                total=f"management.{figure}",
                share=f"sites[{i}].share",
            )
    for i in range(len(spec.sites)):
        frame.derive(
            f"sites[{i}].management.nodes", servers.site_part, total="management.nodes", share=f"sites[{i}].share"
        )


def _observability(frame: Frame) -> None:
    frame.give("scheduling.gpu_series", GPU_SERIES, assumed("61 DCGM fields and what Slurm or Kubernetes adds per GPU"))
    frame.give("scheduling.node_series", NODE_SERIES, assumed("node-exporter with its default collectors"))
    frame.give(
        "scheduling.held_series", HELD_SERIES, assumed("active series that one Prometheus server holds in 128 GB")
    )
    frame.give(
        "scheduling.observability_fewest", OBSERVABILITY_FEWEST, assumed("a pair, beside the series"), count=True
    )
    frame.derive(
        "scheduling.series",
        servers.series,
        gpus="compute.gpus",
        gpu_series="scheduling.gpu_series",
        nodes="compute.nodes",
        node_series="scheduling.node_series",
    )
    frame.derive(
        "scheduling.observability_nodes",
        servers.observability_nodes,
        series="scheduling.series",
        held="scheduling.held_series",
        fewest="scheduling.observability_fewest",
    )
