"""Power: of each layer, of the IT, at the meter; on average, in a run, in a year."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law
from clusterwright.units import YEAR_S

__all__ = [
    "air_heat",
    "average_power",
    "compute_power",
    "energy_per_year",
    "margin",
    "mean_pue",
    "meter_power",
    "run_energy",
    "run_power",
    "support_power",
    "total_power",
]

_NOTHING_LESS = (0.0, float("inf"))


@law(
    "facility.compute_power",
    formula="(nodes + spares) x node power + racks x what a rack adds (a rack-scale system includes it)",
    unit="W",
    source="largest power of every node at the same time, spares switched on",
    bounds=_NOTHING_LESS,
)
def compute_power(
    nodes: list[Floats], node_power_w: Floats, racks: list[Floats], overhead_w: Floats, system_nodes: Floats
) -> Floats:
    """Largest power of the compute racks of a site, shape (n,)."""
    added = np.where(system_nodes > 1, 0.0, overhead_w)
    return np.asarray(np.sum(nodes, axis=0) * node_power_w + np.sum(racks, axis=0) * added, dtype=np.float64)


@law(
    "facility.support_power",
    formula="content + racks x what a rack adds",
    unit="W",
    source="largest power",
    bounds=_NOTHING_LESS,
)
def support_power(content_w: Floats, racks: Floats, overhead_w: Floats) -> Floats:
    """Largest power of the network, storage or management racks of a site, shape (n,)."""
    return content_w + racks * overhead_w


@law("facility.total_power", formula="sum", unit="W", source="arithmetic", bounds=_NOTHING_LESS)
def total_power(parts: list[Floats]) -> Floats:
    """Sum of powers, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law(
    "facility.meter_power",
    formula="IT power x PUE",
    unit="W",
    source="definition of PUE (ISO/IEC 30134-2); losses of UPS and distribution are in it",
    valid="PUE is a yearly mean: on the hottest day the meter shows more",
    bounds=_NOTHING_LESS,
)
def meter_power(it_power_w: Floats, pue: Floats) -> Floats:
    """Largest power at the meter of a site, shape (n,)."""
    return it_power_w * pue


@law(
    "facility.mean_pue",
    formula="meter power / IT power over the sites",
    unit="1",
    source="definition of PUE (ISO/IEC 30134-2)",
    bounds=(1.0, 3.0),
)
def mean_pue(it_power_w: list[Floats], pue: list[Floats]) -> Floats:
    """PUE over all sites, weighted by their IT power, shape (n,)."""
    it = np.sum(it_power_w, axis=0)
    meter = np.sum([w * p for w, p in zip(it_power_w, pue, strict=True)], axis=0)
    return np.asarray(meter / np.maximum(it, 1e-9), dtype=np.float64)


@law(
    "facility.run_power",
    formula="(nodes x node power x training share + spares x node power x idle share + the rest) x PUE",
    unit="W",
    source="mean shares from the catalogue: planning/training_power_fraction, idle_power_fraction",
    bounds=_NOTHING_LESS,
)
def run_power(
    nodes: Floats,
    spares: Floats,
    node_power_w: Floats,
    rest_w: list[Floats],
    training: Floats,
    idle: Floats,
    pue: Floats,
) -> Floats:
    """Mean power at the meter of a site while all its nodes train, shape (n,)."""
    it = (nodes * training + spares * idle) * node_power_w + np.sum(rest_w, axis=0)
    return np.asarray(it * pue, dtype=np.float64)


@law(
    "facility.average_power",
    formula="(nodes x node power x (busy x training share + (1 - busy) x idle share) + spares idle + the rest) x PUE",
    unit="W",
    source="shares from the catalogue: planning/occupancy_fraction, training_power_fraction, idle_power_fraction",
    bounds=_NOTHING_LESS,
)
def average_power(
    nodes: Floats,
    spares: Floats,
    node_power_w: Floats,
    rest_w: list[Floats],
    training: Floats,
    idle: Floats,
    busy: Floats,
    pue: Floats,
) -> Floats:
    """Mean power at the meter of a site over a year, shape (n,)."""
    share = busy * training + (1.0 - busy) * idle
    it = (nodes * share + spares * idle) * node_power_w + np.sum(rest_w, axis=0)
    return np.asarray(it * pue, dtype=np.float64)


@law(
    "facility.run_energy",
    formula="sum over the runs of wall-clock time x power while training x share of the GPUs",
    unit="J",
    source="arithmetic",
    bounds=_NOTHING_LESS,
)
def run_energy(times_s: list[Floats], gpus: list[Floats], all_gpus: Floats, power_w: Floats) -> Floats:
    """Energy of the runs at the meter, shape (n,)."""
    gpu_time = np.sum([t * g for t, g in zip(times_s, gpus, strict=True)], axis=0)
    return np.asarray(gpu_time / np.maximum(all_gpus, 1.0) * power_w, dtype=np.float64)


@law(
    "facility.energy_per_year",
    formula="mean power x 365.25 d",
    unit="J/year",
    source="arithmetic",
    bounds=_NOTHING_LESS,
)
def energy_per_year(average_power_w: Floats) -> Floats:
    """Energy of a year at the meter, shape (n,)."""
    return average_power_w * YEAR_S


@law(
    "facility.air_heat",
    formula="IT power - heat that leaves in water",
    unit="W",
    source="arithmetic",
    bounds=_NOTHING_LESS,
)
def air_heat(it_power_w: Floats, water_heat_w: Floats) -> Floats:
    """Heat that the room's air handlers carry, shape (n,)."""
    return np.maximum(it_power_w - water_heat_w, 0.0)


@law(
    "facility.margin",
    formula="(limit - value) / limit",
    unit="1",
    source="arithmetic; negative where the limit is broken",
)
def margin(value: Floats, limit: Floats) -> Floats:
    """Share of a limit that is left, shape (n,)."""
    return (limit - value) / np.maximum(limit, 1e-30)
