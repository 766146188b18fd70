"""The table of cost lines: how many of what at which price, for every way of procurement."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Frame, Provenance
from clusterwright.domains.cost.sizing import CAPEX, OPEX, PROCUREMENTS, TIERS
from clusterwright.spec import Spec
from clusterwright.units import HOUR_S, human

__all__ = ["below", "fill_money", "line_path", "offered"]

_WEEK_S = 7 * 86400.0
_LAYERS = {
    "servers": "compute",
    "switches": "network",
    "cables": "network",
    "storage": "storage",
    "management": "management",
    "racks": "facility",
    "cooling": "facility",
    "installation": "staff",
    "spare_parts": "spare parts",
    "energy": "energy",
    "building": "facility",
    "colocation": "facility",
    "facility_staff": "staff",
    "platform_staff": "staff",
    "support": "support",
    "spares": "spare parts",
    "insurance": "insurance",
    "capital": "capital",
    "licences": "licences",
    "storage_rent": "storage",
    "cloud_storage": "storage",
    "gpu_rent": "compute",
    "gpu_reserved": "compute",
    "egress": "network",
}
_WORDS = {
    "capital": "cost of capital",
    "spare_parts": "spare parts on the shelf",
    "spares": "spare parts used",
    "gpu_rent": "GPUs, on demand",
}
_WORDS |= {"gpu_reserved": "GPUs, reserved", "cloud_storage": "storage in the cloud", "storage_rent": "rented storage"}


def line_path(line: str) -> str:
    """The figure behind a line."""
    return f"cost.lines.{line}_usd" + ("" if line in CAPEX else "_per_year")


def offered(cluster: Cluster, way: str) -> bool:
    """Whether the cluster can be had that way: what is rented needs an offer."""
    prices = {"rent": "cost.rent_usd_per_gpu_h", "reserved": "cost.reserved_usd_per_gpu_h"}
    return way not in prices or cluster.value(prices[way]) > 0


def fill_money(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """The lines of every way of procurement that can be had; those of a way sum to its cost over the years."""
    table = cluster.tables["money"]
    for way in PROCUREMENTS:
        if not offered(cluster, way):
            continue
        lines = (*CAPEX, *OPEX[way]) if way in ("buy", "colocate") else OPEX[way]
        for line in lines:
            _add(cluster, spec, catalog, way, line)
        if way in ("buy", "colocate"):
            _add_resale(cluster, way)
    for column, paths in {
        "capex_usd": [line_path(line) for line in CAPEX],
        "opex_usd_per_year": [line_path(line) for line in dict.fromkeys(one for way in OPEX.values() for one in way)],
    }.items():
        table.explain(column, Provenance("law", law="cost.summed", inputs={"parts": paths}))
    totals = [f"cost.{way}_tco_usd" for way in PROCUREMENTS]
    for column in ("total_usd", "low_usd", "high_usd"):
        table.explain(column, Provenance("law", law="cost.tco", inputs={"totals": totals}, note="lines sum to these"))
    table.explain("lead_time_weeks", Provenance("catalog", place="catalogue: planning/*_lead_time_s"))


def _add(cluster: Cluster, spec: Spec, catalog: Catalog, way: str, line: str) -> None:
    estimate, once = cluster.total(line_path(line)), line in CAPEX
    if estimate.high <= 0:
        return
    times = 1.0 if once else cluster.value("cost.years")
    cluster.tables["money"].add(
        line=_WORDS.get(line, line.replace("_", " ")),
        layer=_LAYERS[line],
        procurement=way,
        capex_usd=estimate.value if once else 0.0,
        opex_usd_per_year=0.0 if once else estimate.value,
        total_usd=estimate.value * times,
        low_usd=estimate.low * times,
        high_usd=estimate.high * times,
        quantity=_quantity(cluster, spec, line),
        lead_time_weeks=_lead_weeks(cluster, spec, catalog, line),
        source=_source(cluster.frame, line_path(line)),
    )


def _add_resale(cluster: Cluster, way: str) -> None:
    left, share = cluster.total("cost.residual_usd"), cluster.value("cost.residual_share")
    cluster.tables["money"].add(
        line="resale",
        layer="compute",
        procurement=way,
        capex_usd=0.0,
        opex_usd_per_year=0.0,
        total_usd=-left.value,
        low_usd=-left.high,
        high_usd=-left.low,
        quantity=f"servers after {cluster.value('cost.years'):g} years, {share:.0%} of the price after 3",
        lead_time_weeks=math.nan,
        source=_source(cluster.frame, "cost.residual_share"),
    )


def _quantity(cluster: Cluster, spec: Spec, line: str) -> str:
    """How many of what at which price."""
    value = cluster.value
    counted = {
        "servers": ("nodes", value("compute.nodes") + value("compute.spare_nodes"), "cost.server_usd"),
        "management": ("servers", value("management.nodes"), "cost.management_server_usd"),
        "racks": ("racks", value("cost.racks_bought"), "cost.rack_usd"),
        "facility_staff": ("people", value("cost.facility_staff_fte"), "cost.staff_usd_per_year"),
        "platform_staff": ("people", value("cost.platform_staff_fte"), "cost.staff_usd_per_year"),
        "licences": ("GPUs", value("compute.gpus"), "cost.licence_usd_per_year"),
        "gpu_rent": ("GPUs", value("compute.gpus"), "cost.rent_usd_per_gpu_h"),
        "gpu_reserved": ("GPUs", value("compute.gpus"), "cost.reserved_usd_per_gpu_h"),
    }
    if line in counted:
        what, number, price = counted[line]
        return f"{_number(number)} {what} x {human(price, value(price))}"
    shares = {
        "spare_parts": ("servers", "cost.spare_parts_share"),
        "spares": ("servers, a year", "cost.spare_parts_share"),
        "support": ("equipment, a year", "cost.support_share"),
        "insurance": ("equipment, a year", "cost.insurance_share"),
    }
    if line in shares:
        what, path = shares[line]
        return f"{value(path):.1%} of the price of {what}"
    return _network(cluster, line) or _hall(cluster, spec, line) or _bytes(cluster, line)


def _network(cluster: Cluster, line: str) -> str:
    value = cluster.value
    if line == "switches":
        fast = sum(value(f"fabric.all.{tier}_switches") for tier in ("leaf", "spine", "core"))
        others = human("x_usd", value("fabric.storage.price_usd") + value("fabric.management.price_usd"))
        price = human("x_usd", value("cost.switch_usd"))
        return f"{fast:,.0f} x {price}; storage and management networks {others}, cables included"
    if line == "cables":
        near, far = value("fabric.all.node_leaf_cables"), value("fabric.all.leaf_spine_cables")
        far += value("fabric.all.spine_core_cables")
        prices = [human("x_usd", value(f"fabric.{one}_price_usd")) for one in ("cable", "trunk")]
        return f"{near:,.0f} node-leaf x {prices[0]}, {far:,.0f} trunks x {prices[1]}, optics included"
    return ""


def _hall(cluster: Cluster, spec: Spec, line: str) -> str:
    """Quantities of what belongs to the facility."""
    value = cluster.value
    power = human("x_w", value("facility.it_power_w"))
    one = "sites[0].{}" if len(spec.sites) == 1 else ""
    at = {key: f" at {human(key, value(one.format(key)))}" if one else "" for key in _SITE_PRICES}
    words = {
        "cooling": lambda: f"{value('facility.cdu_modules'):,.0f} coolant units, {value('cost.rear_doors'):,.0f} doors",
        "installation": lambda: f"{value('facility.racks'):,.0f} racks x {value(_WORK) / HOUR_S:.0f} h of work",
        "energy": lambda: f"{value('facility.energy_j_per_year') / 3.6e9:,.0f} MWh a year{at['energy_usd_per_kwh']}",
        "building": lambda: (
            f"{human('x_usd', value('cost.building_usd'))} for {power} of IT load{at['building_usd_per_w']}, "
            f"over {value('cost.building_life_years'):g} years"
        ),
        "colocation": lambda: f"{power} of IT power{at['colocation_usd_per_kw_month']}",
    }
    return words[line]() if line in words else ""


_SITE_PRICES = ("energy_usd_per_kwh", "building_usd_per_w", "colocation_usd_per_kw_month")
_WORK = "cost.installation_work_s"


def _bytes(cluster: Cluster, line: str) -> str:
    value = cluster.value
    if line == "storage":
        bought = {tier: (value(f"storage.{tier}.systems"), value(f"cost.{tier}_block_usd")) for tier in TIERS}
        return ", ".join(f"{_number(n)} {t} x {human('x_usd', usd)}" for t, (n, usd) in bought.items() if n * usd > 0)
    if line == "egress":
        out = value("storage.object.raw_bytes") * value("cost.egress_share")
        return f"{human('x_bytes', out)} a year x {human('x_usd_per_gb', value('cost.egress_usd_per_gb'))}"
    rented = line == "storage_rent"
    size = "raw_bytes" if rented else "capacity_bytes"
    held = {t: value(f"storage.{t}.{size}") for t in TIERS}
    own = {t: value(f"storage.{t}.rent_usd_per_tb_month") for t in TIERS}
    price = {t: own[t] or (0.0 if rented else value(f"cost.cloud_{t}_usd_per_tb_month")) for t in TIERS}
    shown = [f"{human('x_bytes', held[t])} {t} x {human('x_usd_per_tb_month', price[t])}" for t in TIERS]
    return ", ".join(words for t, words in zip(TIERS, shown, strict=True) if held[t] * price[t] > 0)


def _number(count: float) -> str:
    return f"{count:,.0f}" if count >= 100 or count == round(count) else f"{count:.2g}"


def _lead_weeks(cluster: Cluster, spec: Spec, catalog: Catalog, line: str) -> float:
    """Delivery time where a source has one: servers, and the generators of a building that is not there yet."""
    if line == "servers":
        key = "nvl72_lead_time_s" if cluster.value("server.system_nodes") > 1 else "gpu_lead_time_s"
        return catalog.planning(key).value / _WEEK_S
    stands = all(site.power_w is not None for site in spec.sites)
    least = catalog.planning("building_lead_from_w").value
    if line == "building" and not stands and cluster.value("facility.it_power_w") >= least:
        return max(catalog.planning(f"{what}_lead_time_s").value for what in ("genset", "transformer")) / _WEEK_S
    return math.nan


def below(frame: Frame, path: str, depth: int = 5) -> Iterator[tuple[str, Provenance]]:
    """The facts of the catalogue that a figure stands on, those of the price (the last input of a law) first."""
    provenance = frame.figure(path).provenance
    if provenance.kind == "catalog":
        yield path, provenance
    if provenance.kind != "law" or depth == 0:
        return
    refs: list[Any] = list(provenance.inputs.values())
    for ref in reversed(refs):
        for one in [ref] if isinstance(ref, str) else ref:
            if one in frame:
                yield from below(frame, one, depth - 1)


def _source(frame: Frame, path: str) -> str:
    """The first source of a price below a figure."""
    for one, provenance in below(frame, path):
        if provenance.source and ("usd" in one or "share" in one):
            return f"{provenance.source} [{provenance.status}]" if provenance.status else provenance.source
    return ""
