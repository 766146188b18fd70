"""The risk register: what could go wrong with this design, in numbers, each with a mitigation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.design.codes import FINDINGS
from clusterwright.findings import Finding
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["risks"]

WEEK_S = 7 * 86400.0


def risks(cluster: Cluster, spec: Spec, catalog: Catalog, constraints: list[dict[str, Any]]) -> Iterator[Finding]:
    """Deadline, budget, power, supply, lock-in and price risks of a design, worst first by margin."""
    yield from _close_limits(constraints)
    yield from _supply(cluster, catalog)
    yield from _lock_in(cluster, {p.name: p.text("vendor") for p in catalog.parts("accelerator")})
    yield from _price(cluster)
    yield from _energy(cluster, spec)


def _close_limits(constraints: list[dict[str, Any]]) -> Iterator[Finding]:
    """A limit that holds at the best estimate but not over the whole interval."""
    for row in constraints:
        if row["holds"] and not row["holds_throughout"]:
            path, worst = row["path"], row["high"] if row["at_most"] else row["low"]
            path = "cost.capex_usd" if path == "cost.committed_usd" else path
            yield FINDINGS["DESIGN-LIMIT-CLOSE"].at(
                row["path"],
                f"{row['name']}: {human(path, row['value'])} holds the limit of {human(path, row['limit'])} with "
                f"{row['margin']:.0%} to spare, but the pessimistic end of its interval, {human(path, worst)}, "
                f"does not; the chance that it holds is {row['probability']:.0%}",
                _MITIGATION.get(row["path"].rpartition(".")[2], "agree a margin on this limit before ordering"),
            )


_MITIGATION = {
    "finish_s": "reserve more GPUs or days, or measure the step time on a few nodes before committing to the date",
    "committed_usd": "get binding quotes for servers and optics before approval; they are most of the range",
    "meter_power_w": "cap GPU power, or contract the pessimistic figure with the utility",
    "rack_power_w": "place fewer nodes in a rack or cap node power",
}


GRID_W = 10e6
"""Power at the meter from which a new connection usually needs a substation."""


def _supply(cluster: Cluster, catalog: Catalog) -> Iterator[Finding]:
    """The longest lead time: of a bought part, or of the grid connection of a large building of one's own."""
    if cluster.frame["cost.rent"][0] + cluster.frame["cost.reserved"][0] > 0:
        return
    weeks = [
        (float(row["lead_time_weeks"]), str(row["line"]))
        for row in cluster.tables["money"].rows()
        if math.isfinite(float(row["lead_time_weeks"]))
        and row["procurement"] == cluster.frame.text("cost.procurement", "buy")
    ]
    if cluster.frame["cost.buy"][0] > 0 and cluster.value("facility.meter_power_w") > GRID_W:
        weeks.append((catalog.planning("substation_lead_time_s").value / WEEK_S, "a new substation, unless it stands"))
    if weeks:
        longest, line = max(weeks)
        yield FINDINGS["DESIGN-SUPPLY"].at(
            "money.lead_time_weeks",
            f"the longest lead time is {longest:.0f} weeks ({line}); the run cannot start before it has arrived",
            "order the longest-lead parts first; rent the first months to bridge",
        )


def _lock_in(cluster: Cluster, vendors: Mapping[str, str]) -> Iterator[Finding]:
    """Dependence on one vendor: which accelerators of others would do."""
    accelerator = cluster.frame.text("compute.accelerator")
    fabric = cluster.frame.text("fabric.technology")
    others = sorted(
        {
            row["accelerator"]
            for row in cluster.answers.get("considered", [])
            if row["verdict"] == "feasible" and vendors[row["accelerator"]] != vendors[accelerator]
        }
    )
    second = f"of other vendors {', '.join(others[:3])} would hold every limit" if others else ""
    yield FINDINGS["DESIGN-LOCK-IN"].at(
        "compute.accelerator",
        f"everything depends on one accelerator ({accelerator}) and one link technology ({fabric}); "
        + (second or "no accelerator of another vendor that was weighed holds every limit"),
        "keep the training code portable and a second source qualified",
    )


def _price(cluster: Cluster) -> Iterator[Finding]:
    capex = cluster.total("cost.capex_usd")
    if capex.value > 0 and capex.high / capex.value - 1 > 0.1:
        yield FINDINGS["DESIGN-PRICE-RANGE"].at(
            "cost.capex_usd",
            f"published prices put the purchase between {human('x_usd', capex.low)} and {human('x_usd', capex.high)}",
            "get binding quotes; servers are most of the range",
        )


def _energy(cluster: Cluster, spec: Spec) -> Iterator[Finding]:
    limited = [site for site in spec.sites if site.power_w] or spec.limits.power_w
    if limited or cluster.frame["cost.rent"][0] + cluster.frame["cost.reserved"][0] > 0:
        return
    power = cluster.total("facility.meter_power_w")
    if power.high > 1e6:
        yield FINDINGS["DESIGN-POWER-UNCONFIRMED"].at(
            "facility.meter_power_w",
            f"{human('x_w', power.value)} (up to {human('x_w', power.high)}) at the meter, and the spec names no "
            "contracted power",
            "give sites[].power; a new grid connection of this size takes years",
        )
