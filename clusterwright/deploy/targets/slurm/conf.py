"""slurm.conf, gres.conf, cgroup.conf, slurmdbd.conf and what else the daemons read."""

from __future__ import annotations

import math
from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Group
from clusterwright.deploy.names import hostlist
from clusterwright.deploy.targets.slurm.policy import policy_of, shares
from clusterwright.deploy.targets.slurm.site import CONF, STATE, Here, real_memory_mib, system_memory_mib
from clusterwright.deploy.targets.slurm.topology import plugin_lines
from clusterwright.deploy.text import as_yaml, fill
from clusterwright.domains.scheduling import SlurmPolicy as Policy
from clusterwright.domains.scheduling import account_lines, conf_lines

__all__ = ["DEVICES", "conf_files"]

RECONFIGURE = "scontrol reconfigure"
RESTART = "systemctl restart slurmctld slurmd"
DEVICES = {"NVIDIA": "nvml", "AMD": "rsmi", "Intel": "oneapi"}
"""Vendor -> how gres.conf finds its devices. Only NVIDIA numbers its device files without gaps."""
_SCRATCH = "/scratch/jobs"
_MB = 1e6


def conf_files(here: Here) -> Iterator[File]:
    """The files that daemons read, but for the topology."""
    policy, ports = policy_of(here), here.inventory.ports
    common = {"here": here, "conf": CONF, "ports": ports, "message_s": _message_s(here)}
    yield File(f"{here.folder}/slurm.conf", slurm_conf(here, policy), after=RECONFIGURE)
    yield File(f"{here.folder}/gres.conf", fill("slurm/gres.conf.j2", here=here, lines=_gres(here)), after=RESTART)
    cgroup = fill("slurm/cgroup.conf.j2", here=here, lines=here.dialect.lines("cgroup.conf"))
    yield File(f"{here.folder}/cgroup.conf", cgroup, after=RESTART)
    yield File(
        f"{here.folder}/slurmdbd.conf", fill("slurm/slurmdbd.conf.j2", **common), after="systemctl restart slurmdbd"
    )
    scale = shares(here)
    accounts = fill("slurm/accounts.sh.j2", here=here, lines=account_lines(policy, scale), scale=scale)
    yield File(f"{here.folder}/accounts.sh", accounts, True, "bash accounts.sh")
    if _pyxis(here):
        yield File(f"{here.folder}/plugstack.conf", fill("slurm/plugstack.conf.j2", here=here))
    if _scratch(here):
        yield _namespace(here)


def slurm_conf(here: Here, policy: Policy) -> str:
    """The text of slurm.conf."""
    dialect = here.dialect
    lines = conf_lines(policy, dialect.preempt_parameters)
    nodes = here.nodes + here.spares
    return fill(
        "slurm/slurm.conf.j2",
        here=here,
        conf=CONF,
        state=STATE,
        ports=here.inventory.ports,
        words=dialect.words,
        max_jobs=max(10_000, 50 * nodes),
        tree_width=_tree_width(nodes),
        message_s=_message_s(here),
        reboot_s=_minutes(2 * here.inventory.value("reliability.node_restart_s")),
        timeouts=dialect.timeouts(prolog_s=120, epilog_s=120),
        pyxis=_pyxis(here),
        namespace=dialect.lines("namespace") if _scratch(here) else [],
        imex=dialect.lines("imex") if here.domains else [],
        metrics=dialect.lines("slurm.conf/metrics"),
        settings=[line for line in lines if not line.startswith("PartitionName=")],
        partitions=[line for line in lines if line.startswith("PartitionName=")],
        topology=plugin_lines(here),
        nodes=[node_line(here, group) for group in here.groups],
    )


def _minutes(seconds: float) -> int:
    return 60 * math.ceil(seconds / 60)


def _tree_width(nodes: int) -> int:
    """Square root of the nodes, the cube root above 2,500 (slurm.conf(5))."""
    return max(16, math.ceil(math.pow(nodes, 1 / 2 if nodes <= 2500 else 1 / 3)))


def _message_s(here: Here) -> int:
    return 30 if here.nodes <= 512 else 60 if here.nodes <= 4096 else 100


def _pyxis(here: Here) -> bool:
    return "Pyxis and Enroot" in here.site.services


def _scratch(here: Here) -> bool:
    return all(group.nvme_bytes > 0 for group in here.groups)


def node_line(here: Here, group: Group) -> str:
    """One line for the nodes of a group."""
    members = [host for host in here.hosts if host.group == group.name]
    cores = group.cores // group.sockets
    pairs = {
        "NodeName": hostlist([host.name for host in members]),
        "NodeAddr": here.addresses(members),
        "Sockets": group.sockets,
        "CoresPerSocket": cores,
        "ThreadsPerCore": group.threads // group.cores,
        "CPUs": group.threads,
        "RealMemory": real_memory_mib(group),
        "MemSpecLimit": system_memory_mib(group),
        "TmpDisk": int(group.nvme_bytes / _MB),
        "Gres": f"gpu:{group.gpu_type}:{group.gpus}" if group.gpus else "",
        "Feature": ",".join(_features(group)),
        "State": "UNKNOWN",
    }
    return " ".join(f"{key}={value}" for key, value in pairs.items() if value)


def _features(group: Group) -> list[str]:
    made = [group.server, group.role]
    if group.gpus:
        made.append(group.gpu_type)
    if group.nics:
        made.append(f"nic-{group.nics}x{group.nic_bytes_s * 8 / 1e9:.0f}g")
    return made


def _gres(here: Here) -> list[str]:
    made = []
    for group in here.groups:
        if not group.gpus:
            continue
        names = hostlist([host.name for host in here.hosts if host.group == group.name])
        how = DEVICES.get(group.gpu_vendor, "off")
        numbers = f"[0-{group.gpus - 1}]" if group.gpus > 1 else "0"
        devices = f"File=/dev/nvidia{numbers}" if group.gpu_vendor == "NVIDIA" else f"Count={group.gpus}"
        made.append(f"NodeName={names} AutoDetect={how} Name=gpu Type={group.gpu_type} {devices}")
    return made


def _namespace(here: Here) -> File:
    if not here.dialect.namespace_yaml:
        return File(f"{here.folder}/job_container.conf", fill("slurm/job_container.conf.j2", here=here), after=RESTART)
    data = {"defaults": {"auto_base_path": True, "base_path": _SCRATCH, "dirs": "/tmp,/dev/shm"}}  # noqa: S108
    comment = "namespace.yaml: a /tmp for each job on the drives of the node; rendered by clusterwright, do not edit."
    return File(f"{here.folder}/namespace.yaml", as_yaml(data, comment=comment), after=RESTART)
