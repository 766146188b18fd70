"""The figures of the fabric: what each site's nodes and spares need, in the order in which one follows from another."""

from __future__ import annotations

from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, Provenance, assumed, from_spec
from clusterwright.domains.fabric import cables, endpoints, fattree, side
from clusterwright.domains.fabric.sites import added, difference, hops, largest, least, most, total
from clusterwright.spec import Spec

__all__ = ["COUNTS", "SWITCHES", "size"]

COUNTS = (
    "leaf_switches",
    "spine_switches",
    "core_switches",
    "node_leaf_cables",
    "leaf_spine_cables",
    "spine_core_cables",
)
SWITCHES = COUNTS[:3]
STORAGE_SWITCH = "sn5400"
STORAGE_CABLE = "mmf-400-sr4"
MANAGEMENT_SWITCH = "sn2201"
MANAGEMENT_CABLE = "cat6-1g"
_ZERO = Provenance("default", note="no fabric manager with ports of its own: the switches carry the subnet manager")


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Derive every ``fabric.*`` and ``sites[i].fabric.*`` figure.

    Args:
        frame: needs ``server.{nics,nic_bandwidth_bytes_s,system_nodes}``, ``compute.nodes_per_rack``,
            ``fabric.{link_bandwidth_bytes_s,radix,oversubscription,planes,provided}``, prices, powers and masses of
            switch and cables, and per site ``nodes``, ``spare_nodes`` and ``management.nodes``.
        spec: topology, oversubscription, sites.
        catalog: parts of the storage and management networks.
    """
    _give(frame, spec, catalog)
    sites = [f"sites[{i}]" for i in range(len(spec.sites))]
    for site in sites:
        _compute_network(frame, site)
        _storage_network(frame, site)
        _management_network(frame, site)
        _site_sums(frame, site)
    _totals(frame, [f"{site}.fabric" for site in sites])
    _lengths(frame, sites)


def _give(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Wishes of the spec and facts of the catalogue, each a figure of its own."""
    rails = spec.fabric.topology != "fat-tree"
    origin = (
        from_spec(str(spec.place("fabric.topology")))
        if spec.fabric.topology
        else Provenance(
            "default", note="rails keep traffic of equal local ranks under one leaf; see the topologies weighed"
        )
    )
    frame.give("fabric.rail_optimised", float(rails), origin, count=True)
    pinned = spec.given("fabric.oversubscription")
    frame.give(
        "fabric.oversubscription_pinned", float(pinned), Provenance("default", note="1 when written"), count=True
    )
    frame.give("fabric.extra_links", 0.0, _ZERO, count=True)
    frame.derive(
        "fabric.links_per_node",
        fattree.links_per_node,
        nics="server.nics",
        nic_bandwidth_bytes_s="server.nic_bandwidth_bytes_s",
        link_bandwidth_bytes_s="fabric.link_bandwidth_bytes_s",
    )
    frame.derive(
        "fabric.rails",
        endpoints.rails,
        links="fabric.links_per_node",
        planes="fabric.planes",
        rail_optimised="fabric.rail_optimised",
    )
    for name, ports in (("up_ports", fattree.up_ports), ("down_ports", fattree.down_ports)):
        frame.derive(f"fabric.{name}", ports, radix="fabric.radix", oversubscription="fabric.oversubscription")
    _give_side_parts(frame, catalog)


