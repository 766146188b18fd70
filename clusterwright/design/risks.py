"""The risk register: what could go wrong with this design, in numbers, each with a mitigation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.design.codes import FINDINGS
from clusterwright.findings import Finding
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["risks"]


def risks(cluster: Cluster, spec: Spec, constraints: list[dict[str, Any]]) -> Iterator[Finding]:
    """Deadline, budget, power, supply, lock-in and price risks of a design, worst first by margin."""
    yield from _close_limits(constraints)
    yield from _supply(cluster)
    yield from _lock_in(cluster)
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
                "does not",
                _MITIGATION.get(row["path"].rpartition(".")[2], "agree a margin on this limit before ordering"),
            )


_MITIGATION = {
    "finish_s": "reserve more GPUs or days, or measure the step time on a few nodes before committing to the date",
    "committed_usd": "get binding quotes for servers and optics before approval; they are most of the range",
    "meter_power_w": "cap GPU power, or contract the pessimistic figure with the utility",
    "rack_power_w": "place fewer nodes in a rack or cap node power",
}


def _supply(cluster: Cluster) -> Iterator[Finding]:
    if cluster.frame["cost.rent"][0] + cluster.frame["cost.reserved"][0] > 0:
        return
    weeks = [
        (float(row["lead_time_weeks"]), str(row["line"]))
        for row in cluster.tables["money"].rows()
        if math.isfinite(float(row["lead_time_weeks"]))
        and row["procurement"] == cluster.frame.text("cost.procurement", "buy")
    ]
    if weeks:
        longest, line = max(weeks)
        yield FINDINGS["DESIGN-SUPPLY"].at(
            "money.lead_time_weeks",
            f"the longest lead time is {longest:.0f} weeks ({line}); the run cannot start before it has arrived",
            "order the longest-lead parts first; rent the first months to bridge",
        )


def _lock_in(cluster: Cluster) -> Iterator[Finding]:
    accelerator = cluster.frame.text("compute.accelerator")
    fabric = cluster.frame.text("fabric.technology")
    others = sorted(
        {
            row["accelerator"]
            for row in cluster.answers.get("considered", [])
            if row["verdict"] == "feasible" and row["accelerator"] != accelerator
        }
    )
    second = f"{len(others)} other accelerators would hold every limit ({', '.join(others[:3])})" if others else ""
    yield FINDINGS["DESIGN-LOCK-IN"].at(
        "compute.accelerator",
        f"everything depends on one accelerator ({accelerator}) and one link technology ({fabric}); "
        + (second or "no other accelerator weighed holds every limit"),
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
