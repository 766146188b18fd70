"""``ansible.cfg``, playbooks, and the roles that a design needs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.targets.ansible.mounts import parallel
from clusterwright.deploy.targets.ansible.naming import ROOT, RUN
from clusterwright.deploy.targets.ansible.packages import exporter, fabric_kind
from clusterwright.deploy.text import as_yaml, fill

__all__ = ["lint_settings", "playbooks", "roles", "settings"]

Play = dict[str, Any]
_FABRIC_ROLES = {"infiniband": "rdma", "roce": "rdma", "efa": "rdma_efa"}
_GPU_ROLES = {"NVIDIA": "gpu_nvidia", "AMD": "gpu_amd"}
_ON_DEMAND = ("maintenance", "acceptance", "decommission")


def settings(inventory: Inventory) -> File:
    """``ansible.cfg``."""
    forks = min(200, max(20, len(inventory.hosts) // 20))
    return File(f"{ROOT}/ansible.cfg", fill("ansible/ansible.cfg.j2", name=inventory.name, forks=forks))


def lint_settings() -> Iterator[File]:
    """What ansible-lint holds the folder to."""
    for name in ("ansible-lint", "yamllint"):
        yield File(f"{ROOT}/.{name}", fill(f"ansible/{name}.j2"))


def playbooks(inventory: Inventory) -> Iterator[File]:
    """``site.yml``, the scheduler's own, and the plays of operation."""
    own = _scheduler(inventory)
    after = [{"name": "Scheduler", "ansible.builtin.import_playbook": f"{inventory.scheduler}.yml"}] if own else []
    yield _file("site", "All hosts, from the operating system to the scheduler", [*_site(inventory), *after, *_last()])
    if own:
        yield _file(inventory.scheduler, f"The scheduler, {inventory.scheduler}", own)
    yield _file(
        "playbooks/rolling",
        "Drain, update, reboot and check accelerator nodes, rack by rack",
        [_rolling(inventory)],
    )
    yield _file("playbooks/acceptance", "Burn-in and acceptance of accelerator nodes", [_acceptance()])
    yield _file("playbooks/decommission", "Take nodes out for good: drain, erase, revoke", [_decommission()])


def _file(name: str, title: str, plays: list[Play]) -> File:
    text = as_yaml(plays, comment=f"{title}; rendered by clusterwright, do not edit.")
    return File(f"{ROOT}/{name}.yml", text, after=RUN if "/" not in name else "")


def _play(name: str, hosts: str, *names: str, **more: Any) -> Play:
    return {"name": name, "hosts": hosts, **more, "roles": [{"role": role, "tags": [role]} for role in names]}


def _node_roles(inventory: Inventory) -> list[str]:
    """Roles of accelerator nodes in the order in which they build on each other."""
    group = next((group for group in inventory.groups if group.gpus), None)
    if group is None:
        return []
    found = [
        _FABRIC_ROLES.get(fabric_kind(inventory), ""),
        _GPU_ROLES.get(group.gpu_vendor, ""),
        "nvme_cache" if group.nvme_bytes else "",
        "storage_client" if parallel(inventory) else "",
        "containers",
        "dcgm" if exporter(inventory) else "",
        "health",
    ]
    return [name for name in found if name]


def _site(inventory: Inventory) -> list[Play]:
    shared = ["storage_client"] if parallel(inventory) else []
    plays = [
        _play("Baseline of all hosts", "all", "baseline", "users"),
        _play("Accelerator nodes", "gpu_nodes", *_node_roles(inventory), max_fail_percentage=5),
    ]
    if shared and any(group.role == "login" for group in inventory.groups):
        plays.append(_play("File systems of login hosts", "login", *shared))
    return plays


def _last() -> list[Play]:
    """Monitoring and hardening come last: the firewall closes when everything is there."""
    return [_play("Monitoring and hardening of all hosts", "all", "monitoring", "hardening")]


def _scheduler(inventory: Inventory) -> list[Play]:
    roles_of = {group.role for group in inventory.groups}
    if inventory.scheduler == "slurm":
        hosts = [role for role in ("scheduler", "login") if role in roles_of]
        return [
            *([_play("Controllers, database and login hosts of Slurm", ":".join(hosts), "slurm")] if hosts else []),
            _play("Compute nodes of Slurm", "gpu_nodes", "slurm", max_fail_percentage=5),
        ]
    if inventory.scheduler == "kubernetes":
        plays = [_play("Workers of Kubernetes", "gpu_nodes", "kubernetes", max_fail_percentage=5)]
        if "scheduler" in roles_of:
            plays.insert(0, _play("Control plane of Kubernetes", "scheduler", "containers", "kubernetes"))
        return plays
    return []


def _rolling(inventory: Inventory) -> Play:
    rack = max(1, int(inventory.value("compute.nodes_per_rack")))
    return _play(
        "Update nodes rack by rack",
        "gpu_nodes",
        "maintenance",
        # One node as a trial, then a rack at a time: what goes wrong stays within what the spares carry.
        serial=[1, rack],
        max_fail_percentage=0,
        order="inventory",
    )


def _acceptance() -> Play:
    return _play("Accept nodes", "gpu_nodes", "acceptance", strategy="ansible.builtin.free")


def _decommission() -> Play:
    return _play("Decommission nodes, named by --limit", "gpu_nodes", "decommission", serial=1, any_errors_fatal=True)


def roles(inventory: Inventory) -> Iterator[File]:
    """The files of the roles that the playbooks of this design name."""
    named = {*_node_roles(inventory), "baseline", "users", "monitoring", "hardening", *_ON_DEMAND, "containers"}
    if inventory.scheduler in ("slurm", "kubernetes"):
        named.add(inventory.scheduler)
    if not any(group.gpus for group in inventory.groups):
        named -= {"containers", *_ON_DEMAND}
    folder = files("clusterwright.deploy.targets.ansible").joinpath("roles")
    for name in sorted(named):
        for path, found in sorted(_walk(folder.joinpath(name), f"{ROOT}/roles/{name}")):
            yield File(path, found.read_text("utf-8"), executable=path.endswith(".sh"), after=RUN)


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{path}/{entry.name}")
        elif not entry.name.startswith("."):
            yield f"{path}/{entry.name}", entry
