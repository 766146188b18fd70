"""The cost room over a frame: what is bought, what a year costs, and the four ways of procurement side by side."""

from __future__ import annotations

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, Provenance, assumed, from_spec
from clusterwright.domains.cost import money
from clusterwright.spec import Spec
from clusterwright.units import JOULE_PER_KWH

__all__ = ["CAPEX", "OPEX", "PROCUREMENTS", "size"]

PROCUREMENTS = ("buy", "rent", "reserved", "colocate")
CAPEX = ("servers", "switches", "cables", "storage", "management", "racks", "cooling", "spare_parts")
"""Lines that are paid once, for what is bought."""
OPEX = {
    "buy": ("energy", "building", "staff", "support", "spares", "licences", "object_storage"),
    "colocate": ("energy", "colocation", "staff", "support", "spares", "licences", "object_storage"),
    "rent": ("gpu_rent", "rented_storage", "staff", "licences", "object_storage", "egress"),
    "reserved": ("gpu_reserved", "rented_storage", "staff", "licences", "object_storage", "egress"),
}
"""Lines that are paid every year, by procurement."""
BUILDING_LIFE_YEARS = 15.0
EGRESS_SHARE = 0.1
_PLANNING = {
    "management_server_usd": "management_server_usd",
    "rack_usd": "rack_purchase_usd",
    "cdu_usd_per_w": "cdu_usd_per_w",
    "spare_parts_share": "spare_parts_fraction",
    "support_share": "maintenance_fraction",
    "staff_per_mw": "staff_fte_per_mw",
    "staff_usd_per_year": "staff_usd_per_year",
    "licence_usd_per_year": "software_licence_usd_per_year",
    "residual_share": "residual_fraction_36_months",
    "egress_usd_per_gb": "egress_usd_per_gb",
}


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Cost of every candidate by every way of procurement.

    Needs everything that the other rooms derive; gives ``cost.*`` and the lines under ``cost.lines.*``.
    """
    _give(frame, spec, catalog)
    _capex(frame)
    _opex(frame, spec)
    _ways(frame, spec)
    _unit_costs(frame)


def _give(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    for name, key in _PLANNING.items():
        frame.give_fact(f"cost.{name}", catalog.planning(key), f"catalogue: planning/{key}")
    frame.give("cost.building_life_years", BUILDING_LIFE_YEARS, assumed("straight-line life of a data centre"))
    frame.give("cost.egress_share", EGRESS_SHARE, assumed("share of the stored bytes that leaves the cloud each year"))
    frame.give("cost.years", spec.finance.years, _wish(spec, "finance.years", "operating years"))
    pfs = catalog.get("storage", "fsx-lustre-250").fact("rent_usd_per_tb_month")
    frame.give_fact("cost.rented_pfs_usd_per_tb_month", pfs, "catalogue: storage/fsx-lustre-250 rent_usd_per_tb_month")
    _give_regions(frame, spec, catalog)
    if spec.finance.staff is not None:
        frame.give("cost.staff_fte", spec.finance.staff, from_spec(str(spec.place("finance.staff"))))
    else:
        frame.derive("cost.staff_fte", money.staff, it_power_w="facility.it_power_w", per_mw="cost.staff_per_mw")


def _wish(spec: Spec, path: str, note: str) -> Provenance:
    return from_spec(str(spec.place(path))) if spec.given(path) else Provenance("default", note=note)


def _give_regions(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Prices of each site's region, or those that the site names."""
    for i, site in enumerate(spec.sites):
        region = catalog.get("region", site.region)
        place = f"catalogue: region/{region.name}"
        if site.energy_usd_per_j is not None:
            frame.give(
                f"sites[{i}].energy_usd_per_j",
                site.energy_usd_per_j,
                from_spec(str(spec.place(f"sites[{i}].energy_price"))),
            )
        else:
            _give_scaled(frame, f"sites[{i}].energy_usd_per_j", region, "electricity_usd_per_kwh", 1 / JOULE_PER_KWH)
        frame.give_fact(f"sites[{i}].building_usd_per_w", region.fact("capex_usd_per_w"), f"{place} capex_usd_per_w")
        _give_scaled(frame, f"sites[{i}].colocation_usd_per_w_year", region, "colocation_usd_per_kw_month", 12 / 1e3)


def _give_scaled(frame: Frame, path: str, part: object, key: str, factor: float) -> None:
    """A fact of the catalogue in another unit."""
    fact = part.fact(key)  # type: ignore[attr-defined]  # a Part
    source = f"{fact.source.title} ({fact.source.date})"
    place = f"catalogue: region/{part.name} {key}"  # type: ignore[attr-defined]  # a Part
    origin = Provenance("catalog", place=place, source=source, status=fact.status, note=fact.note)
    frame.give(path, fact.value * factor, origin, low=fact.low * factor, high=fact.high * factor)


