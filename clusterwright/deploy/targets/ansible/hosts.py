"""``inventory/SITE.yml``: hosts as ranges, in groups by site, role, server group, rack, scalable unit and service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory, Site
from clusterwright.deploy.names import spans
from clusterwright.deploy.targets.ansible.naming import ROOT, RUN, group_name, service_group
from clusterwright.deploy.text import as_yaml

__all__ = ["inventories", "ranges"]

Tree = dict[str, Any]


def ranges(names: Iterable[str]) -> Tree:
    """Hosts as Ansible writes them: ``s1-compute-[0001:0128]``; values are empty, addresses come from a formula."""
    return {
        prefix + (first if first == last else f"[{first}:{last}]"): None for prefix, first, last in spans(sorted(names))
    }


def inventories(inventory: Inventory) -> Iterator[File]:
    """A file a site."""
    for site in inventory.sites:
        text = as_yaml(
            {"all": {"children": _tree(inventory, site)}},
            comment=f"Hosts of site {site.name}; rendered by clusterwright, do not edit. "
            "Addresses: ansible_host in group_vars/site_*.yml.",
        )
        yield File(f"{ROOT}/inventory/{site.name}.yml", text, after=RUN)


def _tree(inventory: Inventory, site: Site) -> Tree:
    groups = [group for group in inventory.groups if group.site == site.name]
    hosts: dict[str, list[str]] = {group.name: [] for group in groups}
    racks: dict[str, list[str]] = {}
    for host in inventory.at(site):
        hosts[host.group].append(host.name)
        racks.setdefault(host.rack, []).append(host.name)
    units = {unit.name: unit.hosts for unit in inventory.units if unit.site == site.name}
    roles: dict[str, Tree] = {}
    for group in groups:
        roles.setdefault(group.role, {})[group_name("", group.name)] = None
    accelerated = {group_name("", group.name): None for group in groups if group.gpus}
    services = {service_group(name): many for name, many in site.services.items() if many}
    return {
        group_name("site", site.name): {
            "children": {group_name("", name): {"hosts": ranges(members)} for name, members in hosts.items()}
        },
        **{role: {"children": children} for role, children in roles.items()},
        "gpu_nodes": {"children": accelerated},
        "racks": {"children": _children("rack", racks)},
        **({"units": {"children": _children("unit", units)}} if units else {}),
        "services": {"children": {name: {"hosts": ranges(many)} for name, many in services.items()}},
    }


def _children(prefix: str, members: Mapping[str, Iterable[str]]) -> Tree:
    return {group_name(prefix, name): {"hosts": ranges(many)} for name, many in members.items() if name}
