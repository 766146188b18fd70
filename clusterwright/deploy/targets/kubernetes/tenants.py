"""Tenants: a namespace each, with its queue, access, limits, network, secrets and volumes.

What is the same for every tenant is a kustomize component; each tenant's folder includes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Tenant
from clusterwright.deploy.targets.kubernetes import storage
from clusterwright.deploy.targets.kubernetes.queues import fleet_queue
from clusterwright.deploy.targets.kubernetes.room import Object, Room, kustomization, obj, per_gpu, written
from clusterwright.deploy.targets.kubernetes.secrets import external, store
from clusterwright.domains.scheduling import KUEUE_API

__all__ = ["ACCOUNT", "PULL", "QUEUE", "ROLES", "files", "level"]

QUEUE = "default"
"""Name of a tenant's LocalQueue; Kueue gives jobs without a queue to the one of this name."""
ACCOUNT = "training"
PULL = "registry-credentials"
ROLES = ("viewer", "operator", "admin")
_RBAC = "rbac.authorization.k8s.io"
_OIDC = "oidc:"
"""Before names of people and groups that the identity provider says."""
POD_LIMIT_PER_GPU = 4
"""Pods that a namespace may have for each GPU of its limit: workers, loaders, notebooks, finished pods."""


def level(room: Room) -> str:
    """Level of Pod Security of a tenant: on RoCE, pods use the rail addresses of their node, which is host network."""
    return "privileged" if room.transport in ("roce", "other") else "baseline"


def files(room: Room, others: list[Room]) -> Iterator[File]:
    """``components/tenant`` and ``tenants/``."""
    yield from _component(room)
    listed = []
    for tenant in room.inventory.tenants:
        listed.append(tenant.name)
        yield from _tenant(room, tenant, bool(room.first and others))
    yield kustomization(f"{room.root}/tenants", listed)


def _tenant(room: Room, tenant: Tenant, fleet: bool) -> Iterator[File]:
    root = f"{room.root}/tenants/{tenant.name}"
    after = f"kubectl apply -k {root}"
    volumes = list(storage.claims(room, tenant))
    parts = {
        "namespace.yaml": ([_namespace(room, tenant)], "The namespace and how strict its pods are"),
        "queue.yaml": ([*_queues(room, tenant, fleet), _quota(room, tenant)], "Where jobs queue, and the last stop"),
        "access.yaml": (_bindings(tenant), "Who may do what"),
        "secrets.yaml": (_secrets(room, tenant), "Which key of the secrets store becomes which Secret; no values"),
        "volumes.yaml": (volumes, "The tenant's part of each storage tier, by its part of the GPUs"),
    }
    if not volumes:
        del parts["volumes.yaml"]
    for name, (objects, note) in parts.items():
        yield written(f"{root}/{name}", objects, note, after)
    yield kustomization(root, parts, namespace=tenant.name, components=["../../components/tenant"])


def _namespace(room: Room, tenant: Tenant) -> Object:
    security = "pod-security.kubernetes.io"
    labels = {
        f"{room.domain}/tenant": tenant.name,
        f"{room.domain}/priority": tenant.priority,
        f"{security}/enforce": level(room),
        f"{security}/enforce-version": f"v{room.inventory.settings.kubernetes}",
        f"{security}/audit": "restricted",
        f"{security}/warn": "restricted",
    }
    return obj("v1", "Namespace", tenant.name, labels=labels)


def _queues(room: Room, tenant: Tenant, fleet: bool) -> list[Object]:
    made = [obj(KUEUE_API, "LocalQueue", QUEUE, tenant.name, spec={"clusterQueue": tenant.name})]
    if fleet:
        made.append(obj(KUEUE_API, "LocalQueue", "fleet", tenant.name, spec={"clusterQueue": fleet_queue(tenant.name)}))
    return made


def _quota(room: Room, tenant: Tenant) -> Object:
    """The limit again, where the API server holds it even for pods that no queue has seen."""
    hard = {f"requests.{room.resource}": room.limit(tenant), "pods": POD_LIMIT_PER_GPU * max(room.limit(tenant), 8)}
    return obj("v1", "ResourceQuota", "limits", tenant.name, spec={"hard": hard})


