"""Kueue: the scheduling policy of a site, and on the first of several the fleet that spreads work over the others."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.targets.kubernetes.room import Object, Room, kustomization, obj, short, written
from clusterwright.domains.scheduling import KUEUE_API, Flavor, Policy, Queue, write_policy

__all__ = ["CHECK", "files", "fleet", "fleet_queue"]

FLEET = "-fleet"
"""Ends the names of queues whose workloads other sites run."""
CHECK = "other-sites"
CONTROLLER = "kueue.x-k8s.io/multikueue"


def fleet_queue(name: str) -> str:
    """Name of the queue of a tenant, or of the cohort of a cluster, whose workloads other sites run."""
    return short(name, 50) + FLEET


def fleet(room: Room, others: list[Room]) -> Policy:
    """The policy of the manager for work that other sites run: its quotas are what they have, because Kueue does not
    let a manager be one of its own workers."""
    sizes: dict[str, Flavor] = {}
    for other in others:
        for flavor in other.policy.flavors:
            held = sizes.get(flavor.name)
            labels = {f"{room.domain}/fleet": "other-sites", f"{room.domain}/accelerator": flavor.name}
            gpus = flavor.gpus + (held.gpus if held else 0)
            sizes[flavor.name] = Flavor(f"fleet-{flavor.name}", labels, gpus, flavor.cpu, flavor.memory_gib)
    queues = []
    for own in room.policy.queues:
        theirs = [next(q for q in other.policy.queues if q.name == own.name) for other in others]
        quota = {f"fleet-{name}": sum(q.quota.get(name, 0) for q in theirs) for name in sizes}
        limit = {f"fleet-{name}": sum(q.limit.get(name, 0) for q in theirs) for name in sizes}
        queues.append(Queue(fleet_queue(own.name), quota, limit, own.weight, own.priority, (CHECK,), own.name))
    shared = {f"fleet-{name}": sum(other.policy.shared.get(name, 0) for other in others) for name in sizes}
    return Policy(
        cohort=fleet_queue(room.inventory.name),
        resource=room.resource,
        flavors=tuple(sizes.values()),
        queues=tuple(queues),
        shared=shared,
        taints=(room.resource,),
        priorities={},
    )


def files(room: Room, others: list[Room]) -> Iterator[File]:
    """``queues/``: policy.yaml, and fleet.yaml on the manager."""
    root, listed = f"{room.root}/queues", ["policy.yaml"]
    note = "Quotas in GPUs, borrowing, fair sharing, preemption, topology; spares are in no quota"
    yield written(f"{root}/policy.yaml", write_policy(room.policy), note, f"kubectl apply -k {root}")
    if room.first and others:
        listed.append("fleet.yaml")
        objects = [*_multi(others), *write_policy(fleet(room, others)), *_secrets(room, others)]
        note = "Work that the other sites run: this site is the manager, they are its workers"
        yield written(f"{root}/fleet.yaml", objects, note, f"kubectl apply -k {root}")
    yield kustomization(root, listed)


def _multi(others: list[Room]) -> list[Object]:
    names = [other.site.name for other in others]
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": CHECK}
    made = [
        obj(KUEUE_API, "AdmissionCheck", CHECK, spec={"controllerName": CONTROLLER, "parameters": parameters}),
        obj(KUEUE_API, "MultiKueueConfig", CHECK, spec={"clusters": names}),
    ]
    for name in names:
        where = {"kubeConfig": {"locationType": "Secret", "location": f"kubeconfig-{name}"}}
        made.append(obj(KUEUE_API, "MultiKueueCluster", name, spec={"clusterSource": where}))
    return made


def _secrets(room: Room, others: list[Room]) -> list[Object]:
    from clusterwright.deploy.targets.kubernetes.secrets import external, store

    made = store(room, "kueue-system", "kueue-fleet")
    for other in others:
        name = f"kubeconfig-{other.site.name}"
        key = f"{room.inventory.name}/fleet/{other.site.name}"
        made.append(external(name, "kueue-system", {"kubeconfig": (key, "kubeconfig")}))
    return made
