"""Which scheduler and why; node groups, services and findings of the scheduling room."""

from __future__ import annotations

from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance, chosen, from_spec
from clusterwright.domains.scheduling.findings import FINDINGS
from clusterwright.domains.scheduling.sizing import ROLES
from clusterwright.spec import Spec

__all__ = ["choose_scheduler", "fill_nodes", "fill_services", "options", "say"]

KNOWN_NODES = {"slurm": 10_000, "kubernetes": 5_000, "ray": 2_000}
"""Nodes under one controller that are published: Frontier (9,408), the Kubernetes limit, Ray's own tests."""

_FOR = {
    "slurm": "gang scheduling, fair share, backfill and topology-aware placement come built in; the usual choice for "
    "synchronous training",
    "kubernetes": "containers, services and autoscaling; gang scheduling and quotas need Kueue and JobSet beside it",
    "ray": "distributed Python and tuning; it needs Slurm or Kubernetes below it for quotas and accounting",
}
_AGAINST = {
    "slurm": "services and autoscaling are foreign to it",
    "kubernetes": "more parts to run for the same training job, and 5,000 nodes are its published limit",
    "ray": "no fair share, no accounting; a failed head node ends the jobs",
}


def choose_scheduler(cluster: Cluster, spec: Spec) -> str:
    """The scheduler of the spec, else Slurm for training."""
    if spec.scheduler.kind is not None:
        kind, why = spec.scheduler.kind, from_spec(str(spec.place("scheduler.kind")))
    else:
        kind, why = "slurm", chosen(f"the workloads train: {_FOR['slurm']}")
    cluster.frame.choose("scheduling.scheduler", kind, why)
    return kind


def options(kind: str) -> list[dict[str, Any]]:
    """The schedulers weighed, the chosen one ticked."""
    return [
        {
            "name": name,
            "chosen": name == kind,
            "why": _FOR[name] if name == kind else f"{_FOR[name]}; against it: {_AGAINST[name]}",
            "known_nodes": KNOWN_NODES[name],
        }
        for name in KNOWN_NODES
    ]


def fill_nodes(cluster: Cluster, spec: Spec) -> None:
    """Groups of servers beside the compute nodes; they stand at the first site, standbys at the others."""
    table = cluster.tables["nodes"]
    site = spec.sites[0].name
    for role in (*ROLES, "observability"):
        table.add(
            name=f"s1-{role}",
            site=site,
            role=role,
            server="management server",
            accelerator="",
            gpus=0,
            cpus=2,
            memory_bytes=256e9,
            nics=0,
            local_nvme_bytes=2e12,
            power_w=cluster.value("management.server_power_w"),
            units=cluster.value("management.server_units"),
            weight_kg=cluster.value("management.server_weight_kg"),
            count=int(cluster.value(f"scheduling.{role}_nodes")),
        )


_COMMON = (
    # name, layer, role, how many (role whose count it is, or a fixed number), what it is for
    (
        "Prometheus (pair per shard)",
        "observability",
        "observability",
        "observability",
        "metrics, sized by their series",
    ),
    ("Alertmanager", "observability", "observability", 2, "alerts to people, once"),
    ("Grafana", "observability", "observability", 2, "dashboards"),
    ("Loki or OpenSearch", "observability", "observability", 2, "logs"),
    ("dcgm-exporter", "observability", "compute", "nodes", "GPU metrics and XID errors, on every node"),
    ("node-exporter", "observability", "compute", "nodes", "host metrics, on every node"),
    ("identity provider (LDAP, OIDC)", "security", "security", 2, "who people are"),
    ("secrets store (Vault)", "security", "security", 3, "keys and tokens, by reference only"),
    ("bastion", "security", "security", 2, "the only way in"),
    ("disk and object encryption", "security", "management", 1, "keys for data at rest"),
    ("provisioning (PXE, image builder)", "provisioning", "management", 2, "installs and re-installs nodes"),
    ("fabric manager (UFM or OpenSM)", "provisioning", "management", 2, "routes the fabric, watches its links"),
    ("DNS, DHCP, NTP", "provisioning", "management", 3, "names, addresses and time"),
    ("CI/CD runner, registry", "provisioning", "management", 2, "images and configuration"),
)
_OF = {
    "slurm": (
        ("slurmctld (active, standby)", "scheduler", "scheduler", 2, "decides which job starts where"),
        ("slurmdbd with MariaDB", "scheduler", "scheduler", 1, "accounting and fair share"),
        ("slurmd", "scheduler", "compute", "nodes", "starts jobs, on every node"),
        ("login nodes", "scheduler", "login", "login", "where people submit"),
    ),
    "kubernetes": (
        ("control plane (API server, etcd)", "scheduler", "scheduler", "scheduler", "the cluster's state"),
        ("Kueue, JobSet", "scheduler", "scheduler", 2, "quotas, gangs and queues for training"),
        ("GPU and network operators", "scheduler", "scheduler", 2, "drivers, device plugins, RDMA"),
        ("kubelet", "scheduler", "compute", "nodes", "starts pods, on every node"),
    ),
    "ray": (
        ("Ray head (with Redis for recovery)", "scheduler", "scheduler", 2, "places tasks and actors"),
        ("raylet", "scheduler", "compute", "nodes", "starts workers, on every node"),
    ),
}


def fill_services(cluster: Cluster, kind: str) -> None:
    """Components of scheduler, observability, security and provisioning, with counts."""
    table = cluster.tables["services"]
    for name, layer, role, count, why in (*_OF[kind], *_COMMON):
        if isinstance(count, int):
            nodes = count
        else:
            path = "compute.nodes" if count == "nodes" else f"scheduling.{count}_nodes"
            nodes = int(cluster.value(path))
        table.add(name=name, layer=layer, nodes=nodes, role=role, why=why)
    table.explain("nodes", Provenance("law", law="scheduling.per_nodes", inputs={"nodes": "compute.nodes"}))


def say(cluster: Cluster, spec: Spec, catalog: Catalog, kind: str) -> None:
    """Why this scheduler, and whether it is known to run that many nodes."""
    named = "named by the spec" if spec.scheduler.kind else "chosen"
    cluster.say(FINDINGS["SCHEDULING-CHOICE"].at("scheduling.scheduler", f"{kind}, {named}: {_FOR[kind]}"))
    nodes = max(cluster.value(f"sites[{i}].nodes") for i in range(len(spec.sites)))
    if nodes > KNOWN_NODES[kind]:
        cluster.say(
            FINDINGS["SCHEDULING-LARGE"].at(
                "scheduling.scheduler",
                f"{nodes:,.0f} nodes at one site; {KNOWN_NODES[kind]:,} under one {kind} controller are published",
                "split the site into several clusters with a federation of queues above them",
            )
        )
