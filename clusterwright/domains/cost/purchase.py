"""What is paid once: a bill of materials, cooling at the racks, the work to put it up, parts on the shelf."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law
from clusterwright.units import HOUR_S

__all__ = [
    "WORK_HOURS",
    "building",
    "cooling",
    "goods",
    "installation",
    "racks_bought",
    "rear_doors",
    "share",
    "summed",
]

WORK_HOURS = 1760.0
"""Hours that somebody works in a year: 220 days of 8 hours."""
_FROM_ZERO = (0.0, float("inf"))


@law(
    "cost.goods", formula="quantity x price", unit="USD", source="arithmetic of a bill of materials", bounds=_FROM_ZERO
)
def goods(quantity: list[Floats], price_usd: Floats) -> Floats:
    """Price of equal things that are counted in several places, shape (n,)."""
    return np.asarray(np.sum(quantity, axis=0) * price_usd, dtype=np.float64)


@law("cost.summed", formula="sum of the lines", unit="USD", source="arithmetic")
def summed(parts: list[Floats]) -> Floats:
    """Sum of cost lines, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law("cost.share", formula="price x share", unit="USD", source="arithmetic", bounds=_FROM_ZERO)
def share(price_usd: Floats, fraction: Floats) -> Floats:
    """A share of a purchase, once or each year, shape (n,)."""
    return price_usd * fraction


@law(
    "cost.racks_bought",
    formula="all racks; of a rack-scale system, whose racks come with it, only the others",
    unit="1",
    source="arithmetic",
    count=True,
)
def racks_bought(racks: Floats, system_racks: list[Floats], system_nodes: Floats) -> Floats:
    """Racks that are bought empty, shape (n,)."""
    return np.where(system_nodes > 1, racks - np.sum(system_racks, axis=0), racks)


@law(
    "cost.rear_doors",
    formula="one for each compute rack of a site that cools with rear doors",
    unit="1",
    source="kind of cooling 1 of the facility",
    count=True,
)
def rear_doors(kinds: list[Floats], racks: list[Floats], spare_racks: list[Floats]) -> Floats:
    """Rear-door heat exchangers over the sites, shape (n,)."""
    sites = zip(kinds, racks, spare_racks, strict=True)
    doors = [np.where((kind > 0.5) & (kind < 1.5), some + spare, 0.0) for kind, some, spare in sites]
    return np.asarray(np.sum(doors, axis=0), dtype=np.float64)


@law(
    "cost.cooling",
    formula="coolant distribution units x their size x price of a watt + rear doors x price",
    unit="USD",
    source="catalogue: planning/cdu_usd_per_w, rear_door_usd; chillers and air handlers belong to the building",
    bounds=_FROM_ZERO,
)
def cooling(cdus: Floats, cdu_w: Floats, cdu_usd_per_w: Floats, doors: Floats, door_usd: Floats) -> Floats:
    """Cooling at the racks, shape (n,)."""
    return cdus * cdu_w * cdu_usd_per_w + doors * door_usd


@law(
    "cost.installation",
    formula="racks x hours of work x yearly cost of a person / 1,760 h",
    unit="USD",
    source="catalogue: planning/rack_installation_s, staff_usd_per_year; 220 days of 8 hours",
    bounds=_FROM_ZERO,
)
def installation(racks: Floats, work_s: Floats, staff_usd_per_year: Floats) -> Floats:
    """Work to place, cable and test the racks, shape (n,)."""
    return racks * (work_s / HOUR_S) * staff_usd_per_year / WORK_HOURS


@law(
    "cost.building",
    formula="sum over the sites of IT power x price per watt of IT load x (1 + premium of density) x redundancy",
    unit="USD",
    source="catalogue: region capex, planning/ai_premium_fraction, capex_multiplier_2n (1 below 2N)",
    bounds=_FROM_ZERO,
)
def building(it_power_w: list[Floats], usd_per_w: list[Floats], premium: Floats, redundancy: Floats) -> Floats:
    """Price of building the data centres new, shape (n,); per watt of IT load, not per watt at the meter."""
    plain = np.sum([power * price for power, price in zip(it_power_w, usd_per_w, strict=True)], axis=0)
    return np.asarray(plain * (1.0 + premium) * redundancy, dtype=np.float64)
