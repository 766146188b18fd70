"""Modules of power and cooling with their redundancy, feeds of a rack, phases of a site."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = ["feed_current", "modules", "power_blocks", "rack_feeds"]

_HAIR = 1e-9


@law(
    "facility.modules",
    formula="(ceil(load / size) + extra) x factor; N: extra 0, factor 1; N+1: extra 1; 2N: factor 2",
    unit="1",
    source="definition of the redundancy schemes",
    count=True,
)
def modules(load_w: Floats, size_w: Floats, extra: Floats, factor: Floats) -> Floats:
    """UPS, generator, coolant or air-handler modules of a site, shape (n,); none where there is no load."""
    needed = np.ceil(load_w / size_w - _HAIR)
    return np.where(needed > 0, (needed + extra) * factor, 0.0)


@law(
    "facility.rack_feeds",
    formula="(ceil(rack power / power of a feed) + extra) x factor",
    unit="1",
    source="three-phase rack PDUs; a published H100 rack of 40.8 kW has 3 of 34.5 kW, which is N+1",
    count=True,
)
def rack_feeds(rack_power_w: Floats, feed_w: Floats, extra: Floats, factor: Floats) -> Floats:
    """Three-phase feeds of a compute rack, shape (n,)."""
    needed = np.ceil(rack_power_w / feed_w - _HAIR)
    return np.where(needed > 0, (needed + extra) * factor, 0.0)


@law(
    "facility.feed_current",
    formula="rack power / feeds needed / (sqrt(3) x voltage)",
    unit="A",
    source="balanced three-phase load, power factor 1",
    valid="all feeds but the redundant ones in use",
    bounds=(0.0, float("inf")),
)
def feed_current(rack_power_w: Floats, feed_w: Floats, voltage: Floats) -> Floats:
    """Current in each phase of a rack feed, shape (n,)."""
    needed = np.maximum(np.ceil(rack_power_w / feed_w - _HAIR), 1.0)
    return np.asarray(rack_power_w / needed / (np.sqrt(3.0) * voltage), dtype=np.float64)


@law(
    "facility.power_blocks",
    formula="ceil(meter power / power that comes at a time)",
    unit="1",
    source="catalogue: planning/power_block_w",
    count=True,
)
def power_blocks(meter_power_w: Floats, block_w: Floats) -> Floats:
    """Phases in which the power of a site is energised, shape (n,)."""
    return np.ceil(meter_power_w / block_w - _HAIR)
