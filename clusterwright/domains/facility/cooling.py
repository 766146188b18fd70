"""What carries the heat away: the kind that the density forces, what it can do, PUE and water."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law
from clusterwright.units import COOLINGS

__all__ = ["AUTO", "KINDS", "by_kind", "cooling_fits", "cooling_kind", "cooling_limit", "liquid_share", "water_heat"]

KINDS = COOLINGS
"""Kinds of cooling by their code 0 to 3."""
AUTO = -1.0
"""Code of a cooling that the spec leaves open."""

_ALL_LIQUID = 0.95
_HAIR = 1e-9


@law(
    "facility.cooling_kind",
    formula="air up to its limit, rear-door up to its limit, hybrid (cold plates and air) above or where the server "
    "needs liquid, liquid where 95 % of the server's heat goes to it; what the spec asks for goes first",
    unit="1",
    source="densities from the catalogue: planning/rack_limit_*",
    count=True,
)
def cooling_kind(
    rack_power_w: Floats, air_w: Floats, rear_door_w: Floats, liquid: Floats, liquid_fraction: Floats, asked: Floats
) -> Floats:
    """The kind of cooling: air, rear-door, hybrid or liquid.

    Args:
        rack_power_w: of a full compute rack.
        air_w: densest rack that air usually serves.
        rear_door_w: densest rack with a rear-door heat exchanger.
        liquid: 1 where the server needs liquid.
        liquid_fraction: share of the server's heat that goes to liquid.
        asked: -1 open, 0 air, 1 rear-door, 3 direct liquid (cold plates on a server made for air are hybrid).
    """
    to_liquid = np.where((liquid > 0) & (liquid_fraction >= _ALL_LIQUID), 3.0, 2.0)
    by_density = np.where(rack_power_w <= air_w + _HAIR, 0.0, np.where(rack_power_w <= rear_door_w + _HAIR, 1.0, 2.0))
    free = np.where(liquid > 0, to_liquid, by_density)
    return np.where(asked < 0, free, np.where(asked > 2.5, to_liquid, asked))


@law(
    "facility.cooling_limit",
    formula="the limit of the kind; a rack-scale system brings the cooling of its own density",
    unit="W",
    source="densities from the catalogue: planning/rack_limit_*; air counts to the densest published air-cooled rack",
)
def cooling_limit(
    kind: Floats,
    rack_power_w: Floats,
    air_most_w: Floats,
    rear_door_w: Floats,
    hybrid_w: Floats,
    liquid_w: Floats,
    liquid: Floats,
    system_nodes: Floats,
) -> Floats:
    """Densest compute rack that the cooling serves, shape (n,); 0 where the server needs liquid and gets none."""
    made = np.where(system_nodes > 1, np.maximum(liquid_w, rack_power_w), liquid_w)
    plates = np.where(liquid > 0, made, hybrid_w)
    dry = np.where(liquid > 0, 0.0, np.where(kind < 0.5, air_most_w, rear_door_w))
    return np.where(kind < 1.5, dry, np.where(kind < 2.5, plates, made))


@law(
    "facility.cooling_fits",
    formula="1 if rack power <= limit of the cooling, else 0",
    unit="1",
    source="arithmetic",
    count=True,
)
def cooling_fits(rack_power_w: Floats, limit_w: Floats) -> Floats:
    """Whether the cooling serves a full compute rack, shape (n,)."""
    return np.asarray(rack_power_w <= limit_w * (1.0 + _HAIR), dtype=np.float64)


@law(
    "facility.by_kind",
    formula="the value of the kind of cooling",
    unit="1",
    source="catalogue: planning/pue_*",
    bounds=(1.0, 3.0),
)
def by_kind(kind: Floats, air: Floats, rear_door: Floats, hybrid: Floats, liquid: Floats) -> Floats:
    """PUE by the kind of cooling, shape (n,)."""
    index = np.clip(np.round(kind), 0, 3)
    return np.where(index < 1, air, np.where(index < 2, rear_door, np.where(index < 3, hybrid, liquid)))


@law(
    "facility.liquid_share",
    formula="0 for air and rear doors; the server's own share; that of cold plates on a server made for air",
    unit="1",
    source="server data; catalogue: planning/retrofit_liquid_fraction",
    bounds=(0.0, 1.0),
)
def liquid_share(kind: Floats, liquid: Floats, liquid_fraction: Floats, retrofit: Floats) -> Floats:
    """Share of the compute heat that leaves through cold plates, shape (n,)."""
    return np.where(kind < 1.5, 0.0, np.where(liquid > 0, liquid_fraction, retrofit))


@law(
    "facility.water_heat",
    formula="compute power x (1 with rear doors, else the share of cold plates)",
    unit="W",
    source="what passes through coolant distribution units; the rest goes to the room's air",
    bounds=(0.0, float("inf")),
)
def water_heat(compute_power_w: Floats, kind: Floats, share: Floats) -> Floats:
    """Heat that leaves the racks in water, shape (n,)."""
    rear_door = (kind > 0.5) & (kind < 1.5)
    return compute_power_w * np.where(rear_door, 1.0, share)