def _capex(frame: Frame) -> None:
    """Purchase lines."""
    lines = "cost.lines"
    frame.derive(
        "cost.server_usd",
        money.priced_server,
        server_usd="server.price_usd",
        accelerator_usd="accelerator.price_usd",
        server_gpus="server.gpus",
    )
    compute = ["compute.nodes", "compute.spare_nodes"]
    frame.derive(f"{lines}.servers_usd", money.goods, quantity=compute, price_usd="cost.server_usd")
    tiers = [f"fabric.all.{tier}_switches" for tier in ("leaf", "spine", "core")]
    frame.derive(f"{lines}.compute_switches_usd", money.goods, quantity=tiers, price_usd="fabric.switch_price_usd")
    others = ["fabric.storage.price_usd", "fabric.management.price_usd"]
    frame.derive(f"{lines}.switches_usd", money.summed, parts=[f"{lines}.compute_switches_usd", *others])
    trunks = ["fabric.all.leaf_spine_cables", "fabric.all.spine_core_cables"]
    short = ["fabric.all.node_leaf_cables"]
    frame.derive(f"{lines}.node_cables_usd", money.goods, quantity=short, price_usd="fabric.cable_price_usd")
    frame.derive(f"{lines}.trunk_cables_usd", money.goods, quantity=trunks, price_usd="fabric.trunk_price_usd")
    frame.derive(f"{lines}.cables_usd", money.summed, parts=[f"{lines}.node_cables_usd", f"{lines}.trunk_cables_usd"])
    stores = ("parallel", "object", "block")
    for tier in stores:
        frame.derive(
            f"{lines}.{tier}_storage_usd",
            money.goods,
            quantity=[f"storage.{tier}.systems"],
            price_usd=f"storage.{tier}.price_usd",
        )
    frame.derive(f"{lines}.storage_usd", money.summed, parts=[f"{lines}.{tier}_storage_usd" for tier in stores])
    frame.derive(
        f"{lines}.management_usd", money.goods, quantity=["management.nodes"], price_usd="cost.management_server_usd"
    )
    frame.derive(f"{lines}.racks_usd", money.goods, quantity=["facility.racks"], price_usd="cost.rack_usd")
    frame.derive(
        "cost.liquid_power_w", money.share_of, price_usd="facility.compute_power_w", share="server.liquid_fraction"
    )
    frame.derive(f"{lines}.cooling_usd", money.goods, quantity=["cost.liquid_power_w"], price_usd="cost.cdu_usd_per_w")
    frame.derive(
        f"{lines}.spare_parts_usd", money.share_of, price_usd=f"{lines}.servers_usd", share="cost.spare_parts_share"
    )
    frame.derive("cost.capex_usd", money.summed, parts=[f"{lines}.{line}_usd" for line in CAPEX])
    frame.derive("cost.accelerators_usd", money.goods, quantity=["compute.gpus"], price_usd="accelerator.price_usd")


def _opex(frame: Frame, spec: Spec) -> None:
    """Yearly lines of every way of procurement."""
    sites, lines = range(len(spec.sites)), "cost.lines"
    at = [f"sites[{i}]" for i in sites]
    frame.derive(
        f"{lines}.energy_usd_per_year",
        money.energy_per_year,
        average_power_w=[f"{s}.average_power_w" for s in at],
        usd_per_j=[f"{s}.energy_usd_per_j" for s in at],
    )
    power = [f"{s}.it_power_w" for s in at]
    frame.derive(
        "cost.building_usd",
        money.rent_per_year,
        units=power,
        usd_per_unit_year=[f"{s}.building_usd_per_w" for s in at],
        note="price of the building per watt of IT load",
    )
    frame.derive(
        f"{lines}.building_usd_per_year",
        money.amortised,
        price_usd="cost.building_usd",
        life_years="cost.building_life_years",
    )
    frame.derive(
        f"{lines}.colocation_usd_per_year",
        money.rent_per_year,
        units=power,
        usd_per_unit_year=[f"{s}.colocation_usd_per_w_year" for s in at],
    )
    frame.derive(
        f"{lines}.staff_usd_per_year", money.people, fte="cost.staff_fte", usd_per_year="cost.staff_usd_per_year"
    )
    for line, share in (("support", "cost.support_share"), ("spares", "cost.spare_parts_share")):
        frame.derive(f"{lines}.{line}_usd_per_year", money.share_of, price_usd=f"{lines}.servers_usd", share=share)
    frame.derive(
        f"{lines}.licences_usd_per_year", money.goods, quantity=["compute.gpus"], price_usd="cost.licence_usd_per_year"
    )
    _rents(frame, lines)


