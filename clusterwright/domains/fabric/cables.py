"""What one cable costs and draws: an assembly or two transceivers, and a length."""

from __future__ import annotations

from clusterwright.cluster import law
from clusterwright.cluster.frame import Floats

__all__ = ["cable_power", "cable_price"]


@law(
    "fabric.cable_price",
    formula="assembly + 2 * transceiver + length * price per metre",
    unit="USD",
    source="arithmetic of a bill of materials; prices from the catalogue",
)
def cable_price(assembly_usd: Floats, transceiver_usd: Floats, usd_per_m: Floats, length_m: Floats) -> Floats:
    """Price of one cable with both its ends."""
    return assembly_usd + 2.0 * transceiver_usd + usd_per_m * length_m


@law(
    "fabric.cable_power",
    formula="2 * power of one end",
    unit="W",
    source="arithmetic; powers from the catalogue",
)
def cable_power(end_power_w: Floats) -> Floats:
    """Power of both ends of one cable."""
    return 2.0 * end_power_w
