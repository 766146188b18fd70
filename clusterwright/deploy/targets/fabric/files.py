"""What the target writes: tables of cables, ports, hosts, switches and racks of each site, and the NetBox import."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Host, Inventory, Site
from clusterwright.deploy.targets.fabric.netbox import netbox_files
from clusterwright.deploy.targets.fabric.schema import TABLES
from clusterwright.deploy.targets.fabric.simulated import net_file
from clusterwright.deploy.targets.fabric.wiring import Wiring, port_name, wiring
from clusterwright.deploy.text import as_csv

__all__ = ["files"]


def files(inventory: Inventory) -> Iterator[File]:
    """Every file of the target."""
    wired = {site.name: wiring(inventory, site) for site in inventory.sites}
    for site in inventory.sites:
        yield from _site_files(inventory, site, wired[site.name])
    yield from netbox_files(inventory, wired)


def _site_files(inventory: Inventory, site: Site, wired: Wiring) -> Iterator[File]:
    at = f"fabric/{site.name}"
    hosts = {host.name: host for host in inventory.at(site)}
    homes = {name: host.rack for name, host in hosts.items()}
    homes |= {switch.name: switch.rack for switch in inventory.switches if switch.site == site.name}
    for network, found in wired.cables.items():
        rows = (
            (
                c.bundle,
                c.source,
                homes.get(c.source, ""),
                c.source_port,
                c.target,
                homes.get(c.target, ""),
                c.target_port,
                wired.medium[c.bundle],
                round(wired.rate[c.bundle] * 8e-9, 3),
            )
            for c in found
        )
        yield File(f"{at}/cables-{network}.csv", as_csv(TABLES["cables"], rows))
    yield File(f"{at}/hosts.csv", as_csv(TABLES["hosts"], _host_rows(inventory, site)))
    yield File(f"{at}/ports.csv", as_csv(TABLES["ports"], _port_rows(site, hosts, wired)))
    yield File(f"{at}/switches.csv", as_csv(TABLES["switches"], _switch_rows(inventory, site, wired)))
    yield File(f"{at}/racks.csv", as_csv(TABLES["racks"], _rack_rows(inventory, site)))
    if inventory.text("fabric.technology").startswith("infiniband"):
        yield File(f"{at}/infiniband.net", net_file(inventory, site, wired.cables["compute"]))


def _host_rows(inventory: Inventory, site: Site) -> Iterator[tuple[object, ...]]:
    units = {host: unit.name for unit in inventory.units if unit.site == site.name for host in unit.hosts}
    nets = site.networks
    for h in inventory.at(site):
        addresses = (nets[name].address(h.number) for name in ("management", "bmc", "storage"))
        yield (h.name, h.role, h.gpus, h.rack, h.unit, units.get(h.name, ""), *addresses)


def _port_rows(site: Site, hosts: dict[str, Host], wired: Wiring) -> Iterator[tuple[object, ...]]:
    for network, found in wired.cables.items():
        for c in found:
            host = hosts.get(c.source)
            if host is None:
                continue
            name = port_name(network, c.source_port)
            net = site.networks.get(f"rail-{c.source_port}" if network == "compute" else name.split("-")[0])
            net = net or site.networks["management" if name == "mgmt" else network]
            rail = c.source_port if network == "compute" else ""
            address = net.address(host.number) if name in _ADDRESSED or network == "compute" else ""
            yield (c.source, name, rail, c.target, c.target_port, address)


_ADDRESSED = ("mgmt", "bmc", "storage-1")
"""Ports with an address of their own; the second storage port is bonded to the first."""


def _switch_rows(inventory: Inventory, site: Site, wired: Wiring) -> Iterator[tuple[object, ...]]:
    used: dict[str, int] = {}
    switches = [switch for switch in inventory.switches if switch.site == site.name]
    network = {switch.name: switch.network for switch in switches}
    for own, found in wired.cables.items():
        for c in found:
            for name in (c.source, c.target):
                if network.get(name) == own or (name == c.target and name in network):
                    used[name] = used.get(name, 0) + 1
    for s in switches:
        address = site.networks["switches"].address(s.number)
        yield (s.name, s.network, s.tier, s.model, s.rack, address, s.ports, used.get(s.name, 0))


def _rack_rows(inventory: Inventory, site: Site) -> Iterator[tuple[object, ...]]:
    units = {group.name: group.units for group in inventory.groups}
    inside: dict[str, list[tuple[str, object, float]]] = {}
    for host in inventory.at(site):
        inside.setdefault(host.rack, []).append((host.name, host.unit, units[host.group]))
    for switch in inventory.switches:
        if switch.site == site.name:
            inside.setdefault(switch.rack, []).append((switch.name, "", 0.0))
    for rack in (rack for rack in inventory.racks if rack.site == site.name):
        head = (rack.name, rack.pod, rack.kind, rack.cooling, round(rack.power_w), round(rack.weight_kg))
        for device, unit, height in inside.get(rack.name, [("", "", 0.0)]):
            yield (*head, device, unit, round(height, 2) or "")
