"""The pass of the facility room over a frame: site by site, then the totals."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, Law, Provenance, from_spec
from clusterwright.domains.facility import cooling, footprint, modules, power, racks
from clusterwright.domains.facility.inputs import give_inputs, give_site
from clusterwright.spec import Spec
from clusterwright.units import YEAR_S

__all__ = ["SUPPORT", "size"]

SUPPORT = ("network", "storage", "management")
"""Kinds of racks beside those with compute nodes, in the order that the laws take them."""
_CONTENT = {"network": "fabric", "storage": "storage", "management": "management"}
_MODULES = {"ups": "it_power_w", "genset": "meter_power_w", "cdu": "water_heat_w", "air_handler": "air_heat_w"}


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Derive ``sites[i].*`` and ``facility.*``: racks, power, cooling, floor, weight, energy, water, carbon.

    Args:
        frame: needs ``server.*``, ``sites[i].{nodes,spare_nodes}`` and, of each site, ``fabric``, ``storage`` and
            ``management`` ``.{power_w,units,weight_kg}``; ``training[j].{gpus,time_to_train_s}``, ``compute.gpus``.
        spec: its sites, limits, redundancy and operating years.
        catalog: planning values and regions.
    """
    give_inputs(frame, spec, catalog)
    for i in range(len(spec.sites)):
        give_site(frame, spec, catalog, i)
        _size_racks(frame, f"sites[{i}]")
        _size_cooling(frame, spec, i)
        _size_power(frame, f"sites[{i}]")
        _size_modules(frame, f"sites[{i}]")
    sites = [f"sites[{i}]" for i in range(len(spec.sites))]
    _total(frame, sites)
    _size_runs(frame, spec)


def _size_racks(frame: Frame, at: str) -> None:
    """Racks of a site by kind."""
    derive = frame.derive
    nodes = {"nodes": f"{at}.nodes", "nodes_per_rack": "compute.nodes_per_rack"}
    derive(f"{at}.nodes_in_rack", racks.nodes_in_rack, spares=f"{at}.spare_nodes", **nodes)
    derive(f"{at}.compute_racks", racks.compute_racks, **nodes)
    derive(f"{at}.spare_racks", racks.spare_racks, spares=f"{at}.spare_nodes", **nodes)
    together = {
        "all_units": [f"{at}.{_CONTENT[kind]}.units" for kind in SUPPORT],
        "all_power_w": [f"{at}.{_CONTENT[kind]}.power_w" for kind in SUPPORT],
        "fill": "facility.rack_fill_units",
        "most_w": "facility.support_rack_power_w",
    }
    for kind in SUPPORT:
        law = racks.management_racks if kind == "management" else racks.support_racks
        content = f"{at}.{_CONTENT[kind]}"
        derive(f"{at}.{kind}_racks", law, units=f"{content}.units", power_w=f"{content}.power_w", note="", **together)
    kinds = ("compute", "spare", *SUPPORT)
    derive(f"{at}.racks", racks.count, parts=[f"{at}.{kind}_racks" for kind in kinds])
    derive(f"{at}.floor_m2", racks.floor, racks=f"{at}.racks", rack_area_m2="facility.rack_area_m2")
    _size_rack(frame, at)


def _size_rack(frame: Frame, at: str) -> None:
    """Power, weight and height of the fullest racks of a site."""
    derive = frame.derive
    rack = {"nodes": f"{at}.nodes_in_rack", "system_nodes": "server.system_nodes"}
    derive(
        f"{at}.compute_rack_power_w",
        racks.compute_rack_power,
        node_power_w="server.power_w",
        overhead_w="facility.rack_overhead_w",
        **rack,
    )
    derive(
        f"{at}.compute_rack_weight_kg",
        racks.compute_rack_weight,
        node_weight_kg="server.weight_kg",
        rack_kg="facility.empty_rack_kg",
        **rack,
    )
    derive(f"{at}.rack_height", racks.rack_height, node_units="server.units", **rack)
    support = [f"{at}.{kind}_racks" for kind in SUPPORT]
    for unit, each in (("power_w", "rack_overhead_w"), ("weight_kg", "empty_rack_kg")):
        content = [f"{at}.{_CONTENT[kind]}.{unit}" for kind in SUPPORT]
        own = f"{at}.support_rack_{unit}"
        derive(own, racks.support_rack_load, content=content, racks=support, each=f"facility.{each}")
        derive(f"{at}.rack_{unit}", racks.highest, parts=[f"{at}.compute_rack_{unit}", own])
    derive(
        f"{at}.weight_kg",
        racks.racks_weight,
        nodes=[f"{at}.nodes", f"{at}.spare_nodes"],
        node_weight_kg="server.weight_kg",
        support_kg=[f"{at}.{_CONTENT[kind]}.weight_kg" for kind in SUPPORT],
        compute_racks=[f"{at}.compute_racks", f"{at}.spare_racks"],
        racks=f"{at}.racks",
        rack_kg="facility.empty_rack_kg",
        system_nodes="server.system_nodes",
    )


