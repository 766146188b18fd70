"""What to say about the fabric of a finished design: spares inside or beyond, ratios, reach, single switches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.domains.fabric.endpoints import LEAST_RATE
from clusterwright.domains.fabric.fattree import (
    core_switches,
    leaf_switches,
    smallest_divisor,
    spine_switches,
    tiers,
)
from clusterwright.domains.fabric.findings import FINDINGS
from clusterwright.domains.fabric.sizing import COUNTS, SWITCHES
from clusterwright.findings import Finding
from clusterwright.spec import Spec
from clusterwright.units import human_as

__all__ = ["findings", "topology_text"]


def topology_text(cluster: Cluster) -> str:
    """The topology built, in words: ``rail-optimised fat tree, 2 tiers, 1:1``."""
    count = int(cluster.value("fabric.tiers"))
    if cluster.value("fabric.provided"):
        return "the provider's"
    if count == 0:
        return "none: one scale-up domain needs no compute network"
    if count == 1:
        return "single switch"
    kind = "rail-optimised fat tree" if cluster.value("fabric.rail_optimised") else "fat tree, top-of-rack leaves"
    return f"{kind}, {count} tiers, {cluster.value('fabric.oversubscription'):g}:1"


def findings(cluster: Cluster, spec: Spec, catalog: Catalog) -> Iterator[Finding]:
    """Everything worth saying, site by site where it differs."""
    value = cluster.value
    for i, site in enumerate(spec.sites):
        own = f"sites[{i}].fabric"
        there = value(f"sites[{i}].nodes")
        if not value(f"{own}.fits"):
            most = value("fabric.radix") ** 3 / 4 * value("fabric.planes") / value("fabric.links_per_node")
            asked = f"{value(f'{own}.all.nodes'):,.0f} nodes with {value('fabric.links_per_node'):.0f} links each"
            held = f"three tiers of {value('fabric.radix'):.0f}-port switches join at most {most:,.0f}"
            message = f"{site.name}: {asked}, but {held}"
            yield FINDINGS["FABRIC-TOO-LARGE"].at(
                f"{own}.fits", message, "take switches with more ports, or more sites"
            )
        elif there and value("fabric.provided"):
            technology, server = cluster.frame.text("fabric.technology"), cluster.frame.text("compute.server")
            message = f"{site.name}: {technology} joins the instances {server}; no switch or cable of it is ours"
            hint = "start them in one placement group, as near to each other as the provider can"
            yield FINDINGS["FABRIC-PROVIDED"].at(f"{own}.leaf_switches", message, hint)
        elif there and not value(f"{own}.nodes"):
            message = f"{site.name}: {there:,.0f} node{'s' if there > 1 else ''} in one scale-up domain"
            yield FINDINGS["FABRIC-NOT-NEEDED"].at(f"{own}.leaf_switches", message)
        elif value(f"{own}.all.tiers") == 1:
            message = f"{site.name}: one switch joins all {value(f'{own}.all.nodes'):,.0f} nodes"
            hint = "keep a spare switch, or order two leaves and two spines"
            yield FINDINGS["FABRIC-SINGLE-SWITCH"].at(f"{own}.leaf_switches", message, hint)
        yield from _spares(cluster, i, site.name)
    yield from _ratio(cluster)
    yield from _reach(cluster, catalog)


# --- spares ---


def _spares(cluster: Cluster, i: int, name: str) -> Iterator[Finding]:
    """The arithmetic of spares inside the requested nodes, beyond them, and on widened leaves."""
    own, value = f"sites[{i}].fabric", cluster.value
    nodes, spares = value(f"{own}.nodes"), value(f"sites[{i}].spare_nodes")
    if not nodes or not spares:
        return
    if value(f"{own}.all.down_ports") > value("fabric.down_ports"):
        yield _widening(cluster, i, name)
        return
    added = {count: value(f"{own}.spares.{count}") for count in COUNTS}
    switches = sum(added[key] for key in SWITCHES)
    trunks = added["leaf_spine_cables"] + added["spine_core_cables"]
    cost = (
        switches * value("fabric.switch_price_usd")
        + added["node_leaf_cables"] * value("fabric.cable_price_usd")
        + trunks * value("fabric.trunk_price_usd")
    )
    beyond = (
        f"{name}: {_many(spares)} beyond {nodes:,.0f} nodes add {switches:+,.0f} switches "
        f"({_each(added)}), {added['node_leaf_cables']:+,.0f} node-leaf and {trunks:+,.0f} trunk cables, "
        f"{human_as(cost, 'USD')}"
    )
    left = f"{nodes - spares:,.0f} nodes ({1 - spares / nodes:.1%})"
    inside = f"inside them they add nothing and leave {left} to the jobs"
    hint = "spares inside cost computing, spares beyond cost switches" + _widened(cluster, own, nodes + spares)
    yield FINDINGS["FABRIC-SPARES-BEYOND"].at(f"{own}.spares.leaf_switches", f"{beyond}; {inside}", hint)


def _widening(cluster: Cluster, i: int, name: str) -> Finding:
    """What widened leaves are, and what a strict ratio would have needed."""
    own, value = f"sites[{i}].fabric", cluster.value
    links, radix = np.array([value("fabric.links_per_node")]), np.array([value("fabric.radix")])
    rails = np.array([value("fabric.rails")])
    everyone, planes = np.array([value(f"{own}.all.nodes")]), value("fabric.planes")
    up, down = np.array([value("fabric.up_ports")]), np.array([value("fabric.down_ports")])
    leaves = leaf_switches(everyone, links, rails, 0.0, radix, down, planes)
    count = tiers(leaves, radix, planes)
    spines, cores = (one(leaves, count, up, radix, planes) for one in (spine_switches, core_switches))
    built = sum(value(f"{own}.all.{key}") for key in SWITCHES)
    alone = sum(value(f"{own}.{key}") for key in SWITCHES)
    message = (
        f"{name}: {_many(value(f'sites[{i}].spare_nodes'))} beyond {value(f'{own}.nodes'):,.0f} nodes sit on leaves of "
        f"{value(f'{own}.all.down_ports'):.0f} down and {value(f'{own}.all.up_ports'):.0f} up ports, {built:,.0f} "
        f"switches in all; a strict {value('fabric.oversubscription'):g}:1 would take "
        f"{float((leaves + spines + cores)[0]):,.0f}, and {alone:,.0f} without the spares"
    )
    hint = "write fabric.oversubscription to have it kept strictly, or keep the spares inside the requested nodes"
    return FINDINGS["FABRIC-SPARES-WIDEN"].at(f"{own}.all.down_ports", message, hint)


def _many(spares: float) -> str:
    return f"{spares:,.0f} spare node{'s' if spares > 1 else ''}"


def _each(added: dict[str, float]) -> str:
    return ", ".join(f"{key.partition('_')[0]} {added[key]:+.0f}" for key in SWITCHES if added[key]) or "none"


def _widened(cluster: Cluster, own: str, everyone: float) -> str:
    """The cheapest widened leaves that would take the spares in two tiers, in words; empty where it saves nothing."""
    value = cluster.value
    leaves, radix, up = value(f"{own}.leaf_switches"), value("fabric.radix"), value("fabric.up_ports")
    if value(f"{own}.tiers") != 2 or value("fabric.planes") != 1:
        return ""
    down = np.ceil(everyone * value("fabric.links_per_node") / leaves)
    ups = np.arange(np.ceil(up * LEAST_RATE), radix - down + 1)
    if not ups.size or down <= value("fabric.down_ports"):
        return ""
    spines = smallest_divisor(ups, leaves * ups / radix)
    best = int(np.argmin(spines - ups / 1e6))
    there = leaves + spines[best]
    built = sum(value(f"{own}.all.{key}") for key in SWITCHES)
    if there >= built:
        return ""
    return (
        f"; leaves of {down:.0f} down and {ups[best]:.0f} up ports would take them with {there:.0f} instead of "
        f"{built:.0f} switches, and leave working nodes {ups[best] / up:.0%} of the uplink rate"
    )


# --- the rest ---


def _ratio(cluster: Cluster) -> Iterator[Finding]:
    ratio = cluster.value("fabric.oversubscription")
    if ratio > 1 and cluster.value("fabric.tiers") >= 2:
        down, up = cluster.value("fabric.down_ports"), cluster.value("fabric.up_ports")
        message = (
            f"{down:.0f} down and {up:.0f} up ports a leaf: between leaves each link gets "
            f"{up / down:.0%} of its rate when all send"
        )
        hint = "ask for 1:1 where experts or sequence parts are exchanged between nodes"
        yield FINDINGS["FABRIC-OVERSUBSCRIBED"].at("fabric.oversubscription", message, hint)


def _reach(cluster: Cluster, catalog: Catalog) -> Iterator[Finding]:
    """The longest runs against the reach of the cables."""
    for row in {row["medium"]: row for row in cluster.tables["links"].rows() if row["network"] == "compute"}.values():
        if not row["medium"]:
            continue
        between = row["source"].endswith(("-leaf", "-spine"))
        longest = cluster.value("fabric.longest_trunk_m" if between else "fabric.longest_cable_m")
        reach = catalog.get("cable", row["medium"])["reach_m"]
        if longest > reach:
            message = f"the longest run is {longest:.0f} m, {row['medium']} reaches {reach:.0f} m"
            yield FINDINGS["FABRIC-CABLE-REACH"].at(
                "links.medium", message, "place leaves nearer, or use single-mode optics"
            )
