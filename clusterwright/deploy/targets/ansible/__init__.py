"""Ansible: inventory, variables, playbooks and roles that bring up, change and take down the hosts of a design.

Roles are the same for every cluster and lie beside this module as they are written (``roles/``); everything that
differs between clusters is a variable in ``group_vars`` or a line of the inventory, so that a change of the
design is a small change of files.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.judges import Program
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.ansible.check import check
from clusterwright.deploy.targets.ansible.facts import facts
from clusterwright.deploy.targets.ansible.hosts import inventories
from clusterwright.deploy.targets.ansible.judges import JUDGES
from clusterwright.deploy.targets.ansible.plays import lint_settings, playbooks, roles, settings
from clusterwright.deploy.targets.ansible.variables import variables

__all__ = ["TARGET"]


def _files(inventory: Inventory) -> Iterator[File]:
    yield settings(inventory)
    yield from lint_settings()
    yield from inventories(inventory)
    yield from variables(inventory)
    yield from playbooks(inventory)
    yield from roles(inventory)


def _programs() -> tuple[Program, ...]:
    from clusterwright.deploy.judges.ansible import PROGRAMS

    return PROGRAMS


TARGET = Target(files=_files, facts=facts, check=check, judges=JUDGES, programs=_programs)
