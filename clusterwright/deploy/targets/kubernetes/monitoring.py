"""What the monitoring of a site reads inside the cluster: monitors, and the account that may read metrics."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.targets.kubernetes.room import Object, Room, kustomization, obj, written

__all__ = ["files"]

_RBAC = "rbac.authorization.k8s.io"
_API = "monitoring.coreos.com/v1"
ACCOUNT = "prometheus"
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  # a path, mounted by Kubernetes
_INTERVAL = "30s"


def files(room: Room) -> Iterator[File]:
    """``monitoring/``; rules and dashboards are of the target ``monitoring``."""
    root = f"{room.root}/monitoring"
    parts = {
        "access.yaml": (_access(), "The account of Prometheus inside the cluster: reads metrics, nothing else"),
        "monitors.yaml": (_monitors(room), "What Prometheus scrapes inside the cluster"),
    }
    for name, (objects, note) in parts.items():
        yield written(f"{root}/{name}", objects, note, f"kubectl apply -k {root}")
    yield kustomization(root, parts)


def _access() -> list[Object]:
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "nodes/metrics", "services", "endpoints", "pods"], "verbs": _READ},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": _READ},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "prometheus"}
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "monitoring"}
    return [
        obj("v1", "ServiceAccount", ACCOUNT, "monitoring"),
        obj(f"{_RBAC}/v1", "ClusterRole", "prometheus", rules=rules),
        obj(f"{_RBAC}/v1", "ClusterRoleBinding", "prometheus", subjects=[subject], roleRef=ref),
    ]


_READ = ["get", "list", "watch"]


def _monitors(room: Room) -> list[Object]:
    named = "app.kubernetes.io/name"
    made = [
        _secured("kueue", "kueue-system", {named: "kueue", "app.kubernetes.io/component": "metrics-service"}, "https"),
        _secured("jobset", "jobset-system", {named: "jobset"}, "https"),
        _plain("external-secrets", "external-secrets", {named: "external-secrets"}, "metrics"),
    ]
    if room.vendor == "NVIDIA":
        made.append(_plain("dcgm-exporter", "gpu-operator", {"app": "nvidia-dcgm-exporter"}, "gpu-metrics"))
    elif room.vendor == "AMD":
        made.append(_plain("amd-metrics-exporter", "gpu-operator", {"app": "device-metrics-exporter"}, "exporter-port"))
    return made


def _monitor(name: str, namespace: str, labels: dict[str, str], endpoint: Object) -> Object:
    spec = {
        "namespaceSelector": {"matchNames": [namespace]},
        "selector": {"matchLabels": labels},
        "endpoints": [{"interval": _INTERVAL, **endpoint, "relabelings": [_NODE]}],
    }
    return obj(_API, "ServiceMonitor", name, "monitoring", spec=spec)


_NODE = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node", "action": "replace"}
"""Metrics carry the name of the node, as those that are scraped outside the cluster do."""


def _plain(name: str, namespace: str, labels: dict[str, str], port: str) -> Object:
    return _monitor(name, namespace, labels, {"port": port, "path": "/metrics"})


def _secured(name: str, namespace: str, labels: dict[str, str], port: str) -> Object:
    """Controllers serve metrics over TLS, with certificates of their own, to accounts that may read them."""
    endpoint = {
        "port": port,
        "path": "/metrics",
        "scheme": "https",
        "bearerTokenFile": _TOKEN,
        "tlsConfig": {"insecureSkipVerify": True},
    }
    return _monitor(name, namespace, labels, endpoint)
