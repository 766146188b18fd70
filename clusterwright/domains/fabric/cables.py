"""Cables: how long they are, what one costs, what it draws, and how far it may go.

Lengths follow from a documented picture of a hall: racks 0.6 m wide stand in rows 3 m apart, cold and hot aisle
included; every cable rises 2.5 m into the tray and comes down again. A rail group's leaves stand in the middle of its
row segment, spines and cores in the middle of the hall, which is as square as rows allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import law

__all__ = ["cable_length", "cable_power", "cable_price", "longest_cable", "longest_trunk", "trunk_length"]

Floats = NDArray[np.float64]

RACK_PITCH_M = 0.6
"""Width of a rack, EIA-310 cabinets of 600 mm."""
ROW_PITCH_M = 3.0
"""From row to row: 1.2 m of rack and 1.8 m of aisles (TIA-942 asks for at least 1.2 m cold and 0.6 m hot)."""
RISE_M = 2.5
"""From a port up into the tray, slack included; a cable has two."""
SEGMENT_RACKS = 16.0
"""Most racks of a row that one set of leaves serves."""

_GEOMETRY = "geometry of a hall with rows of racks; distances along the trays (Manhattan)"


@law(
    "fabric.cable_price",
    formula="assembly + 2 x transceiver + price per metre x length",
    unit="USD",
    source="arithmetic on the catalogue's cable",
)
def cable_price(assembly_usd: Floats, transceiver_usd: Floats, usd_per_m: Floats, length_m: Floats) -> Floats:
    """Price of one cable with the optics of both ends; all shapes (n,)."""
    return assembly_usd + 2.0 * transceiver_usd + usd_per_m * length_m


@law("fabric.cable_power", formula="2 x power of one end", unit="W", source="arithmetic on the catalogue's cable")
def cable_power(end_power_w: Floats) -> Floats:
    """Power of both ends of one cable, shape (n,)."""
    return 2.0 * end_power_w


def _segment_m(racks: Floats) -> Floats:
    """Length of the piece of a row that one set of leaves serves."""
    return np.clip(racks, 1.0, SEGMENT_RACKS) * RACK_PITCH_M


def _hall_m(racks: Floats) -> tuple[Floats, Floats]:
    """Length of a row and depth over all rows: a square hall, rows of at least one segment."""
    whole = np.maximum(racks, 1.0)
    in_row = np.minimum(whole, np.maximum(SEGMENT_RACKS, np.ceil(np.sqrt(whole * ROW_PITCH_M / RACK_PITCH_M))))
    return in_row * RACK_PITCH_M, np.ceil(whole / in_row) * ROW_PITCH_M


@law(
    "fabric.cable_length",
    formula="2 x 2.5 m + min(racks, 16) x 0.6 m / 4",
    unit="m",
    source=_GEOMETRY,
    spread=0.3,
    bounds=(0.0, float("inf")),
)
def cable_length(nodes: Floats, nodes_per_rack: Floats) -> Floats:
    """Mean length from a node to its leaf: racks spread evenly about the leaves have a quarter of the row to go.

    Args:
        nodes: of the site, spares included, shape (n,).
        nodes_per_rack: shape (n,).
    """
    return 2.0 * RISE_M + _segment_m(np.ceil(nodes / nodes_per_rack)) / 4.0


@law(
    "fabric.trunk_length",
    formula="2 x 2.5 m + (row length + hall depth) / 4",
    unit="m",
    source=_GEOMETRY,
    spread=0.3,
    bounds=(0.0, float("inf")),
)
def trunk_length(nodes: Floats, nodes_per_rack: Floats) -> Floats:
    """Mean length between switches: leaves all over the hall, spines in its middle. Arguments as for the cable."""
    row, depth = _hall_m(np.ceil(nodes / nodes_per_rack))
    return 2.0 * RISE_M + (row + depth) / 4.0


@law("fabric.longest_cable", formula="2 x 2.5 m + min(racks, 16) x 0.6 m / 2", unit="m", source=_GEOMETRY)
def longest_cable(nodes: Floats, nodes_per_rack: Floats) -> Floats:
    """Longest run from a node to its leaf, which the cable's reach must cover."""
    return 2.0 * RISE_M + _segment_m(np.ceil(nodes / nodes_per_rack)) / 2.0


@law("fabric.longest_trunk", formula="2 x 2.5 m + (row length + hall depth) / 2", unit="m", source=_GEOMETRY)
def longest_trunk(nodes: Floats, nodes_per_rack: Floats) -> Floats:
    """Longest run between switches, which the trunk's reach must cover."""
    row, depth = _hall_m(np.ceil(nodes / nodes_per_rack))
    return 2.0 * RISE_M + (row + depth) / 2.0
