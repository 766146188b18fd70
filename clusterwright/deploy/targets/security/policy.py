"""The policy behind the files: roles and rights, encryption, flows between networks, secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clusterwright.deploy.inventory import Inventory

__all__ = ["ENCRYPTION", "RIGHTS", "ROLES", "Flow", "Secret", "encryption", "flows", "rights", "secrets"]

ROLES = {
    "viewer": "sees jobs, queues and dashboards of the tenant",
    "user": "submits and cancels own jobs, reads and writes the tenant's data",
    "tenant-admin": "manages people, quotas within the tenant's and jobs of the tenant",
    "operator": "drains, repairs and returns nodes, sees every job; no data of tenants",
    "storage-admin": "tiers, quotas, snapshots; no keys",
    "security-admin": "identities, keys, audit log; no jobs",
    "cluster-admin": "everything on the control plane, by a session that is recorded",
    "break-glass": "everything, sealed; each use is an incident",
}
"""Role -> what it is for; no role holds both data and keys."""
RIGHTS = ("none", "read", "write", "admin")
"""From least to most; each contains those before it."""
_RESOURCES = {
    "jobs of the tenant": ("read", "write", "admin", "admin", "none", "none", "admin", "admin"),
    "data of the tenant": ("none", "write", "write", "none", "none", "none", "none", "admin"),
    "quotas and shares": ("read", "read", "write", "read", "write", "none", "admin", "admin"),
    "nodes and scheduler": ("none", "none", "none", "write", "none", "none", "admin", "admin"),
    "fabric and switches": ("none", "none", "none", "write", "none", "none", "admin", "admin"),
    "storage systems": ("none", "none", "none", "read", "admin", "none", "read", "admin"),
    "metrics and dashboards": ("read", "read", "read", "write", "read", "read", "admin", "admin"),
    "logs of services": ("none", "none", "none", "read", "read", "read", "read", "admin"),
    "audit log": ("none", "none", "none", "none", "none", "read", "none", "read"),
    "keys and secrets": ("none", "none", "none", "none", "none", "admin", "none", "admin"),
    "BMC and power": ("none", "none", "none", "write", "none", "none", "admin", "admin"),
    "configuration repository": ("none", "none", "none", "write", "write", "write", "admin", "admin"),
}
"""Resource -> right of each role, in the order of :data:`ROLES`. The audit log is written by machines only."""


def rights(inventory: Inventory) -> Iterator[tuple[str, str, str, str]]:
    """Scope, role, resource and right: rights on a tenant's things once for each tenant."""
    for resource, row in _RESOURCES.items():
        scopes = [t.name for t in inventory.tenants] if "of the tenant" in resource else ["cluster"]
        for scope in scopes:
            for role, right in zip(ROLES, row, strict=True):
                yield scope, role, resource, right


ENCRYPTION = (
    ("people to bastion", "transit", "SSH with short-lived certificates, second factor", "certificate authority"),
    ("services among each other", "transit", "TLS 1.3, mutual, certificates of 24 h", "certificate authority"),
    ("controller and nodes", "transit", "MUNGE or SACK tokens inside the management network", "secrets store"),
    ("compute network (RDMA)", "transit", "none: isolated by partition keys or VLANs, single tenant a node", "-"),
    ("parallel file system on the wire", "transit", "Kerberos or the vendor's in-flight encryption", "secrets store"),
    ("parallel file system at rest", "rest", "self-encrypting drives", "secrets store (KMIP)"),
    ("local NVMe", "rest", "self-encrypting drives, key dropped at decommissioning", "secrets store (KMIP)"),
    ("object store", "rest", "server-side encryption with a key of the tenant", "key service"),
    ("object store on the wire", "transit", "TLS 1.3", "certificate authority"),
    ("block volumes", "rest", "LUKS2 or the array's own", "secrets store"),
    ("databases and backups", "rest", "encrypted volumes, backups encrypted before they leave", "secrets store"),
    ("BMC", "transit", "TLS (Redfish) in a network of its own", "certificate authority"),
    ("metrics and logs", "transit", "TLS between agents and servers", "certificate authority"),
)
"""What, state, method, who holds the key."""
_SLURM_ONLY = "controller and nodes"


def encryption(inventory: Inventory) -> list[tuple[str, str, str, str]]:
    """The lines that the design needs."""
    kinds = {tier.kind for tier in inventory.tiers}
    skip = {_SLURM_ONLY} if inventory.scheduler != "slurm" else set()
    skip |= {"object store", "object store on the wire"} if "object" not in kinds else set()
    skip |= {"block volumes"} if "block" not in kinds else set()
    skip |= {x[0] for x in ENCRYPTION if "parallel" in x[0]} if "parallel" not in kinds else set()
    return [line for line in ENCRYPTION if line[0] not in skip]


class Flow(NamedTuple):
    """Traffic that is let through; everything else is dropped. ``port`` is 0 for every port."""

    source: str
    target: str
    service: str
    port: int
    protocol: str
    why: str