def _give_side_parts(frame: Frame, catalog: Catalog) -> None:
    """Switches and cables of the storage and management networks."""
    for network, switch, cable in (
        ("storage", STORAGE_SWITCH, STORAGE_CABLE),
        ("management", MANAGEMENT_SWITCH, MANAGEMENT_CABLE),
    ):
        for kind, part_name, fields in (
            ("switch", switch, ("ports", "port_rate_bytes_s", "power_w", "units", "weight_kg", "purchase_price_usd")),
            ("cable", cable, ("power_per_end_w", "transceiver_price_usd", "price_usd", "price_usd_per_m")),
        ):
            part = catalog.get(kind, part_name)
            frame.choose(f"fabric.{network}.{kind}", part_name, assumed(f"a common part for the {network} network"))
            for key in fields:
                path = f"fabric.{network}.{kind}_{key}"
                if key in part:
                    place = f"catalogue: {kind}/{part_name} {key}"
                    frame.give_fact(path, part.fact(key), place, count=key in ("ports", "units"))
                elif key == "weight_kg":
                    frame.give(path, 20.0, assumed("no mass in the catalogue; as switches of that size"))
    frame.give(
        "fabric.storage.links_per_node",
        2.0,
        assumed("two ports of each server go to the storage network", "NVIDIA DGX SuperPOD H100 RA"),
        count=True,
    )
    frame.give("fabric.storage.rails", 2.0, assumed("the two links of a node end at two leaves"), count=True)
    frame.give("fabric.storage.planes", 1.0, assumed("one plane"), count=True)
    for path, name in (
        ("fabric.storage.node_rate_bytes_s", "storage_fabric_node_bytes_s"),
        ("fabric.storage.group_read_bytes_s", "superpod_best_su_read_bytes_s"),
    ):
        frame.give_fact(path, catalog.planning(name), f"catalogue: planning/{name}")
    frame.derive(
        "fabric.storage.oversubscription",
        side.storage_oversubscription,
        links="fabric.storage.links_per_node",
        link_bandwidth_bytes_s="fabric.storage.switch_port_rate_bytes_s",
        node_rate_bytes_s="fabric.storage.node_rate_bytes_s",
    )
    for name, ports in (("up_ports", fattree.up_ports), ("down_ports", fattree.down_ports)):
        frame.derive(
            f"fabric.storage.{name}",
            ports,
            radix="fabric.storage.switch_ports",
            oversubscription="fabric.storage.oversubscription",
        )


# --- one site ---


def _compute_network(frame: Frame, site: str) -> None:
    """Counts for the requested nodes, for all, and their difference."""
    own = f"{site}.fabric"
    frame.derive(
        f"{own}.nodes",
        endpoints.networked_nodes,
        nodes=f"{site}.nodes",
        system_nodes="server.system_nodes",
        provided="fabric.provided",
    )
    frame.derive(f"{own}.all.nodes", endpoints.all_nodes, nodes=f"{own}.nodes", spare_nodes=f"{site}.spare_nodes")
    _tree(frame, own, "fabric.down_ports", "fabric.up_ports")
    frame.derive(
        f"{own}.all.down_ports",
        endpoints.spare_down_ports,
        nodes=f"{own}.nodes",
        everyone=f"{own}.all.nodes",
        leaves=f"{own}.leaf_switches",
        links="fabric.links_per_node",
        rails="fabric.rails",
        radix="fabric.radix",
        down="fabric.down_ports",
        up="fabric.up_ports",
        planes="fabric.planes",
        pinned="fabric.oversubscription_pinned",
    )
    frame.derive(
        f"{own}.all.up_ports",
        endpoints.spare_up_ports,
        spare_down=f"{own}.all.down_ports",
        down="fabric.down_ports",
        up="fabric.up_ports",
        radix="fabric.radix",
    )
    _tree(frame, f"{own}.all", f"{own}.all.down_ports", f"{own}.all.up_ports")
    for count in COUNTS:
        frame.derive(f"{own}.spares.{count}", difference, everyone=f"{own}.all.{count}", working=f"{own}.{count}")
    frame.derive(
        f"{own}.fits",
        fattree.fits,
        leaves=f"{own}.all.leaf_switches",
        links="fabric.links_per_node",
        rails="fabric.rails",
        down="fabric.down_ports",
        radix="fabric.radix",
        planes="fabric.planes",
    )
    frame.derive(
        f"{own}.bisection_bandwidth_bytes_s",
        fattree.bisection_bandwidth,
        nodes=f"{own}.nodes",
        links="fabric.links_per_node",
        leaves=f"{own}.leaf_switches",
        tier_count=f"{own}.tiers",
        up="fabric.up_ports",
        link_bandwidth_bytes_s="fabric.link_bandwidth_bytes_s",
    )


