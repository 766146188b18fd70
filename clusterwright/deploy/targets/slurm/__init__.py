"""Slurm: one cluster per site."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, File, Folder
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.judges import Program
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.slurm.checks import check
from clusterwright.deploy.targets.slurm.conf import conf_files
from clusterwright.deploy.targets.slurm.jobs import job_files
from clusterwright.deploy.targets.slurm.reading import facts
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


def _judges(folder: Folder) -> Iterator[Check]:
    """The real programs; imported when asked for, since they read files with this package."""
    from clusterwright.deploy.judges import shell, slurm_live

    yield from shell.judge_scripts(folder, "slurm/*.sh", "slurm/*.sbatch", "slurm/*health.conf")
    yield from shell.judge_lua(folder, "slurm/*.lua")
    yield from slurm_live.judge(folder)


def _programs() -> tuple[Program, ...]:
    from clusterwright.deploy.judges import shell, slurm

    return (*slurm.PROGRAMS, *shell.PROGRAMS)


TARGET = Target(
    files=_files,
    facts=facts,
    check=check,
    judges=(_judges,),
    programs=_programs,
    version=lambda inventory: inventory.settings.slurm,
)