def flows(inventory: Inventory) -> list[Flow]:
    """Flows between roles of hosts, with the ports of the inventory."""
    p = inventory.ports
    slurm = inventory.scheduler == "slurm"
    found = [
        Flow("people", "bastion", "ssh", p["ssh"], "tcp", "the only way in"),
        Flow("bastion", "login", "ssh", p["ssh"], "tcp", "shells of users"),
        Flow("bastion", "management", "ssh", p["ssh"], "tcp", "administration"),
        Flow("management", "all", "ssh", p["ssh"], "tcp", "playbooks"),
        Flow("management", "bmc", "https", 443, "tcp", "Redfish: power, sensors, firmware"),
        Flow("all", "management", "dns", p["dns"], "udp", "names"),
        Flow("all", "management", "ntp", p["ntp"], "udp", "time"),
        Flow("all", "security", "ldap", p["ldap"], "tcp", "identities"),
        Flow("all", "security", "vault", p["vault"], "tcp", "secrets by reference, certificates"),
        Flow("compute", "management", "registry", p["registry"], "tcp", "container images"),
        Flow("observability", "compute", "dcgm-exporter", p["dcgm-exporter"], "tcp", "GPU metrics"),
        Flow("observability", "all", "node-exporter", p["node-exporter"], "tcp", "host metrics"),
        Flow("observability", "management", "fabric-exporter", p["fabric-exporter"], "tcp", "fabric metrics"),
        Flow("observability", "management", "bmc-exporter", p["bmc-exporter"], "tcp", "power and temperature"),
        Flow("all", "observability", "loki", p["loki"], "tcp", "logs"),
        Flow("bastion", "observability", "grafana", p["grafana"], "tcp", "dashboards"),
        Flow("compute", "compute", "rdma", 0, "any", "collectives; the compute network only"),
        Flow("compute", "storage", "file-system", 0, "any", "the storage network only"),
    ]
    if slurm:
        found += [
            Flow("compute", "scheduler", "slurmctld", p["slurmctld"], "tcp", "node registration, job steps"),
            Flow("scheduler", "compute", "slurmd", p["slurmd"], "tcp", "starting jobs"),
            Flow("login", "scheduler", "slurmctld", p["slurmctld"], "tcp", "sbatch, squeue"),
            Flow("login", "scheduler", "slurmdbd", p["slurmdbd"], "tcp", "sacct"),
            Flow("scheduler", "scheduler", "mariadb", p["mariadb"], "tcp", "accounting"),
            Flow("management", "scheduler", "slurmrestd", p["slurmrestd"], "tcp", "portals and pipelines"),
            Flow("observability", "observability", "slurm-exporter", p["slurm-exporter"], "tcp", "queue metrics"),
        ]
    else:
        found += [
            Flow("all", "scheduler", "kubernetes-api", p["kubernetes-api"], "tcp", "the cluster's API"),
            Flow("scheduler", "all", "kubelet", p["kubelet"], "tcp", "pods"),
            Flow("scheduler", "scheduler", "etcd", p["etcd"], "tcp", "the cluster's state"),
        ]
    return found


class Secret(NamedTuple):
    """A secret that files refer to: where it lies, who may read it, how often it changes."""

    name: str
    path: str
    readers: tuple[str, ...]
    rotation_days: int
    why: str


def secrets(inventory: Inventory) -> list[Secret]:
    """Every secret by reference; its value is never in the bundle."""
    at = f"kv/{inventory.name}"
    found = [
        Secret("alertmanager-receivers", f"{at}/alertmanager", ("observability",), 90, "web hooks of on-call"),
        Secret("grafana-admin", f"{at}/grafana", ("observability",), 90, "first log-in, then single sign-on"),
        Secret("bmc-admin", f"{at}/bmc", ("management",), 180, "Redfish accounts"),
        Secret("ldap-bind", f"{at}/ldap", ("login", "scheduler", "management"), 180, "look-up of identities"),
        Secret("registry-pull", f"{at}/registry", ("compute",), 90, "container images"),
        Secret("object-store", f"{at}/object", ("compute", "login"), 90, "access to buckets, by tenant"),
        Secret("storage-client", f"{at}/storage", ("compute", "login"), 180, "mount of the parallel tier"),
        Secret("deploy-key", f"{at}/deploy", ("management",), 90, "the pipeline's way to hosts"),
    ]
    if inventory.scheduler == "slurm":
        found += [
            Secret("munge-key", f"{at}/munge", ("compute", "login", "scheduler"), 365, "authentication inside Slurm"),
            Secret("slurmdbd-password", f"{at}/slurmdbd", ("scheduler",), 180, "slurmdbd to MariaDB"),
            Secret("slurm-jwt", f"{at}/jwt", ("scheduler",), 180, "tokens of slurmrestd"),
        ]
    else:
        found.append(Secret("etcd-encryption", f"{at}/etcd", ("scheduler",), 180, "Secrets at rest in etcd"))
    return found
