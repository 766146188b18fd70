"""The cost room's table and findings."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance
from clusterwright.domains.cost.findings import FINDINGS
from clusterwright.domains.cost.sizing import CAPEX, OPEX, PROCUREMENTS
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["fill_money", "say"]

WEEK_S = 7 * 86400.0
STALE_DAYS = 180
_LAYERS = {
    "servers": "compute",
    "switches": "network",
    "cables": "network",
    "storage": "storage",
    "management": "management",
    "racks": "facility",
    "cooling": "facility",
    "spare_parts": "spare parts",
    "energy": "energy",
    "building": "facility",
    "colocation": "facility",
    "staff": "staff",
    "support": "support",
    "spares": "spare parts",
    "licences": "licences",
    "object_storage": "storage",
    "rented_storage": "storage",
    "gpu_rent": "compute",
    "gpu_reserved": "compute",
    "egress": "network",
}
_LEADS = {"servers": ("gpu_lead_time_s", "nvl72_lead_time_s")}


def fill_money(cluster: Cluster, catalog: Catalog) -> None:
    """The cost lines of every way of procurement; the lines of a way sum to its cost of ownership."""
    table = cluster.tables["money"]
    for way in PROCUREMENTS:
        if way in ("buy", "colocate"):
            for line in CAPEX:
                _add(cluster, catalog, way, line, f"cost.lines.{line}_usd")
            _add_residual(cluster, way)
        elif not _offered(cluster, way):
            continue
        for line in OPEX[way]:
            _add(cluster, catalog, way, line, f"cost.lines.{line}_usd_per_year")
    lines = Provenance("law", law="cost.summed", inputs={"lines": [f"cost.lines.{c}_usd" for c in CAPEX]})
    for column in ("capex_usd", "opex_usd_per_year", "total_usd", "low_usd", "high_usd"):
        table.explain(column, lines)


def _offered(cluster: Cluster, way: str) -> bool:
    path = "cost.rent_usd_per_gpu_h" if way == "rent" else "cost.reserved_usd_per_gpu_h"
    return cluster.value(path) > 0


def _add(cluster: Cluster, catalog: Catalog, way: str, line: str, path: str) -> None:
    yearly = path.endswith("_per_year")
    estimate, times = cluster.total(path), cluster.value("cost.years") if yearly else 1.0
    if estimate.high <= 0:
        return
    cluster.tables["money"].add(
        line=line.replace("_", " "),
        layer=_LAYERS[line],
        procurement=way,
        capex_usd=0.0 if yearly else estimate.value,
        opex_usd_per_year=estimate.value if yearly else 0.0,
        total_usd=estimate.value * times,
        low_usd=estimate.low * times,
        high_usd=estimate.high * times,
        quantity=_quantity(cluster, line),
        lead_time_weeks=_lead_weeks(cluster, catalog, line),
        source=_source(cluster, path),
    )


def _add_residual(cluster: Cluster, way: str) -> None:
    left = cluster.total("cost.residual_usd")
    years = cluster.value("cost.years")
    cluster.tables["money"].add(
        line="resale",
        layer="compute",
        procurement=way,
        capex_usd=0.0,
        opex_usd_per_year=0.0,
        total_usd=-left.value,
        low_usd=-left.high,
        high_usd=-left.low,
        quantity=f"servers after {years:g} years",
        lead_time_weeks=math.nan,
        source=_source(cluster, "cost.residual_share"),
    )


def _quantity(cluster: Cluster, line: str) -> str:
    """How many of what at which price."""
    value = cluster.value
    words = {
        "servers": lambda: _times(
            value("compute.nodes") + value("compute.spare_nodes"), "servers", value("cost.server_usd")
        ),
        "management": lambda: _times(value("management.nodes"), "nodes", value("cost.management_server_usd")),
        "racks": lambda: _times(value("facility.racks"), "racks", value("cost.rack_usd")),
        "staff": lambda: _times(value("cost.staff_fte"), "people", value("cost.staff_usd_per_year")),
        "gpu_rent": lambda: f"{value('compute.gpus'):,.0f} GPUs x {value('cost.rent_usd_per_gpu_h'):.2f} USD/h",
        "gpu_reserved": lambda: f"{value('compute.gpus'):,.0f} GPUs x {value('cost.reserved_usd_per_gpu_h'):.2f} USD/h",
        "energy": lambda: f"{value('facility.energy_j_per_year') / 3.6e9:,.0f} MWh a year",
        "building": lambda: (
            f"{human('x_usd', value('cost.building_usd'))} over {value('cost.building_life_years'):g} years"
        ),
        "colocation": lambda: f"{value('facility.it_power_w') / 1e3:,.0f} kW of IT power",
    }
    return words[line]() if line in words else ""


def _times(count: float, what: str, price: float) -> str:
    return (
        f"{count:,.4g} {what} x {human('x_usd', price)}"
        if count < 100
        else f"{count:,.0f} {what} x {human('x_usd', price)}"
    )


def _lead_weeks(cluster: Cluster, catalog: Catalog, line: str) -> float:
    if line not in _LEADS:
        return math.nan
    single, rack_scale = _LEADS[line]
    key = rack_scale if cluster.value("server.system_nodes") > 1 else single
    return catalog.planning(key).value / WEEK_S


def _source(cluster: Cluster, path: str, depth: int = 4) -> str:
    """The first catalogue source below a figure."""
    provenance = cluster.frame.figure(path).provenance
    if provenance.kind == "catalog" and provenance.source:
        return f"{provenance.source} [{provenance.status}]" if provenance.status else provenance.source
    if provenance.kind != "law" or depth == 0:
        return ""
    refs: list[Any] = list(provenance.inputs.values())
    paths = [p for ref in reversed(refs) for p in ([ref] if isinstance(ref, str) else ref)]
    return next((found for p in paths if p in cluster.frame and (found := _source(cluster, p, depth - 1))), "")


def say(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Unchecked and old prices, missing offers, and when buying pays."""
    server = catalog.get("server", cluster.frame.text("compute.server"))
    accelerator = catalog.get("accelerator", cluster.frame.text("compute.accelerator"))
    if "purchase_price_usd" in server:
        fact = server.fact("purchase_price_usd")
        if fact.status in ("memory", "estimate"):
            message = f"the price of {server.title}, {human('x_usd', fact.value)}, is {_known(fact.status)}"
            cluster.say(FINDINGS["COST-PRICE-UNCHECKED"].at("cost.server_usd", message, "get a binding quote"))
    else:
        price = human("x_usd", cluster.value("cost.server_usd"))
        message = f"no price is known for {server.title}; {price} is estimated from its accelerators"
        cluster.say(FINDINGS["COST-SERVER-ESTIMATED"].at("cost.server_usd", message, "give one in an overlay"))
    _say_rent(cluster, accelerator.title)
    _say_stale(cluster, catalog, {server.name, accelerator.name})


