"""What one Slurm cluster needs of the inventory: the hosts of one site, its share of quotas, its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from clusterwright.deploy.inventory import Group, Host, Inventory, Site, Switch, Tenant, Unit, Workload
from clusterwright.deploy.targets.slurm.versions import Dialect

__all__ = ["CONF", "OPERATIONS", "STATE", "Here", "lead_s", "share_of"]

CONF = "/etc/slurm"
"""Folder of the files on every host."""
STATE = "/srv/slurm/state"
"""State of the controllers: a file system that both controllers mount."""
OPERATIONS = "operations"
"""Account of those who run the cluster."""
_MIB = 2**20
_FOR_THE_SYSTEM = 0.03
"""Part of the memory that firmware and kernel take, so that no node registers less than is written."""
_SYSTEM_MIB_PER_GPU = 4096


@dataclass(frozen=True)
class Here:
    """One site, seen by Slurm."""

    inventory: Inventory
    site: Site

    @property
    def folder(self) -> str:
        """Of its files in the bundle."""
        return f"slurm/{self.site.name}"

    @property
    def cluster(self) -> str:
        """ClusterName: the design's, with the site's where there are several."""
        name = self.inventory.name
        return name if len(self.inventory.sites) == 1 else f"{name}-{self.site.name}"

    @cached_property
    def dialect(self) -> Dialect:
        """Of the release."""
        return Dialect(self.inventory.settings.slurm)

    @cached_property
    def groups(self) -> list[Group]:
        """Groups whose hosts run jobs, spares last."""
        here = [g for g in self.inventory.groups if g.site == self.site.name and g.role in ("compute", "spare")]
        return sorted((g for g in here if g.count), key=lambda g: g.role == "spare")

    @cached_property
    def hosts(self) -> list[Host]:
        """Hosts that run jobs."""
        return [
            host for host in self.inventory.hosts if host.site == self.site.name and host.role in ("compute", "spare")
        ]

    def named(self, *roles: str) -> list[str]:
        """Names of the hosts that have one of the roles."""
        return [host.name for host in self.hosts if host.role in roles]

    def serving(self, component: str, otherwise: int) -> list[Host]:
        """Hosts that run a component; the first hosts beside compute where the design places none."""
        by_name = {host.name: host for host in self.inventory.hosts if host.site == self.site.name}
        found = [by_name[name] for name in self.site.services.get(component, ()) if name in by_name]
        beside = [host for host in by_name.values() if host.role not in ("compute", "spare")]
        return found or (beside or list(by_name.values()))[:otherwise]

    @property
    def controllers(self) -> list[Host]:
        """Control hosts, the primary first."""
        return self.serving("slurmctld", 1)

    @property
    def databases(self) -> list[Host]:
        """Hosts of slurmdbd, the primary first."""
        return self.serving("slurmdbd and MariaDB", 1)

    @cached_property
    def gpus(self) -> int:
        """GPUs of the site, spares left out."""
        return sum(host.gpus for host in self.hosts if host.role == "compute")

    @property
    def nodes(self) -> int:
        """Nodes of the site, spares left out."""
        return sum(group.count for group in self.groups if group.role == "compute")

    @property
    def spares(self) -> int:
        """Spare nodes."""
        return sum(group.count for group in self.groups if group.role == "spare")

    @cached_property
    def node_gpus(self) -> int:
        """GPUs of a node, the most where groups differ."""
        return max(group.gpus for group in self.groups)

    @cached_property
    def units(self) -> list[Unit]:
        """Scalable units."""
        return [unit for unit in self.inventory.units if unit.site == self.site.name]

    @cached_property
    def domain_nodes(self) -> int:
        """Nodes that share one NVLink domain; 1 for servers whose domain ends at their case."""
        return max(1, int(self.inventory.value("accelerator.scaleup_domain")) // self.node_gpus)

    @property
    def domains(self) -> list[tuple[str, tuple[str, ...]]]:
        """NVLink domains of more than one node, name and hosts each, in the order of the hosts."""
        if self.domain_nodes == 1:
            return []
        made = []
        for _, members in groupby(self.hosts, key=lambda host: host.group):
            names = [host.name for host in members]
            made += [tuple(names[i : i + self.domain_nodes]) for i in range(0, len(names), self.domain_nodes)]
        return [(f"{self.site.key}-nvl{j + 1:03d}", hosts) for j, hosts in enumerate(made)]

    @cached_property
    def leaves(self) -> dict[str, Switch]:
        """Switches by name."""
        return {switch.name: switch for switch in self.inventory.switches if switch.site == self.site.name}

    @cached_property
    def tenants(self) -> list[Tenant]:
        """Tenants with this site's part of quota and limit, in proportion to its GPUs, nothing lost to rounding."""
        sites = [Here(self.inventory, site) for site in self.inventory.sites]
        sizes = [here.gpus for here in sites]
        place = [here.site.name for here in sites].index(self.site.name)
        return [
            tenant._replace(
                quota_gpus=share_of(tenant.quota_gpus, sizes)[place],
                limit_gpus=share_of(tenant.limit_gpus, sizes)[place],
            )
            for tenant in self.inventory.tenants
        ]

    def addresses(self, hosts: Sequence[Host]) -> str:
        """Management addresses as a host list: ``10.0.1.[0-127],10.0.2.7``."""
        runs: list[tuple[str, int, int]] = []
        for host in hosts:
            block, _, last = self.inventory.address(host).rpartition(".")
            if runs and runs[-1][0] == block and runs[-1][2] + 1 == int(last):
                runs[-1] = (block, runs[-1][1], int(last))
            else:
                runs.append((block, int(last), int(last)))
        return ",".join(f"{block}.{a}" if a == b else f"{block}.[{a}-{b}]" for block, a, b in runs)

    @property
    def max_time_min(self) -> int:
        """Longest job: whole days in which a restart costs at most a hundredth, at most a week.

        A job that reaches it writes a checkpoint, is requeued and goes on; the cost of that is the checkpoint and the
        restart of the slowest planned workload.
        """
        costs = [w.figures["restart_overhead_s"] + w.figures["checkpoint_write_s"] for w in self.inventory.workloads]
        return 1440 * min(max(math.ceil(100 * max(costs, default=0.0) / 86400), 1), 7)

    @property
    def grace_s(self) -> int:
        """Seconds that a preempted or ending job has for its last checkpoint: the slowest planned one, twice."""
        return max((lead_s(w) for w in self.inventory.workloads), default=120)


def share_of(whole: int, sizes: Sequence[int]) -> list[int]:
    """A number split in proportion to sizes, largest remainder first."""
    total = sum(sizes) or 1
    parts = [whole * size // total for size in sizes]
    order = sorted(range(len(sizes)), key=lambda i: (-(whole * sizes[i] % total), i))
    for i in order[: whole - sum(parts)]:
        parts[i] += 1
    return parts


def lead_s(workload: Workload) -> int:
    """Seconds before its end at which a job is told: a step, then a checkpoint that takes twice its predicted time."""
    figures = workload.figures
    return 60 * max(2, math.ceil((figures["step_time_s"] + 2 * figures["checkpoint_write_s"]) / 60))


def real_memory_mib(group: Group) -> int:
    """Memory that a node registers at least."""
    return int(group.memory_bytes * (1 - _FOR_THE_SYSTEM)) // _MIB


def system_memory_mib(group: Group) -> int:
    """Memory of a node that jobs do not get: caches of the file-system client, daemons, 4 GiB for each GPU."""
    return min(_SYSTEM_MIB_PER_GPU * max(group.gpus, 1), real_memory_mib(group) // 16)
