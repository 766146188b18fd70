"""Sections about money and evidence: cost, bill of materials, audit, findings, assumptions with their sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.report.headline import all_findings
from clusterwright.report.machine import link_rate
from clusterwright.report.model import Cell, Column, Grid, Picture, Section, cell
from clusterwright.report.words import label, number, span
from clusterwright.report.workload import numbers, parts_grid

__all__ = ["assumptions", "audit", "cost", "findings", "materials"]

MOST_OPEN = 12
"""Rows of a table of inputs that are shown without a click."""
MOST_BARS = 11
"""Bars of the cost waterfall; smaller lines are added up."""


def cost(cluster: Cluster) -> Section:
    """Cost of ownership as a waterfall, and the ways of procurement side by side."""
    rows = list(cluster.tables["money"].rows())
    how = cluster.frame.text("cost.procurement", "buy")
    mine = [row for row in rows if row["procurement"] == how] or rows
    parts: list[Grid | Picture] = []
    if mine:
        parts.append(_waterfall(mine, how))
    paths = ("buy_tco_usd", "rent_usd", "rent_tco_usd", "reserved_tco_usd", "colocate_tco_usd", "colocate_capex_usd")
    ways = [Cell(label(f"cost.{n}")) for n in paths if f"cost.{n}" in cluster.frame]
    if ways:
        columns = [Column("Way"), Column("Cost", True)]
        made = [[Cell(label(f"cost.{n}")), cell(cluster, f"cost.{n}")] for n in paths if f"cost.{n}" in cluster.frame]
        parts.append(Grid("Ways of procurement side by side", columns, made))
    names = ("capex_usd", "opex_usd_per_year", "tco_usd", "usd_per_gpu_h", "usd_per_zflop")
    found = numbers(cluster, [f"cost.{name}" for name in names])
    if not parts and not found:
        return Section("cost", "Cost", missing="The design holds no cost lines.")
    return Section("cost", "Cost", numbers=found, parts=parts)


def _waterfall(rows: Sequence[Mapping[str, Any]], how: str) -> Picture:
    spent = sorted((row for row in rows if row["total_usd"] > 0), key=lambda row: -row["total_usd"])
    back = [row for row in rows if row["total_usd"] < 0]
    top, rest = spent[:MOST_BARS], spent[MOST_BARS:]
    bars = [_money_bar(row) for row in top]
    if rest:
        bars.append(
            {
                "label": f"{len(rest)} smaller lines",
                "path": "",
                "useful": False,
                **{
                    k: sum(row[f"{c}_usd"] for row in rest)
                    for k, c in (("value", "total"), ("low", "low"), ("high", "high"))
                },
            }
        )
    bars += [_money_bar(row) for row in back]
    whole = sum(bar["value"] for bar in bars)
    said = ", ".join(f"{b['label']} {number('x_usd', b['value'])}" for b in bars[:2])
    alt = f"Cost of ownership ({how}) {number('x_usd', whole)}; largest lines: {said}."
    data = {"path": "x_usd", "bars": bars, "total": whole, "total_label": "Total"}
    note = "Darker: paid once. Lighter: paid every year, over the operating years. Green: comes back at the end."
    grid = parts_grid(f"Cost of ownership, {how}", "x_usd", bars, whole)
    return Picture("waterfall", "Cost of ownership", alt, data, note, grid)


def _money_bar(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "label": row["line"],
        "path": "",
        "value": row["total_usd"],
        "low": row["low_usd"],
        "high": row["high_usd"],
        "useful": row["capex_usd"] > 0,
    }


def materials(cluster: Cluster) -> Section:
    """The bill of materials: what is bought, how many, at which price, from which source."""
    parts: list[Grid | Picture] = []
    things = [*_node_rows(cluster), *_switch_rows(cluster), *_link_rows(cluster), *_storage_rows(cluster)]
    if things:
        columns = [
            Column("Layer"),
            Column("Part"),
            Column("Role"),
            Column("Count", True),
            Column("Of these spare", True),
        ]
        parts.append(Grid("Parts", columns, things))
    money = list(cluster.tables["money"].rows())
    if money:
        how = cluster.frame.text("cost.procurement", "buy")
        parts.append(_money([row for row in money if row["procurement"] == how] or money, how))
        rest = [row for row in money if row["procurement"] != how]
        if rest and len(rest) < len(money):
            parts.append(_money(rest, "the other ways", folded=True))
    if not parts:
        return Section("materials", "Bill of materials", missing="The design holds no parts.")
    return Section("materials", "Bill of materials", parts=parts)


def _part(layer: str, part: str, role: str, count: float, spare: float = 0) -> list[Cell]:
    return [Cell(layer), Cell(part), Cell(role), Cell(f"{count:,.0f}"), Cell(f"{spare:,.0f}" if spare else "")]


def _summed(rows: Sequence[Mapping[str, Any]], *keys: str) -> dict[tuple[str, ...], list[float]]:
    """Counts and spare counts of equal parts added up."""
    made: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        total = made.setdefault(tuple(str(row[key]) for key in keys), [0.0, 0.0])
        total[0] += row["count"]
        total[1] += row["count"] if row.get("role") == "spare" else row.get("spare_count", 0)
    return made


def _node_rows(cluster: Cluster) -> list[list[Cell]]:
    found = _summed(list(cluster.tables["nodes"].rows()), "server", "role")
    return [_part("compute", server, role, *counts) for (server, role), counts in found.items()]


def _switch_rows(cluster: Cluster) -> list[list[Cell]]:
    found = _summed(list(cluster.tables["switches"].rows()), "model", "network", "tier")
    return [_part("network", model, f"{net} {tier}", *n) for (model, net, tier), n in found.items() if n[0]]


def _link_rows(cluster: Cluster) -> list[list[Cell]]:
    rows = [{**row, "rate": link_rate(row["bandwidth_bytes_s"])} for row in cluster.tables["links"].rows()]
    found = _summed(rows, "medium", "network", "rate")
    return [_part("cables", f"{m}, {rate}", net, *n) for (m, net, rate), n in found.items() if n[0]]


def _storage_rows(cluster: Cluster) -> list[list[Cell]]:
    return [
        _part("storage", r["system"], r["kind"], r["systems"]) for r in cluster.tables["storage"].rows() if r["systems"]
    ]


def _money(rows: Sequence[Mapping[str, Any]], how: str, *, folded: bool = False) -> Grid:
    columns = [
        Column("Line"),
        Column("Way"),
        Column("Quantity"),
        Column("Once", True),
        Column("A year", True),
        Column("Total", True),
        Column("Lead time", True),
        Column("Price source"),
    ]
    made = [
        [
            Cell(row["line"], sub=row["layer"]),
            Cell(row["procurement"]),
            Cell(row["quantity"]),
            Cell(_usd(row["capex_usd"])),
            Cell(_usd(row["opex_usd_per_year"])),
            Cell(_usd(row["total_usd"]), sub=span("x_usd", row["low_usd"], row["high_usd"])),
            Cell("" if math.isnan(row["lead_time_weeks"]) else f"{row['lead_time_weeks']:.0f} weeks"),
            Cell(row["source"], state="dim"),
        ]
        for row in rows
    ]
    return Grid(f"Cost lines, {how}", columns, made, folded=folded)


def _usd(value: float) -> str:
    return number("x_usd", value) if value else ""


_VERDICTS = {
    "holds": ("✓ holds", "good"),
    "does-not-hold": ("✗ does not hold", "bad"),
    "cannot-tell": ("≈ cannot tell", "warn"),
}


def audit(cluster: Cluster) -> Section:
    """The claims of a proposal against the laws and against each other, with the sums."""
    found = cluster.answers.get("audit")
    claims = found.get("claims", []) if isinstance(found, Mapping) else []
    if not claims:
        return Section("audit", "Audit of claims", missing="The spec holds no claims to judge.")
    columns = [Column("Verdict"), Column("Claim"), Column("Computed", True), Column("Arithmetic")]
    rows = [_claim(claim, cluster) for claim in claims]
    held = sum(1 for claim in claims if claim.get("verdict") == "holds")
    refused = sum(1 for claim in claims if claim.get("verdict") == "does-not-hold")
    lead = f"{held} of {len(claims)} claims hold, {refused} do not."
    return Section("audit", "Audit of claims", lead, parts=[Grid("Claims", columns, rows)])


def _claim(claim: Mapping[str, Any], cluster: Cluster) -> list[Cell]:
    path = str(claim.get("path", ""))
    word, state = _VERDICTS.get(str(claim.get("verdict")), (str(claim.get("verdict")), ""))
    computed = claim.get("computed")
    shown = Cell("–", state="dim")
    if isinstance(computed, Mapping):
        between = span(path, computed.get("low"), computed.get("high"))
        shown = Cell(number(path, computed.get("value")), path if path in cluster.frame else "", sub=between)
    said = str(claim.get("text") or _claimed(path, claim.get("claimed")))
    who = f", {claim['who']}" if claim.get("who") else ""
    sums = str(claim.get("arithmetic", ""))
    against = [str(other) for other in claim.get("contradicts") or [] if str(other) not in sums]
    return [
        Cell(word, state=f"{state} tight", sub=f"contradicts {', '.join(against)}" if against else ""),
        Cell(path, state="code", sub=f"{said}{who}"),
        shown,
        Cell(sums),
    ]


def _claimed(path: str, claimed: Any) -> str:
    if not isinstance(claimed, Mapping):
        return ""
    low, high = claimed.get("low"), claimed.get("high")
    if low == high:
        return number(path, low)
    return f"{number(path, low)} to {number(path, high)}" if high is not None else f"at least {number(path, low)}"


def findings(cluster: Cluster) -> Section:
    """Every finding, worst first, with what to do about it."""
    rows = [
        [
            Cell(one.severity, state={"error": "bad", "info": "dim"}.get(one.severity, "warn")),
            Cell(one.message),
            Cell(one.hint),
            Cell(one.name, one.path),
            Cell(one.code, state="code"),
        ]
        for one in all_findings(cluster)
    ]
    if not rows:
        return Section("findings", "Findings", missing="Nothing to say beyond the numbers.")
    columns = [Column("Kind"), Column("What"), Column("What to do"), Column("Figure"), Column("Code")]
    return Section("findings", "Findings", parts=[Grid("Risks, warnings and remarks", columns, rows)])


_KIND_WORDS = {"assumption": "assumed", "default": "default", "spec": "asked for"}


def assumptions(cluster: Cluster) -> Section:
    """What the numbers stand on: catalogue facts with date and status, wishes of the spec, defaults, assumptions."""
    facts: list[list[Cell]] = []
    given: list[list[Cell]] = []
    for path in cluster.frame:
        origin = cluster.frame.figure(path).provenance
        if origin.kind == "catalog":
            facts.append(_fact(cluster, path))
        elif origin.kind in _KIND_WORDS:
            why = origin.note or origin.source
            given.append(
                [
                    Cell(path, path, "code"),
                    cell(cluster, path),
                    Cell(_KIND_WORDS[origin.kind]),
                    Cell(origin.place),
                    Cell(why),
                ]
            )
    weak = [row for row in facts if row[2].state == "warn"]
    checked = [row for row in facts if row[2].state != "warn"]
    columns = [Column("Figure"), Column("Value", True), Column("Status"), Column("Source"), Column("Where")]
    parts = []
    if weak:
        note = "Confirm these before money is spent on them."
        parts.append(Grid("Facts from memory or estimated, not checked against a document", columns, weak, note))
    if checked:
        parts.append(Grid("Facts checked or derived", columns, checked, folded=len(checked) > MOST_OPEN))
    if given:
        columns = [Column("Figure"), Column("Value", True), Column("Kind"), Column("Place"), Column("Why")]
        parts.append(Grid("Wishes, defaults and assumptions", columns, given, folded=len(given) > MOST_OPEN))
    if not parts:
        return Section("assumptions", "Assumptions and sources", missing="The design holds no inputs.")
    lead = f"{len(facts)} catalogue facts, {len(weak)} of them from memory or estimated; "
    lead += f"{len(given)} wishes, defaults and assumptions."
    return Section("assumptions", "Assumptions and sources", lead, parts=parts)


def _fact(cluster: Cluster, path: str) -> list[Cell]:
    origin = cluster.frame.figure(path).provenance
    state = "warn" if origin.status in ("memory", "estimate") else "dim" if origin.status == "derived" else ""
    return [
        Cell(path, path, "code"),
        cell(cluster, path),
        Cell(origin.status or "unknown", state=state),
        Cell(origin.source, sub=origin.note),
        Cell(origin.place.removeprefix("catalogue: "), state="dim"),
    ]
