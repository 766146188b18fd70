"""Storage classes and volumes: each tier by the CSI driver of its system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Tenant
from clusterwright.deploy.targets.kubernetes.room import GIB, Object, Room, kustomization, obj, short, whole, written
from clusterwright.deploy.targets.kubernetes.secrets import external, store

__all__ = ["DRIVERS", "Driver", "claims", "classes", "driver", "files", "scratch_class", "shared_claim"]

NAMESPACE = "storage"


class Driver(NamedTuple):
    """A CSI driver.

    Attributes:
        provisioner: its name.
        parameters: of the storage class.
        secret: name of the Secret with which it reaches the system; empty when it needs none.
        static: whether it provisions nothing, so that volumes are written down.
        keys: of the secret.
    """

    provisioner: str
    parameters: dict[str, str]
    secret: str = ""
    static: bool = False
    keys: tuple[str, ...] = ()


_WEKA = {"volumeType": "dir/v1", "filesystemName": "default", "capacityEnforcement": "HARD"}
DRIVERS = {
    "ddn": Driver("exa.csi.ddn.com", {"configName": "exa"}),
    "wekapod": Driver("csi.weka.io", _WEKA, "csi-weka-api", keys=("username", "password", "organization", "endpoints")),
    "ibm-scale": Driver("spectrumscale.csi.ibm.com", {"volBackendFs": "parallel", "version": "2"}),
    "vast": Driver(
        "csi.vastdata.com",
        {"root_export": "/k8s", "vip_pool_name": "k8s", "view_policy": "k8s"},
        "vast-mgmt",
        keys=("username", "password", "endpoint"),
    ),
    "fsx-lustre": Driver("fsx.csi.aws.com", {"deploymentType": "PERSISTENT_2"}),
    "ebs": Driver("ebs.csi.aws.com", {"type": "gp3", "encrypted": "true"}),
    "s3": Driver("s3.csi.aws.com", {}, "aws-secret", static=True, keys=("key_id", "access_key")),
    "ceph-object": Driver("s3.csi.aws.com", {}, "aws-secret", static=True, keys=("key_id", "access_key")),
    "nvme": Driver("topolvm.io", {"csi.storage.k8s.io/fstype": "xfs", "topolvm.io/device-class": "nvme"}),
    "block": Driver("iscsi.csi.k8s.io", {}, static=True),
}
"""Start of the system's name, or the kind of tier -> its driver."""
MOUNTED = Driver("kubernetes.io/no-provisioner", {}, static=True)
"""A system without a CSI driver: every node mounts it, volumes are folders of the mount."""
_SECRET_STEPS = ("provisioner", "controller-publish", "controller-expand", "node-stage", "node-publish")
_LOCAL = ("nvme",)
_MOUNT = "/mnt/{}"


def driver(tier: Any) -> Driver:
    """The driver of a tier: by its system, else by its kind, else the mount that every node has."""
    for start, found in DRIVERS.items():
        if tier.system.startswith(start):
            return found
    return DRIVERS.get(tier.kind, MOUNTED)


def _written(room: Room) -> list[Any]:
    return [tier for tier in room.inventory.tiers if tier.capacity_bytes > 0 and tier.kind in KINDS]


KINDS = ("nvme", "parallel", "object")
"""Tiers that pods mount; block carries the servers' own system volumes."""


def class_name(tier: Any) -> str:
    """Name of the storage class of a tier."""
    return "local-nvme" if tier.kind == "nvme" else str(tier.kind)


def scratch_class(room: Room) -> str:
    """Storage class of node-local scratch, empty without local drives."""
    return "local-nvme" if room.tier("nvme") else ""


def files(room: Room) -> Iterator[File]:
    """``storage/``; after the charts, because its secrets are fetched by External Secrets."""
    root = f"{room.root}/storage"
    objects = classes(room)
    if objects:
        note = "A class for each storage tier that pods mount, and with which secret its driver works"
        yield written(f"{root}/classes.yaml", objects, note, f"kubectl apply -k {root}")
    yield kustomization(root, ["classes.yaml"] if objects else [])


