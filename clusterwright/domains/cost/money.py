"""Arithmetic of money: quantities times prices, years of running, what is left, what a unit of work costs."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = [
    "amortised",
    "break_even",
    "by_procurement",
    "difference",
    "energy_per_year",
    "goods",
    "people",
    "priced_server",
    "procurable",
    "rent",
    "rent_per_year",
    "residual",
    "share_of",
    "staff",
    "summed",
    "tco",
    "usd_per_gpu_h",
    "usd_per_zflop",
]

YEAR_S = 365.25 * 86400.0
HOUR_S = 3600.0
UPLIFT = 1.35
"""Server price over the price of its accelerators: 8 H100 cost $230-270k of a $270-375k DGX."""


@law("cost.goods", formula="quantity x price", unit="USD", source="arithmetic of a bill of materials")
def goods(quantity: list[Floats], price_usd: Floats) -> Floats:
    """Price of equal things, counted in several places."""
    return np.asarray(sum(quantity) * price_usd, dtype=np.float64)


@law("cost.summed", formula="sum of the lines", unit="USD", source="arithmetic")
def summed(parts: list[Floats]) -> Floats:
    """Sum of cost lines."""
    return np.asarray(sum(parts), dtype=np.float64)


@law("cost.share_of", formula="price x share", unit="USD", source="a share of the purchase price, each year or once")
def share_of(price_usd: Floats, share: Floats) -> Floats:
    """A share of a price: support, spare parts."""
    return price_usd * share


@law(
    "cost.priced_server",
    formula="price of the server, else 1.35 x GPUs x price of the accelerator",
    unit="USD",
    source="catalogue; 1.35 is what DGX and HGX servers cost over their accelerators",
)
def priced_server(server_usd: Floats, accelerator_usd: Floats, server_gpus: Floats) -> Floats:
    """Price of one server."""
    return np.where(server_usd > 0, server_usd, UPLIFT * server_gpus * accelerator_usd)


@law(
    "cost.energy",
    formula="mean power at the meter x a year x price",
    unit="USD/year",
    source="arithmetic; price of the region or site",
)
def energy_per_year(average_power_w: list[Floats], usd_per_j: list[Floats]) -> Floats:
    """Energy bill of a year, over the sites."""
    bills = [w * YEAR_S * price for w, price in zip(average_power_w, usd_per_j, strict=True)]
    return np.asarray(sum(bills), dtype=np.float64)


@law("cost.rent_per_year", formula="units x price per year", unit="USD/year", source="arithmetic")
def rent_per_year(units: list[Floats], usd_per_unit_year: list[Floats]) -> Floats:
    """Rent of space, power or capacity, over the sites."""
    return np.asarray(sum(u * p for u, p in zip(units, usd_per_unit_year, strict=True)), dtype=np.float64)


@law(
    "cost.staff",
    formula="IT power in MW x people per MW",
    unit="1",
    source="people per MW from the catalogue",
)
def staff(it_power_w: Floats, per_mw: Floats) -> Floats:
    """Full-time people who run the cluster and its hall; a small cluster takes a part of one person."""
    return it_power_w / 1e6 * per_mw


@law(
    "cost.people",
    formula="people x cost of one",
    unit="USD/year",
    source="arithmetic; people per MW from the catalogue",
)
def people(fte: Floats, usd_per_year: Floats) -> Floats:
    """Staff."""
    return fte * usd_per_year


@law("cost.amortised", formula="price / life", unit="USD/year", source="straight-line depreciation")
def amortised(price_usd: Floats, life_years: Floats) -> Floats:
    """A building's share of one year."""
    return price_usd / life_years


@law(
    "cost.residual",
    formula="price x fraction after 36 months ^ (years / 3)",
    unit="USD",
    source="resale value after three years from the catalogue, geometric in time",
)
def residual(price_usd: Floats, fraction_36_months: Floats, years: Floats) -> Floats:
    """What the servers fetch at the end."""
    return price_usd * fraction_36_months ** (years / 3.0)


@law(
    "cost.tco",
    formula="capex + years x opex - residual",
    unit="USD",
    source="total cost of ownership, undiscounted",
    bounds=(0.0, float("inf")),
)
def tco(capex_usd: Floats, opex_usd_per_year: Floats, years: Floats, residual_usd: Floats) -> Floats:
    """Cost over the operating years."""
    return capex_usd + years * opex_usd_per_year - residual_usd


@law("cost.rent", formula="sum of GPUs x time x price", unit="USD", source="arithmetic; published $ per GPU-hour")
def rent(gpus: list[Floats], times_s: list[Floats], usd_per_gpu_h: Floats) -> Floats:
    """Rent of the runs."""
    return np.asarray(sum(g * t for g, t in zip(gpus, times_s, strict=True)) / HOUR_S * usd_per_gpu_h, dtype=np.float64)


@law(
    "cost.by_procurement",
    formula="the figure of the way of procurement that was chosen",
    unit="USD",
    source="selection",
)
def by_procurement(hot: list[Floats], figures: list[Floats]) -> Floats:
    """One of several figures, by a choice that is 1 for one of them."""
    return np.asarray(sum(h * f for h, f in zip(hot, figures, strict=True)), dtype=np.float64)


@law("cost.difference", formula="a - b", unit="USD", source="arithmetic")
def difference(a: Floats, b: Floats) -> Floats:
    """A difference."""
    return a - b


@law(
    "cost.break_even",
    formula="capex / (rent per second - opex per second)",
    unit="s",
    source="arithmetic; resale value left out",
    valid="use without pause; a cluster that idles breaks even later in proportion",
    bounds=(0.0, float("inf")),
)
def break_even(capex_usd: Floats, opex_usd_per_year: Floats, rent_usd_per_year: Floats) -> Floats:
    """Time of full use after which owning has cost less than renting; very long where renting never costs more."""
    saved = (rent_usd_per_year - opex_usd_per_year) / YEAR_S
    return np.where(saved > 0, capex_usd / np.maximum(saved, 1e-30), 1e12)


@law(
    "cost.usd_per_gpu_h",
    formula="TCO / (GPUs x hours x availability)",
    unit="USD/GPU-h",
    source="arithmetic; every hour in which the GPUs are up counts, used or not",
)
def usd_per_gpu_h(tco_usd: Floats, gpus: Floats, years: Floats, availability: Floats) -> Floats:
    """Cost of one GPU-hour."""
    return tco_usd / (gpus * years * YEAR_S / HOUR_S * availability)


@law(
    "cost.usd_per_zflop",
    formula="$ per GPU-hour / (useful FLOP of a GPU-hour / 1e21)",
    unit="USD/ZFLOP",
    source="arithmetic; model FLOP of the first run, failures included",
)
def usd_per_zflop(usd_per_gpu_h: Floats, tflops_per_gpu: Floats, ettr: Floats) -> Floats:
    """Cost of 1e21 useful FLOP."""
    return usd_per_gpu_h / (tflops_per_gpu * 1e12 * ettr * HOUR_S / 1e21)


@law(
    "cost.procurable",
    formula="1 when a price is known for the way of procurement",
    unit="1",
    source="the catalogue's prices",
    count=True,
)
def procurable(server_usd: Floats, rent_usd: Floats, reserved_usd: Floats, rented: Floats, reserved: Floats) -> Floats:
    """Whether the candidate can be had: bought servers have a price, rented parts an offer."""
    known = np.where(rented > 0, rent_usd > 0, np.where(reserved > 0, reserved_usd > 0, server_usd > 0))
    return known.astype(np.float64)
