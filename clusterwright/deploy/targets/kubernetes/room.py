"""What every file of a site is written from: the inventory, its release, its scheduling policy, and the names used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.inventory import Group, Inventory, Site, Tenant
from clusterwright.deploy.targets.kubernetes.releases import RELEASES, Release
from clusterwright.deploy.text import as_yaml
from clusterwright.domains.scheduling import Flavor, Policy, Queue, parts
from clusterwright.errors import InputError

__all__ = ["ADD_ONS", "RESERVED", "Object", "Room", "kustomization", "obj", "rooms", "short", "whole", "written"]

Object = dict[str, Any]
RESOURCES = {
    "NVIDIA": "nvidia.com/gpu",
    "AMD": "amd.com/gpu",
    "Intel": "habana.ai/gaudi",
    "Google": "google.com/tpu",
    "AWS": "aws.amazon.com/neuron",
}
"""Vendor -> the extended resource that its device plugin counts."""
RESERVED = {"cpu": 4, "memory_gib": 16}
"""Of a GPU node for the operating system and the kubelet; ``systemReserved`` of the kubelet."""
ADD_ONS = {"cpu": 4, "memory_gib": 18}
"""Of a GPU node for pods that run on every node (exporter, device plugins, CSI, network) and the eviction margin."""
GIB = 2**30
TAKEN = ("default", "kube-system", "kube-public", "kube-node-lease", "argocd")
SYSTEM = {
    "dra-driver-nvidia-gpu": "privileged",
    "external-secrets": "restricted",
    "gpu-operator": "privileged",
    "jobset-system": "restricted",
    "kueue-system": "privileged",
    "monitoring": "baseline",
    "network-operator": "privileged",
    "storage": "privileged",
}
"""Namespace of the platform -> level of Pod Security; drivers and what uses the network of hosts need privileged."""


def obj(api: str, kind: str, name: str, namespace: str = "", /, **body: Any) -> Object:
    """An object; ``labels`` and ``annotations`` of the body go into its metadata."""
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for key in ("labels", "annotations"):
        if body.get(key):
            metadata[key] = body[key]
        body.pop(key, None)
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **body}


def short(name: str, longest: int) -> str:
    """A name that is no longer, the same for the same name and different for different ones."""
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{name[: longest - 7].rstrip('-')}-{digest}"


def whole(number: float) -> int:
    """The whole part, forgiving the last bit of a float."""
    return int(number + 1e-6)


def written(path: str, objects: Iterable[Object], note: str, after: str = "") -> File:
    """A file of objects with the head line that every file has."""
    head = f"{note}. Rendered by clusterwright from a design; change the design, not this file."
    return File(path, as_yaml(*objects, comment=head), after=after)


def kustomization(path: str, resources: Iterable[str], **more: Any) -> File:
    """``kustomization.yaml`` of a folder; ``kind="Component"`` makes a component."""
    kind = more.pop("kind", "Kustomization")
    version = "v1alpha1" if kind == "Component" else "v1beta1"
    listed = list(resources)
    body: Object = {"apiVersion": f"kustomize.config.k8s.io/{version}", "kind": kind, **more}
    if listed:
        body["resources"] = listed
    return written(f"{path}/kustomization.yaml", [body], "What belongs to this folder")


@dataclass(frozen=True)
class Room:
    """A site, which is one Kubernetes cluster.

    Attributes:
        policy: scheduling of the site; quotas of all sites together are the tenants' quotas.
        resource: the extended resource of its GPUs.
        transport: infiniband, roce, efa, other, or empty where the design needs no compute network.
    """

    inventory: Inventory
    site: Site
    release: Release
    policy: Policy
    resource: str
    transport: str

    @property
    def root(self) -> str:
        """Folder of the site."""
        return f"kubernetes/{self.site.name}"

    @property
    def domain(self) -> str:
        """Prefix of our own labels."""
        return self.inventory.settings.domain

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups with GPUs, spares included."""
        return tuple(g for g in self.inventory.groups if g.site == self.site.name and g.gpus)

    @property
    def computing(self) -> tuple[Group, ...]:
        """Groups with GPUs that were asked for."""
        return tuple(g for g in self.groups if g.role == "compute")

    @property
    def vendor(self) -> str:
        """Of the GPUs."""
        return self.groups[0].gpu_vendor if self.groups else ""

    @property
    def gpus(self) -> int:
        """Of the site, spares left out."""
        return sum(flavor.gpus for flavor in self.policy.flavors)

    @property
    def first(self) -> bool:
        """Whether it is the site that manages the others."""
        return self.site == self.inventory.sites[0]

    def quota(self, tenant: Tenant) -> int:
        """GPUs of a tenant at this site."""
        return sum(next(q for q in self.policy.queues if q.name == tenant.name).quota.values())

    def limit(self, tenant: Tenant) -> int:
        """GPUs of a tenant at this site at most."""
        return sum(next(q for q in self.policy.queues if q.name == tenant.name).limit.values())

    def addresses(self, service: str, network: str = "management") -> list[str]:
        """Addresses of the hosts that run a component of the design."""
        named = self.site.services.get(service, ())
        return [self.inventory.address(h, network) for h in self.inventory.at(self.site) if h.name in named]

    def tier(self, kind: str) -> Any:
        """The storage tier of a kind, or None."""
        return next((t for t in self.inventory.tiers if t.kind == kind and t.capacity_bytes > 0), None)

    def mirrored(self, repository: str) -> str:
        """A public repository as the registry of the cluster mirrors it."""
        return f"{self.inventory.settings.registry}/{repository}"