def _bindings(tenant: Tenant) -> list[Object]:
    """People of the spec are operators; viewers and admins come from groups of the identity provider."""
    made = []
    for role in ROLES:
        subjects = [{"kind": "Group", "name": f"{_OIDC}{tenant.name}-{role}s", "apiGroup": _RBAC}]
        if role == "operator":
            subjects += [{"kind": "User", "name": f"{_OIDC}{user}", "apiGroup": _RBAC} for user in tenant.users]
        ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"tenant-{role}"}
        made.append(obj(f"{_RBAC}/v1", "RoleBinding", f"{role}s", tenant.name, subjects=subjects, roleRef=ref))
    return made


def _secrets(room: Room, tenant: Tenant) -> list[Object]:
    base = f"{room.inventory.name}/{tenant.name}"
    login = {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "{{ .dockerconfigjson }}"}}
    made = store(room, tenant.name, f"tenant-{tenant.name}")
    made.append(external(PULL, tenant.name, {"dockerconfigjson": (f"{base}/registry", "dockerconfigjson")}, login))
    if room.tier("object"):
        keys = {key: (f"{base}/object-store", key) for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
        made.append(external("object-store", tenant.name, keys))
    return made


# --- what every tenant has ---


def _component(room: Room) -> Iterator[File]:
    root = f"{room.root}/components/tenant"
    account = obj(
        "v1", "ServiceAccount", ACCOUNT, imagePullSecrets=[{"name": PULL}], automountServiceAccountToken=False
    )
    parts = {
        "network-policies.yaml": (_network(room), "Nothing in or out but what is named; RDMA goes past these policies"),
        "defaults.yaml": ([account, _limits(room)], "Account of training pods; requests of pods that name none"),
    }
    for name, (objects, note) in parts.items():
        yield written(f"{root}/{name}", objects, note, f"kubectl apply -k {room.root}/tenants")
    yield kustomization(root, parts, kind="Component")


def _limits(room: Room) -> Object:
    """Pods that say nothing get an eighth of what a GPU brings; no container gets more than a node has.

    GPUs are not among the maxima: a maximum without a default becomes the default of every container.
    """
    group = room.computing[0]
    cpu, memory = per_gpu(group)
    small = {"cpu": str(max(cpu // 8, 1)), "memory": f"{max(memory // 8, 1)}Gi"}
    most = {"cpu": str(cpu * group.gpus), "memory": f"{memory * group.gpus}Gi"}
    limits = [{"type": "Container", "default": small, "defaultRequest": small, "max": most}]
    return obj("v1", "LimitRange", "defaults", spec={"limits": limits})


def _network(room: Room) -> list[Object]:
    """Policies of the pod network. RDMA traffic does not pass it: tenants are apart on the fabric by partitions and
    by having whole nodes, not by these."""
    named = "kubernetes.io/metadata.name"
    ports, site = room.inventory.ports, room.site
    dns = [{"port": ports["dns"], "protocol": protocol} for protocol in ("UDP", "TCP")]
    system = {
        "namespaceSelector": {"matchLabels": {named: "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    watchers: list[Object] = [{"namespaceSelector": {"matchLabels": {named: "monitoring"}}}]
    watchers += [{"ipBlock": {"cidr": f"{address}/32"}} for address in room.addresses("Prometheus")]
    registry = [{"ipBlock": {"cidr": f"{a}/32"}} for a in room.addresses("container registry and CI runner")]
    inside: list[Object] = [{"podSelector": {}}]
    metrics = {"port": "metrics", "protocol": "TCP"}
    store = [{"ipBlock": {"cidr": site.networks["storage"].block}}]
    made = [
        _policy("default-deny", ["Ingress", "Egress"]),
        _policy("dns", ["Egress"], egress=[{"to": [system], "ports": dns}]),
        _policy("same-namespace", ["Ingress", "Egress"], ingress=[{"from": inside}], egress=[{"to": inside}]),
        _policy("monitoring", ["Ingress"], ingress=[{"from": watchers, "ports": [metrics]}]),
        _policy("storage", ["Egress"], egress=[{"to": store}]),
    ]
    if registry:
        rule = {"to": registry, "ports": [{"port": ports["registry"], "protocol": "TCP"}]}
        made.append(_policy("registry", ["Egress"], egress=[rule]))
    return made


def _policy(name: str, types: list[str], **rules: list[Object]) -> Object:
    spec = {"podSelector": {}, "policyTypes": types, **rules}
    return obj("networking.k8s.io/v1", "NetworkPolicy", name, spec=spec)
