"""Other topologies for the same endpoints: what each would need, and why it is or is not the one to build.

Sizes are counted with the same switches and links as the design: a rail-optimised fat tree, a fat tree with
top-of-rack leaves, both halved at the leaves (2:1), unjoined rails, a dragonfly, and a full mesh of switches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import Cluster, law
from clusterwright.domains.fabric.fattree import (
    bisection_bandwidth,
    core_switches,
    down_ports,
    fits,
    leaf_spine_cables,
    leaf_switches,
    spine_core_cables,
    spine_switches,
    tiers,
    up_ports,
)

__all__ = ["dragonfly_bisection", "dragonfly_switches", "dragonfly_trunks", "mesh_switches", "options"]

Floats = NDArray[np.float64]

_KIM = "J. Kim, W. J. Dally, S. Scott, D. Abts, ISCA 2008: a balanced dragonfly has a = 2p = 2h; p = radix/4"


@law(
    "fabric.dragonfly_switches",
    formula="ceil(endpoints / (radix/4)), whole groups of radix/2 switches from the second group on",
    unit="1",
    source=_KIM + "; Cray EX: 16 down, 31 local, 16 global of 64 ports",
    count=True,
)
def dragonfly_switches(endpoints: Floats, radix: Floats) -> Floats:
    """Switches of a balanced dragonfly."""
    down, group = np.floor(radix / 4.0), np.floor(radix / 2.0)
    needed = np.ceil(endpoints / down)
    return np.where(needed <= group, needed, np.ceil(needed / group) * group)


@law(
    "fabric.dragonfly_trunks",
    formula="groups x a (a-1)/2 local + pairs of groups x floor(a h / (groups - 1)) global",
    unit="1",
    source=_KIM,
    count=True,
)
def dragonfly_trunks(switches: Floats, radix: Floats) -> Floats:
    """Cables between switches of a dragonfly: full mesh in a group, equal bundles between groups."""
    down, group = np.floor(radix / 4.0), np.minimum(np.floor(radix / 2.0), switches)
    groups = np.ceil(switches / np.maximum(group, 1.0))
    return groups * group * (group - 1.0) / 2.0 + _global_links(group, groups, down) * groups * (groups - 1.0) / 2.0


def _global_links(group: Floats, groups: Floats, down: Floats) -> Floats:
    """Cables between two groups."""
    links: Floats = np.where(groups > 1.0, np.floor(group * down / np.maximum(groups - 1.0, 1.0)), 0.0)
    return links


@law(
    "fabric.dragonfly_bisection",
    formula="min(endpoints / 2, cables between half of the groups and the other) x link rate",
    unit="byte/s",
    source=_KIM,
)
def dragonfly_bisection(endpoints: Floats, switches: Floats, radix: Floats, link_bandwidth_bytes_s: Floats) -> Floats:
    """Bytes a second, one direction, between two halves of the groups on direct paths."""
    down, group = np.floor(radix / 4.0), np.minimum(np.floor(radix / 2.0), switches)
    groups = np.ceil(switches / np.maximum(group, 1.0))
    half = np.floor(groups / 2.0)
    crossing = np.where(groups > 1.0, half * (groups - half) * _global_links(group, groups, down), group**2 / 4.0)
    return np.minimum(endpoints / 2.0, crossing) * link_bandwidth_bytes_s


@law(
    "fabric.mesh_switches",
    formula="ceil(endpoints / (radix/2)), at most radix/2 + 1",
    unit="1",
    source="arithmetic: a switch has a port for each other switch and as many for nodes",
    count=True,
)
def mesh_switches(endpoints: Floats, radix: Floats) -> Floats:
    """Switches of a full mesh, 0 where they cannot all see each other."""
    half = np.floor(radix / 2.0)
    needed = np.ceil(endpoints / half)
    return np.where(needed <= half + 1.0, needed, 0.0)


@dataclass(frozen=True)
class _Site:
    """The largest site and the prices."""

    nodes: float
    links: float
    rails: float
    radix: float
    ratio: float
    rate: float
    switch_usd: float
    cable_usd: float
    trunk_usd: float

    @property
    def endpoints(self) -> float:
        return self.nodes * self.links

    def cost(self, switches: float, trunks: float) -> float:
        return switches * self.switch_usd + self.endpoints * self.cable_usd + trunks * self.trunk_usd


def options(cluster: Cluster, sites: int) -> list[dict[str, Any]]:
    """The topologies weighed for the largest site: name, chosen, verdict, size, cost, hops, bisection, why."""
    site = _largest(cluster, sites)
    if site.nodes <= 0:
        return []
    chosen = "rail-optimised fat tree" if cluster.value("fabric.rail_optimised") else "fat tree, top-of-rack leaves"
    rows = [
        _tree(site, "rail-optimised fat tree", site.rails, site.ratio),
        _tree(site, "fat tree, top-of-rack leaves", 1.0, site.ratio),
        _tree(site, f"rail-optimised fat tree, {2 * site.ratio:g}:1", site.rails, 2.0 * site.ratio),
        _unjoined(site),
        _dragonfly(site),
        _mesh(site),
    ]
    base = next(row for row in rows if row["name"] == chosen)
    for row in rows:
        row["chosen"] = row is base
        row["verdict"], row["why"] = _verdict(row, base, site)
    return rows


def _largest(cluster: Cluster, sites: int) -> _Site:
    value = cluster.value
    return _Site(
        max(value(f"sites[{i}].fabric.nodes") for i in range(sites)),
        value("fabric.links_per_node"),
        value("fabric.links_per_node"),
        value("fabric.radix"),
        value("fabric.oversubscription"),
        value("fabric.link_bandwidth_bytes_s"),
        value("fabric.switch_price_usd"),
        value("fabric.cable_price_usd"),
        value("fabric.trunk_price_usd"),
    )


def _row(site: _Site, name: str, switches: float, trunks: float, hops: int, bisection: float) -> dict[str, Any]:
    return {
        "name": name,
        "chosen": False,
        "verdict": "",
        "switches": int(switches),
        "cables": int(site.endpoints + trunks),
        "cost_usd": site.cost(switches, trunks),
        "hops": hops,
        "bisection_bandwidth_bytes_s": float(bisection),
        "why": "",
    }


def _tree(site: _Site, name: str, rails: float, ratio: float) -> dict[str, Any]:
    nodes, links, radix, rate = (np.array([v]) for v in (site.nodes, site.links, site.radix, site.rate))
    up, down = up_ports(radix, ratio), down_ports(radix, ratio)
    leaves = leaf_switches(nodes, links, np.array([rails]), 0.0, radix, down)
    if not fits(leaves, links, np.array([rails]), down, radix)[0]:
        return _row(site, name, 0, 0, 0, 0.0)
    count = tiers(leaves, radix)
    spines = spine_switches(leaves, count, up, radix)
    cores = core_switches(leaves, count, up, radix)
    trunks = leaf_spine_cables(leaves, count, up) + spine_core_cables(spines, count, radix)
    bisection = bisection_bandwidth(nodes, links, leaves, count, up, rate)
    total = float((leaves + spines + cores)[0])
    return _row(site, name, total, float(trunks[0]), int(2 * count[0] - 1), bisection[0])


def _unjoined(site: _Site) -> dict[str, Any]:
    """One switch (or none that fits) a rail; ranks of other rails are reached through the scale-up domain."""
    fits = site.nodes <= site.radix
    return _row(site, "rails that are not joined", site.links if fits else 0, 0, 1 if fits else 0, 0.0)


def _dragonfly(site: _Site) -> dict[str, Any]:
    ends, radix = np.array([site.endpoints]), np.array([site.radix])
    switches = dragonfly_switches(ends, radix)
    trunks = dragonfly_trunks(switches, radix)
    bisection = dragonfly_bisection(ends, switches, radix, np.array([site.rate]))
    one_group = float(switches[0]) <= site.radix // 2
    return _row(site, "dragonfly", float(switches[0]), float(trunks[0]), 2 if one_group else 4, bisection[0])


def _mesh(site: _Site) -> dict[str, Any]:
    switches = float(mesh_switches(np.array([site.endpoints]), np.array([site.radix]))[0])
    if switches <= 0:
        return _row(site, "full mesh of switches", 0, 0, 0, 0.0)
    half = site.radix // 2
    each = half // max(switches - 1, 1) if switches > 1 else 0.0
    trunks = switches * (switches - 1) / 2 * each
    crossing = (switches // 2) * (switches - switches // 2) * each * site.rate
    bisection = min(site.endpoints / 2 * site.rate, crossing) if switches > 1 else site.endpoints / 2 * site.rate
    return _row(site, "full mesh of switches", switches, trunks, 2 if switches > 1 else 1, bisection)


def _verdict(row: dict[str, Any], base: dict[str, Any], site: _Site) -> tuple[str, str]:
    """The verdict on one topology against the one chosen, with the figures that carry it."""
    if not row["switches"]:
        many = f"{site.nodes:,.0f} nodes with {site.links:.0f} links each"
        return "impossible", f"{many} are too many for switches of {site.radix:.0f} ports"
    share = row["bisection_bandwidth_bytes_s"] / max(site.endpoints / 2 * site.rate, 1.0)
    if not base["switches"]:
        return "possible", f"joins all nodes where {base['name']} does not; the halves exchange {share:.0%}"
    dearer = row["cost_usd"] / max(base["cost_usd"], 1.0) - 1.0
    cost = f"{abs(dearer):.0%} {'dearer' if dearer > 0 else 'cheaper'}" if abs(dearer) >= 0.005 else "the same price"
    if row is base:
        return "chosen", _praise(row, site, share)
    if row["hops"] == base["hops"] == row["switches"] == 1:
        return "rejected", "the same single switch"
    if row["name"].startswith("rails that"):
        return "rejected", f"{cost}, but nothing joins the rails: all-to-all and pipelines must cross inside the nodes"
    if row["name"] == "fat tree, top-of-rack leaves":
        more = "every message between leaves crosses a spine, where rails keep equal local ranks under one switch"
        return "rejected", f"{cost}; {more}"
    if row["name"] == "rail-optimised fat tree":
        return "rejected", f"{cost}; not what the spec asks for"
    if share < min(1.0 / site.ratio, 1.0) - 0.02:
        return "rejected", f"{cost}, but the halves exchange only {share:.0%} of the full rate"
    if dearer > 0:
        return "rejected", f"{cost} for the same bisection"
    return "rejected", f"{cost}, but needs adaptive and non-minimal routing, and more hops for unlucky pairs"


def _praise(row: dict[str, Any], site: _Site, share: float) -> str:
    if row["hops"] <= 1:
        return f"{site.endpoints:,.0f} endpoints fit one switch: every pair is one hop apart at full rate"
    near = "equal local ranks of a rail group meet in one switch; " if "rail" in row["name"] else ""
    return f"{near}at most {row['hops']} hops; the halves exchange {share:.0%} of the full rate"