def _tree(
    frame: Frame,
    own: str,
    down: str,
    up: str,
    *,
    links: str = "fabric.links_per_node",
    rails: str = "fabric.rails",
    extra: str = "fabric.extra_links",
    radix: str = "fabric.radix",
    planes: str = "fabric.planes",
    cabled: str = "fabric.extra_links",
) -> None:
    """The counts of one tree for the nodes at ``own.nodes``; of the ``extra`` ports, ``cabled`` have a cable here."""
    leaves, count = f"{own}.leaf_switches", f"{own}.tiers"
    frame.derive(
        leaves,
        fattree.leaf_switches,
        nodes=f"{own}.nodes",
        links=links,
        rails=rails,
        extra_links=extra,
        radix=radix,
        down=down,
        planes=planes,
    )
    frame.derive(count, fattree.tiers, leaves=leaves, radix=radix, planes=planes)
    for name, switches in (("spine", fattree.spine_switches), ("core", fattree.core_switches)):
        frame.derive(
            f"{own}.{name}_switches", switches, leaves=leaves, tier_count=count, up=up, radix=radix, planes=planes
        )
    frame.derive(
        f"{own}.node_leaf_cables", fattree.node_leaf_cables, nodes=f"{own}.nodes", links=links, extra_links=cabled
    )
    frame.derive(f"{own}.leaf_spine_cables", fattree.leaf_spine_cables, leaves=leaves, tier_count=count, up=up)
    frame.derive(
        f"{own}.spine_core_cables",
        fattree.spine_core_cables,
        spines=f"{own}.spine_switches",
        tier_count=count,
        radix=radix,
    )


def _storage_network(frame: Frame, site: str) -> None:
    own = f"{site}.fabric.storage"
    frame.derive(f"{own}.nodes", endpoints.all_nodes, nodes=f"{site}.nodes", spare_nodes=f"{site}.spare_nodes")
    frame.derive(f"{own}.service_links", side.storage_service_links, servers=f"{site}.management.nodes")
    frame.derive(
        f"{own}.device_links",
        side.storage_device_links,
        nodes=f"{own}.nodes",
        group_read_bytes_s="fabric.storage.group_read_bytes_s",
        link_bandwidth_bytes_s="fabric.storage.switch_port_rate_bytes_s",
        service_links=f"{own}.service_links",
    )
    frame.derive(
        f"{own}.extra_links",
        side.storage_extra_links,
        nodes=f"{own}.nodes",
        device_links=f"{own}.device_links",
        service_links=f"{own}.service_links",
        access_ports="fabric.management.switch_ports",
    )
    _tree(
        frame,
        own,
        "fabric.storage.down_ports",
        "fabric.storage.up_ports",
        links="fabric.storage.links_per_node",
        rails="fabric.storage.rails",
        extra=f"{own}.extra_links",
        radix="fabric.storage.switch_ports",
        planes="fabric.storage.planes",
        cabled=f"{own}.device_links",
    )
    frame.derive(f"{own}.cables", total, parts=[f"{own}.{count}" for count in COUNTS[3:]])


def _management_network(frame: Frame, site: str) -> None:
    own = f"{site}.fabric.management"
    switches = [f"{site}.fabric.all.{name}" for name in SWITCHES] + [f"{site}.fabric.storage.{n}" for n in SWITCHES]
    shared = {
        "nodes": f"{site}.fabric.storage.nodes",
        "servers": f"{site}.management.nodes",
        "nodes_per_rack": "compute.nodes_per_rack",
    }
    frame.derive(
        f"{own}.switches",
        side.management_switches,
        switches=switches,
        access_ports="fabric.management.switch_ports",
        **shared,
    )
    frame.derive(f"{own}.cables", side.management_cables, switches=switches, access=f"{own}.switches", **shared)


