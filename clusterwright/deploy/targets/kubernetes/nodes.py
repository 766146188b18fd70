"""Nodes as data: which hosts join, with which labels and taints; Ansible applies it, the queues rely on it."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Group, Host
from clusterwright.deploy.targets.kubernetes.room import Object, Room, written
from clusterwright.deploy.text import as_csv

__all__ = ["COLUMNS", "CONTROL_PLANE", "KUEUE", "PODS", "classes", "control_plane", "files", "members"]

CONTROL_PLANE = "control plane (API server, etcd)"
PODS = ("Kueue", "JobSet and Kubeflow Trainer", "GPU operator", "network operator", "CSI drivers")
"""Components of the design that run as pods on servers without GPUs."""
KUEUE = "kueue"
"""Label of the hosts that the design gives to Kueue."""
_QUEUES = "-queues"
COLUMNS = ("node", "class", "group", "rack", "block", "gpus")
AFTER = "ansible-playbook site.yml --tags labels"


def control_plane(room: Room) -> list[Host]:
    """Hosts of the API server and etcd."""
    named = room.site.services.get(CONTROL_PLANE, ())
    found = [host for host in room.inventory.at(room.site) if host.name in named]
    return found or list(room.inventory.at(room.site, "management"))[:1]


def _services(room: Room, beside: list[Host]) -> list[Host]:
    taken = {host.name for host in beside}
    named = {name for service in PODS for name in room.site.services.get(service, ())} - taken
    return [host for host in room.inventory.at(room.site) if host.name in named]


def members(room: Room) -> Iterator[tuple[Host, str]]:
    """Every node with its class: a group of GPU servers, ``control-plane`` or ``services``, with ``-queues`` behind
    where Kueue runs."""
    upper = control_plane(room)
    queues = room.site.services.get("Kueue", ()) or (upper[0].name,)
    for kind, hosts in (("control-plane", upper), ("services", _services(room, upper))):
        yield from ((host, kind + _QUEUES if host.name in queues else kind) for host in hosts)
    yield from ((host, host.group) for host in room.inventory.compute(room.site))


def classes(room: Room) -> dict[str, Object]:
    """Class -> labels and taints of its nodes, beside those of rack and block."""
    domain = room.domain
    place = {"topology.kubernetes.io/region": room.site.region, "topology.kubernetes.io/zone": room.site.name}
    upper = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    made: dict[str, Object] = {}
    for name in dict.fromkeys(kind for host, kind in members(room) if not host.gpus):
        role = name.removesuffix(_QUEUES)
        labels = {f"{domain}/role": role, **({f"{domain}/{KUEUE}": "true"} if name != role else {}), **place}
        made[name] = {"labels": labels, "taints": [upper] if role == "control-plane" else []}
    for group in room.groups:
        made[group.name] = {"labels": {**_labels(room, group), **place}, "taints": _taints(room, group)}
    return made


def _labels(room: Room, group: Group) -> dict[str, str]:
    return {
        f"{room.domain}/role": group.role,
        f"{room.domain}/accelerator": group.gpu_type,
        "node.kubernetes.io/instance-type": group.server,
    }


def _taints(room: Room, group: Group) -> list[Object]:
    made = [{"key": room.resource, "value": "present", "effect": "NoSchedule"}]
    if group.role == "spare":
        made.append({"key": f"{room.domain}/spare", "value": "true", "effect": "NoSchedule"})
    return made


def files(room: Room) -> Iterator[File]:
    """``nodes/classes.yaml`` with labels and taints by class, ``nodes/nodes.csv`` with a line a node."""
    unit = {name: u.name for u in room.inventory.units if u.site == room.site.name for name in u.hosts}
    topology = {"rack": f"topology.{room.domain}/rack", "block": f"topology.{room.domain}/block"}
    about = {"labels_of_columns": topology, "classes": classes(room)}
    note = "Labels and taints of nodes by class; a spare that replaces a node takes the labels and taints of its class"
    yield written(f"{room.root}/nodes/classes.yaml", [about], note, AFTER)
    rows = ((h.name, kind, h.group, h.rack, unit.get(h.name, ""), h.gpus) for h, kind in members(room))
    yield File(f"{room.root}/nodes/nodes.csv", as_csv(COLUMNS, rows), after=AFTER)
