"""Who is on the network: the nodes asked for, their spares, and how leaves make room for the latter.

Spares go beyond the nodes that work. Strictly kept, the oversubscription asked for gives a spare beyond full rail
groups a leaf of its own, and a new leaf may need spines in steps, because links spread evenly over a divisor of the
uplinks. Where it would need a whole further *tier* or *pod* and the spec does not pin the oversubscription, the leaves
take the spares as additional down ports and give up as many uplinks: 33 down and 31 up instead of 32 and 32. The nodes
that work, the spares idle, then keep at least 10/11 of the rate that was asked for, else the tier or pod is built.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import law
from clusterwright.domains.fabric.fattree import leaf_switches

__all__ = ["all_nodes", "networked_nodes", "rails", "spare_down_ports", "spare_up_ports"]

Floats = NDArray[np.float64]

LEAST_RATE = 10.0 / 11.0
"""Share of the rate asked for that working nodes keep where leaves are widened for spares (our choice; Meta's leaves
have 1.125 times as many uplinks as down ports to survive failures, so a tenth is the order of usual reserves)."""


@law(
    "fabric.rails",
    formula="links of a node in a plane, or 1 without rails",
    unit="1",
    source="rail-optimised: each link of a node ends at its own leaf",
    count=True,
)
def rails(links: Floats, planes: Floats, rail_optimised: Floats) -> Floats:
    """Leaves over which the links of one node and plane are spread."""
    return np.where(rail_optimised > 0.0, np.maximum(links / planes, 1.0), 1.0)


@law(
    "fabric.networked_nodes",
    formula="nodes, or 0 where one server or rack-scale system is all there is, or the network is a provider's",
    unit="1",
    source="a single scale-up domain has nobody to talk to over the compute network; a provider's is not ours to build",
    count=True,
)
def networked_nodes(nodes: Floats, system_nodes: Floats, provided: Floats) -> Floats:
    """Nodes of a site that work together over a compute network of ours; ``provided`` is 1 where it is a provider's."""
    return np.where((nodes > system_nodes) & (provided <= 0.0), nodes, 0.0)


@law(
    "fabric.all_nodes",
    formula="nodes + spare nodes, or 0 without a network",
    unit="1",
    source="arithmetic",
    count=True,
)
def all_nodes(nodes: Floats, spare_nodes: Floats) -> Floats:
    """Nodes of a site on the compute network with the spares."""
    return np.where(nodes > 0.0, nodes + spare_nodes, 0.0)


@law(
    "fabric.spare_down_ports",
    formula="down ports; where spares need a further tier or pod ceil(all links / leaves), if working nodes keep 10/11",
    unit="1",
    source="ports of a leaf are shared by nodes and uplinks",
    count=True,
)
def spare_down_ports(
    nodes: Floats,
    everyone: Floats,
    leaves: Floats,
    links: Floats,
    rails: Floats,
    radix: Floats,
    down: Floats,
    up: Floats,
    planes: Floats,
    pinned: Floats,
) -> Floats:
    """Ports of a leaf towards the nodes once the spares are on the network.

    Args:
        nodes: that work, shape (n,).
        everyone: with the spares.
        leaves: for the nodes that work, all planes.
        links: of a node, all planes.
        rails: of a plane.
        radix: ports of a switch.
        down: ports of a leaf towards the nodes, as asked.
        up: ports of a leaf towards the spines, as asked.
        planes: copies of the tree.
        pinned: 1 where the spec pins the oversubscription.
    """
    there, in_plane = np.maximum(leaves / planes, 1.0), links / planes
    per_rail = np.maximum(in_plane / np.maximum(rails, 1.0), 1.0)
    wide = np.ceil(np.ceil(everyone * in_plane / there - 1e-9) / per_rail) * per_rail
    half, two_tiers = np.floor(radix / 2.0), there <= radix
    most = np.where(two_tiers, radix, np.ceil(there / half) * half) * planes
    strict = leaf_switches(everyone, links, rails, 0.0, radix, down, planes)
    held = leaf_switches(everyone, links, rails, 0.0, radix, wide, planes) <= most
    working = nodes * in_plane / there
    kept = np.maximum(radix - wide, 0.0) * down / np.maximum(working * up, 1.0)
    another = (there > 1.0) & (strict > most)
    return np.where(another & held & (kept >= LEAST_RATE) & (pinned <= 0.0), wide, down)


@law(
    "fabric.spare_up_ports",
    formula="up ports; radix - down ports where leaves are widened",
    unit="1",
    source="ports of a leaf are shared by nodes and uplinks",
    count=True,
)
def spare_up_ports(spare_down: Floats, down: Floats, up: Floats, radix: Floats) -> Floats:
    """Ports of a leaf towards the spines once the spares are on the network."""
    return np.where(spare_down > down, radix - spare_down, up)
