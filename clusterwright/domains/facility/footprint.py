"""Water and carbon: of operation, and of making the machines."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law
from clusterwright.units import JOULE_PER_KWH, YEAR_S

__all__ = [
    "carbon_per_year",
    "embodied",
    "embodied_of_runs",
    "mean_intensity",
    "operation_of_runs",
    "run_carbon",
    "total_carbon",
    "total_water",
    "water_intensity",
    "water_per_year",
]

_NOTHING_LESS = (0.0, float("inf"))


@law(
    "facility.water_intensity",
    formula="air share x water of evaporative cooling + liquid share x water of a closed loop",
    unit="L/kWh",
    source="WUE per IT energy; catalogue: planning/wue_*",
    bounds=_NOTHING_LESS,
)
def water_intensity(liquid_share: Floats, air_l_per_kwh: Floats, closed_l_per_kwh: Floats) -> Floats:
    """Water per IT energy of a site, shape (n,)."""
    return (1.0 - liquid_share) * air_l_per_kwh + liquid_share * closed_l_per_kwh


@law(
    "facility.water_per_year",
    formula="mean power / PUE x 365.25 d x water per IT energy",
    unit="m3/year",
    source="definition of WUE (ISO/IEC 30134-9)",
    bounds=_NOTHING_LESS,
)
def water_per_year(average_power_w: Floats, pue: Floats, l_per_kwh: Floats) -> Floats:
    """Water of a site in a year, shape (n,)."""
    return average_power_w / pue * YEAR_S / JOULE_PER_KWH * l_per_kwh / 1e3


@law("facility.total_water", formula="sum", unit="m3/year", source="arithmetic", bounds=_NOTHING_LESS)
def total_water(parts: list[Floats]) -> Floats:
    """Water of all sites in a year, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law(
    "facility.mean_intensity",
    formula="sum(power x intensity) / sum(power) over the sites",
    unit="g/kWh",
    source="yearly mean of the grid, by location (GHG Protocol, scope 2)",
    bounds=_NOTHING_LESS,
)
def mean_intensity(power_w: list[Floats], g_per_kwh: list[Floats]) -> Floats:
    """Carbon intensity of the energy of all sites, shape (n,)."""
    total = np.maximum(np.sum(power_w, axis=0), 1e-9)
    weighed = np.sum([w * g for w, g in zip(power_w, g_per_kwh, strict=True)], axis=0)
    return np.asarray(weighed / total, dtype=np.float64)


@law(
    "facility.carbon_per_year",
    formula="energy of a year x carbon intensity",
    unit="kg/year",
    source="GHG Protocol, scope 2, location-based",
    bounds=_NOTHING_LESS,
)
def carbon_per_year(average_power_w: Floats, g_per_kwh: Floats) -> Floats:
    """CO2e of the energy of a year, shape (n,)."""
    return average_power_w * YEAR_S / JOULE_PER_KWH * g_per_kwh / 1e3


@law("facility.total_carbon", formula="sum", unit="kg/year", source="arithmetic", bounds=_NOTHING_LESS)
def total_carbon(parts: list[Floats]) -> Floats:
    """CO2e of all sites in a year, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law(
    "facility.operation_of_runs",
    formula="energy of the runs x carbon intensity",
    unit="kg",
    source="GHG Protocol, scope 2, location-based",
    bounds=_NOTHING_LESS,
)
def operation_of_runs(energy_j: Floats, g_per_kwh: Floats) -> Floats:
    """CO2e of the energy of the runs, shape (n,)."""
    return energy_j / JOULE_PER_KWH * g_per_kwh / 1e3


@law(
    "facility.embodied",
    formula="(nodes + spares) x (GPUs x CO2e of an accelerator + CO2e of a server)",
    unit="kg",
    source="product carbon footprints; network, storage and building are not counted",
    bounds=_NOTHING_LESS,
)
def embodied(nodes: list[Floats], node_gpus: Floats, gpu_kg: Floats, server_kg: Floats) -> Floats:
    """CO2e of making the compute nodes, shape (n,)."""
    return np.asarray(np.sum(nodes, axis=0) * (node_gpus * gpu_kg + server_kg), dtype=np.float64)


@law(
    "facility.embodied_of_runs",
    formula="embodied x GPU-time of the runs / GPU-time of the operating years",
    unit="kg",
    source="embodied carbon spread evenly over the operating years (ISO/IEC 21031, software carbon intensity)",
    bounds=_NOTHING_LESS,
)
def embodied_of_runs(
    embodied_kg: Floats, times_s: list[Floats], gpus: list[Floats], all_gpus: Floats, life_s: Floats
) -> Floats:
    """Share of the embodied carbon that the runs use up, shape (n,)."""
    gpu_time = np.sum([t * g for t, g in zip(times_s, gpus, strict=True)], axis=0)
    return np.asarray(embodied_kg * gpu_time / np.maximum(all_gpus, 1.0) / life_s, dtype=np.float64)


@law(
    "facility.run_carbon",
    formula="operation + share of the embodied",
    unit="kg",
    source="ISO/IEC 21031, software carbon intensity",
    bounds=_NOTHING_LESS,
)
def run_carbon(operation_kg: Floats, embodied_kg: Floats) -> Floats:
    """CO2e of the runs, shape (n,)."""
    return operation_kg + embodied_kg
