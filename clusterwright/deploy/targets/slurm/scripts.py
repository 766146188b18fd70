"""Scripts that slurmd runs, what they expect of a node, and the rules for submitted jobs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Group
from clusterwright.deploy.targets.slurm.policy import policy_of
from clusterwright.deploy.targets.slurm.site import CONF, OPERATIONS, Here, real_memory_mib
from clusterwright.deploy.text import fill
from clusterwright.domains.scheduling import OWN

__all__ = ["SCRIPTS", "script_files"]

SCRIPTS = ("checks", "prolog", "epilog", "health_check")
_DISK_PERCENT = 90
_GOOD_ROUNDS = 3
_XID_SINCE = "1 day ago"
_XID_REPEATS = 3
_MOUNT = "/mnt/{}"


def script_files(here: Here) -> Iterator[File]:
    """Prolog, epilog, health program, their data, and job_submit.lua."""
    for name in SCRIPTS:
        yield File(f"{here.folder}/scripts/{name}.sh", fill(f"slurm/{name}.sh.j2", here=here, conf=CONF), True)
    conf = fill(
        "slurm/health.conf.j2",
        here=here,
        conf=CONF,
        most=max(1, here.spares),
        lines=_settings(here),
        groups=[_expected(group) for group in here.groups],
    )
    yield File(f"{here.folder}/health.conf", conf)
    if any(group.gpu_vendor == "NVIDIA" for group in here.groups):
        table = files("clusterwright.deploy.targets.slurm").joinpath("data", "xid_actions.csv").read_text("utf-8")
        yield File(f"{here.folder}/xid_actions.csv", table)
        yield File(f"{here.folder}/xid_overrides.csv", _OVERRIDES)
    rules = fill(
        "slurm/job_submit.lua.j2",
        here=here,
        operations=OPERATIONS,
        own=OWN,
        partitions=[one.name for one in policy_of(here).partitions],
    )
    yield File(f"{here.folder}/job_submit.lua", rules)


_OVERRIDES = """\
xid,mnemonic,action,remedy
45,ROBUST_CHANNEL_PREEMPTIVE_REMOVAL,count,comes in bursts when jobs end; follow the other error
"""
"""Where a site differs from the table; the sources disagree on 45."""


def _settings(here: Here) -> list[str]:
    tiers = [_MOUNT.format(tier.kind) for tier in here.inventory.tiers if tier.kind == "parallel"]
    scratch = " /scratch" if all(group.nvme_bytes > 0 for group in here.groups) else ""
    return [
        f"HEALTH_DISK_PERCENT={_DISK_PERCENT}",
        f"HEALTH_GOOD_ROUNDS={_GOOD_ROUNDS}",
        f"HEALTH_XID_REPEATS={_XID_REPEATS}",
        _quoted("HEALTH_XID_SINCE", _XID_SINCE),
        _quoted("HEALTH_DISKS", scratch.strip()),
        _quoted("HEALTH_MOUNTS", " ".join(tiers)),
    ]


def _quoted(key: str, value: str) -> str:
    return fill("slurm/assignment.j2", key=key, value=value)


def _expected(group: Group) -> dict[str, Any]:
    """What a node of a group has at least."""
    return {
        "pattern": f"{group.name}-*",
        "vendor": group.gpu_vendor or "none",
        "gpus": group.gpus,
        "gpu_memory_mib": int(group.gpu_memory_bytes * 0.95) >> 20,
        "cpus": group.threads,
        "memory_mib": real_memory_mib(group),
        "nics": group.nics,
        "nic_gbit": int(group.nic_bytes_s * 8 / 1e9),
        "nvlink": int(group.gpu_vendor == "NVIDIA" and group.gpus > 1),
    }