def classes(room: Room) -> list[Object]:
    """A StorageClass for each tier that pods mount, and the secrets of their drivers."""
    made, keys = [], {}
    for tier in _written(room):
        found = driver(tier)
        parameters = dict(found.parameters)
        if found.secret:
            keys[found.secret] = found.keys
            if not found.static:
                for step in _SECRET_STEPS:
                    parameters[f"csi.storage.k8s.io/{step}-secret-name"] = found.secret
                    parameters[f"csi.storage.k8s.io/{step}-secret-namespace"] = NAMESPACE
        local = tier.kind in _LOCAL
        body: Object = {
            "provisioner": found.provisioner if not found.static else MOUNTED.provisioner,
            "reclaimPolicy": "Delete" if local else "Retain",
            "volumeBindingMode": "WaitForFirstConsumer" if local else "Immediate",
            "allowVolumeExpansion": not found.static,
        }
        if parameters and not found.static:
            body["parameters"] = parameters
        made.append(obj("storage.k8s.io/v1", "StorageClass", class_name(tier), **body))
    if keys:
        made += store(room, NAMESPACE, "storage")
        base = f"{room.inventory.name}/storage"
        made += [
            external(name, NAMESPACE, {key: (f"{base}/{name}", key) for key in parts}) for name, parts in keys.items()
        ]
    return made


def shared_claim(room: Room) -> str:
    """Name of a tenant's claim for data and checkpoints: on the parallel tier, else on the drives of a node."""
    return "parallel" if room.tier("parallel") else "scratch"


def _share(room: Room, tenant: Tenant) -> float:
    """Part of a tier that is a tenant's: its part of all GPUs that have an owner, of those at this site."""
    total = room.inventory.gpus or 1
    return room.quota(tenant) / total


def claims(room: Room, tenant: Tenant) -> Iterator[Object]:
    """Volumes and claims of a tenant: its part of every shared tier, by its part of the GPUs."""
    for tier in _written(room):
        local = tier.kind in _LOCAL
        if local and room.tier("parallel"):
            continue
        found = driver(tier)
        name = "scratch" if local else tier.kind
        size = tier.capacity_bytes * _share(room, tenant)
        if local:
            size = min(size, max((g.nvme_bytes for g in room.computing), default=0.0) * 0.9)
        request = f"{max(whole(size / GIB), 1)}Gi"
        mode = "ReadWriteOnce" if local else "ReadWriteMany"
        spec: Object = {
            "accessModes": [mode],
            "storageClassName": class_name(tier),
            "resources": {"requests": {"storage": request}},
        }
        if found.static:
            volume = short(f"{tenant.name}-{tier.kind}", 63)
            spec["volumeName"] = volume
            yield _volume(room, tenant, tier, found, volume, request)
        yield obj("v1", "PersistentVolumeClaim", name, tenant.name, spec=spec)


def _volume(room: Room, tenant: Tenant, tier: Any, found: Driver, name: str, size: str) -> Object:
    spec: Object = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": class_name(tier),
        "claimRef": {"namespace": tenant.name, "name": tier.kind},
    }
    if found is MOUNTED:
        path = f"{_MOUNT.format(tier.kind)}/{tenant.name}"
        spec["hostPath"] = {"path": path, "type": "Directory"}
    else:
        bucket = short(f"{room.inventory.name}-{tenant.name}", 63)
        options = ["allow-delete"]
        if not tier.system.startswith("s3"):
            options += [f"endpoint-url https://object.{room.site.domain}", "force-path-style"]
        spec["mountOptions"] = options
        spec["csi"] = {
            "driver": found.provisioner,
            "volumeHandle": name,
            "volumeAttributes": {"bucketName": bucket},
        }
    return obj("v1", "PersistentVolume", name, spec=spec)