def _site_sums(frame: Frame, site: str) -> None:
    """Power, height, mass of all networks of a site."""
    own = f"{site}.fabric"
    groups: dict[str, Any] = {
        "switches": [f"{own}.all.{name}" for name in SWITCHES],
        "storage_switches": [f"{own}.storage.{name}" for name in SWITCHES],
        "management_switches": f"{own}.management.switches",
    }
    frame.derive(
        f"{own}.power_w",
        side.network_power,
        cables=f"{own}.all.node_leaf_cables",
        storage_cables=f"{own}.storage.node_leaf_cables",
        switch_power_w="fabric.switch_power_w",
        storage_switch_power_w="fabric.storage.switch_power_w",
        management_switch_power_w="fabric.management.switch_power_w",
        end_power_w="fabric.cable_end_power_w",
        storage_end_power_w="fabric.storage.cable_power_per_end_w",
        **groups,
    )
    for path, one, key in (("units", side.network_units, "units"), ("weight_kg", side.network_weight, "weight_kg")):
        frame.derive(
            f"{own}.{path}",
            one,
            each=f"fabric.switch_{key}",
            storage_each=f"fabric.storage.switch_{key}",
            management_each=f"fabric.management.switch_{key}",
            **groups,
        )


# --- all sites ---


def _totals(frame: Frame, owns: list[str]) -> None:
    for prefix in ("", "all.", "spares.", "storage."):
        for count in COUNTS:
            frame.derive(f"fabric.{prefix}{count}", total, parts=[f"{own}.{prefix}{count}" for own in owns])
    for name in ("storage.cables", "management.switches", "management.cables", "units"):
        frame.derive(f"fabric.{name}", total, parts=[f"{own}.{name}" for own in owns])
    for name in ("power_w", "weight_kg"):
        frame.derive(f"fabric.{name}", added, parts=[f"{own}.{name}" for own in owns])
    path = "bisection_bandwidth_bytes_s"
    frame.derive(f"fabric.{path}", largest, parts=[f"{own}.{path}" for own in owns])
    frame.derive("fabric.tiers", most, parts=[f"{own}.tiers" for own in owns])
    frame.derive("fabric.hops", hops, tier_count="fabric.tiers")
    frame.derive("fabric.fits", least, parts=[f"{own}.fits" for own in owns])


def _lengths(frame: Frame, sites: list[str]) -> None:
    """Lengths by the largest site, and with them the prices of cables and of the side networks."""
    frame.derive("fabric.largest_site_nodes", most, parts=[f"{site}.fabric.storage.nodes" for site in sites])
    for path, one in (
        ("fabric.cable_length_m", cables.cable_length),
        ("fabric.trunk_length_m", cables.trunk_length),
        ("fabric.longest_cable_m", cables.longest_cable),
        ("fabric.longest_trunk_m", cables.longest_trunk),
    ):
        frame.derive(path, one, nodes="fabric.largest_site_nodes", nodes_per_rack="compute.nodes_per_rack")
    for name in ("cable", "trunk"):
        frame.derive(
            f"fabric.{name}_price_usd",
            cables.cable_price,
            assembly_usd=f"fabric.{name}_assembly_usd",
            transceiver_usd=f"fabric.{name}_transceiver_usd",
            usd_per_m=f"fabric.{name}_usd_per_m",
            length_m=f"fabric.{name}_length_m",
        )
    frame.derive(
        "fabric.storage.price_usd",
        side.storage_price,
        switches=[f"fabric.storage.{name}" for name in SWITCHES],
        cables=[f"fabric.storage.{name}" for name in COUNTS[3:]],
        switch_price_usd="fabric.storage.switch_purchase_price_usd",
        transceiver_usd="fabric.storage.cable_transceiver_price_usd",
        usd_per_m="fabric.storage.cable_price_usd_per_m",
        length_m="fabric.trunk_length_m",
    )
    frame.derive(
        "fabric.management.price_usd",
        side.management_price,
        switches="fabric.management.switches",
        cables="fabric.management.cables",
        switch_price_usd="fabric.management.switch_purchase_price_usd",
        cable_usd="fabric.management.cable_price_usd",
        usd_per_m="fabric.management.cable_price_usd_per_m",
        length_m="fabric.cable_length_m",
    )
