"""Slurm: one cluster per site."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Fact, File, Folder
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.slurm.conf import conf_files
from clusterwright.deploy.targets.slurm.jobs import job_files
from clusterwright.deploy.targets.slurm.scripts import script_files
from clusterwright.deploy.targets.slurm.site import Here
from clusterwright.deploy.targets.slurm.topology import topology_file

__all__ = ["TARGET"]


def _files(inventory: Inventory) -> Iterator[File]:
    for site in inventory.sites:
        here = Here(inventory, site)
        if here.groups:
            yield from conf_files(here)
            yield from topology_file(here)
            yield from script_files(here)
            yield from job_files(here)

def _none(f: Folder) -> Iterator[Check]:
    return iter(())
def _nonef(f: Folder) -> Iterator[Fact]:
    return iter(())


TARGET = Target(files=_files, facts=_nonef, check=_none, version=lambda inventory: inventory.settings.slurm)
