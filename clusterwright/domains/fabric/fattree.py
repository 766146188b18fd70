"""The fat tree: how many leaf, spine and core switches and cables join so many endpoints.

Words: an endpoint is one link of a node's network card. A leaf has ``down`` ports for endpoints and ``up`` ports for
spines. A *rail group* is as many nodes as a leaf has down ports; rail *j* of all its nodes ends at leaf *j* of the
group, so that traffic of equal local ranks crosses one switch. With one rail the law is the plain fat tree with
top-of-rack leaves. *Planes* are whole copies of the tree, each taking its share of every node's links.

What the published reference designs teach, and the laws below say:

- The links of a leaf must spread evenly over the spines, so the number of spines is a divisor of the leaf's uplinks:
  the smallest one with ports enough. That is why 64 leaves with 72 uplinks have 36 spines, though 32 would have the
  ports, and 24 leaves with 32 uplinks have 16 rather than 12.
- Uplinks are provisioned for all down ports of a leaf, also where a group is not full.
- Three tiers are pods of at most radix/2 leaves and as many spines as a leaf has uplinks. Spine *k* of every pod ends
  at the *k*-th group of cores; the size of that group is again the smallest divisor with ports enough.
- All pods have as many leaves, as the scalable units of the references do. Leaves are added until the pods divide
  them, at most one less than there are pods: a subnet manager takes only switches of one tier with equally many
  switches below for a fat tree, and routes anything else worse.

Full rail groups are filled first. The nodes left over share leaves: as many rails a leaf as its down ports allow, so
that four nodes of eight rails beyond full groups cost one leaf and not eight. Where leaves were added to make pods
equal, nodes are dealt evenly over all groups (:func:`layout`), so that no leaf stays empty.

All functions take arrays of shape (n,), one entry a candidate, and return such; counts are floats holding integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import law

__all__ = [
    "Layout",
    "bisection_bandwidth",
    "core_switches",
    "down_ports",
    "fat_tree",
    "fits",
    "layout",
    "leaf_spine_cables",
    "leaf_switches",
    "links_per_node",
    "node_leaf_cables",
    "pods",
    "smallest_divisor",
    "spine_core_cables",
    "spine_switches",
    "tiers",
    "up_ports",
]

Floats = NDArray[np.float64]
Numbers = NDArray[np.float64] | float

_HAIR = 1e-9
_SUPERPOD = (
    "C. E. Leiserson, IEEE Trans. Computers C-34 (1985) 892; reproduces every published row of the NVIDIA DGX SuperPOD "
    "reference architectures H100, B200, B300 Spectrum-X and B300 XDR (docs.nvidia.com/dgx-superpod)"
)
_VALID = "1 to radix^3/4 endpoints a plane at 1:1, even radix; equal switches on all tiers"


def smallest_divisor(number: Numbers, least: Numbers) -> Floats:
    """The smallest divisor of ``number`` that is at least ``least``; ``number`` itself where none is.

    Args:
        number: positive integers, few different values (ports of a switch), shape (n,).
        least: shape (n,).
    """
    numbers, wanted = np.broadcast_arrays(np.asarray(number, dtype=np.float64), np.asarray(least, dtype=np.float64))
    found = np.array(numbers, copy=True)
    for one in sorted(set(numbers.reshape(-1).tolist())):
        whole = max(int(one), 1)
        candidates = np.arange(1, whole + 1)
        divisors = candidates[whole % candidates == 0].astype(np.float64)
        here = numbers == one
        place = np.searchsorted(divisors, wanted[here] - _HAIR)
        found[here] = divisors[np.minimum(place, len(divisors) - 1)]
    return found


@law(
    "fabric.links_per_node",
    formula="NICs x max(1, round(NIC rate / link rate))",
    unit="1",
    source="a card faster than the link is split into links",
    count=True,
)
def links_per_node(nics: Floats, nic_bandwidth_bytes_s: Floats, link_bandwidth_bytes_s: Floats) -> Floats:
    """Links of one node to the compute network, all planes together."""
    return nics * np.maximum(np.round(nic_bandwidth_bytes_s / link_bandwidth_bytes_s), 1.0)


@law(
    "fabric.up_ports",
    formula="floor(radix / (1 + oversubscription))",
    unit="1",
    source="a leaf's ports are split by the oversubscription asked for",
    count=True,
)
def up_ports(radix: Numbers, oversubscription: Numbers) -> Floats:
    """Ports of a leaf towards the spines; half of them at 1:1."""
    share = 1.0 + np.maximum(np.asarray(oversubscription, dtype=np.float64), 1.0)
    ports: Floats = np.maximum(np.floor(np.asarray(radix) / share + _HAIR), 1.0)
    return ports


@law(
    "fabric.down_ports",
    formula="floor(oversubscription x up ports), at most radix - up ports",
    unit="1",
    source="a leaf's ports are split by the oversubscription asked for",
    count=True,
)
def down_ports(radix: Numbers, oversubscription: Numbers) -> Floats:
    """Ports of a leaf towards the nodes, so that down over up is never more than asked for."""
    up = up_ports(radix, oversubscription)
    ratio = np.maximum(np.asarray(oversubscription, dtype=np.float64), 1.0)
    ports: Floats = np.minimum(np.floor(ratio * up + _HAIR), np.asarray(radix) - up)
    return ports


@law(
    "fabric.leaf_switches",
    formula="planes x (rails x floor(nodes / group) + ceil(rails / rails a leaf of the rest)); one a plane when the "
    "radix holds all endpoints; beyond radix leaves the next multiple of the pods",
    unit="1",
    source=_SUPERPOD,
    valid=_VALID,
    count=True,
)
def leaf_switches(
    nodes: Floats,
    links: Floats,
    rails: Floats,
    extra_links: Numbers,
    radix: Floats,
    down: Floats,
    planes: Numbers = 1.0,
    flat: Numbers = 1.0,
) -> Floats:
    """Leaf switches of all planes.

    Args:
        nodes: on the network.
        links: of one node, all planes together.
        rails: of one plane: leaves over which a node's links of that plane are spread; 1 for top-of-rack leaves.
        extra_links: further endpoints (fabric managers), links of all planes together.
        radix: ports of a switch.
        down: ports of a leaf towards the nodes.
        planes: copies of the tree.
        flat: 1 where a single switch may do when it has ports for all; 0 where there shall be spines.
    """
    in_plane, extra = links / planes, np.asarray(extra_links) / planes
    endpoints = nodes * in_plane + extra
    per_rail = np.maximum(in_plane / np.maximum(rails, 1.0), 1.0)
    group = np.maximum(np.floor(down / per_rail + _HAIR), 1.0)
    full = np.floor(nodes / group)
    rest = nodes - full * group
    packed = np.clip(np.floor(down / np.maximum(rest * per_rail, 1.0) + _HAIR), 1.0, np.maximum(rails, 1.0))
    leaves = full * rails + np.where(rest > 0.0, np.ceil(rails / packed), 0.0)
    over = np.maximum(extra - (leaves * down - nodes * in_plane), 0.0)
    leaves = _equal_pods(leaves + np.ceil(over / np.maximum(down, 1.0)), radix)
    single = (endpoints <= radix) & (np.asarray(flat) > 0.0)
    count: Floats = np.where(endpoints <= 0.0, 0.0, np.where(single, 1.0, leaves)) * planes
    return count


def _equal_pods(leaves: Floats, radix: Floats) -> Floats:
    """Leaves of a plane, raised to a multiple of the pods where there are three tiers."""
    many = np.maximum(np.ceil(leaves / np.maximum(np.floor(radix / 2.0), 1.0)), 1.0)
    return np.where(leaves > radix, np.ceil(leaves / many) * many, leaves)


class Layout(NamedTuple):
    """How the nodes of a plane sit on its leaves; see the pattern ``rail`` of :mod:`clusterwright.cluster.graph`."""

    group: int
    full: int
    shy: int
    rest: int
    over: int


def layout(nodes: int, leaves: int, rails: int, per_rail: int, down: int) -> Layout:
    """Deal the nodes of one plane over the leaves that :func:`leaf_switches` found.

    Args:
        nodes: of the plane.
        leaves: of the plane.
        rails: leaves over which a node's links are spread.
        per_rail: links of a node at one of them.
        down: ports of a leaf towards the nodes.
    """
    group = max(down // per_rail, 1)
    full, rest = divmod(nodes, group)
    pack = min(max(down // max(rest * per_rail, 1), 1), rails)
    over = -(-rails // pack)
    if leaves <= full * rails + (over if rest else 0):
        return Layout(group, full, 0, rest, over)
    full, over = divmod(leaves, rails)
    held = down // (-(-rails // over) * per_rail) if over else 0
    rest = min(held, max(1, nodes * over // leaves, nodes - full * group))
    group = -(-(nodes - rest) // full)
    return Layout(group, full, full * group - (nodes - rest), rest, max(over, 1))


@law(
    "fabric.tiers",
    formula="1 with one leaf a plane, 2 while a spine has a port for each leaf, else 3",
    unit="1",
    source=_SUPERPOD,
    count=True,
)
def tiers(leaves: Floats, radix: Floats, planes: Numbers = 1.0) -> Floats:
    """Tiers of switches; 0 without a network. Whether three are enough is :func:`fits`."""
    in_plane = leaves / planes
    few = np.where(in_plane <= 1.0, np.ceil(in_plane), 2.0)
    count: Floats = np.where(in_plane <= radix, few, 3.0)
    return count


@law("fabric.pods", formula="ceil(leaves / (radix / 2)) with three tiers", unit="1", source=_SUPERPOD, count=True)
def pods(leaves: Floats, tier_count: Floats, radix: Floats, planes: Numbers = 1.0) -> Floats:
    """Pods of a plane: equally large sets of leaves under common spines."""
    count: Floats = np.where(tier_count >= 3.0, np.ceil(leaves / planes / np.floor(radix / 2.0)), tier_count > 0.0)
    return count


@law(
    "fabric.fits",
    formula="a leaf has ports for one node, and pods <= radix",
    unit="1",
    source=_SUPERPOD,
    count=True,
)
def fits(leaves: Floats, links: Floats, rails: Floats, down: Floats, radix: Floats, planes: Numbers = 1.0) -> Floats:
    """1 where at most three tiers of these switches join all nodes, else 0."""
    held = np.ceil(leaves / planes / np.floor(radix / 2.0)) <= radix
    wide = links / planes / np.maximum(rails, 1.0) <= down
    return (held & (wide | (leaves <= planes))).astype(np.float64)


@law(
    "fabric.spine_switches",
    formula="two tiers: planes x smallest divisor of up >= leaves x up / radix; three: planes x pods x up",
    unit="1",
    source=_SUPERPOD,
    valid=_VALID,
    count=True,
)
def spine_switches(leaves: Floats, tier_count: Floats, up: Floats, radix: Floats, planes: Numbers = 1.0) -> Floats:
    """Spine switches of all planes, so many that every leaf's uplinks spread evenly over them."""
    in_plane = leaves / planes
    two = smallest_divisor(up, in_plane * up / radix)
    three = up * pods(leaves, tier_count, radix, planes)
    count: Floats = np.where(tier_count >= 3.0, three, np.where(tier_count >= 2.0, two, 0.0)) * planes
    return count


