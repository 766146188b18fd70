"""The two networks beside the compute network: storage, and out-of-band management.

Storage: a Clos network of its own, two links a node to two different leaves, so oversubscribed at the leaves that a
node still has the rate that the SuperPOD reference asks for. Its other endpoints are the storage system, sized by the
reference's best read rate for 32 nodes, the servers beside compute (login, scheduler, management ...) with two links
each, and two uplinks of every management switch.

Management: 1 GbE. Each node and each server beside compute has two ports (its baseboard controller and its system),
each switch one, each rack two power strips.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import law

__all__ = [
    "management_cables",
    "management_price",
    "management_switches",
    "network_power",
    "network_units",
    "network_weight",
    "storage_device_links",
    "storage_extra_links",
    "storage_oversubscription",
    "storage_price",
    "storage_service_links",
]

Floats = NDArray[np.float64]

NODE_PORTS = 2.0
RACK_PORTS = 2.0
UPLINKS = 2.0
SERVICE_LINKS = 2.0


@law(
    "fabric.storage_oversubscription",
    formula="max(1, links a node x link rate / rate asked for a node)",
    unit="1",
    source="NVIDIA DGX SuperPOD H100 RA: the storage network gives a node at least 40 GB/s",
)
def storage_oversubscription(links: Floats, link_bandwidth_bytes_s: Floats, node_rate_bytes_s: Floats) -> Floats:
    """Down over up at the storage leaves that still leaves a node its rate."""
    return np.maximum(links * link_bandwidth_bytes_s / node_rate_bytes_s, 1.0)


@law(
    "fabric.storage_service_links",
    formula="2 x servers beside compute",
    unit="1",
    source="arithmetic; the two links end at two leaves, as those of compute nodes",
    count=True,
)
def storage_service_links(servers: Floats) -> Floats:
    """Links of login, scheduler, management and other servers to the storage network, which is their in-band one."""
    return SERVICE_LINKS * servers


@law(
    "fabric.storage_device_links",
    formula="max(2, ceil(nodes x read rate of 32 nodes / 32 / link rate)) + service links",
    unit="1",
    source="NVIDIA DGX SuperPOD H100 RA: storage guideline 'best', 125 GB/s read for 32 nodes",
    count=True,
)
def storage_device_links(
    nodes: Floats, group_read_bytes_s: Floats, link_bandwidth_bytes_s: Floats, service_links: Floats
) -> Floats:
    """Links of the storage system and of the servers beside compute."""
    targets = np.maximum(np.ceil(nodes * group_read_bytes_s / 32.0 / link_bandwidth_bytes_s - 1e-9), 2.0)
    return np.where(nodes > 0.0, targets + service_links, 0.0)


@law(
    "fabric.storage_extra_links",
    formula="device links + 2 x ceil((5 nodes + service links) / access ports)",
    unit="1",
    source="ports kept for the uplinks of management switches, with at most five management ports a node",
    count=True,
)
def storage_extra_links(nodes: Floats, device_links: Floats, service_links: Floats, access_ports: Floats) -> Floats:
    """Ports of storage leaves that no compute node takes."""
    return device_links + UPLINKS * np.ceil((5.0 * nodes + service_links) / access_ports)


def _management_ports(nodes: Floats, servers: Floats, switches: list[Floats], nodes_per_rack: Floats) -> Floats:
    racks = np.ceil(nodes / nodes_per_rack)
    ports: Floats = NODE_PORTS * (nodes + servers) + sum(switches, np.zeros_like(nodes)) + RACK_PORTS * racks
    return ports


@law(
    "fabric.management_switches",
    formula="ceil((2 nodes + 2 servers + switches + 2 racks) / ports)",
    unit="1",
    source="a port for each baseboard controller, system, switch and power strip",
    count=True,
)
def management_switches(
    nodes: Floats, servers: Floats, switches: list[Floats], nodes_per_rack: Floats, access_ports: Floats
) -> Floats:
    """Access switches of the out-of-band network of a site; ``servers`` are those beside compute."""
    return np.ceil(_management_ports(nodes, servers, switches, nodes_per_rack) / access_ports)


@law(
    "fabric.management_cables",
    formula="2 nodes + 2 servers + switches + 2 racks + 2 x access switches",
    unit="1",
    source="a port for each baseboard controller, system, switch and power strip; two uplinks",
    count=True,
)
def management_cables(
    nodes: Floats, servers: Floats, switches: list[Floats], nodes_per_rack: Floats, access: Floats
) -> Floats:
    """Cables of the out-of-band network of a site; ``servers`` are those beside compute."""
    return _management_ports(nodes, servers, switches, nodes_per_rack) + UPLINKS * access


@law(
    "fabric.storage_price",
    formula="switches x price + cables x (assembly + 2 transceivers + metres x price per metre)",
    unit="USD",
    source="arithmetic",
)
def storage_price(
    switches: list[Floats],
    cables: list[Floats],
    switch_price_usd: Floats,
    transceiver_usd: Floats,
    usd_per_m: Floats,
    length_m: Floats,
) -> Floats:
    """Purchase of the storage network's switches, cables and optics."""
    cable = 2.0 * transceiver_usd + usd_per_m * length_m
    price: Floats = sum(switches, np.zeros_like(cable)) * switch_price_usd + sum(cables, np.zeros_like(cable)) * cable
    return price


