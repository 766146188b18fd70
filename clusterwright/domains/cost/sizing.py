"""The pass of the cost room over a frame: what is bought, what a year costs, four ways of procurement side by side."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame
from clusterwright.domains.cost import ownership, prices, purchase, running
from clusterwright.domains.cost.inputs import CLOUD, give_inputs
from clusterwright.spec import Spec

__all__ = ["CAPEX", "EQUIPMENT", "OPEX", "PROCUREMENTS", "TIERS", "size"]

PROCUREMENTS = ("buy", "rent", "reserved", "colocate")
EQUIPMENT = ("servers", "switches", "cables", "storage", "management")
"""Lines of equipment: what support contracts and insurance are reckoned from."""
CAPEX = (*EQUIPMENT, "racks", "cooling", "installation", "spare_parts")
"""Lines that are paid once, for what is bought; the building is paid by the year."""
_OWNED = ("capital", "platform_staff", "support", "spares", "insurance", "licences", "storage_rent")
_RENTED = ("cloud_storage", "egress", "platform_staff", "licences")
OPEX = {
    "buy": ("energy", "building", "facility_staff", *_OWNED),
    "colocate": ("energy", "colocation", *_OWNED),
    "rent": ("gpu_rent", *_RENTED),
    "reserved": ("gpu_reserved", *_RENTED),
}
"""Lines that are paid every year, by procurement."""
TIERS = tuple(CLOUD)
"""Storage tiers beside the nodes."""
_LINES = "cost.lines"
_GPU_PRICES = {"rent": "cost.rent_usd_per_gpu_h", "reserved": "cost.reserved_usd_per_gpu_h"}


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Cost of every candidate by every way of procurement.

    Args:
        frame: needs prices and counts of all rooms before: ``server.*``, ``accelerator.*``, ``fabric.*``,
            ``storage.*``, ``management.nodes``, ``facility.*``, ``sites[i].*``, ``training[j].*``, and the procurement
            with its rental prices below ``cost.``.
        spec: sites, runs, operating years, staff, redundancy.
        catalog: planning values, regions, storage of the cloud.

    Derives ``cost.*``, its lines below ``cost.lines.``.
    """
    give_inputs(frame, spec, catalog)
    _price(frame)
    _buy_equipment(frame)
    _buy_rest(frame, spec)
    _run_owned(frame, spec)
    _run_rented(frame)
    _ways(frame)
    _compare(frame, spec)
    _unit_costs(frame, spec)


def _price(frame: Frame) -> None:
    """Prices of parts; estimates by class where the catalogue has none. The catalogue's price is the last input."""
    derive = frame.derive
    derive(
        "cost.accelerator_usd",
        prices.accelerator_price,
        usd_per_tflops="cost.accelerator_usd_per_tflops",
        peak_bf16_flops="accelerator.peak_bf16_flops",
        price_usd="accelerator.price_usd",
    )
    derive(
        "cost.server_usd",
        prices.server_price,
        over="cost.server_over_accelerators",
        gpus="server.gpus",
        accelerator_usd="cost.accelerator_usd",
        price_usd="server.price_usd",
    )
    derive(
        "cost.switch_usd",
        prices.switch_price,
        usd_per_gbit_s="cost.switch_usd_per_gbit",
        radix="fabric.radix",
        link_bytes_s="fabric.link_bandwidth_bytes_s",
        price_usd="fabric.switch_price_usd",
    )
    for tier in TIERS:
        derive(
            f"cost.{tier}_block_usd",
            prices.block_price,
            usd_per_tb="cost.flash_usd_per_tb",
            block_bytes=f"storage.{tier}.block_bytes",
            rent_usd_per_tb_month=f"storage.{tier}.rent_usd_per_tb_month",
            price_usd=f"storage.{tier}.price_usd",
        )
    derive(
        "cost.priced",
        prices.priced,
        part_usd=["server.price_usd", "fabric.switch_price_usd"],
        systems=[f"storage.{tier}.systems" for tier in TIERS],
        block_usd=[f"storage.{tier}.price_usd" for tier in TIERS],
        rent_usd=[f"storage.{tier}.rent_usd_per_tb_month" for tier in TIERS],
    )


