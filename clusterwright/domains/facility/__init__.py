"""Facility: racks, power, cooling, floor, weight, energy, water and carbon of every site."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.facility import cooling, footprint, modules, power, racks
from clusterwright.domains.facility.findings import FINDINGS
from clusterwright.domains.facility.layout import fill_racks, fill_sites
from clusterwright.domains.facility.sizing import size
from clusterwright.domains.facility.telling import say, set_margins
from clusterwright.spec import Spec

__all__ = ["FINDINGS", "LAWS", "apply", "size"]

LAWS = laws(
    racks.nodes_in_rack,
    racks.compute_racks,
    racks.spare_racks,
    racks.support_racks,
    racks.management_racks,
    racks.count,
    racks.compute_rack_power,
    racks.compute_rack_weight,
    racks.rack_height,
    racks.rack_fits,
    racks.support_rack_load,
    racks.highest,
    racks.racks_weight,
    racks.total_weight,
    racks.floor,
    racks.total_floor,
    racks.pod_racks,
    cooling.cooling_kind,
    cooling.cooling_limit,
    cooling.cooling_fits,
    cooling.by_kind,
    cooling.liquid_share,
    cooling.water_heat,
    power.compute_power,
    power.support_power,
    power.total_power,
    power.meter_power,
    power.mean_pue,
    power.run_power,
    power.average_power,
    power.run_energy,
    power.energy_per_year,
    power.air_heat,
    power.margin,
    modules.modules,
    modules.rack_feeds,
    modules.feed_current,
    modules.power_blocks,
    footprint.water_intensity,
    footprint.water_per_year,
    footprint.total_water,
    footprint.mean_intensity,
    footprint.carbon_per_year,
    footprint.total_carbon,
    footprint.operation_of_runs,
    footprint.embodied,
    footprint.embodied_of_runs,
    footprint.run_carbon,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the tables of sites and racks, the margins to the limits, and say what the facility has to say.

    Args:
        cluster: its frame holds what :func:`size` derived.
        spec: sites, limits, redundancy.
        catalog: not needed.
    """
    fill_sites(cluster, spec)
    fill_racks(cluster, spec)
    set_margins(cluster, spec)
    say(cluster, spec)
