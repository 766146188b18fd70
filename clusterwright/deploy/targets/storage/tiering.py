"""What goes where and for how long: the policy behind the files, from the tiers that the design has."""

from __future__ import annotations

from typing import Any, NamedTuple

from clusterwright.deploy.inventory import Inventory, Tier, Workload
from clusterwright.deploy.mounts import MOUNTS, PARALLEL

__all__ = ["CLIENTS", "Quota", "client", "lifecycle", "quotas", "tiers"]

_DAY = 86_400.0
_FREE = 0.2
"""Share of the parallel tier that no quota gives away: a file system that is full to the brim is slow."""
CLIENTS = {
    "lustre": ("ddn", "fsx-lustre"),
    "weka": ("weka",),
    "gpfs": ("ibm-scale",),
    "nfs": ("vast", "all-flash"),
    "daos": ("daos",),
}
"""File-system client -> first letters of the catalogue's systems that it mounts."""
_PURPOSE = {
    "parallel": "training data of running jobs, checkpoints of the last days",
    "nvme": "hot cache: data of the epoch, copies of the last checkpoints; emptied after each job",
    "block": "system volumes: images, databases, home folders of services",
    "object": "raw data, artifacts, checkpoints that are kept for good",
}


def client(tier: Tier) -> str:
    """The client that mounts a parallel tier."""
    return next((name for name, firsts in CLIENTS.items() if tier.system.startswith(firsts)), "nfs")


def tiers(inventory: Inventory) -> list[dict[str, Any]]:
    """The tiers in words and figures."""
    made = []
    for tier in inventory.tiers:
        entry: dict[str, Any] = {
            "name": tier.name,
            "kind": tier.kind,
            "system": tier.system,
            "purpose": _PURPOSE[tier.kind],
            "mount": MOUNTS[tier.kind],
            "capacity_tb": round(tier.capacity_bytes / 1e12, 1),
            "read_gb_s": round(tier.read_bytes_s / 1e9, 1),
            "write_gb_s": round(tier.write_bytes_s / 1e9, 1),
        }
        if tier.kind == "parallel":
            entry["client"] = client(tier)
            entry["fill_limit"] = 1 - _FREE
            entry["purge"] = {"path": PARALLEL, "untouched_days": 30, "except": [f"{PARALLEL}/pinned"]}
        if tier.kind == "nvme":
            entry["layout"] = "RAID 0 over the data drives, XFS, project quota"
            entry["emptied"] = "after each job"
        made.append(entry)
    return made


class Quota(NamedTuple):
    """What a tenant may fill of the parallel tier. ``project`` is its number in the file system."""

    tenant: str
    project: int
    terabytes: float


def quotas(inventory: Inventory) -> list[Quota]:
    """The parallel tier, less what stays free, by the shares of the tenants."""
    capacity = sum(tier.capacity_bytes for tier in inventory.tiers if tier.kind == "parallel") * (1 - _FREE)
    shares = sum(tenant.share for tenant in inventory.tenants)
    return [
        Quota(tenant.name, 1001 + i, round(capacity * tenant.share / shares / 1e12, 1))
        for i, tenant in enumerate(inventory.tenants)
        if capacity
    ]


def lifecycle(inventory: Inventory) -> dict[str, Any]:
    """Rules of the object tier, in the form of S3's interface.

    Checkpoints on the way expire when their run is over by a month; final ones and data that nobody reads move to a
    colder class; broken uploads and old versions go.
    """
    rules = [
        {
            "ID": "abort-broken-uploads",
            "Status": "Enabled",
            "Filter": {"Prefix": ""},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
        },
        {
            "ID": "raw-data-to-colder-class",
            "Status": "Enabled",
            "Filter": {"Prefix": "raw/"},
            "Transitions": [{"Days": 90, "StorageClass": "GLACIER_IR"}],
        },
        {
            "ID": "final-checkpoints-to-colder-class",
            "Status": "Enabled",
            "Filter": {"Prefix": "checkpoints/final/"},
            "Transitions": [{"Days": 30, "StorageClass": "GLACIER_IR"}],
        },
    ]
    rules += [_expiry(workload) for workload in inventory.workloads]
    return {"Rules": rules}


def _expiry(workload: Workload) -> dict[str, Any]:
    days = int(workload.figures["time_to_train_s"] / _DAY) + 31
    return {
        "ID": f"checkpoints-of-{workload.name}"[:255],
        "Status": "Enabled",
        "Filter": {"Prefix": f"checkpoints/{workload.name}/"},
        "Expiration": {"Days": days},
    }
