"""What the files say of nodes, tenants and services, read back for the cross-check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.deploy.bundle import Fact, Folder
from clusterwright.deploy.targets.kubernetes.check_quotas import policies, rows
from clusterwright.deploy.targets.kubernetes.check_values import kueue_configuration
from clusterwright.deploy.targets.kubernetes.reading import Reading

__all__ = ["facts"]


def facts(folder: Folder) -> Iterator[Fact]:
    """Nodes of the node lists, tenants of the queues, ports of the services."""
    reading = Reading.of(folder)
    for site in reading.sites:
        yield from _nodes(reading, site)
        for kind, found in (("helm", _helm), ("kubeadm", _kubeadm)):
            for path in folder.glob(f"kubernetes/{site}/{kind}/*.yaml"):
                yield from found(reading, path)
        yield from _objects(reading, site)
    yield from _tenants(reading)


def _nodes(reading: Reading, site: str) -> Iterator[Fact]:
    path = f"kubernetes/{site}/nodes/nodes.csv"
    for row in rows(reading, site):
        if not {"node", "group", "rack", "block", "gpus"} <= set(row):
            return
        yield Fact("node.group", row["node"], row["group"], path)
        yield Fact("node.rack", row["node"], row["rack"], path)
        if row["gpus"].isdigit() and int(row["gpus"]):
            yield Fact("node.gpus", row["node"], int(row["gpus"]), path)
            if row["block"]:
                yield Fact("node.unit", row["node"], row["block"], path)


def _tenants(reading: Reading) -> Iterator[Fact]:
    """Quotas and limits of all sites together are the tenant's; shares are the same at each."""
    known = policies(reading)
    if set(known) != set(reading.sites):
        return
    path = f"kubernetes/{reading.sites[0]}/queues/policy.yaml" if reading.sites else ""
    quota: dict[str, int] = {}
    limit: dict[str, int] = {}
    for site, policy in known.items():
        for queue in policy.queues:
            quota[queue.name] = quota.get(queue.name, 0) + sum(queue.quota.values())
            limit[queue.name] = limit.get(queue.name, 0) + sum(queue.limit.values())
            yield Fact("tenant.share", queue.name, queue.weight, f"kubernetes/{site}/queues/policy.yaml")
    yield from (Fact("tenant.quota", name, many, path) for name, many in quota.items())
    yield from (Fact("tenant.limit", name, many, path) for name, many in limit.items())


def _port(text: object) -> int:
    found = re.search(r":(\d+)/?$", str(text))
    return int(found.group(1)) if found else 0


def _helm(reading: Reading, path: str) -> Iterator[Fact]:
    values = reading.first(path)
    if path.endswith("/kueue.yaml"):
        bound = (kueue_configuration(values).get("metrics") or {}).get("bindAddress")
        yield Fact("service.port", "kueue-metrics", _port(bound), path)
    if path.endswith("/gpu-operator.yaml"):
        for entry in (values.get("dcgmExporter") or {}).get("env") or []:
            if entry.get("name") == "DCGM_EXPORTER_LISTEN":
                yield Fact("service.port", "dcgm-exporter", _port(entry.get("value")), path)
    if path.endswith("/amd-gpu-operator.yaml"):
        spec = (values.get("deviceConfig") or {}).get("spec") or {}
        yield Fact("service.port", "dcgm-exporter", (spec.get("metricsExporter") or {}).get("port"), path)


def _kubeadm(reading: Reading, path: str) -> Iterator[Fact]:
    for held in reading.documents.get(path, []):
        kind = held.get("kind") if isinstance(held, Mapping) else ""
        if kind == "ClusterConfiguration":
            yield Fact("service.port", "kubernetes-api", _port(held.get("controlPlaneEndpoint")), path)
        if kind == "KubeletConfiguration":
            yield Fact("service.port", "kubelet", held.get("port"), path)


def _objects(reading: Reading, site: str) -> Iterator[Fact]:
    for one in reading.built[site]:
        if one.kind == "SecretStore":
            yield Fact("service.port", "vault", _port(_server(one.spec)), one.file)
        if one.kind == "NetworkPolicy" and one.name in ("dns", "registry"):
            ports = {port.get("port") for rule in one.spec.get("egress") or [] for port in rule.get("ports") or []}
            value = ports.pop() if len(ports) == 1 else sorted(map(str, ports))
            yield Fact("service.port", one.name, value, one.file)


def _server(spec: Mapping[str, Any]) -> object:
    return ((spec.get("provider") or {}).get("vault") or {}).get("server", "")