@law(
    "fabric.core_switches",
    formula="planes x up x smallest divisor of radix/2 >= pods x (radix/2) / radix with three tiers",
    unit="1",
    source=_SUPERPOD,
    valid=_VALID,
    count=True,
)
def core_switches(leaves: Floats, tier_count: Floats, up: Floats, radix: Floats, planes: Numbers = 1.0) -> Floats:
    """Core switches of all planes: one group of them for each spine of a pod."""
    half = np.floor(radix / 2.0)
    group = smallest_divisor(half, pods(leaves, tier_count, radix, planes) * half / radix)
    count: Floats = np.where(tier_count >= 3.0, up * group, 0.0) * planes
    return count


@law(
    "fabric.node_leaf_cables",
    formula="(nodes x links + extra links) / links a cable",
    unit="1",
    source="arithmetic",
    count=True,
)
def node_leaf_cables(
    nodes: Floats, links: Floats, extra_links: Numbers = 0.0, links_per_cable: Numbers = 1.0
) -> Floats:
    """Cables between endpoints and leaves; a cable is one link unless ``links_per_cable`` says otherwise."""
    count: Floats = np.ceil((nodes * links + extra_links) / links_per_cable)
    return count


@law(
    "fabric.leaf_spine_cables",
    formula="leaves x up / links a cable from two tiers on",
    unit="1",
    source=_SUPERPOD,
    count=True,
)
def leaf_spine_cables(leaves: Floats, tier_count: Floats, up: Floats, links_per_cable: Numbers = 1.0) -> Floats:
    """Cables between leaves and spines: every leaf has all its uplinks."""
    count: Floats = np.where(tier_count >= 2.0, np.ceil(leaves * up / links_per_cable), 0.0)
    return count


