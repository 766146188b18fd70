"""Targets: the tools that files are written for. One folder each, imported when it is asked for.

The module ``targets.NAME`` defines ``TARGET``, a :class:`Target`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from clusterwright.deploy.bundle import Check, Fact, File, Folder
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.judges import Program

__all__ = ["TARGETS", "Entry", "Target", "target"]


@dataclass(frozen=True)
class Target:
    """What the module of a target defines.

    Attributes:
        files: the files that it writes for an inventory; their paths start with the target's name.
        facts: what files of the target in a bundle say, read back from the files themselves.
        check: our own reading of them: keys, values, references, counts; also where the real judge is not installed.
        judges: real programs and published schemas; each gives checks, or none where it is not installed.
        programs: that the judges start, so that a missing one can be named with its install line.
        version: of the tool that the files are written for, from the inventory; empty when there is only one.
    """

    files: Callable[[Inventory], Iterator[File]]
    facts: Callable[[Folder], Iterator[Fact]]
    check: Callable[[Folder], Iterator[Check]]
    judges: tuple[Callable[[Folder], Iterator[Check]], ...] = ()
    programs: Callable[[], tuple[Program, ...]] = tuple
    version: Callable[[Inventory], str] = lambda _: ""


class Entry(NamedTuple):
    """A line of the table of targets: what it is, and whether a design needs it when nobody names targets."""

    title: str
    wanted: Callable[[Inventory], bool]


def _rents_aws(inventory: Inventory) -> bool:
    return inventory.provider == "aws"


def _ours(inventory: Inventory) -> bool:
    return not inventory.provider


def _always(_: Inventory) -> bool:
    return True


TARGETS: Mapping[str, Entry] = {
    "slurm": Entry("Slurm configuration, accounts, checks, batch scripts", lambda i: i.scheduler == "slurm"),
    "kubernetes": Entry("Kubernetes, Kueue, JobSet, operators, Argo CD", lambda i: i.scheduler == "kubernetes"),
    "monitoring": Entry("Prometheus, Alertmanager, DCGM exporter, Grafana", _always),
    "ansible": Entry("inventory, variables and playbooks", _always),
    "terraform": Entry("AWS instances, network, storage, roles", _rents_aws),
    "gitlab": Entry("pipeline that verifies, plans and applies the bundle", _always),
    "fabric": Entry("port and host maps, cables, racks, NetBox import", _ours),
    "storage": Entry("tiers, lifecycle and quotas", _always),
    "security": Entry("encryption and access", _always),
    "runbook": Entry("from provisioning and acceptance tests to decommissioning", _always),
}
"""Every target by its name, in the order in which they are written."""


def target(name: str) -> Target:
    """Load a target by its name, a key of :data:`TARGETS`."""
    loaded = importlib.import_module(f"clusterwright.deploy.targets.{name}").TARGET
    if not isinstance(loaded, Target):
        raise TypeError(f"targets.{name}.TARGET is no Target")
    return loaded
