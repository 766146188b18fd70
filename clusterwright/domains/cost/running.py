"""What is paid each year: energy, building or colocation, people, and what is rented by the hour or the byte."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law
from clusterwright.units import HOUR_S, JOULE_PER_KWH, YEAR_S

__all__ = [
    "HOURS_PER_YEAR",
    "annuity",
    "annuity_factor",
    "capital",
    "cloud_storage",
    "colocation",
    "egress",
    "energy",
    "facility_staff",
    "gpu_rent",
    "people",
    "platform_staff",
    "storage_rent",
]

HOURS_PER_YEAR = YEAR_S / HOUR_S
_TB, _GB, _MW, _KW = 1e12, 1e9, 1e6, 1e3
_MONTHS = 12.0
_FROM_ZERO = (0.0, float("inf"))


@law(
    "cost.energy",
    formula="sum over the sites of mean power at the meter x a year x price",
    unit="USD/year",
    source="arithmetic; price of the site, else of its region",
    bounds=_FROM_ZERO,
)
def energy(average_power_w: list[Floats], usd_per_kwh: list[Floats]) -> Floats:
    """Energy bill of a year, shape (n,)."""
    bills = [w * YEAR_S / JOULE_PER_KWH * price for w, price in zip(average_power_w, usd_per_kwh, strict=True)]
    return np.asarray(np.sum(bills, axis=0), dtype=np.float64)


@law(
    "cost.colocation",
    formula="sum over the sites of IT power in kW x price of a kW and month x 12",
    unit="USD/year",
    source="arithmetic; catalogue: region colocation; energy is billed apart",
    bounds=_FROM_ZERO,
    valid="published prices are for 250-500 kW; larger halls are let for less",
)
def colocation(it_power_w: list[Floats], usd_per_kw_month: list[Floats]) -> Floats:
    """Rent of space and power for a year, shape (n,); the largest IT power is what is contracted."""
    rents = [w / _KW * price * _MONTHS for w, price in zip(it_power_w, usd_per_kw_month, strict=True)]
    return np.asarray(np.sum(rents, axis=0), dtype=np.float64)


def annuity_factor(rate: Floats, years: Floats) -> Floats:
    """Equal payment of each year per amount, interest included: r / (1 - (1 + r)^-years); 1 / years at no interest."""
    safe = np.maximum(rate, 1e-9)
    return np.asarray(safe / -np.expm1(-years * np.log1p(safe)), dtype=np.float64)


@law(
    "cost.annuity",
    formula="price x r / (1 - (1 + r)^-life)",
    unit="USD/year",
    source="annuity over the life of the building; catalogue: planning/discount_rate_fraction",
    bounds=_FROM_ZERO,
)
def annuity(price_usd: Floats, life_years: Floats, rate: Floats) -> Floats:
    """A building's share of one year with the cost of its capital, shape (n,)."""
    return price_usd * annuity_factor(rate, life_years)


@law(
    "cost.capital",
    formula="(purchase - resale (1 + r)^-years) r / (1 - (1 + r)^-years) - (purchase - resale) / years",
    unit="USD/year",
    source="annuity over the operating years, less what is paid off; catalogue: planning/discount_rate_fraction",
    bounds=_FROM_ZERO,
)
def capital(capex_usd: Floats, residual_usd: Floats, years: Floats, rate: Floats) -> Floats:
    """Cost of the capital that the purchase ties up, a year, shape (n,)."""
    kept = residual_usd * np.exp(-years * np.log1p(rate))
    return (capex_usd - kept) * annuity_factor(rate, years) - (capex_usd - residual_usd) / years


@law(
    "cost.facility_staff",
    formula="people of the first MW x (IT power in MW) ^ exponent",
    unit="1",
    source="catalogue: planning/staff_fte_per_mw, staff_scale_exponent",
    bounds=_FROM_ZERO,
    valid="an estimate; large halls need fewer people per MW than small ones",
)
def facility_staff(it_power_w: Floats, per_mw: Floats, exponent: Floats) -> Floats:
    """Full-time people who run power and cooling of a building of one's own, shape (n,)."""
    return per_mw * (it_power_w / _MW) ** exponent


@law(
    "cost.platform_staff",
    formula="people of one node x nodes ^ exponent",
    unit="1",
    source="catalogue: planning/platform_staff_fte, staff_scale_exponent",
    bounds=_FROM_ZERO,
    valid="an estimate: 3 people at 128 nodes, 20 at 2,000, 400 at 140,000",
)
def platform_staff(nodes: Floats, of_one: Floats, exponent: Floats) -> Floats:
    """Full-time people who run nodes, network, storage and scheduler, shape (n,)."""
    return of_one * np.maximum(nodes, 1.0) ** exponent


@law("cost.people", formula="people x cost of one", unit="USD/year", source="arithmetic", bounds=_FROM_ZERO)
def people(fte: Floats, usd_per_year: Floats) -> Floats:
    """Cost of staff for a year, shape (n,)."""
    return fte * usd_per_year


@law(
    "cost.gpu_rent",
    formula="GPUs x 8,766 h x price",
    unit="USD/year",
    source="arithmetic; published $ per GPU-hour, rented without pause",
    bounds=_FROM_ZERO,
)
def gpu_rent(gpus: Floats, usd_per_gpu_h: Floats) -> Floats:
    """Rent of the GPUs for a whole year, shape (n,)."""
    return gpus * HOURS_PER_YEAR * usd_per_gpu_h


@law(
    "cost.storage_rent",
    formula="sum over the tiers of bytes x price of a TB and month x 12",
    unit="USD/year",
    source="arithmetic; tiers that were bought cost nothing here",
    bounds=_FROM_ZERO,
)
def storage_rent(held_bytes: list[Floats], usd_per_tb_month: list[Floats]) -> Floats:
    """Rent of the tiers that are rented although the cluster is owned, shape (n,)."""
    rents = [held / _TB * price * _MONTHS for held, price in zip(held_bytes, usd_per_tb_month, strict=True)]
    return np.asarray(np.sum(rents, axis=0), dtype=np.float64)


@law(
    "cost.cloud_storage",
    formula="sum over the tiers of usable bytes x (the tier's own rent, else that of the cloud) x 12",
    unit="USD/year",
    source="arithmetic; catalogue: storage fsx-lustre-250, s3-standard, ebs-gp3",
    bounds=_FROM_ZERO,
)
def cloud_storage(held_bytes: list[Floats], own_usd: list[Floats], cloud_usd: list[Floats]) -> Floats:
    """Rent of all tiers beside rented GPUs, shape (n,); prices in USD per TB and month."""
    tiers = zip(held_bytes, own_usd, cloud_usd, strict=True)
    rents = [held / _TB * np.where(own > 0, own, cloud) * _MONTHS for held, own, cloud in tiers]
    return np.asarray(np.sum(rents, axis=0), dtype=np.float64)


@law(
    "cost.egress",
    formula="bytes in the object store x share that leaves in a year x price of a GB",
    unit="USD/year",
    source="arithmetic; catalogue: planning/egress_usd_per_gb, egress_share_fraction",
    bounds=_FROM_ZERO,
)
def egress(held_bytes: Floats, leaves: Floats, usd_per_gb: Floats) -> Floats:
    """Bill of a year for data that leave the cloud, shape (n,)."""
    return held_bytes * leaves / _GB * usd_per_gb