def _buy_equipment(frame: Frame) -> None:
    """Servers, network, storage and management: the bill of materials."""

    def goods(line: str, quantity: list[str], price: str) -> str:
        frame.derive(f"{_LINES}.{line}_usd", purchase.goods, quantity=quantity, price_usd=price)
        return f"{_LINES}.{line}_usd"

    def summed(line: str, parts: list[str]) -> None:
        frame.derive(f"{_LINES}.{line}_usd", purchase.summed, parts=parts)

    goods("servers", ["compute.nodes", "compute.spare_nodes"], "cost.server_usd")
    tiers = [f"fabric.all.{tier}_switches" for tier in ("leaf", "spine", "core")]
    trunks = ["fabric.all.leaf_spine_cables", "fabric.all.spine_core_cables"]
    aside = ["fabric.storage.price_usd", "fabric.management.price_usd"]
    summed("switches", [goods("compute_switches", tiers, "cost.switch_usd"), *aside])
    near = goods("node_cables", ["fabric.all.node_leaf_cables"], "fabric.cable_price_usd")
    summed("cables", [near, goods("trunk_cables", trunks, "fabric.trunk_price_usd")])
    systems = {tier: [f"storage.{tier}.systems"] for tier in TIERS}
    summed("storage", [goods(f"{tier}_storage", count, f"cost.{tier}_block_usd") for tier, count in systems.items()])
    goods("management", ["management.nodes"], "cost.management_server_usd")
    frame.derive("cost.equipment_usd", purchase.summed, parts=[f"{_LINES}.{line}_usd" for line in EQUIPMENT])
    frame.derive(
        "cost.accelerator_alone_usd",
        prices.accelerator_alone,
        server_usd="cost.server_usd",
        gpus="server.gpus",
        over="cost.server_over_accelerators",
    )
    frame.derive(
        "cost.accelerators_usd",
        purchase.goods,
        quantity=["compute.gpus"],
        price_usd="cost.accelerator_alone_usd",
        note="accelerators alone, without servers, network and spares: for claims about chips",
    )


def _buy_rest(frame: Frame, spec: Spec) -> None:
    """Racks, cooling at the racks, installation, parts on the shelf; the purchase; the price of the building."""
    derive, sites = frame.derive, [f"sites[{i}]" for i in range(len(spec.sites))]
    system_racks = ["facility.compute_racks", "facility.spare_racks"]
    derive(
        "cost.racks_bought",
        purchase.racks_bought,
        racks="facility.racks",
        system_racks=system_racks,
        system_nodes="server.system_nodes",
    )
    derive(f"{_LINES}.racks_usd", purchase.goods, quantity=["cost.racks_bought"], price_usd="cost.rack_usd")
    derive(
        "cost.rear_doors",
        purchase.rear_doors,
        kinds=[f"{at}.cooling_kind" for at in sites],
        racks=[f"{at}.compute_racks" for at in sites],
        spare_racks=[f"{at}.spare_racks" for at in sites],
    )
    derive(
        f"{_LINES}.cooling_usd",
        purchase.cooling,
        doors="cost.rear_doors",
        door_usd="cost.rear_door_usd",
        cdus="facility.cdu_modules",
        cdu_w="facility.cdu_module_w",
        cdu_usd_per_w="cost.cdu_usd_per_w",
    )
    derive(
        f"{_LINES}.installation_usd",
        purchase.installation,
        racks="facility.racks",
        work_s="cost.installation_work_s",
        staff_usd_per_year="cost.staff_usd_per_year",
    )
    stock = {"price_usd": f"{_LINES}.servers_usd", "fraction": "cost.spare_parts_share"}
    derive(f"{_LINES}.spare_parts_usd", purchase.share, note="a year's use on the shelf", **stock)
    derive("cost.capex_usd", purchase.summed, parts=[f"{_LINES}.{line}_usd" for line in CAPEX])
    derive(
        "cost.building_usd",
        purchase.building,
        premium="cost.building_premium_fraction",
        redundancy="cost.building_redundancy",
        it_power_w=[f"{at}.it_power_w" for at in sites],
        usd_per_w=[f"{at}.building_usd_per_w" for at in sites],
    )