@law(
    "fabric.spine_core_cables",
    formula="spines x radix/2 / links a cable with three tiers",
    unit="1",
    source=_SUPERPOD,
    count=True,
)
def spine_core_cables(spines: Floats, tier_count: Floats, radix: Floats, links_per_cable: Numbers = 1.0) -> Floats:
    """Cables between spines and cores: half of a spine's ports go up."""
    count: Floats = np.where(tier_count >= 3.0, np.ceil(spines * np.floor(radix / 2.0) / links_per_cable), 0.0)
    return count


@law(
    "fabric.bisection_bandwidth",
    formula="min(endpoints, leaves x up) / 2 x link rate; endpoints / 2 x link rate with one tier",
    unit="byte/s",
    source="the worst split of the nodes in two halves; equals the maximum flow between halves of the leaves",
)
def bisection_bandwidth(
    nodes: Floats, links: Floats, leaves: Floats, tier_count: Floats, up: Floats, link_bandwidth_bytes_s: Floats
) -> Floats:
    """Bytes a second, one direction, that half of the nodes can send to the other half."""
    endpoints = nodes * links
    crossing = np.where(tier_count >= 2.0, np.minimum(endpoints, leaves * up), endpoints)
    rate: Floats = crossing / 2.0 * link_bandwidth_bytes_s
    return rate