def per_gpu(group: Group) -> tuple[int, int]:
    """CPUs and GiB of memory that a GPU brings to a pod: what the node has less what the system and add-ons take."""
    cpu = group.threads - RESERVED["cpu"] - ADD_ONS["cpu"]
    memory = int(group.memory_bytes / GIB) - RESERVED["memory_gib"] - ADD_ONS["memory_gib"]
    return max(cpu // group.gpus, 1), max(memory // group.gpus, 1)


def rooms(inventory: Inventory) -> list[Room]:
    """One room a site.

    Raises:
        InputError: a tenant has the name of a namespace of the platform.
    """
    wrong = [tenant for tenant in inventory.tenants if tenant.name in (*TAKEN, *SYSTEM)]
    if wrong:
        hint = "rename the tenant; its name becomes a namespace"
        said = "the tenant '{}' has the name of a namespace of the platform"
        raise InputError([FINDINGS["DEPLOY-NAME"].at("tenants", said.format(t.title), hint) for t in wrong])
    sizes = {site.name: _gpus(inventory, site.name) for site in inventory.sites}
    quotas = _dealt({t.name: t.quota_gpus for t in inventory.tenants}, sizes)
    limits = {t.name: parts(t.limit_gpus, sizes) for t in inventory.tenants}
    made = []
    for site in inventory.sites:
        policy = _policy(inventory, site, quotas[site.name], {name: limits[name][site.name] for name in limits})
        vendor = next((g.gpu_vendor for g in inventory.groups if g.site == site.name and g.gpus), "NVIDIA")
        made.append(
            Room(
                inventory=inventory,
                site=site,
                release=RELEASES[inventory.settings.kubernetes],
                policy=policy,
                resource=RESOURCES[vendor],
                transport=_transport(inventory, site),
            )
        )
    return made


def _gpus(inventory: Inventory, site: str) -> int:
    return sum(g.gpus * g.count for g in inventory.groups if g.site == site and g.role == "compute")


def _dealt(quotas: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Site -> tenant -> GPUs, so that tenants get their quotas and no site is promised twice.

    Site after site takes its part of what each tenant has left, largest remainder first; the last takes the rest.
    What no tenant owns is dealt along, under the empty name.
    """
    left = {**quotas, "": max(sum(sizes.values()) - sum(quotas.values()), 0)}
    made = {}
    for site, size in sizes.items():
        made[site] = parts(size, left)
        left = {name: many - made[site][name] for name, many in left.items()}
    return made


def _transport(inventory: Inventory, site: Site) -> str:
    if not inventory.provider and not any(unit.site == site.name for unit in inventory.units):
        return ""
    technology = inventory.text("fabric.technology")
    if technology.startswith("infiniband"):
        return "infiniband"
    if technology.endswith("roce"):
        return "roce"
    return "efa" if technology.startswith("efa") else "other"


def _policy(inventory: Inventory, site: Site, quotas: Mapping[str, int], limits: Mapping[str, int]) -> Policy:
    domain = inventory.settings.domain
    flavors = []
    for group in (g for g in inventory.groups if g.site == site.name and g.role == "compute" and g.gpus):
        labels = {f"{domain}/accelerator": group.gpu_type, f"{domain}/role": "compute"}
        flavors.append(Flavor(group.gpu_type, labels, group.gpus * group.count, *per_gpu(group)))
    sizes = {flavor.name: flavor.gpus for flavor in flavors}
    by_flavor = _dealt({name: many for name, many in quotas.items() if name}, sizes)
    queues = [
        Queue(
            name=tenant.name,
            quota={flavor: by_flavor[flavor].get(tenant.name, 0) for flavor in sizes},
            limit=parts(limits[tenant.name], sizes),
            weight=tenant.share,
            priority=tenant.priority,
        )
        for tenant in inventory.tenants
    ]
    vendor = next((g.gpu_vendor for g in inventory.groups if g.site == site.name and g.gpus), "NVIDIA")
    blocks = [f"topology.{domain}/block"] if any(unit.site == site.name for unit in inventory.units) else []
    return Policy(
        cohort=inventory.name,
        resource=RESOURCES[vendor],
        flavors=tuple(flavors),
        queues=tuple(queues),
        levels=(*blocks, f"topology.{domain}/rack", "kubernetes.io/hostname"),
        shared={flavor: by_flavor[flavor].get("", 0) for flavor in sizes},
        taints=(RESOURCES[vendor],),
    )