def _run_owned(frame: Frame, spec: Spec) -> None:
    """Yearly lines of what is owned."""
    derive, sites = frame.derive, [f"sites[{i}]" for i in range(len(spec.sites))]

    def yearly(line: str) -> str:
        return f"{_LINES}.{line}_usd_per_year"

    derive(
        yearly("energy"),
        running.energy,
        average_power_w=[f"{at}.average_power_w" for at in sites],
        usd_per_kwh=[f"{at}.energy_usd_per_kwh" for at in sites],
    )
    derive(
        yearly("building"),
        running.annuity,
        life_years="cost.building_life_years",
        price_usd="cost.building_usd",
        rate="cost.interest_rate",
    )
    derive(
        "cost.residual_usd",
        ownership.residual,
        price_usd=f"{_LINES}.servers_usd",
        fraction_36_months="cost.residual_share",
        years="cost.years",
    )
    derive(
        yearly("capital"),
        running.capital,
        capex_usd="cost.capex_usd",
        residual_usd="cost.residual_usd",
        years="cost.years",
        rate="cost.interest_rate",
    )
    derive(
        yearly("colocation"),
        running.colocation,
        it_power_w=[f"{at}.it_power_w" for at in sites],
        usd_per_kw_month=[f"{at}.colocation_usd_per_kw_month" for at in sites],
    )
    for who in ("facility_staff", "platform_staff"):
        derive(yearly(who), running.people, fte=f"cost.{who}_fte", usd_per_year="cost.staff_usd_per_year")
    for line, base, fraction in (
        ("support", "cost.equipment_usd", "cost.support_share"),
        ("insurance", "cost.equipment_usd", "cost.insurance_share"),
        ("spares", f"{_LINES}.servers_usd", "cost.spare_parts_share"),
    ):
        derive(yearly(line), purchase.share, price_usd=base, fraction=fraction)
    derive(yearly("licences"), purchase.goods, quantity=["compute.gpus"], price_usd="cost.licence_usd_per_year")
    derive(
        "cost.licences_not_counted_usd_per_year",
        purchase.goods,
        quantity=["compute.gpus"],
        price_usd="cost.licence_list_usd_per_year",
        note="what enterprise software would add at list price",
    )
    derive(
        yearly("storage_rent"),
        running.storage_rent,
        held_bytes=[f"storage.{tier}.raw_bytes" for tier in TIERS],
        usd_per_tb_month=[f"storage.{tier}.rent_usd_per_tb_month" for tier in TIERS],
    )


def _run_rented(frame: Frame) -> None:
    """Yearly lines of what is rented: GPUs, storage beside them, what leaves the cloud."""
    derive = frame.derive
    for line, way in (("gpu_rent", "rent"), ("gpu_reserved", "reserved")):
        path = f"{_LINES}.{line}_usd_per_year"
        derive(path, running.gpu_rent, gpus="compute.gpus", usd_per_gpu_h=_GPU_PRICES[way])
    derive(
        f"{_LINES}.cloud_storage_usd_per_year",
        running.cloud_storage,
        held_bytes=[f"storage.{tier}.capacity_bytes" for tier in TIERS],
        own_usd=[f"storage.{tier}.rent_usd_per_tb_month" for tier in TIERS],
        cloud_usd=[f"cost.cloud_{tier}_usd_per_tb_month" for tier in TIERS],
    )
    derive(
        f"{_LINES}.egress_usd_per_year",
        running.egress,
        held_bytes="storage.object.raw_bytes",
        leaves="cost.egress_share",
        usd_per_gb="cost.egress_usd_per_gb",
    )