@law(
    "fabric.management_price",
    formula="switches x price + cables x (cable + metres x price per metre)",
    unit="USD",
    source="arithmetic",
)
def management_price(
    switches: Floats,
    cables: Floats,
    switch_price_usd: Floats,
    cable_usd: Floats,
    usd_per_m: Floats,
    length_m: Floats,
) -> Floats:
    """Purchase of the management network's switches and cables."""
    return switches * switch_price_usd + cables * (cable_usd + usd_per_m * length_m)


@law(
    "fabric.power",
    formula="sum over networks of switches x power with optics + node-leaf cables x power of the node's end",
    unit="W",
    source="vendor's power with active optics in every cage; the optics at the nodes are not in it",
    spread=0.15,
    bounds=(0.0, float("inf")),
)
def network_power(
    switches: list[Floats],
    storage_switches: list[Floats],
    management_switches: Floats,
    cables: Floats,
    storage_cables: Floats,
    switch_power_w: Floats,
    storage_switch_power_w: Floats,
    management_switch_power_w: Floats,
    end_power_w: Floats,
    storage_end_power_w: Floats,
) -> Floats:
    """Power of all networks of a site, optics at both ends included."""
    none = np.zeros_like(switch_power_w)
    power: Floats = sum(switches, none) * switch_power_w + cables * end_power_w
    power = power + sum(storage_switches, none) * storage_switch_power_w + storage_cables * storage_end_power_w
    return power + management_switches * management_switch_power_w


@law(
    "fabric.units",
    formula="sum over networks of switches x height units",
    unit="1",
    source="arithmetic",
    count=True,
)
def network_units(
    switches: list[Floats],
    storage_switches: list[Floats],
    management_switches: Floats,
    each: Floats,
    storage_each: Floats,
    management_each: Floats,
) -> Floats:
    """Height units of all switches of a site."""
    return _each(switches, storage_switches, management_switches, each, storage_each, management_each)


@law("fabric.weight", formula="sum over networks of switches x mass", unit="kg", source="arithmetic; cables left out")
def network_weight(
    switches: list[Floats],
    storage_switches: list[Floats],
    management_switches: Floats,
    each: Floats,
    storage_each: Floats,
    management_each: Floats,
) -> Floats:
    """Mass of all switches of a site."""
    return _each(switches, storage_switches, management_switches, each, storage_each, management_each)


def _each(
    switches: list[Floats],
    storage: list[Floats],
    management: Floats,
    each: Floats,
    storage_each: Floats,
    management_each: Floats,
) -> Floats:
    none = np.zeros_like(each)
    total: Floats = sum(switches, none) * each + sum(storage, none) * storage_each
    return total + management * management_each
