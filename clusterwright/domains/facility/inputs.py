"""What the facility room takes from the catalogue and the spec."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, Provenance, from_spec
from clusterwright.domains.facility.cooling import AUTO
from clusterwright.spec import Spec
from clusterwright.units import JOULE_PER_KWH

__all__ = ["REDUNDANCY", "give_inputs", "give_site"]

REDUNDANCY = {"N": (0.0, 1.0), "N+1": (1.0, 1.0), "2N": (0.0, 2.0)}
"""Modules more than needed, and the factor on all, by scheme."""
_ASKED = {None: AUTO, "air": 0.0, "rear-door": 1.0, "direct-liquid": 3.0}
_PLANNING = {
    "rack_units": "compute_rack_units",
    "rack_fill_units": "rack_fill_units",
    "rack_overhead_w": "rack_overhead_w",
    "empty_rack_kg": "rack_weight_kg",
    "rack_area_m2": "rack_floor_area_m2",
    "support_rack_power_w": "support_rack_power_w",
    "limit_air_w": "rack_limit_air_w",
    "limit_rear_door_w": "rack_limit_rear_door_w",
    "limit_hybrid_w": "rack_limit_hybrid_w",
    "limit_liquid_w": "rack_limit_liquid_w",
    "pue_air": "pue_air",
    "pue_rear_door": "pue_rear_door",
    "pue_hybrid": "pue_hybrid",
    "pue_liquid": "pue_liquid",
    "retrofit_fraction": "retrofit_liquid_fraction",
    "wue_closed_l_per_kwh": "wue_closed_loop_l_per_kwh",
    "ups_module_w": "ups_module_w",
    "genset_module_w": "genset_module_w",
    "cdu_module_w": "cdu_module_w",
    "air_handler_module_w": "air_handler_module_w",
    "rack_feed_w": "rack_pdu_415v_60a_w",
    "rack_feed_voltage": "rack_feed_voltage",
    "power_block_w": "power_block_w",
    "training_power_fraction": "training_power_fraction",
    "idle_power_fraction": "idle_power_fraction",
    "occupancy_fraction": "occupancy_fraction",
    "embodied_gpu_kg": "embodied_gpu_kg",
    "embodied_server_kg": "embodied_server_kg",
    "pod_gpus": "pod_gpus",
}
"""Figure below ``facility.`` -> planning value of the catalogue."""
_COUNTS = ("rack_units", "rack_fill_units", "rack_feed_voltage", "pod_gpus")


def give_inputs(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Put planning values and the redundancy scheme."""
    for path, name in _PLANNING.items():
        place = f"catalogue: planning/{name}"
        frame.give_fact(f"facility.{path}", catalog.planning(name), place, count=path in _COUNTS)
    air = catalog.planning("rack_limit_air_w")
    frame.give(
        "facility.limit_air_most_w",
        air.high,
        Provenance(
            "catalog",
            place="catalogue: planning/rack_limit_air_w",
            source=air.source.title,
            status=air.status,
            note="densest published air-cooled racks; counted where the spec asks for air",
        ),
    )
    _give_water(frame, catalog)
    asked = spec.given("reliability.redundancy")
    origin = from_spec(str(spec.place("reliability.redundancy"))) if asked else Provenance("default", note="N+1")
    extra, factor = REDUNDANCY[spec.reliability.redundancy]
    frame.give("facility.redundancy_extra", extra, origin, count=True)
    frame.give("facility.redundancy_factor", factor, origin, count=True)


def _give_water(frame: Frame, catalog: Catalog) -> None:
    """Water of air cooling: evaporative, or at the low end dry."""
    wet, dry = catalog.planning("wue_evaporative_l_per_kwh"), catalog.planning("wue_dry_l_per_kwh")
    origin = Provenance(
        "catalog",
        place="catalogue: planning/wue_evaporative_l_per_kwh",
        source=wet.source.title,
        status=wet.status,
        note="evaporative cooling; the low end is dry cooling",
    )
    frame.give("facility.wue_air_l_per_kwh", wet.value, origin, low=dry.value, high=wet.value)


def give_site(frame: Frame, spec: Spec, catalog: Catalog, i: int) -> None:
    """Put what the spec or its region says of site ``i``: cooling asked for, carbon and price of energy."""
    site, at = spec.sites[i], f"sites[{i}]"
    region = catalog.get("region", site.region)

    def asked(key: str) -> Provenance:
        return from_spec(str(spec.place(f"{at}.{key}")))

    cooling = asked("cooling") if site.cooling else Provenance("default", note="the density decides")
    frame.give(f"{at}.cooling_asked", _ASKED[site.cooling], cooling, count=True)
    place = f"catalogue: region/{region.name}"
    if site.carbon_kg_per_j is not None:
        frame.give(f"{at}.carbon_g_per_kwh", site.carbon_kg_per_j * 1e3 * JOULE_PER_KWH, asked("carbon"))
    else:
        fact = region.fact("grid_carbon_g_per_kwh")
        frame.give_fact(f"{at}.carbon_g_per_kwh", fact, f"{place} grid_carbon_g_per_kwh")
    if site.energy_usd_per_j is not None:
        frame.give(f"{at}.energy_usd_per_kwh", site.energy_usd_per_j * JOULE_PER_KWH, asked("energy_price"))
    else:
        fact = region.fact("electricity_usd_per_kwh")
        frame.give_fact(f"{at}.energy_usd_per_kwh", fact, f"{place} electricity_usd_per_kwh")
