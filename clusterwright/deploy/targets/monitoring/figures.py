"""What the monitoring of one site needs to know of the design: traits that choose queries, figures for thresholds."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clusterwright.deploy.inventory import Host, Inventory, Site

__all__ = ["XID_WINDOW_S", "Place", "place", "table"]

IDLE_MEMORY_MIB = 256
"""Below it no process holds a context: the driver's own share of an idle GPU is a few MiB, a context takes more."""
XID_WINDOW_S = 300
"""Window of ``DCGM_EXP_XID_ERRORS_COUNT``."""
BIT_ERROR_RATE = 1e-12
"""Of a link, the most that the InfiniBand specification allows."""
_PARALLEL = {
    "ddn": "lustre",
    "fsx": "lustre",
    "ibm": "gpfs",
    "vast": "nfs",
}
"""Kind of file system by the first word of the storage system's name; others are measured by their mount only."""
_VENDORS = {"NVIDIA": "nvidia", "AMD": "amd"}
_DAY_S = 86_400.0


@dataclass(frozen=True, eq=False)
class Place:
    """A site as monitoring sees it.

    Attributes:
        servers: hosts of Prometheus, in pairs; the first pair also works out what concerns the whole site.
        pairs: how many pairs share the site's nodes.
        traits: keys of the queries that hold here; see :mod:`clusterwright.traces`.
        figures: figures of the design by the names that queries use.
        gpu_groups: GPUs of a node by group.
        sizes: classes of jobs by GPUs: name -> at most.
    """

    inventory: Inventory
    site: Site
    servers: tuple[str, ...]
    pairs: int
    traits: frozenset[str]
    figures: Mapping[str, float]
    gpu_groups: Mapping[str, int]
    sizes: Mapping[str, float]

    def hosts(self, component: str) -> list[Host]:
        """Hosts of the site that run a component of the design."""
        named = set(self.site.services.get(component, ()))
        return [host for host in self.inventory.hosts if host.site == self.site.name and host.name in named]


@cache
def table(name: str) -> Sequence[Mapping[str, str]]:
    """A table of ``data/`` by the file's name."""
    text = files("clusterwright.deploy.targets.monitoring").joinpath("data", name).read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def place(inventory: Inventory, site: Site) -> Place:
    """Look a site up in the design."""
    servers = site.services.get("Prometheus", ())
    compute = inventory.compute(site)
    groups = {group.name: group for group in inventory.groups if group.site == site.name and group.gpus}
    node_gpus = max((group.gpus for group in groups.values()), default=0)
    unit = max((len(one.hosts) for one in inventory.units if one.site == site.name), default=1)
    gpus = sum(host.gpus for host in compute if host.role == "compute")
    return Place(
        inventory,
        site,
        servers,
        max(len(servers) // 2, 1),
        frozenset(_traits(inventory, {group.gpu_vendor for group in groups.values()})),
        _figures(inventory, site, gpus, len(compute)),
        {group.name: group.gpus for group in groups.values()},
        {"part": node_gpus - 1, "node": node_gpus, "unit": unit * node_gpus, "larger": math.inf},
    )


def _traits(inventory: Inventory, vendors: set[str]) -> list[str]:
    technology = inventory.text("fabric.technology")
    system = next((tier.system for tier in inventory.tiers if tier.kind == "parallel"), "")
    made = [
        "kubernetes" if inventory.scheduler == "kubernetes" else "slurm",
        *(_VENDORS[vendor] for vendor in sorted(vendors & _VENDORS.keys())),
        "rdma" if technology.startswith("infiniband") or "roce" in technology else "ethernet",
    ]
    if not inventory.provider:  # a provider lets nobody ask its switches
        made.append("infiniband" if technology.startswith("infiniband") else "snmp")
    if system:
        made += ["parallel", _PARALLEL.get(system.split("-")[0], "posix")]
    if inventory.workloads:
        made.append("training")
    return made


def _figures(inventory: Inventory, site: Site, gpus: int, nodes: int) -> dict[str, float]:
    at = f"sites[{[one.name for one in inventory.sites].index(site.name)}]."
    frame = inventory.cluster.frame

    def either(*paths: str) -> float:
        return next((inventory.value(path) for path in paths if path in frame), 0.0)

    link = inventory.value("fabric.link_bandwidth_bytes_s")
    spares = sum(host.role == "spare" for host in inventory.compute(site))
    daily = frame.estimate("reliability.failure_rate_per_s").high * nodes * _DAY_S
    highest = frame.estimate(f"{at}meter_power_w").high
    return {
        "idle_memory_mib": IDLE_MEMORY_MIB,
        "gpus": gpus,
        "nodes": nodes,
        "spares": spares,
        "link_bytes_s": link,
        "symbol_errors_per_hour": link * 8 * 3600 * BIT_ERROR_RATE,
        "storage_read_bytes_s": either(f"{at}storage.parallel.read_bytes_s", "storage.parallel.read_bytes_s"),
        "storage_write_bytes_s": either(f"{at}storage.parallel.write_bytes_s", "storage.parallel.write_bytes_s"),
        "network_and_storage_w": either(f"{at}network_power_w") + either(f"{at}storage_power_w"),
        "pue": site.pue,
        "power_limit_w": either(f"{at}limit.power_w", "facility.limit.power_w") or highest,
        "power_design_w": highest,
        "rack_power_w": either(f"{at}limit.rack_power_w") or frame.estimate(f"{at}rack_power_w").high,
        "node_failures_per_day": daily + 3 * math.sqrt(daily),
        "gpu_hour_usd": inventory.value("cost.usd_per_gpu_h"),
        "gpu_hour_budget_usd": frame.estimate("cost.used_usd_per_gpu_h").high,
        "held_series": inventory.value("scheduling.held_series"),
        **_training(inventory),
    }


def _training(inventory: Inventory) -> dict[str, float]:
    """MFU of the longest planned run: as predicted at least, and on few GPUs (the reference of scaling)."""
    if not inventory.workloads:
        return {}
    runs = range(len(inventory.workloads))
    j = max(runs, key=lambda k: inventory.workloads[k].figures["time_to_train_s"])
    mfu = inventory.cluster.frame.estimate(f"training[{j}].mfu")
    scaling = inventory.workloads[j].figures["scaling_efficiency"]
    return {"mfu_low": mfu.low, "reference_mfu": mfu.value / scaling, "run_gpus": inventory.workloads[j].gpus}
