"""Owning against renting: cost over the years, the runs alone, when buying pays, what a unit of work costs."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law
from clusterwright.units import HOUR_S, YEAR_S

__all__ = [
    "NEVER_S",
    "break_even",
    "break_even_utilisation",
    "by_procurement",
    "owned",
    "procurable",
    "rent",
    "rentable",
    "rented_tco",
    "rented_usd_per_zflop",
    "residual",
    "tco",
    "usd_per_gpu_h",
    "usd_per_zflop",
    "used_usd_per_gpu_h",
    "utilisation",
]

NEVER_S = 1e12
"""Stands for *never* in a break-even time (31,700 years): the figures stay finite."""
NEVER_USED = 1e3
"""Stands for *at no utilisation* where nobody rents the part out."""
_FROM_ZERO = (0.0, float("inf"))
_ZETTA = 1e21
_NO_PROGRESS = 1e-12
"""Least useful ZFLOP of a GPU-hour reckoned with, a billionth of what an H100 does."""


@law(
    "cost.residual",
    formula="price x fraction after 36 months ^ (years / 3)",
    unit="USD",
    source="catalogue: planning/residual_fraction_36_months, geometric in time",
    bounds=_FROM_ZERO,
    valid="resale of servers; a new generation can take more off at once",
)
def residual(price_usd: Floats, fraction_36_months: Floats, years: Floats) -> Floats:
    """What the servers fetch at the end, shape (n,)."""
    return price_usd * fraction_36_months ** (years / 3.0)


@law(
    "cost.tco",
    formula="capex + years x opex - resale",
    unit="USD",
    source="total cost of ownership; the cost of capital is one of the yearly lines",
    bounds=_FROM_ZERO,
)
def tco(capex_usd: Floats, opex_usd_per_year: Floats, years: Floats, residual_usd: Floats) -> Floats:
    """Cost over the operating years, shape (n,)."""
    return capex_usd + years * opex_usd_per_year - residual_usd


@law(
    "cost.rented_tco",
    formula="years x opex; 0 where nobody rents the part out",
    unit="USD",
    source="nothing is bought, nothing is left to sell",
    bounds=_FROM_ZERO,
    valid="the GPUs are rented without pause",
)
def rented_tco(opex_usd_per_year: Floats, years: Floats, usd_per_gpu_h: Floats) -> Floats:
    """Cost of renting over the operating years, shape (n,); 0 stands for *not to be had*."""
    return np.where(usd_per_gpu_h > 0, years * opex_usd_per_year, 0.0)


@law(
    "cost.by_procurement",
    formula="the figure of the way of procurement that was chosen",
    unit="USD",
    source="selection",
    bounds=_FROM_ZERO,
)
def by_procurement(hot: list[Floats], figures: list[Floats]) -> Floats:
    """One of several figures, by a choice that is 1 for one of them, shape (n,)."""
    return np.asarray(np.sum([h * f for h, f in zip(hot, figures, strict=True)], axis=0), dtype=np.float64)


@law(
    "cost.owned",
    formula="the figure of colocation where it was chosen, else of purchase",
    unit="USD",
    source="selection",
    bounds=_FROM_ZERO,
)
def owned(colocated: Floats, colocate_usd: Floats, buy_usd: Floats) -> Floats:
    """What owning costs, to be held against renting, shape (n,)."""
    return np.where(colocated > 0, colocate_usd, buy_usd)


@law(
    "cost.rent",
    formula="sum over the runs of GPUs x wall-clock time x price",
    unit="USD",
    source="arithmetic; published $ per GPU-hour; GPUs only, for as long as they run",
    bounds=_FROM_ZERO,
)
def rent(gpus: list[Floats], times_s: list[Floats], usd_per_gpu_h: Floats) -> Floats:
    """Rent of the runs of the spec, shape (n,); 0 where nobody rents the part out."""
    hours = np.sum([g * t for g, t in zip(gpus, times_s, strict=True)], axis=0) / HOUR_S
    return np.asarray(hours * usd_per_gpu_h, dtype=np.float64)


@law(
    "cost.rented_usd_per_zflop",
    formula="rent of the runs / useful FLOP of the runs",
    unit="USD/ZFLOP",
    source="arithmetic; useful: of the model, repeated work not counted",
    bounds=_FROM_ZERO,
)
def rented_usd_per_zflop(rent_usd: Floats, flop: list[Floats]) -> Floats:
    """Cost of 1e21 useful FLOP of the runs when the GPUs are rented for them, shape (n,)."""
    return np.asarray(rent_usd / np.maximum(np.sum(flop, axis=0) / _ZETTA, 1e-30), dtype=np.float64)


@law(
    "cost.utilisation",
    formula="sum over the runs of GPUs x wall-clock time / (GPUs of the cluster x operating years)",
    unit="1",
    source="arithmetic",
    bounds=_FROM_ZERO,
)
def utilisation(gpus: list[Floats], times_s: list[Floats], all_gpus: Floats, years: Floats) -> Floats:
    """Share of the cluster's life that the runs of the spec fill, shape (n,)."""
    used = np.sum([g * t for g, t in zip(gpus, times_s, strict=True)], axis=0)
    return np.asarray(used / (all_gpus * years * YEAR_S), dtype=np.float64)