def _size_cooling(frame: Frame, spec: Spec, i: int) -> None:
    """The kind of cooling of a site, whether it serves, PUE and water per energy."""
    at, derive = f"sites[{i}]", frame.derive
    liquid = {"liquid": "server.liquid", "liquid_fraction": "server.liquid_fraction"}
    rack = {"rack_power_w": f"{at}.compute_rack_power_w"}
    derive(
        f"{at}.cooling_kind",
        cooling.cooling_kind,
        air_w="facility.limit_air_w",
        rear_door_w="facility.limit_rear_door_w",
        asked=f"{at}.cooling_asked",
        **rack,
        **liquid,
    )
    derive(
        f"{at}.cooling_limit_w",
        cooling.cooling_limit,
        kind=f"{at}.cooling_kind",
        air_most_w="facility.limit_air_most_w",
        rear_door_w="facility.limit_rear_door_w",
        hybrid_w="facility.limit_hybrid_w",
        liquid_w="facility.limit_liquid_w",
        liquid="server.liquid",
        system_nodes="server.system_nodes",
        **rack,
    )
    derive(f"{at}.cooling_fits", cooling.cooling_fits, limit_w=f"{at}.cooling_limit_w", **rack)
    if spec.sites[i].pue is not None:
        frame.give(f"{at}.pue", spec.sites[i].pue or 1.0, from_spec(str(spec.place(f"{at}.pue"))))
    else:
        values = {kind.replace("-", "_"): f"facility.pue_{kind.replace('-', '_')}" for kind in cooling.KINDS}
        derive(f"{at}.pue", cooling.by_kind, kind=f"{at}.cooling_kind", **values)
    derive(
        f"{at}.liquid_share",
        cooling.liquid_share,
        kind=f"{at}.cooling_kind",
        retrofit="facility.retrofit_fraction",
        **liquid,
    )
    derive(
        f"{at}.water_l_per_kwh",
        footprint.water_intensity,
        liquid_share=f"{at}.liquid_share",
        air_l_per_kwh="facility.wue_air_l_per_kwh",
        closed_l_per_kwh="facility.wue_closed_l_per_kwh",
    )


def _size_power(frame: Frame, at: str) -> None:
    """Power of a site by layer, at the meter, on average; water and carbon of a year."""
    derive = frame.derive
    derive(
        f"{at}.compute_power_w",
        power.compute_power,
        nodes=[f"{at}.nodes", f"{at}.spare_nodes"],
        node_power_w="server.power_w",
        racks=[f"{at}.compute_racks", f"{at}.spare_racks"],
        overhead_w="facility.rack_overhead_w",
        system_nodes="server.system_nodes",
    )
    for kind in SUPPORT:
        derive(
            f"{at}.{kind}_power_w",
            power.support_power,
            content_w=f"{at}.{_CONTENT[kind]}.power_w",
            racks=f"{at}.{kind}_racks",
            overhead_w="facility.rack_overhead_w",
        )
    rest = [f"{at}.{kind}_power_w" for kind in SUPPORT]
    derive(f"{at}.it_power_w", power.total_power, parts=[f"{at}.compute_power_w", *rest])
    derive(f"{at}.meter_power_w", power.meter_power, it_power_w=f"{at}.it_power_w", pue=f"{at}.pue")
    used = {
        "nodes": f"{at}.nodes",
        "spares": f"{at}.spare_nodes",
        "node_power_w": "server.power_w",
        "rest_w": rest,
        "training": "facility.training_power_fraction",
        "idle": "facility.idle_power_fraction",
        "pue": f"{at}.pue",
    }
    derive(f"{at}.run_power_w", power.run_power, note="", **used)
    derive(f"{at}.average_power_w", power.average_power, busy="facility.occupancy_fraction", note="", **used)
    mean = {"average_power_w": f"{at}.average_power_w"}
    derive(
        f"{at}.water_m3_per_year",
        footprint.water_per_year,
        pue=f"{at}.pue",
        l_per_kwh=f"{at}.water_l_per_kwh",
        **mean,
    )
    derive(f"{at}.carbon_kg_per_year", footprint.carbon_per_year, g_per_kwh=f"{at}.carbon_g_per_kwh", **mean)


def _size_modules(frame: Frame, at: str) -> None:
    """Modules of power and cooling of a site, feeds of its racks, phases of its power."""
    derive = frame.derive
    heat = {"kind": f"{at}.cooling_kind", "share": f"{at}.liquid_share"}
    derive(f"{at}.water_heat_w", cooling.water_heat, compute_power_w=f"{at}.compute_power_w", **heat)
    derive(f"{at}.air_heat_w", power.air_heat, it_power_w=f"{at}.it_power_w", water_heat_w=f"{at}.water_heat_w")
    spare = {"extra": "facility.redundancy_extra", "factor": "facility.redundancy_factor"}
    for kind, load in _MODULES.items():
        size_w = f"facility.{kind}_module_w"
        derive(f"{at}.{kind}_modules", modules.modules, load_w=f"{at}.{load}", size_w=size_w, **spare)
    rack = {"rack_power_w": f"{at}.rack_power_w", "feed_w": "facility.rack_feed_w"}
    derive(f"{at}.rack_feeds", modules.rack_feeds, **rack, **spare)
    derive(f"{at}.feed_current_a", modules.feed_current, voltage="facility.rack_feed_voltage", **rack)
    derive(
        f"{at}.power_blocks",
        modules.power_blocks,
        meter_power_w=f"{at}.meter_power_w",
        block_w="facility.power_block_w",
    )


