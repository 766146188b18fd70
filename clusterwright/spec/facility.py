"""What may be asked of facilities: sites, and limits over all of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clusterwright.spec.compute import MOST_GPUS
from clusterwright.spec.forms import Count, Number, Quantity
from clusterwright.spec.section import Section
from clusterwright.spec.words import Name, Part, Word

__all__ = ["COOLINGS", "DEFAULT_REGION", "Limits", "Site"]

COOLINGS = ("air", "rear-door", "direct-liquid")
"""What can carry the heat out of a rack."""
DEFAULT_REGION = "us-east"
"""The region of a site that names none: its prices and its grid are then assumptions."""

_Power = Quantity("power", "10 MW", most=1e11)
_RackPower = Quantity("power", "100 kW", most=1e7)
_Floor = Quantity("area", "500 m2", most=1e7)
_RackWeight = Quantity("mass", "1360 kg", most=1e5)
_Racks = Count(10_000_000, "48")


class Site(Section):
    """A building, or a hall in one."""

    name: Annotated[str, Name("main")] = Field("main", description="Unique among the sites.")
    region: Annotated[str, Part("regions", "region", "us-east")] = Field(
        DEFAULT_REGION, description="Where it stands: energy price, carbon of the grid, cost of building."
    )
    cooling: Annotated[str | None, Word("cooling", COOLINGS)] = Field(
        None, description="What carries the heat out of a rack; `auto` follows the density."
    )
    rack_power_w: Annotated[float | None, _RackPower] = Field(
        None, alias="rack_power", description="Most IT power of one rack that the site can feed and cool."
    )
    power_w: Annotated[float | None, _Power] = Field(
        None, alias="power", description="Most power at the site's meter, cooling included."
    )
    floor_m2: Annotated[float | None, _Floor] = Field(None, alias="floor", description="Floor for racks and aisles.")
    pue: Annotated[float | None, Number(1.0, 3.0, "1.2")] = Field(
        None, description="Power at the meter over IT power, yearly mean; `auto` follows the cooling."
    )
    energy_usd_per_j: Annotated[float | None, Quantity("energy_price", "$0.08/kWh", zero=True)] = Field(
        None, alias="energy_price", description="Price of energy; `auto` is the region's."
    )
    carbon_kg_per_j: Annotated[float | None, Quantity("carbon", "369 g/kWh", zero=True)] = Field(
        None, alias="carbon", description="CO2e per energy from the grid; `auto` is the region's."
    )
    rack_weight_kg: Annotated[float | None, _RackWeight] = Field(
        None, alias="rack_weight", description="Heaviest rack that the floor carries."
    )
    racks: Annotated[int | None, _Racks] = Field(None, description="Most racks, of every kind.")
    gpus: Annotated[int | None, Count(MOST_GPUS, "1024")] = Field(
        None, description="Accelerators at this site; `auto` splits them by power, else evenly."
    )


class Limits(Section):
    """What must not be exceeded, over all sites."""

    budget_usd: Annotated[float | None, Quantity("money", "60M USD", most=1e13)] = Field(
        None, alias="budget", description="For the purchase of what is bought, or the rent over the operating years."
    )
    power_w: Annotated[float | None, _Power] = Field(
        None, alias="power", description="Power at the meters of all sites together."
    )
    rack_power_w: Annotated[float | None, _RackPower] = Field(
        None, alias="rack_power", description="IT power of any one rack."
    )
    racks: Annotated[int | None, _Racks] = Field(None, description="Racks of every kind at all sites together.")
    rack_weight_kg: Annotated[float | None, _RackWeight] = Field(
        None, alias="rack_weight", description="Weight of any one rack."
    )
    floor_m2: Annotated[float | None, _Floor] = Field(None, alias="floor", description="Floor at all sites together.")
