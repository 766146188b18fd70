"""``terraform.tfvars.json``: what the design decides, and the instance types of AWS that stand for its servers."""

from __future__ import annotations

import ipaddress
import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.inventory import Group, Inventory, Site, Tier
from clusterwright.errors import InputError

__all__ = ["THROUGHPUTS", "instance", "table", "values"]

THROUGHPUTS = (125, 250, 500, 1000)
"""MB/s per TiB that FSx for Lustre sells on SSD (PERSISTENT_2)."""
_STEP_GIB = 2400
_GIB, _TIB = 1 << 30, 1 << 40
_HOSTS = {"login": "m7i.8xlarge", "scheduler": "m7i.16xlarge"}
_OTHER = "m7i.8xlarge"
_REGIONS = {
    "us-east": "us-east-1",
    "us-virginia": "us-east-1",
    "us-ohio": "us-east-2",
    "us-oregon": "us-west-2",
    "us-california": "us-west-1",
    "canada": "ca-central-1",
    "eu-central": "eu-central-1",
    "eu-west": "eu-west-1",
    "eu-north": "eu-north-1",
    "france": "eu-west-3",
    "spain": "eu-south-2",
    "switzerland": "eu-central-2",
    "uk": "eu-west-2",
    "india-mumbai": "ap-south-1",
    "singapore": "ap-southeast-1",
    "malaysia": "ap-southeast-5",
    "japan": "ap-northeast-1",
    "korea": "ap-northeast-2",
    "uae": "me-central-1",
    "australia": "ap-southeast-2",
    "brazil": "sa-east-1",
}
"""Region of the catalogue -> region of AWS; of another the operator says which (TF_VAR_region)."""
_MONTHS = 12.0
_INFREQUENT_DAYS, _ARCHIVE_DAYS = 30, 90
Values = dict[str, Any]


@cache
def table(name: str) -> Any:
    """A table of ``data/``."""
    text = files("clusterwright.deploy.targets.terraform").joinpath("data", f"{name}.json").read_text("utf-8")
    return json.loads(text)


def instance(group: Group) -> Mapping[str, Any] | None:
    """The instance type of the group's servers; None where AWS rents none with their accelerators."""
    found = table("instances").get(group.accelerator)
    if found is None or found["gpus"] != group.gpus:
        return None
    return {**found, "type": group.server.removeprefix("aws-"), "efa": group.nics} if group.provider == "aws" else found


def values(inventory: Inventory, site: Site) -> Values:
    """Variables of a site.

    Raises:
        InputError: AWS rents no such server, the design is not of AWS's, or the site is larger than a network of AWS.
    """
    name = inventory.name if len(inventory.sites) == 1 else f"{inventory.name}-{site.name}"
    held = [tenant.name for tenant in inventory.tenants]
    groups = {group.name: _group(inventory, group) for group in inventory.groups if group.site == site.name}
    if inventory.provider != "aws":
        server = next(group for group in inventory.groups if group.gpus)
        types = " or ".join(f"aws-{found['type']}" for found in [instance(server)] if found)
        said = f"the design stands on {server.server} and {inventory.text('fabric.technology')}, AWS has EFA"
        hint = f"write compute.server: {types} and finance.procurement: [rent], and leave fabric.technology out"
        raise InputError(FINDINGS["DEPLOY-DESIGN"].at("compute.server", said, hint))
    return {
        "name": name[:40].rstrip("-"),
        **({"region": _REGIONS[site.region]} if site.region in _REGIONS else {}),
        "domain": site.domain,
        "groups": groups,
        "networks": _networks(site),
        "lustre": _lustre(next((tier for tier in inventory.tiers if tier.kind == "parallel"), None), inventory),
        "lifecycle_rules": _life(inventory),
        "budget": {"monthly_usd": _monthly(inventory), "contact": inventory.settings.contact},
        "tags": {"Cluster": name, "Site": site.name, "CostCentre": name, "Tenants": "/".join(held)[:256]},
    }


