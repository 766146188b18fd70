"""The components of scheduler, observability, security and provisioning, with counts."""

from __future__ import annotations

from typing import NamedTuple

from clusterwright.cluster import Cluster, Provenance

__all__ = ["COMMON", "OF", "Component", "fill_services"]

_EVERY = 0
"""Count that means: on every compute node, spares included."""


class Component(NamedTuple):
    """A component: its layer, the role of the server it runs on, how many a site has (0: one a compute node)."""

    name: str
    layer: str
    role: str
    servers: int
    why: str


OF = {
    "slurm": (
        Component("slurmctld", "scheduler", "scheduler", 2, "decides which job starts where; active and standby"),
        Component(
            "slurmdbd and MariaDB", "scheduler", "scheduler", 2, "accounting and fair share; primary and replica"
        ),
        Component("slurmrestd", "scheduler", "scheduler", 1, "the interface that portals and pipelines call"),
        Component("slurmd", "scheduler", "compute", _EVERY, "starts jobs"),
        Component("Pyxis and Enroot", "scheduler", "compute", _EVERY, "containers inside jobs"),
        Component("login environment", "scheduler", "login", 2, "where people compile and submit"),
        Component("Slurm exporter", "observability", "observability", 1, "queues, waits and allocations as metrics"),
    ),
    "kubernetes": (
        Component(
            "control plane (API server, etcd)", "scheduler", "scheduler", 3, "the cluster's state; quorum of three"
        ),
        Component("Kueue", "scheduler", "scheduler", 2, "quotas, queues and fair sharing"),
        Component("JobSet and Kubeflow Trainer", "scheduler", "scheduler", 2, "gangs of pods for training"),
        Component("GPU operator", "scheduler", "scheduler", 1, "drivers, device plugin and exporter on every node"),
        Component("network operator", "scheduler", "scheduler", 1, "RDMA devices and secondary networks for pods"),
        Component("CSI drivers", "storage", "scheduler", 2, "volumes on the parallel and block tiers"),
        Component("kubelet and container runtime", "scheduler", "compute", _EVERY, "starts pods"),
        Component("kubectl environment", "scheduler", "login", 2, "where people submit"),
        Component("kube-state-metrics", "observability", "observability", 1, "the state of pods and queues as metrics"),
    ),
    "ray": (
        Component("Ray head", "scheduler", "scheduler", 1, "places tasks and actors"),
        Component("Redis", "scheduler", "scheduler", 2, "keeps the head's state, so that it can be restarted"),
        Component("quota manager below Ray", "scheduler", "scheduler", 2, "fair share and accounting that Ray lacks"),
        Component("raylet", "scheduler", "compute", _EVERY, "starts workers"),
        Component("client environment", "scheduler", "login", 2, "where people submit"),
    ),
}
"""Components of each scheduler."""
COMMON = (
    Component("Prometheus", "observability", "observability", 2, "metrics and rules; a pair for each share of series"),
    Component("Alertmanager", "observability", "observability", 2, "one alert to people, not one a server"),
    Component("Grafana", "observability", "observability", 2, "dashboards"),
    Component("Loki or OpenSearch", "observability", "observability", 1, "logs"),
    Component("fabric exporter", "observability", "management", 1, "link errors, congestion and port rates"),
    Component("BMC and PDU exporter", "observability", "management", 1, "power, temperature and fans out of band"),
    Component("dcgm-exporter", "observability", "compute", _EVERY, "GPU metrics and XID errors"),
    Component("node exporter and log shipper", "observability", "compute", _EVERY, "host metrics and logs"),
    Component(
        "health checks", "observability", "compute", _EVERY, "GPU, ECC, NVLink and link checks; drain what fails"
    ),
    Component("identity provider (LDAP, OIDC)", "security", "security", 2, "who people are"),
    Component("secrets store", "security", "security", 3, "keys and tokens, handed out by reference; quorum of three"),
    Component(
        "certificate authority", "security", "security", 1, "encryption between services, short-lived certificates"
    ),
    Component("bastion", "security", "security", 2, "the only way in, with a second factor"),
    Component("audit log", "security", "security", 1, "who did what, kept where administrators cannot change it"),
    Component(
        "firewall and segments", "security", "management", 2, "tenant, storage, management and BMC networks apart"
    ),
    Component("provisioning (PXE, images)", "provisioning", "management", 2, "installs and re-installs nodes"),
    Component("fabric manager", "provisioning", "management", 2, "routes the fabric and watches its links"),
    Component("DNS, DHCP, NTP", "provisioning", "management", 3, "names, addresses and time"),
    Component("container registry and CI runner", "provisioning", "management", 2, "images and configuration, scanned"),
    Component("firmware and inventory", "provisioning", "management", 1, "what is where, in which version"),
    Component("file-system client", "storage", "compute", _EVERY, "mounts the parallel tier"),
)
"""Components whatever the scheduler."""


def fill_services(cluster: Cluster, kind: str, sites: int) -> None:
    """Fill the table ``services``: every site has its own; a small cluster runs them on its management server."""
    table = cluster.tables["services"]
    shared = bool(cluster.value("storage.parallel.systems")) if "storage.parallel.systems" in cluster.frame else True
    for component in (*OF[kind], *COMMON):
        if component.name == "file-system client" and not shared:
            continue
        nodes, role = _placed(cluster, component, sites)
        if nodes:
            table.add(name=component.name, layer=component.layer, nodes=nodes, role=role, why=component.why)
    inputs = [f"sites[{i}].management.nodes" for i in range(sites)]
    table.explain("nodes", Provenance("law", law="scheduling.role_servers", inputs={"sites": inputs}))
    for column in ("name", "layer", "role", "why"):
        table.explain(column, Provenance("choice", note=f"components of a {kind} cluster"))


def _placed(cluster: Cluster, component: Component, sites: int) -> tuple[int, str]:
    """Servers or nodes that a component runs on, and their role."""
    value = cluster.value
    if component.servers == _EVERY:
        return int(value("compute.nodes") + cluster.frame.get("compute.spare_nodes", 0.0)[0]), "compute"
    found, moved = 0, False
    for i in range(sites):
        own = int(value(f"sites[{i}].scheduling.{component.role}_nodes"))
        if component.name == "Prometheus":
            found += max(own - 1, 0)
        else:
            found += min(component.servers, own)
        if not own and value(f"sites[{i}].nodes"):
            found, moved = found + 1, True
    return found, "management" if moved else component.role
