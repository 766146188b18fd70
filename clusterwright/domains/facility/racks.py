"""How many racks there are, and what one of them draws, weighs and holds."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = [
    "compute_rack_power",
    "compute_rack_weight",
    "compute_racks",
    "count",
    "floor",
    "highest",
    "management_racks",
    "nodes_in_rack",
    "pod_racks",
    "rack_fits",
    "rack_height",
    "racks_weight",
    "spare_racks",
    "support_rack_load",
    "support_racks",
    "total_floor",
    "total_weight",
]

_HAIR = 1e-9


@law(
    "facility.nodes_in_rack",
    formula="min(nodes per rack, nodes and spares at the site)",
    unit="1",
    source="arithmetic; of the fullest compute rack",
    count=True,
)
def nodes_in_rack(nodes_per_rack: Floats, nodes: Floats, spares: Floats) -> Floats:
    """Nodes in the fullest compute rack of a site, spares counted, shape (n,)."""
    return np.minimum(nodes_per_rack, nodes + spares)


@law(
    "facility.compute_racks",
    formula="ceil(nodes / nodes per rack)",
    unit="1",
    source="arithmetic; spare nodes are given apart",
    count=True,
)
def compute_racks(nodes: Floats, nodes_per_rack: Floats) -> Floats:
    """Racks that hold the compute nodes asked for, shape (n,)."""
    return np.ceil(nodes / nodes_per_rack - _HAIR)


@law(
    "facility.spare_racks",
    formula="ceil((nodes + spares) / nodes per rack) - ceil(nodes / nodes per rack)",
    unit="1",
    source="arithmetic; spares first fill the last compute rack",
    count=True,
)
def spare_racks(nodes: Floats, spares: Floats, nodes_per_rack: Floats) -> Floats:
    """Racks that only spare nodes need, shape (n,)."""
    return np.ceil((nodes + spares) / nodes_per_rack - _HAIR) - np.ceil(nodes / nodes_per_rack - _HAIR)


@law(
    "facility.support_racks",
    formula="ceil(max(units / units filled, power / power placed)); 0 where all support shares one rack",
    unit="1",
    source="placement by height and by what air cools; a small cluster keeps network, storage and management in "
    "one management rack",
    count=True,
)
def support_racks(
    units: Floats, power_w: Floats, all_units: list[Floats], all_power_w: list[Floats], fill: Floats, most_w: Floats
) -> Floats:
    """Network or storage racks of a site, shape (n,).

    Args:
        units: height of what is placed.
        power_w: its largest power.
        all_units: heights of network, storage and management.
        all_power_w: their powers.
        fill: height units filled in one rack.
        most_w: largest power placed in one rack.
    """
    own = np.ceil(np.maximum(units / fill, power_w / most_w) - _HAIR)
    return np.where(_share_one(all_units, all_power_w, fill, most_w), 0.0, own)


@law(
    "facility.management_racks",
    formula="as facility.support_racks; 1 where network, storage and management share one rack",
    unit="1",
    source="placement by height and by what air cools",
    count=True,
)
def management_racks(
    units: Floats, power_w: Floats, all_units: list[Floats], all_power_w: list[Floats], fill: Floats, most_w: Floats
) -> Floats:
    """Management racks of a site, shape (n,); arguments as of :func:`support_racks`."""
    own = np.ceil(np.maximum(units / fill, power_w / most_w) - _HAIR)
    some = (sum(all_units, np.zeros_like(units)) > 0).astype(np.float64)
    return np.where(_share_one(all_units, all_power_w, fill, most_w), some, own)


def _share_one(units: list[Floats], power_w: list[Floats], fill: Floats, most_w: Floats) -> Floats:
    """Whether all support of a site stands in one rack."""
    fits = (np.sum(units, axis=0) <= fill) & (np.sum(power_w, axis=0) <= most_w)
    return np.asarray(fits, dtype=np.float64)


@law(
    "facility.count",
    formula="sum",
    unit="1",
    source="arithmetic",
    count=True,
)
def count(parts: list[Floats]) -> Floats:
    """A number of things over kinds or sites, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law(
    "facility.compute_rack_power",
    formula="nodes in the rack x node power + what the rack adds (nothing for rack-scale systems, which include it)",
    unit="W",
    source="largest power of every node at the same time",
    bounds=(0.0, float("inf")),
)
def compute_rack_power(nodes: Floats, node_power_w: Floats, overhead_w: Floats, system_nodes: Floats) -> Floats:
    """Largest power of a full compute rack, shape (n,)."""
    return nodes * node_power_w + np.where((system_nodes > 1) | (nodes <= 0), 0.0, overhead_w)


