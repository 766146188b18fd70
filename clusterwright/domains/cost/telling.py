"""What is worth saying about the money."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from clusterwright.catalog import Catalog, Fact, Part
from clusterwright.cluster import Cluster
from clusterwright.domains.cost.findings import FINDINGS
from clusterwright.domains.cost.lines import below, line_path
from clusterwright.domains.cost.ownership import NEVER_S
from clusterwright.domains.cost.sizing import CAPEX, TIERS
from clusterwright.units import human

__all__ = ["say"]

STALE_DAYS = 180
IMPORTANT = 0.1
"""Share of the purchase from which a line is important."""
_UNREAD = {"memory": "from memory", "estimate": "that is an estimate"}
_KEY = "purchase_price_usd"


def say(cluster: Cluster, catalog: Catalog) -> None:
    """Missing, unread and old prices; renting against owning; licences that are not counted."""
    _say_missing(cluster)
    _say_unchecked(cluster)
    _say_stale(cluster, catalog)
    _say_rent(cluster, catalog)
    extra = cluster.value("cost.licences_not_counted_usd_per_year")
    if cluster.value("cost.licence_usd_per_year") == 0 and extra > 0:
        each = human("x_usd", cluster.value("cost.licence_list_usd_per_year"))
        message = f"enterprise software at list price ({each} a GPU and year) would add {human('x_usd', extra)} a year"
        hint = "it is not counted; set planning/software_licence_usd_per_year in an overlay to count it"
        cluster.say(FINDINGS["COST-LICENCES"].at("cost.licences_not_counted_usd_per_year", message, hint))


def _say_missing(cluster: Cluster) -> None:
    if cluster.value("cost.priced"):
        return
    pairs = {
        "server": ("server.price_usd", "cost.server_usd"),
        "switch": ("fabric.switch_price_usd", "cost.switch_usd"),
    }
    pairs |= {
        f"{tier} storage": (f"storage.{tier}.price_usd", f"cost.{tier}_block_usd")
        for tier in TIERS
        if cluster.value(f"storage.{tier}.systems") > 0
    }
    for what, (known, used) in pairs.items():
        price = cluster.total(used)
        if cluster.value(known) == 0 and price.value > 0:
            message = (
                f"the catalogue has no price for the {what}; {human('x_usd', price.value)} "
                f"({human('x_usd', price.low)} to {human('x_usd', price.high)}) is estimated by class"
            )
            cluster.say(FINDINGS["COST-PRICE-MISSING"].at(used, message, "give a quote in an overlay"))


def _say_unchecked(cluster: Cluster) -> None:
    """Lines of the purchase that matter and whose price nobody read."""
    whole = cluster.value("cost.capex_usd")
    for line in CAPEX:
        usd = cluster.value(line_path(line))
        if usd < IMPORTANT * whole or whole <= 0:
            continue
        status = next((p.status for path, p in below(cluster.frame, line_path(line)) if "usd" in path), "")
        if status in _UNREAD:
            message = f"{line.replace('_', ' ')}, {usd / whole:.0%} of the purchase, stand on a price {_UNREAD[status]}"
            cluster.say(FINDINGS["COST-PRICE-UNCHECKED"].at(line_path(line), message, "get a binding quote"))


def _say_stale(cluster: Cluster, catalog: Catalog) -> None:
    """Old purchase prices of the parts used, against the newest price of the catalogue: no clock is asked."""
    newest = max((s.fact.date for s in catalog.stale("price", today=date.max, max_age_days=0)), default="")
    today = _day(newest)
    dated = [(part, fact, _day(fact.date)) for part, fact in _prices(cluster, catalog)]
    known = [(part, fact, day) for part, fact, day in dated if day is not None]
    old = [one for one in known if today is not None and (today - one[2]).days > STALE_DAYS]
    if not old or today is None:
        return
    part, fact, day = min(old, key=lambda one: one[2])
    months = (today - day).days / 30.4
    message = (
        f"older than {STALE_DAYS} days: {len(old)} of {len(known)} purchase prices; the oldest, of {part.title}, is of "
        f"{fact.date}, {months:.0f} months before the newest price of the catalogue"
    )
    cluster.say(FINDINGS["COST-PRICE-STALE"].at("cost.capex_usd", message, "see 'clusterwright catalog stale'"))


def _prices(cluster: Cluster, catalog: Catalog) -> Iterator[tuple[Part, Fact]]:
    """The purchase prices of the catalogue that the design stands on."""
    frame = cluster.frame
    parts = [catalog.get("server", frame.text("compute.server"))]
    fabric = catalog.get("fabric", frame.text("fabric.technology"))
    if "switch" in fabric and cluster.value("fabric.all.leaf_switches") > 0:
        parts.append(catalog.get("switch", fabric.text("switch")))
    systems = [tier for tier in TIERS if cluster.value(f"storage.{tier}.systems") > 0]
    parts += [catalog.get("storage", frame.text(f"storage.{tier}.system")) for tier in systems]
    yield from ((part, part.fact(_KEY)) for part in parts if _KEY in part)


def _day(text: str) -> date | None:
    """The first day of an ISO date that may lack day or month."""
    pieces = text.split("-")
    if not all(piece.isdigit() for piece in pieces):
        return None
    year, month, day = [int(piece) for piece in pieces] + [1] * (3 - len(pieces))
    return date(year, month, day)


def _say_rent(cluster: Cluster, catalog: Catalog) -> None:
    if cluster.value("cost.rentable") == 0:
        title = catalog.get("accelerator", cluster.frame.text("compute.accelerator")).title
        message = f"the catalogue knows no rental offer for {title}, so renting is not weighed"
        cluster.say(FINDINGS["COST-NO-RENTAL"].at("cost.rent_usd_per_gpu_h", message, "give an offer in an overlay"))
        return
    rent, pays = cluster.total("cost.rent_usd"), cluster.value("cost.breakeven_s")
    needed, filled = cluster.total("cost.breakeven_utilisation"), cluster.value("cost.runs_share")
    when = f"after {human('x_s', pays)} of full use" if pays < NEVER_S else "never, at these prices"
    range_said = f"{human('x_usd', rent.value)} ({human('x_usd', rent.low)} to {human('x_usd', rent.high)})"
    cluster.say(
        FINDINGS["COST-BREAK-EVEN"].at(
            "cost.breakeven_s",
            f"renting for the runs of this spec alone costs {range_said}; owning pays {when}, or when the GPUs work "
            f"{needed.value:.0%} ({needed.low:.0%} to {needed.high:.0%}) of the operating years",
            "own only what stays busy for longer than that",
        )
    )
    owned = cluster.value("cost.buy") + cluster.value("cost.colocate") > 0
    own = cluster.total("cost.own_tco_usd")
    if owned and filled < needed.value and rent.value < own.value:
        years = cluster.value("cost.years")
        cluster.say(
            FINDINGS["COST-RENT-CHEAPER"].at(
                "cost.runs_share",
                f"the runs of this spec fill {100 * filled:.2g} % of {years:g} years, owning needs {needed.value:.0%}: "
                f"without other work, renting for them costs {range_said} instead of {human('x_usd', own.value)}",
                "line up further work, rent first, or plan to let spare hours",
            )
        )
