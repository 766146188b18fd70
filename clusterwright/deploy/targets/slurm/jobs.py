"""A batch script for each planned training run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Tenant, Workload
from clusterwright.deploy.targets.slurm.site import Here, lead_s
from clusterwright.deploy.targets.slurm.topology import by_block
from clusterwright.deploy.text import fill
from clusterwright.domains.scheduling import OWN, duration

__all__ = ["job_files", "owner"]


def job_files(here: Here) -> Iterator[File]:
    """One script a workload that fits the site."""
    for workload in here.inventory.workloads:
        tenant = owner(here, workload)
        if workload.gpus <= here.gpus and tenant is not None:
            text = fill("slurm/job.sbatch.j2", workload=workload, **_values(here, workload, tenant))
            yield File(f"{here.folder}/batch/{workload.name}.sbatch", text)


def owner(here: Here, workload: Workload) -> Tenant | None:
    """Whose account the script names: the smallest tenant that owns enough GPUs, else the one with most to borrow."""
    own = [t for t in here.tenants if t.quota_gpus >= workload.gpus]
    able = [t for t in here.tenants if t.limit_gpus >= workload.gpus]
    if own:
        return min(own, key=lambda t: t.quota_gpus)
    return max(able, key=lambda t: t.quota_gpus, default=None)


def _values(here: Here, workload: Workload, tenant: Tenant) -> dict[str, Any]:
    figures, group = workload.figures, here.groups[0]
    per_node = min(workload.gpus, here.node_gpus)
    minutes = min(math.ceil(figures["time_to_train_s"] / 60), here.max_time_min)
    unit = max((len(u.hosts) for u in here.units), default=workload.nodes)
    return {
        "account": tenant.name,
        "qos": f"{tenant.name}{OWN}" if workload.gpus <= tenant.quota_gpus else "borrow",
        "per_node": per_node,
        "cpus": group.threads * per_node // group.gpus,
        "whole": per_node == here.node_gpus,
        "limit": duration(max(minutes, 1)),
        "lead_s": lead_s(workload),
        "plan": workload.plan,
        "step_s": figures["step_time_s"],
        "days": figures["time_to_train_s"] / 86400,
        "checkpoint_s": round(figures["checkpoint_interval_s"]),
        "checkpoint_steps": max(1, round(figures["checkpoint_interval_s"] / figures["step_time_s"])),
        "expedite": here.dialect.expedite,
        "segment": math.gcd(workload.nodes, here.domain_nodes) if by_block(here) and here.dialect.segment else 0,
        "switches": 0 if by_block(here) or not here.units else math.ceil(workload.nodes / unit),
        "efa": here.inventory.text("fabric.technology").startswith("efa"),
        "arguments": _arguments(workload),
    }


def _arguments(workload: Workload) -> list[tuple[str, str]]:
    """Flags of the first framework that the design writes for, else those of the plan by plain names."""
    for found in workload.launch.values():
        if isinstance(found, dict) and found.get("arguments"):
            return [
                (str(name), "" if value in (None, True) else str(value)) for name, value in found["arguments"].items()
            ]
    return [(f"--{name.replace('_', '-')}", str(value)) for name, value in workload.plan.items()]
