"""The NetBox import: one CSV a kind, numbered in the order of import."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.targets.fabric.schema import NETBOX
from clusterwright.deploy.targets.fabric.wiring import Wiring, port_name
from clusterwright.deploy.text import as_csv

__all__ = ["netbox_files"]

_COLORS = {
    "compute": "4caf50",
    "spare": "cddc39",
    "leaf": "2196f3",
    "spine": "3f51b5",
    "core": "673ab7",
    "access": "9e9e9e",
}
_INTERFACES = {
    "infiniband": {50e9: "infiniband-ndr", 25e9: "infiniband-hdr", 100e9: "infiniband-xdr"},
    "ethernet": {
        0.125e9: "1000base-t",
        12.5e9: "100gbase-x-qsfp28",
        25e9: "200gbase-x-qsfp56",
        50e9: "400gbase-x-osfp",
        100e9: "800gbase-x-osfp",
    },
}
"""Rate of one direction, bytes/s -> NetBox's type of interface."""
_MEDIA = (
    ("mmf", "mmf"),
    ("smf", "smf"),
    ("aoc", "aoc"),
    ("dac", "dac-passive"),
    ("cat6", "cat6"),
    ("acc", "dac-active"),
)
_MAKERS = {"q": "NVIDIA", "s": "NVIDIA"}
Rows = Iterator[tuple[object, ...]]


def netbox_files(inventory: Inventory, wired: Mapping[str, Wiring]) -> Iterator[File]:
    """The files, each with the columns of :data:`NETBOX`."""
    made = {
        "01-sites": _sites(inventory),
        "02-manufacturers": ((name, name.lower()) for name in ("NVIDIA", "generic")),
        "03-device-types": _types(inventory),
        "04-device-roles": _roles(inventory),
        "05-racks": _racks(inventory),
        "06-devices": _devices(inventory),
        "07-interfaces": _interfaces(inventory, wired),
        "08-prefixes": _prefixes(inventory),
        "09-ip-addresses": _addresses(inventory),
        "10-cables": _cables(inventory, wired),
    }
    for name, rows in made.items():
        yield File(f"fabric/netbox/{name}.csv", as_csv(NETBOX[name], rows))


def _sites(inventory: Inventory) -> Rows:
    return ((site.name, site.name, "planned", "") for site in inventory.sites)


def _maker(model: str) -> str:
    return _MAKERS.get(model[:1], "generic") if any(c.isdigit() for c in model) else "generic"


def _types(inventory: Inventory) -> Rows:
    for server, units in {group.server: group.units for group in inventory.groups}.items():
        yield ("generic", server, server, max(math.floor(units), 1), True)
    for model, units in {row["model"]: row["units"] for row in inventory.cluster.tables["switches"].rows()}.items():
        yield (_maker(model), model, model, max(math.floor(units), 1), True)


def _roles(inventory: Inventory) -> Rows:
    roles = dict.fromkeys(group.role for group in inventory.groups)
    tiers = dict.fromkeys(switch.tier for switch in inventory.switches)
    return ((name, name, _COLORS.get(name, "607d8b")) for name in (*roles, *tiers))


def _racks(inventory: Inventory) -> Rows:
    height = int(inventory.value("facility.rack_units"))
    return ((r.site, r.name, "planned", height, math.ceil(r.weight_kg), "kg") for r in inventory.racks)


def _devices(inventory: Inventory) -> Rows:
    """Trays of a rack-scale system carry no position: their share of the rack's height is not a whole unit."""
    groups = {group.name: group for group in inventory.groups}
    for h in inventory.hosts:
        server, whole = groups[h.group].server, float(groups[h.group].units).is_integer()
        where = (h.unit, "front") if whole and h.rack else ("", "")
        yield (h.name, h.role, "generic", server, "planned", h.site, h.rack, *where)
    for s in inventory.switches:
        yield (s.name, s.tier, _maker(s.model), s.model, "planned", s.site, s.rack, "", "")


def _interfaces(inventory: Inventory, wired: Mapping[str, Wiring]) -> Rows:
    protocol = "infiniband" if inventory.text("fabric.technology").startswith("infiniband") else "ethernet"
    switches = {switch.name for switch in inventory.switches}
    hosts = {host.name for host in inventory.hosts}
    seen: set[tuple[str, str]] = set()
    for found in wired.values():
        for network, cables in found.cables.items():
            speaks = _INTERFACES[protocol if network == "compute" else "ethernet"]
            for c in cables:
                kind = speaks.get(round(found.rate[c.bundle], 3), "other")
                for device, port in ((c.source, c.source_port), (c.target, c.target_port)):
                    named = device in hosts
                    name = port_name(network, port) if named else _switch_port(network, device, c.source, port)
                    if (named or device in switches) and (device, name) not in seen:
                        seen.add((device, name))
                        yield (device, name, kind, name in ("bmc", "mgmt0"))
    for host in inventory.hosts:
        for name in ("mgmt", "bmc"):
            if (host.name, name) not in seen:
                yield (host.name, name, "1000base-t", name == "bmc")


def _switch_port(network: str, device: str, source: str, port: int) -> str:
    """A switch's own management port where it is the lower end of a management cable, else the numbered port."""
    return "mgmt0" if network == "management" and device == source and "-access" not in device else f"port-{port}"


def _prefixes(inventory: Inventory) -> Rows:
    for i, site in enumerate(inventory.sites):
        for net in site.networks.values():
            yield (net.block, "active", "dcim.site", i + 1, f"{site.name} {net.name}")


def _addresses(inventory: Inventory) -> Rows:
    nets = {site.name: site.networks for site in inventory.sites}
    domains = {site.name: site.domain for site in inventory.sites}
    for h in inventory.hosts:
        for network, port in (("management", "mgmt"), ("bmc", "bmc")):
            net = nets[h.site][network]
            length = net.block.partition("/")[2]
            dns = f"{h.name}{'-bmc' if port == 'bmc' else ''}.{domains[h.site]}"
            yield (f"{net.address(h.number)}/{length}", "active", dns, h.name, port, port == "mgmt")


def _cables(inventory: Inventory, wired: Mapping[str, Wiring]) -> Rows:
    known = {host.name for host in inventory.hosts} | {switch.name for switch in inventory.switches}
    hosts = {host.name for host in inventory.hosts}
    for found in wired.values():
        for network, cables in found.cables.items():
            for c in cables:
                if c.source not in known or c.target not in known:
                    continue
                medium = found.medium[c.bundle]
                kind = next((name for prefix, name in _MEDIA if medium.startswith(prefix)), "")
                near = (
                    port_name(network, c.source_port)
                    if c.source in hosts
                    else _switch_port(network, c.source, c.source, c.source_port)
                )
                far = f"port-{c.target_port}"
                label = f"{c.source}:{c.source_port}-{c.target}:{c.target_port}"
                side = "dcim.interface"
                yield (c.source, side, near, c.target, side, far, kind, "planned", label)
