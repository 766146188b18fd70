"""A batch script for each planned training run, and for a job that somebody submits: one template, one law."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.asked import Ask
from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Tenant, Workload
from clusterwright.deploy.targets.slurm.site import Here, lead_s
from clusterwright.deploy.targets.slurm.topology import by_block
from clusterwright.deploy.targets.slurm.versions import Dialect
from clusterwright.deploy.text import Written, fill
from clusterwright.domains.scheduling import OWN, duration

__all__ = ["COMMENT", "batch_script", "job_files", "owner", "qos_of"]

COMMENT = "clusterwright:"
"""Begins the comment of a job that may shrink: ``clusterwright:min=2,max=4``, in nodes."""


def job_files(here: Here) -> Iterator[File]:
    """One script a workload that fits the site."""
    for workload in here.inventory.workloads:
        tenant = owner(here, workload)
        if workload.gpus <= here.gpus and tenant is not None:
            yield File(f"{here.folder}/batch/{workload.name}.sbatch", batch_script(here, workload, tenant))


def owner(here: Here, workload: Workload) -> Tenant | None:
    """Whose account the script names: the smallest tenant that owns enough GPUs, else the one with most to borrow."""
    own = [t for t in here.tenants if t.quota_gpus >= workload.gpus]
    able = [t for t in here.tenants if t.limit_gpus >= workload.gpus]
    if own:
        return min(own, key=lambda t: t.quota_gpus)
    return max(able, key=lambda t: t.quota_gpus, default=None)


def qos_of(workload: Workload, tenant: Tenant) -> str:
    """The QOS: the tenant's own up to its quota, beyond it that which anybody's own jobs preempt."""
    return f"{tenant.name}{OWN}" if workload.gpus <= tenant.quota_gpus else "borrow"


def batch_script(
    here: Here, workload: Workload, tenant: Tenant, ask: Ask | None = None, dialect: Dialect | None = None
) -> Written:
    """The script of a run.

    Args:
        here: the site.
        workload: with its plan (``plan`` is empty for a program that has its own) and figures.
        tenant: that it runs for.
        ask: what a submitted job says; None for a planned run.
        dialect: of the release that will read it; that of the design when left out.
    """
    asked, spoken = ask or Ask(), dialect or here.dialect
    values = _resources(here, workload, tenant, asked, spoken) | _program(workload, asked)
    return fill("slurm/job.sbatch.j2", workload=workload, ask=asked, submitted=ask is not None, **values)


def _resources(here: Here, workload: Workload, tenant: Tenant, ask: Ask, dialect: Dialect) -> dict[str, Any]:
    group = here.groups[0]
    per_node = min(workload.gpus, here.node_gpus)
    limit_s = workload.figures["time_to_train_s"] if ask.limit_s is None else ask.limit_s
    minutes = max(min(math.ceil(limit_s / 60), here.max_time_min), 1)
    unit = max((len(u.hosts) for u in here.units), default=workload.nodes)
    return {
        "account": tenant.name,
        "qos": qos_of(workload, tenant),
        "per_node": per_node,
        "cpus": group.threads * per_node // group.gpus,
        "whole": per_node == here.node_gpus,
        "limit": duration(minutes),
        # told early enough for a checkpoint, but not before half of the time has passed
        "lead_s": min(lead_s(workload), minutes * 30),
        "comment": f"{COMMENT}min={ask.least_nodes},max={workload.nodes}" if ask.least_nodes else "",
        "expedite": dialect.expedite,
        "segment": math.gcd(workload.nodes, here.domain_nodes) if by_block(here) and dialect.segment else 0,
        "switches": 0 if by_block(here) or not here.units else math.ceil(workload.nodes / unit),
        "efa": here.inventory.text("fabric.technology").startswith("efa"),
    }


def _program(workload: Workload, ask: Ask) -> dict[str, Any]:
    figures = workload.figures
    interval = figures["checkpoint_interval_s"]
    return {
        "plan": workload.plan,
        "step_s": figures.get("step_time_s", 0.0),
        "days": figures.get("time_to_train_s", 0.0) / 86400,
        "checkpoint_s": max(1, round(interval)),
        "checkpoint_steps": max(1, round(interval / figures["step_time_s"])) if figures.get("step_time_s") else 0,
        "checkpoints": _quoted(ask.checkpoints) if ask.checkpoints else "",
        "arguments": [] if ask.command else _arguments(workload),
        "command": [_quoted(word) for word in ask.command],
        "environment": [(name, _quoted(text)) for name, text in ask.environment.items()],
    }


def _quoted(word: str) -> Written:
    """A word that the shell takes as it is; without control characters, which would break a line of the script."""
    if not word.isprintable():
        raise ValueError(f"{word!r} holds control characters")
    return Written(shlex.quote(word))


def _arguments(workload: Workload) -> list[tuple[str, str]]:
    """Flags of the first framework that the design writes for, else those of the plan by plain names."""
    for found in workload.launch.values():
        if isinstance(found, dict) and found.get("arguments"):
            return [
                (str(name), "" if value in (None, True) else str(value)) for name, value in found["arguments"].items()
            ]
    return [(f"--{name.replace('_', '-')}", str(value)) for name, value in workload.plan.items()]