@law(
    "facility.compute_rack_weight",
    formula="nodes in the rack x node mass + empty rack (a rack-scale system includes it)",
    unit="kg",
    source="arithmetic",
    bounds=(0.0, float("inf")),
)
def compute_rack_weight(nodes: Floats, node_weight_kg: Floats, rack_kg: Floats, system_nodes: Floats) -> Floats:
    """Mass of a full compute rack, shape (n,)."""
    return nodes * node_weight_kg + np.where((system_nodes > 1) | (nodes <= 0), 0.0, rack_kg)


@law(
    "facility.rack_height",
    formula="nodes in the rack x node height + 2 for management switch and cabling (in a rack-scale system already)",
    unit="1",
    source="arithmetic",
    count=True,
)
def rack_height(nodes: Floats, node_units: Floats, system_nodes: Floats) -> Floats:
    """Height units used in a full compute rack, shape (n,)."""
    return np.round(nodes * node_units, 2) + np.where((system_nodes > 1) | (nodes <= 0), 0.0, 2.0)


@law(
    "facility.rack_fits",
    formula="1 if height used <= height of the tallest rack, else 0",
    unit="1",
    source="arithmetic",
    count=True,
)
def rack_fits(height: Floats, rack_units: Floats) -> Floats:
    """Whether the nodes of a rack fit its height, shape (n,)."""
    return np.asarray(height <= rack_units + _HAIR, dtype=np.float64)


@law(
    "facility.support_rack_load",
    formula="content / racks + what each rack adds",
    unit="as its inputs",
    source="content spread evenly; power in W, mass in kg",
    bounds=(0.0, float("inf")),
)
def support_rack_load(content: list[Floats], racks: list[Floats], each: Floats) -> Floats:
    """Power or mass of the most loaded kind of support rack, shape (n,).

    Args:
        content: of network, storage, management; where they share the one management rack the sum stands there.
        racks: of the three kinds.
        each: what each rack adds.
    """
    network, storage, management = racks
    shared = (network <= 0) & (storage <= 0)
    last = content[2] + np.where(shared, content[0] + content[1], 0.0)
    loads = [
        np.where(n > 0, x / np.maximum(n, 1.0) + each, 0.0)
        for x, n in ((content[0], network), (content[1], storage), (last, management))
    ]
    return np.asarray(np.max(loads, axis=0), dtype=np.float64)


@law(
    "facility.highest",
    formula="largest of several",
    unit="as its inputs",
    source="arithmetic",
)
def highest(parts: list[Floats]) -> Floats:
    """The largest of several figures, shape (n,)."""
    return np.asarray(np.max(parts, axis=0), dtype=np.float64)


@law(
    "facility.racks_weight",
    formula="nodes x node mass + network + storage + management + racks x empty rack (rack-scale: already in)",
    unit="kg",
    source="arithmetic",
    bounds=(0.0, float("inf")),
)
def racks_weight(
    nodes: list[Floats],
    node_weight_kg: Floats,
    support_kg: list[Floats],
    compute_racks: list[Floats],
    racks: Floats,
    rack_kg: Floats,
    system_nodes: Floats,
) -> Floats:
    """Mass of all racks of a site with their content, shape (n,)."""
    own = np.where(system_nodes > 1, racks - np.sum(compute_racks, axis=0), racks)
    content = np.sum(nodes, axis=0) * node_weight_kg + np.sum(support_kg, axis=0)
    return np.asarray(content + own * rack_kg, dtype=np.float64)


@law(
    "facility.floor",
    formula="racks x floor of a rack with its share of aisles",
    unit="m2",
    source="arithmetic; power and cooling plants stand elsewhere",
    bounds=(0.0, float("inf")),
)
def floor(racks: Floats, rack_area_m2: Floats) -> Floats:
    """Floor of the racks of a site, aisles included, shape (n,)."""
    return racks * rack_area_m2


@law("facility.total_floor", formula="sum", unit="m2", source="arithmetic", bounds=(0.0, float("inf")))
def total_floor(parts: list[Floats]) -> Floats:
    """Floor of all sites, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law("facility.total_weight", formula="sum", unit="kg", source="arithmetic", bounds=(0.0, float("inf")))
def total_weight(parts: list[Floats]) -> Floats:
    """Mass of the racks of all sites, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law(
    "facility.pod_racks",
    formula="max(1, floor(GPUs of a pod / (nodes per rack x GPUs per node)))",
    unit="1",
    source="a pod is the racks under common spines",
    count=True,
)
def pod_racks(pod_gpus: Floats, nodes_per_rack: Floats, node_gpus: Floats) -> Floats:
    """Compute racks in one pod, shape (n,)."""
    return np.maximum(1.0, np.floor(pod_gpus / (nodes_per_rack * node_gpus) + _HAIR))