def _rents(frame: Frame, lines: str) -> None:
    """What is rented: GPUs, storage, and what leaves the cloud."""
    frame.give("cost.hours_per_year", 365.25 * 24, assumed("rented without pause"))
    for line, price in (("gpu_rent", "cost.rent_usd_per_gpu_h"), ("gpu_reserved", "cost.reserved_usd_per_gpu_h")):
        frame.derive(f"cost.{line}_usd_per_gpu_year", money.share_of, price_usd=price, share="cost.hours_per_year")
        frame.derive(
            f"{lines}.{line}_usd_per_year",
            money.goods,
            quantity=["compute.gpus"],
            price_usd=f"cost.{line}_usd_per_gpu_year",
        )
    frame.give("cost.tb_months_per_byte_year", 12 / 1e12, assumed("terabyte-months in a year, per byte"))
    for line, held, price in (
        ("object_storage", "storage.object.raw_bytes", "storage.object.rent_usd_per_tb_month"),
        ("rented_storage", "storage.parallel.capacity_bytes", "cost.rented_pfs_usd_per_tb_month"),
    ):
        frame.derive(
            f"cost.{line}_usd_per_byte_year", money.share_of, price_usd=price, share="cost.tb_months_per_byte_year"
        )
        frame.derive(
            f"{lines}.{line}_usd_per_year", money.goods, quantity=[held], price_usd=f"cost.{line}_usd_per_byte_year"
        )
    frame.give("cost.gb_per_byte", 1e-9, assumed("gigabytes per byte"))
    frame.derive("cost.stored_gb", money.share_of, price_usd="storage.object.raw_bytes", share="cost.gb_per_byte")
    frame.derive("cost.egress_gb_per_year", money.share_of, price_usd="cost.stored_gb", share="cost.egress_share")
    frame.derive(
        f"{lines}.egress_usd_per_year",
        money.goods,
        quantity=["cost.egress_gb_per_year"],
        price_usd="cost.egress_usd_per_gb",
    )


def _ways(frame: Frame, spec: Spec) -> None:
    """Purchase, yearly cost and cost of ownership of each way, and of the one that was chosen."""
    frame.give("cost.nothing_usd", 0.0, assumed("nothing is bought, nothing is left"))
    frame.derive(
        "cost.residual_usd",
        money.residual,
        price_usd="cost.lines.servers_usd",
        fraction_36_months="cost.residual_share",
        years="cost.years",
    )
    for way in PROCUREMENTS:
        owned = way in ("buy", "colocate")
        frame.derive(
            f"cost.{way}_opex_usd_per_year",
            money.summed,
            parts=[f"cost.lines.{line}_usd_per_year" for line in OPEX[way]],
        )
        frame.derive(f"cost.{way}_capex_usd", money.summed, parts=["cost.capex_usd" if owned else "cost.nothing_usd"])
        frame.derive(
            f"cost.{way}_tco_usd",
            money.tco,
            capex_usd=f"cost.{way}_capex_usd",
            opex_usd_per_year=f"cost.{way}_opex_usd_per_year",
            years="cost.years",
            residual_usd="cost.residual_usd" if owned else "cost.nothing_usd",
        )
    hot = [f"cost.{way}" for way in PROCUREMENTS]
    for figure in ("tco_usd", "opex_usd_per_year"):
        frame.derive(
            f"cost.{figure}", money.by_procurement, hot=hot, figures=[f"cost.{way}_{figure}" for way in PROCUREMENTS]
        )
    runs = [f"training[{j}]" for j in range(len(spec.workloads))]
    for path, price in (("rent_usd", "rent_usd_per_gpu_h"), ("reserved_usd", "reserved_usd_per_gpu_h")):
        frame.derive(
            f"cost.{path}",
            money.rent,
            gpus=[f"{run}.gpus" for run in runs],
            times_s=[f"{run}.time_to_train_s" for run in runs],
            usd_per_gpu_h=f"cost.{price}",
        )
    frame.derive(
        "cost.breakeven_s",
        money.break_even,
        capex_usd="cost.capex_usd",
        opex_usd_per_year="cost.buy_opex_usd_per_year",
        rent_usd_per_year="cost.rent_opex_usd_per_year",
    )
    frame.derive(
        "cost.procurable",
        money.procurable,
        server_usd="cost.server_usd",
        rent_usd="cost.rent_usd_per_gpu_h",
        reserved_usd="cost.reserved_usd_per_gpu_h",
        rented="cost.rent",
        reserved="cost.reserved",
    )


def _unit_costs(frame: Frame) -> None:
    frame.derive(
        "cost.usd_per_gpu_h",
        money.usd_per_gpu_h,
        tco_usd="cost.tco_usd",
        gpus="compute.gpus",
        years="cost.years",
        availability="reliability.node_availability",
    )
    frame.derive(
        "cost.usd_per_zflop",
        money.usd_per_zflop,
        usd_per_gpu_h="cost.usd_per_gpu_h",
        tflops_per_gpu="training[0].tflops_per_gpu",
        ettr="training[0].ettr",
    )
    frame.give(
        "cost.rentable",
        np.where(frame["cost.rent_usd_per_gpu_h"] > 0, 1.0, 0.0),
        assumed("an offer is known"),
        count=True,
    )