def _group(inventory: Inventory, group: Group) -> Values:
    found = instance(group) if group.gpus else None
    if group.gpus and found is None:
        said = f"AWS rents no instance with {group.gpus} x {group.accelerator}"
        hint = f"take one of {', '.join(table('instances'))}, or leave the target terraform out"
        raise InputError(FINDINGS["DEPLOY-DESIGN"].at("compute.accelerator", said, hint))
    system = math.ceil(inventory.value("storage.system_volume_bytes") / _GIB)
    return {
        "role": group.role,
        "count": group.count,
        "first": group.first,
        "gpus": group.gpus,
        "instance_type": found["type"] if found else _HOSTS.get(group.role, _OTHER),
        "efa_interfaces": found["efa"] if found else 0,
        "first_efa_card": found["first"] if found else 0,
        "reserved": bool(group.gpus) and inventory.text("cost.procurement") == "reserved",
        "root_volume_gib": max(100, min(system, 16384)),
        "root_volume_iops": 6000,
        "root_volume_mib_s": 500,
    }


def _networks(site: Site) -> Values:
    hosts = ipaddress.IPv4Network(site.networks["management"].block)
    if hosts.prefixlen < 16:
        said = f"{hosts} is larger than a network of AWS, which has at most 65,536 addresses"
        raise InputError(FINDINGS["DEPLOY-DESIGN"].at(f"sites ({site.name})", said, "split the site"))
    whole = hosts.supernet(new_prefix=16)
    others = {
        name: ipaddress.IPv4Network(site.networks[key].block)
        for name, key in (("storage", "storage"), ("public", "bmc"))
    }
    return {
        "vpc": str(whole),
        "secondary": [str(block) for block in others.values() if not block.subnet_of(whole)],
        "hosts": str(hosts),
        **{name: str(block) for name, block in others.items()},
    }


def _lustre(tier: Tier | None, inventory: Inventory) -> Values | None:
    """The least that holds the tier's capacity and reads as fast as the design needs."""
    if tier is None:
        return None
    needed_mb = inventory.value("storage.parallel.wanted_read_bytes_s") / 1e6
    capacity = inventory.value("storage.parallel.wanted_bytes") / _GIB
    steps = max(1, math.ceil(capacity / _STEP_GIB))
    for throughput in THROUGHPUTS:
        if steps * _STEP_GIB / 1024 * throughput >= needed_mb:
            return {"capacity_gib": steps * _STEP_GIB, "throughput_mb_s_per_tib": throughput}
    steps = math.ceil(needed_mb / THROUGHPUTS[-1] * 1024 / _STEP_GIB)
    return {"capacity_gib": steps * _STEP_GIB, "throughput_mb_s_per_tib": THROUGHPUTS[-1]}


def _life(inventory: Inventory) -> list[Values]:
    """Datasets become colder, checkpoints end when they are older than those that are kept."""
    interval = max((load.figures.get("checkpoint_interval_s", 0.0) for load in inventory.workloads), default=0.0)
    run = max((load.figures.get("time_to_train_s", 0.0) for load in inventory.workloads), default=0.0)
    kept = inventory.value("storage.checkpoints_kept")
    # The last ones of a run are kept over its end for as long again; never less than the fortnight of a holiday.
    days = max(14, math.ceil((kept * interval + run) / 86400))
    cold = [
        {"days": _INFREQUENT_DAYS, "storage_class": "STANDARD_IA"},
        {"days": _ARCHIVE_DAYS, "storage_class": "GLACIER_IR"},
    ]
    common = {"noncurrent_days": 7, "abort_upload_days": 3}
    return [
        {"id": "datasets", "prefix": "datasets/", "transitions": cold, "expire_days": 0, **common},
        {"id": "checkpoints", "prefix": "checkpoints/", "transitions": [], "expire_days": days, **common},
        {"id": "results", "prefix": "results/", "transitions": cold, "expire_days": 0, **common},
    ]


def _monthly(inventory: Inventory) -> int:
    """Rent of a month in US dollars: accelerators (spares, too) and storage, by the design's prices."""
    kind = "gpu_reserved" if inventory.text("cost.procurement") == "reserved" else "gpu_rent"
    year = inventory.value(f"cost.lines.{kind}_usd_per_year") + inventory.value("cost.lines.cloud_storage_usd_per_year")
    return math.ceil(year / _MONTHS)