@law(
    "cost.break_even",
    formula="capex / (rent of a year - running cost of a year)",
    unit="s",
    source="arithmetic; resale left out",
    valid="use without pause; a cluster that idles breaks even later in proportion",
    bounds=(0.0, NEVER_S),
)
def break_even(capex_usd: Floats, opex_usd_per_year: Floats, rent_usd_per_year: Floats) -> Floats:
    """Time of full use after which owning has cost less than renting, shape (n,); 1e12 s stands for never."""
    saved = (rent_usd_per_year - opex_usd_per_year) / YEAR_S
    return np.where(saved > 0, np.minimum(capex_usd / np.maximum(saved, 1e-30), NEVER_S), NEVER_S)


@law(
    "cost.break_even_utilisation",
    formula="(cost of owning / years - what renting costs beside the GPUs) / rent of the GPUs of a year",
    unit="1",
    source="arithmetic; rented GPUs are given back when idle, storage and people stay",
    valid="above 1 owning never pays within the operating years",
    bounds=(0.0, NEVER_USED),
)
def break_even_utilisation(own_tco_usd: Floats, years: Floats, beside_usd: Floats, gpu_rent_usd: Floats) -> Floats:
    """Share of the operating years that the GPUs must work for owning to cost less than renting, shape (n,).

    Args:
        own_tco_usd: cost of owning over the operating years.
        years: operating years.
        beside_usd: what renting costs in a year beside the GPUs.
        gpu_rent_usd: rent of all GPUs for a whole year; 0 where nobody rents them out (1,000 stands for never).
    """
    needed = (own_tco_usd / years - beside_usd) / np.maximum(gpu_rent_usd, 1e-30)
    return np.where(gpu_rent_usd > 0, np.clip(needed, 0.0, NEVER_USED), NEVER_USED)


@law(
    "cost.usd_per_gpu_h",
    formula="cost over the years / (GPUs x hours x availability of a node)",
    unit="USD/GPU-h",
    source="arithmetic; every hour in which a GPU is up counts, used or not",
    bounds=_FROM_ZERO,
)
def usd_per_gpu_h(tco_usd: Floats, gpus: Floats, years: Floats, availability: Floats) -> Floats:
    """Cost of one GPU-hour that could be used, shape (n,)."""
    return tco_usd / (gpus * years * YEAR_S / HOUR_S * availability)


@law(
    "cost.used_usd_per_gpu_h",
    formula="$ per GPU-hour / share of the year in which the GPUs work",
    unit="USD/GPU-h",
    source="arithmetic; catalogue: planning/occupancy_fraction",
    bounds=_FROM_ZERO,
)
def used_usd_per_gpu_h(usd_per_gpu_h: Floats, occupancy: Floats) -> Floats:
    """Cost of one GPU-hour that is used, shape (n,): to be held against a rental price."""
    return usd_per_gpu_h / occupancy


@law(
    "cost.usd_per_zflop",
    formula="$ per used GPU-hour / (useful FLOP of a GPU-hour / 1e21)",
    unit="USD/ZFLOP",
    source="arithmetic; FLOP of the model at the speed of the first run, failures and idle time included",
    bounds=_FROM_ZERO,
)
def usd_per_zflop(usd_per_gpu_h: Floats, tflops_per_gpu: Floats, ettr: Floats) -> Floats:
    """Cost of 1e21 useful FLOP over the operating years, shape (n,); finite also where failures leave no progress."""
    return usd_per_gpu_h / np.maximum(tflops_per_gpu * 1e12 * ettr * HOUR_S / _ZETTA, _NO_PROGRESS)


@law("cost.rentable", formula="1 when a rental offer is known", unit="1", source="the catalogue's offers", count=True)
def rentable(usd_per_gpu_h: Floats) -> Floats:
    """Whether somebody is known to rent the part out, shape (n,); where 0, every figure of renting means nothing."""
    return np.asarray(usd_per_gpu_h > 0, dtype=np.float64)


@law(
    "cost.procurable",
    formula="1 when a price is known for the way of procurement",
    unit="1",
    source="the catalogue's prices and offers",
    count=True,
)
def procurable(server_usd: Floats, rent_usd: Floats, reserved_usd: Floats, rented: Floats, reserved: Floats) -> Floats:
    """Whether the candidate can be had: bought servers have a price, rented parts an offer, shape (n,)."""
    known = np.where(rented > 0, rent_usd > 0, np.where(reserved > 0, reserved_usd > 0, server_usd > 0))
    return known.astype(np.float64)
