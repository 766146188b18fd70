"""What the rendered inventory and variables say of hosts and ports."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Fact, Folder
from clusterwright.deploy.targets.ansible.naming import ROOT
from clusterwright.deploy.targets.ansible.reading import Book, address

__all__ = ["facts"]

_KINDS = (("site_", "node.group", False), ("rack_", "node.rack", True), ("unit_", "node.unit", True))
"""Start of a group's name, what membership says, whether the group itself (or a child of it) is the value."""


def facts(folder: Folder) -> Iterator[Fact]:
    """Groups, racks, units, addresses and GPUs of every host, ports of services."""
    book = Book(folder)
    for path, host, values in book.hosts():
        yield Fact("node.address", host, address(book, values, host), path)
        if gpus := values.get("gpus"):
            yield Fact("node.gpus", host, gpus, path)
    for path, hosts in book.sites.items():
        for group, members in hosts.groups.items():
            for start, kind, itself in _KINDS:
                if not group.startswith(start):
                    continue
                for name in [group] if itself else hosts.children.get(group, []):
                    said = name.removeprefix(start).replace("_", "-")
                    listed = members if itself else hosts.groups.get(name, [])
                    yield from (Fact(kind, host, said, path) for host in listed)
    ports = book.variables.get("all", {}).get("ports")
    if isinstance(ports, dict):
        path = f"{ROOT}/inventory/group_vars/all.yml"
        yield from (Fact("service.port", str(name), port, path) for name, port in ports.items())