def _total(frame: Frame, sites: list[str]) -> None:
    """Totals and maxima over the sites."""
    derive = frame.derive

    def of(name: str) -> list[str]:
        return [f"{at}.{name}" for at in sites]

    for kind in ("compute_racks", "spare_racks", *(f"{kind}_racks" for kind in SUPPORT), "racks"):
        derive(f"facility.{kind}", racks.count, parts=of(kind))
    for kind in _MODULES:
        derive(f"facility.{kind}_modules", racks.count, parts=of(f"{kind}_modules"))
    for name in ("rack_power_w", "rack_weight_kg", "rack_height", "rack_feeds"):
        _together(frame, f"facility.{name}", racks.highest, parts=of(name))
    derive("facility.rack_fits", racks.rack_fits, height="facility.rack_height", rack_units="facility.rack_units")
    _together(frame, "facility.floor_m2", racks.total_floor, parts=of("floor_m2"))
    _together(frame, "facility.weight_kg", racks.total_weight, parts=of("weight_kg"))
    for name in ("compute", *SUPPORT, "it", "meter", "average", "run"):
        _together(frame, f"facility.{name}_power_w", power.total_power, parts=of(f"{name}_power_w"))
    _together(frame, "facility.pue", power.mean_pue, it_power_w=of("it_power_w"), pue=of("pue"))
    derive("facility.energy_j_per_year", power.energy_per_year, average_power_w="facility.average_power_w")
    _together(frame, "facility.water_m3_per_year", footprint.total_water, parts=of("water_m3_per_year"))
    _together(frame, "facility.carbon_kg_per_year", footprint.total_carbon, parts=of("carbon_kg_per_year"))
    derive(
        "facility.carbon_g_per_kwh",
        footprint.mean_intensity,
        power_w=of("run_power_w"),
        g_per_kwh=of("carbon_g_per_kwh"),
    )
    derive(
        "facility.pod_racks",
        racks.pod_racks,
        pod_gpus="facility.pod_gpus",
        nodes_per_rack="compute.nodes_per_rack",
        node_gpus="server.gpus",
    )


def _together(frame: Frame, path: str, law: Law, **parts: list[str]) -> None:
    """Derive a figure that rises with the sites' figures, whose intervals move together.

    The sites are built of the same parts: when a server draws more than thought, it does so at every site. Adding
    the deviations as squares, as for independent inputs, would make the interval of the total too narrow.
    """
    several = len(next(iter(parts.values()))) > 1
    frame.derive(path, law, note="the sites' intervals move together" if several else "", **parts)
    if not frame.intervals or law.count or not several:
        return
    figures = {name: [frame.figure(part) for part in paths] for name, paths in parts.items()}
    low = law(**{name: [figure.low for figure in found] for name, found in figures.items()})
    high = law(**{name: [figure.high for figure in found] for name, found in figures.items()})
    derived = frame.figure(path)
    frame.give(path, derived.value, derived.provenance, low=low, high=high)


def _size_runs(frame: Frame, spec: Spec) -> None:
    """Energy and carbon of the runs, and the carbon of making the machines."""
    derive = frame.derive
    runs = [j for j, workload in enumerate(spec.workloads) if workload.train is not None]
    used = {
        "times_s": [f"training[{j}].time_to_train_s" for j in runs],
        "gpus": [f"training[{j}].gpus" for j in runs],
        "all_gpus": "compute.gpus",
    }
    derive("facility.run_energy_j", power.run_energy, power_w="facility.run_power_w", note="", **used)
    derive(
        "facility.carbon_kg_run_operation",
        footprint.operation_of_runs,
        energy_j="facility.run_energy_j",
        g_per_kwh="facility.carbon_g_per_kwh",
    )
    derive(
        "facility.embodied_kg",
        footprint.embodied,
        nodes=["compute.nodes", "compute.spare_nodes"],
        node_gpus="server.gpus",
        gpu_kg="facility.embodied_gpu_kg",
        server_kg="facility.embodied_server_kg",
    )
    years = from_spec(str(spec.place("finance.years")))
    silent = Provenance("default", note="operating years")
    frame.give("facility.operating_s", spec.finance.years * YEAR_S, years if spec.given("finance.years") else silent)
    derive(
        "facility.carbon_kg_run_embodied",
        footprint.embodied_of_runs,
        embodied_kg="facility.embodied_kg",
        life_s="facility.operating_s",
        note="",
        **used,
    )
    derive(
        "facility.carbon_kg_run",
        footprint.run_carbon,
        operation_kg="facility.carbon_kg_run_operation",
        embodied_kg="facility.carbon_kg_run_embodied",
    )