def _known(status: str) -> str:
    return {"memory": "from memory", "estimate": "an estimate"}[status]


def _say_rent(cluster: Cluster, accelerator: str) -> None:
    if cluster.value("cost.rentable") == 0:
        message = f"the catalogue knows no rental offer for {accelerator}, so renting is not weighed"
        cluster.say(FINDINGS["COST-NO-RENTAL"].at("cost.rent_usd_per_gpu_h", message, "give an offer in an overlay"))
        return
    rent, pays = cluster.total("cost.rent_usd"), cluster.value("cost.breakeven_s")
    when = f"after {human('x_s', pays)} of full use" if pays < 1e11 else "never, at these prices"
    cluster.say(
        FINDINGS["COST-BREAK-EVEN"].at(
            "cost.breakeven_s",
            f"renting for the runs of this spec alone costs {human('x_usd', rent.value)} "
            f"({human('x_usd', rent.low)} to {human('x_usd', rent.high)}); buying pays {when}",
            "buy only if the cluster stays busy for longer than that",
        )
    )


def _say_stale(cluster: Cluster, catalog: Catalog, names: set[str]) -> None:
    """Old prices among the parts used, against the newest date of a price in the catalogue: no clock is asked."""
    newest = max((s.fact.date for s in catalog.stale("price", today=date.max, max_age_days=0)), default="")
    if len(newest) < 7:
        return
    today = date.fromisoformat(newest if len(newest) == 10 else f"{newest[:7]}-01")
    old = [s for s in catalog.stale("price", today=today, max_age_days=STALE_DAYS) if s.part in names]
    if old:
        oldest = min(old, key=lambda s: s.fact.date)
        message = (
            f"{len(old)} prices of the parts used are older than {STALE_DAYS} days; the oldest is of {oldest.fact.date}"
        )
        cluster.say(FINDINGS["COST-PRICE-STALE"].at("cost.capex_usd", message, "see 'clusterwright catalog stale'"))