def _ways(frame: Frame) -> None:
    """Purchase, yearly cost and cost over the years of each way, and of the one that was chosen."""
    derive = frame.derive
    for way in PROCUREMENTS:
        lines, opex = [f"{_LINES}.{line}_usd_per_year" for line in OPEX[way]], f"cost.{way}_opex_usd_per_year"
        derive(opex, purchase.summed, parts=lines)
        over = {"opex_usd_per_year": opex, "years": "cost.years"}
        if way in _GPU_PRICES:
            derive(f"cost.{way}_tco_usd", ownership.rented_tco, usd_per_gpu_h=_GPU_PRICES[way], **over)
            continue
        derive(f"cost.{way}_capex_usd", purchase.summed, parts=["cost.capex_usd"])
        bought = {"capex_usd": f"cost.{way}_capex_usd", "residual_usd": "cost.residual_usd"}
        derive(f"cost.{way}_tco_usd", ownership.tco, **bought, **over)
    hot = [f"cost.{way}" for way in PROCUREMENTS]
    for figure in ("tco_usd", "opex_usd_per_year"):
        figures = [f"cost.{way}_{figure}" for way in PROCUREMENTS]
        derive(f"cost.{figure}", ownership.by_procurement, hot=hot, figures=figures)


def _compare(frame: Frame, spec: Spec) -> None:
    """Renting for the runs alone, and from when and from which utilisation owning pays."""
    derive = frame.derive
    runs = [f"training[{j}]" for j, workload in enumerate(spec.workloads) if workload.train is not None]
    gpus, times = [f"{run}.gpus" for run in runs], [f"{run}.time_to_train_s" for run in runs]
    for way, price in _GPU_PRICES.items():
        derive(f"cost.{way}_usd", ownership.rent, gpus=gpus, times_s=times, usd_per_gpu_h=price)
    flop = [f"{run}.flop" for run in runs]
    derive("cost.rent_usd_per_zflop", ownership.rented_usd_per_zflop, rent_usd="cost.rent_usd", flop=flop)
    life = {"all_gpus": "compute.gpus", "years": "cost.years"}
    derive("cost.runs_share", ownership.utilisation, gpus=gpus, times_s=times, **life)
    for figure in ("tco_usd", "opex_usd_per_year"):
        ways = {"colocate_usd": f"cost.colocate_{figure}", "buy_usd": f"cost.buy_{figure}"}
        derive(f"cost.own_{figure}", ownership.owned, colocated="cost.colocate", **ways)
    derive(
        "cost.breakeven_s",
        ownership.break_even,
        capex_usd="cost.capex_usd",
        opex_usd_per_year="cost.own_opex_usd_per_year",
        rent_usd_per_year="cost.rent_opex_usd_per_year",
    )
    beside = [f"{_LINES}.{line}_usd_per_year" for line in _RENTED]
    derive("cost.beside_rent_usd_per_year", purchase.summed, parts=beside)
    derive(
        "cost.breakeven_utilisation",
        ownership.break_even_utilisation,
        own_tco_usd="cost.own_tco_usd",
        years="cost.years",
        beside_usd="cost.beside_rent_usd_per_year",
        gpu_rent_usd=f"{_LINES}.gpu_rent_usd_per_year",
    )
    derive("cost.rentable", ownership.rentable, usd_per_gpu_h=_GPU_PRICES["rent"])
    derive("cost.reservable", ownership.rentable, usd_per_gpu_h=_GPU_PRICES["reserved"])
    derive(
        "cost.procurable",
        ownership.procurable,
        server_usd="cost.server_usd",
        rent_usd=_GPU_PRICES["rent"],
        reserved_usd=_GPU_PRICES["reserved"],
        rented="cost.rent",
        reserved="cost.reserved",
    )


def _unit_costs(frame: Frame, spec: Spec) -> None:
    """Cost of a GPU-hour that could be used, of one that is, and of 1e21 useful FLOP."""
    derive = frame.derive
    derive(
        "cost.usd_per_gpu_h",
        ownership.usd_per_gpu_h,
        tco_usd="cost.tco_usd",
        gpus="compute.gpus",
        years="cost.years",
        availability="reliability.node_availability",
    )
    derive(
        "cost.used_usd_per_gpu_h",
        ownership.used_usd_per_gpu_h,
        usd_per_gpu_h="cost.usd_per_gpu_h",
        occupancy="facility.occupancy_fraction",
    )
    first = next(j for j, workload in enumerate(spec.workloads) if workload.train is not None)
    derive(
        "cost.usd_per_zflop",
        ownership.usd_per_zflop,
        usd_per_gpu_h="cost.used_usd_per_gpu_h",
        tflops_per_gpu=f"training[{first}].tflops_per_gpu",
        ettr=f"training[{first}].ettr",
    )