def fat_tree(
    *,
    nodes: Floats,
    nics: Floats,
    radix: Floats,
    ports_per_nic: Numbers = 1.0,
    extra_endpoints: Numbers = 0.0,
    planes: Numbers = 1.0,
    links_per_cable: Numbers = 1.0,
    oversubscription: Numbers = 1.0,
    tiers_wanted: Numbers = 0.0,
) -> dict[str, Floats]:
    """All counts of a rail-optimised fat tree at once: the laws of this module in their order.

    Args:
        nodes: shape (n,), as all others or scalars.
        nics: network cards of a node.
        radix: ports of a switch.
        ports_per_nic: links of a card, spread evenly over the planes.
        extra_endpoints: further cards on the network, such as those of fabric managers.
        planes: copies of the tree.
        links_per_cable: logical links that one counted cable carries.
        oversubscription: down over up at the leaves.
        tiers_wanted: 1, 2 or 3; 0 lets the law choose. One tier for more endpoints than a switch has ports means
            rails that are not joined: one switch a rail.

    Returns:
        ``leaf_switches spine_switches core_switches node_leaf_cables leaf_spine_cables spine_core_cables tiers
        up_ports fits`` by name, shape (n,) each.
    """
    links, extra = nics * ports_per_nic, extra_endpoints * ports_per_nic
    rails, wanted = np.maximum(links / planes, 1.0), np.asarray(tiers_wanted, dtype=np.float64)
    up, down = up_ports(radix, oversubscription), down_ports(radix, oversubscription)
    leaves = leaf_switches(nodes, links, rails, extra, radix, down, planes, (wanted <= 1.0).astype(np.float64))
    apart = (wanted == 1.0) & (leaves > planes)
    leaves = np.where(apart, rails * planes, leaves)
    count = np.where(wanted > 0.0, wanted, tiers(leaves, radix, planes))
    one_holds = nodes + np.ceil(extra / planes / rails) <= radix
    enough = np.where(apart, one_holds, (count != 2.0) | (leaves / planes <= radix)) & (down >= 1.0)
    spines = spine_switches(leaves, count, up, radix, planes)
    return {
        "leaf_switches": leaves,
        "spine_switches": spines,
        "core_switches": core_switches(leaves, count, up, radix, planes),
        "node_leaf_cables": node_leaf_cables(nodes, links, extra, links_per_cable),
        "leaf_spine_cables": leaf_spine_cables(leaves, count, up, links_per_cable),
        "spine_core_cables": spine_core_cables(spines, count, radix, links_per_cable),
        "tiers": count,
        "up_ports": up,
        "fits": fits(leaves, links, rails, down, radix, planes) * enough,
    }
