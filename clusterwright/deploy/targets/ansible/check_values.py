"""Inventory and variables: ranges, addresses, types, references, names that nothing uses."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from clusterwright.deploy.targets.ansible.check_tasks import known_names, strings, undefined, used_names
from clusterwright.deploy.targets.ansible.reading import Book, address

__all__ = ["group_vars", "inventory"]

_ROLES = ("compute", "spare", "login", "scheduler", "management", "security", "observability")
_OWN = {"ansible_host", "ansible_user", "cluster_name", "contact", "site_region", "gpu_type", "huge_pages", "versions"}
"""Variables that people and Ansible itself read, not roles."""


def inventory(book: Book, path: str) -> Iterator[str]:
    """Hosts of a site: each once in a site, a role, and a rack; each with an address of its own in the block."""
    hosts = book.sites[path]
    yield from hosts.wrong
    everyone = hosts.groups.get("all", [])
    if not everyone:
        yield "names no host"
    for start, what in (("site_", "site"), ("rack_", "rack")):
        count = Counter(name for group, members in hosts.groups.items() if group.startswith(start) for name in members)
        wrong = [name for name in everyone if count[name] != 1]
        if wrong:
            yield f"{len(wrong)} hosts are not in exactly one {what}: {wrong[0]} is in {count[wrong[0]]}"
    roles = Counter(name for role in _ROLES for name in hosts.groups.get(role, []))
    if wrong := [name for name in everyone if roles[name] != 1]:
        yield f"{len(wrong)} hosts are not in exactly one role: {wrong[0]} is in {roles[wrong[0]]}"
    yield from _addresses(book, path)


def _addresses(book: Book, path: str) -> Iterator[str]:
    taken: dict[str, str] = {}
    outside, without = [], []
    for place, name, values in book.hosts():
        if place != path:
            continue
        found = address(book, values, name)
        block = _block(values.get("networks"), "management")
        if not found:
            without.append(name)
        elif block is None or ipaddress.IPv4Address(found) not in block:
            outside.append(f"{name} ({found})")
        elif found in taken:
            yield f"{name} and {taken[found]} have the same address {found}"
            return
        taken[found] = name
    if without:
        yield f"{len(without)} hosts have no address, {without[0]} among them"
    if outside:
        yield f"{len(outside)} hosts are outside the management network, {outside[0]} among them"


def _block(networks: Any, name: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(networks[name]["block"])
    except (ValueError, KeyError, TypeError):
        return None


def group_vars(book: Book, path: str) -> Iterator[str]:
    """Variables of a group."""
    group, values = PurePosixPath(path).stem, book.data.get(path)
    if not isinstance(values, dict):
        yield "holds no mapping of variables"
        return
    groups = {name for hosts in book.sites.values() for name in hosts.groups}
    if group not in groups:
        yield f"there is no group {group} in the inventory"
    everyone = {name for hosts in book.sites.values() for name in hosts.groups.get("all", [])}
    known, used = known_names(book), used_names(book) | _OWN
    for name, value in values.items():
        if name not in used:
            yield f"the variable {name} is read nowhere"
        for said in _typed(str(name), value):
            yield f"{name} {said}"
        if str(name).endswith("_hosts") and isinstance(value, list):
            yield from (f"{name}: there is no host {one}" for one in value if one not in everyone)
        if str(name).startswith("secret_") and "lookup(" not in str(value):
            yield f"{name} must be looked up, never written here"
        for text in strings(value):
            yield from (f"{name}: {said}" for said in undefined(book, text, known))
    yield from _networks(values.get("networks"))
    yield from _pins(book, values)


_SHAPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "a whole number of at least 0": (
        r"gpus|nics|nic_gbps|first_number|open_files|huge_pages|least_memory_mib|nvme_least_bytes|drain_retries"
        r"|reboot_timeout_s|burn_in_s|dcgm_interval_ms|roce_dscp|roce_priority",
        lambda x: isinstance(x, int) and not isinstance(x, bool) and x >= 0,
    ),
    "true or false": (r"login_open|automatic_updates", lambda x: isinstance(x, bool)),
    "a list": (r"\w+_(packages|hosts|servers|networks|modules|groups|sources|services)", lambda x: isinstance(x, list)),
    "slurm or kubernetes": ("scheduler", lambda x: x in ("slurm", "kubernetes", "ray", "none")),
    "infiniband, roce, efa or slingshot": ("rdma_kind", lambda x: x in ("infiniband", "roce", "efa", "slingshot")),
    "none, node or rack": ("nvlink_domain", lambda x: x in ("none", "node", "rack")),
    "always, madvise or never": ("transparent_hugepages", lambda x: x in ("always", "madvise", "never")),
    "NVIDIA, AMD or Intel": ("gpu_vendor", lambda x: x in ("", "NVIDIA", "AMD", "Intel")),
    "xfs or lvm": ("nvme_layout", lambda x: x in ("xfs", "lvm")),
    "a path": (r"local_mount|textfile_dir|nvme_array|\w+_conf|ca_bundle", lambda x: str(x).startswith("/")),
}
"""What a value must be -> names of variables that must be so, and the test."""
_EXTRA = {"host_services", "service_hosts"}


def _typed(name: str, value: Any) -> Iterator[str]:
    for what, (pattern, fits) in _SHAPES.items():
        if name not in _EXTRA and re.fullmatch(pattern, name) and not fits(value):
            yield f"is {str(value)[:40]!r}, not {what}"
    if name == "ports" and isinstance(value, dict):
        for service, port in value.items():
            if not isinstance(port, int) or not 0 < port < 65536:
                yield f"of {service} is {port!r}, no port"
    if name in ("dns_servers", "ntp_servers"):
        for one in value if isinstance(value, list) else []:
            try:
                ipaddress.IPv4Address(one)
            except ValueError:
                yield f"names {one!r}, which is no address"
    if name.startswith("sysctl_") and isinstance(value, dict):
        for key, setting in value.items():
            if not re.fullmatch(r"(fs|kernel|net|user|vm)(\.[a-z0-9_-]+)+", str(key)) or isinstance(setting, bool):
                yield f"sets {key} = {setting}, which is no kernel parameter"


def _networks(networks: Any) -> Iterator[str]:
    if networks is None:
        return
    if not isinstance(networks, dict) or "management" not in networks:
        yield "networks must hold the network management"
        return
    blocks: list[tuple[str, ipaddress.IPv4Network]] = []
    for name, entry in networks.items():
        block = _block(networks, name)
        if block is None or not isinstance(entry, dict):
            yield f"network {name}: {entry!r} has no block of addresses"[:160]
            continue
        for other, held in blocks:
            if held.overlaps(block):
                yield f"networks {name} and {other} overlap"
        blocks.append((name, block))
        if entry.get("base") != int(block.network_address):
            yield f"network {name}: base {entry.get('base')} is not the start of {block}"
        try:
            inside = ipaddress.IPv4Address(str(entry.get("gateway"))) in block
        except ValueError:
            inside = False
        if not inside:
            yield f"network {name}: gateway {entry.get('gateway')} is outside {block}"
        if not (isinstance(entry.get("vlan"), int) and 1 <= entry["vlan"] <= 4094):
            yield f"network {name}: vlan {entry.get('vlan')}"
        if not (isinstance(entry.get("mtu"), int) and 1280 <= entry["mtu"] <= 9216):
            yield f"network {name}: mtu {entry.get('mtu')}"


def _pins(book: Book, values: Mapping[str, Any]) -> Iterator[str]:
    """A pinned package has a release of the table ``versions``."""
    versions = (book.variables.get("all") or {}).get("versions")
    releases = [str(one) for one in versions.values()] if isinstance(versions, dict) else []
    for name, value in values.items():
        if not str(name).endswith("_packages") or not isinstance(value, list):
            continue
        for package in value:
            found = re.fullmatch(r"[a-zA-Z0-9.+_-]+?(?:=|-(?=\d))(?:\d+:)?(?P<release>[0-9][0-9.]*)\*", str(package))
            if found and found["release"] not in releases:
                yield f"{name}: {package} is of no release in versions"
            if not found and not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9.+_-]*", str(package)):
                yield f"{name}: {package!r} is no package"
