"""Sections about the machine: racks and floor, fabric, power, storage, services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.report.model import Cell, Column, Grid, Picture, Section, value_of
from clusterwright.report.words import number, span
from clusterwright.report.workload import numbers

__all__ = ["fabric", "power", "racks", "storage"]

MOST_SITES = 3
"""Sites drawn; the tables hold all of them."""


def racks(cluster: Cluster) -> Section:
    """Elevation of one rack of each kind, and the floor."""
    rows = list(cluster.tables["racks"].rows())
    if not rows:
        return Section("racks", "Racks and floor", missing="The design holds no racks.")
    names = ("racks", "compute_racks", "rack_power_w", "rack_weight_kg", "floor_m2")
    total = sum(row["count"] for row in rows)
    kinds = _kinds(rows)
    said = ", ".join(f"{count:,.0f} {kind}" for kind, count in kinds.items())
    elevation = Picture(
        "elevation",
        "One rack of each kind",
        "Rack elevations: " + "; ".join(_rack_words(row) for row in _samples(rows)),
        {"racks": [_contents(row, cluster) for row in _samples(rows)]},
    )
    floor = Picture(
        "floor",
        "The floor",
        f"Floor plan of {total:,.0f} racks: {said}.",
        {"sites": _floors(rows)},
        grid=_rack_grid(rows),
    )
    return Section(
        "racks", "Racks and floor", "", numbers(cluster, [f"facility.{n}" for n in names]), [elevation, floor]
    )


def _kinds(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    made: dict[str, float] = {}
    for row in rows:
        made[row["kind"]] = made.get(row["kind"], 0) + row["count"]
    return made


def _samples(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The largest group of each kind."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["kind"] not in best or row["count"] > best[row["kind"]]["count"]:
            best[row["kind"]] = row
    return list(best.values())


def _rack_words(row: Mapping[str, Any]) -> str:
    return f"{row['count']:,.0f} {row['kind']} racks of {number('x_w', row['power_w'])}, {row['units']:.0f} units used"


def _contents(row: Mapping[str, Any], cluster: Cluster) -> dict[str, Any]:
    """A rack with the boxes in it: servers one by one where the nodes table tells their height."""
    boxes: list[dict[str, Any]] = []
    nodes = [n for n in cluster.tables["nodes"].rows() if n["site"] == row["site"]]
    here = [n for n in nodes if n["role"] == "compute"] if row["kind"] == "compute" else []
    if here and row["nodes"]:
        height = max(1.0, here[0]["units"])
        boxes = [{"label": here[0]["server"], "units": height} for _ in range(int(row["nodes"]))]
    rest = row["units"] - sum(box["units"] for box in boxes)
    if rest > 0.5:
        boxes.append({"label": _REST[row["kind"]] if boxes else _FILL.get(row["kind"], row["kind"]), "units": rest})
    return {
        **{k: row[k] for k in ("kind", "units", "count", "power_w", "weight_kg", "cooling", "name")},
        "boxes": boxes,
    }


_REST = {"compute": "switches, cabling", "network": "other", "storage": "other", "management": "other"}
_FILL = {"network": "switches", "storage": "storage servers", "management": "login, management"}


def _floors(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    sites = dict.fromkeys(row["site"] for row in rows)
    return [{"site": site, "kinds": _kinds([r for r in rows if r["site"] == site])} for site in sites]


def _rack_grid(rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = [
        Column("First rack"),
        Column("Site"),
        Column("Kind"),
        Column("Racks", True),
        Column("Power", True),
        Column("Units", True),
        Column("Weight", True),
        Column("Cooling"),
    ]
    made = [
        [
            Cell(row["name"], state="code"),
            Cell(row["site"]),
            Cell(row["kind"]),
            Cell(f"{row['count']:,.0f}"),
            Cell(number("x_w", row["power_w"])),
            Cell(f"{row['units']:,.0f}"),
            Cell(number("x_kg", row["weight_kg"])),
            Cell(row["cooling"]),
        ]
        for row in rows
    ]
    return Grid("Rack groups; power, units and weight of one rack", columns, made)


def fabric(cluster: Cluster) -> Section:
    """The compute network: tiers, groups, counts and bundles; the other networks as a table."""
    switches = list(cluster.tables["switches"].rows())
    if not switches:
        return Section("fabric", "Network", missing="The design holds no switches.")
    names = ("leaf_switches", "spine_switches", "core_switches", "node_leaf_cables", "leaf_spine_cables")
    paths = [f"fabric.{n}" for n in (*names, "spine_core_cables", "bisection_bandwidth_bytes_s")]
    sites = list(dict.fromkeys(row["site"] for row in switches if row["network"] == "compute"))
    parts: list[Grid | Picture] = [_drawing(cluster, site, len(sites)) for site in sites[:MOST_SITES]]
    lead = cluster.frame.text("fabric.topology", "")
    if len(sites) > MOST_SITES:
        lead += f" ({len(sites)} sites; the first {MOST_SITES} are drawn, the tables hold all)"
    parts.append(_switch_grid(switches))
    parts.append(_link_grid(list(cluster.tables["links"].rows())))
    shown = [one for one in numbers(cluster, paths) if one.value > 0]
    return Section("fabric", "Network", lead[:1].upper() + lead[1:] + "." if lead else "", shown, parts)


_TIERS = ("leaf", "spine", "core")


def _drawing(cluster: Cluster, site: str, sites: int) -> Picture:
    def here(table: str) -> list[dict[str, Any]]:
        return [row for row in cluster.tables[table].rows() if row["site"] == site]

    switches = [row for row in here("switches") if row["network"] == "compute"]
    links = [row for row in here("links") if row["network"] == "compute"]
    nodes = [row for row in here("nodes") if row["role"] in ("compute", "spare")]
    tier_of = {row["name"]: row["tier"] for row in switches} | {row["name"]: "nodes" for row in nodes}
    tiers = [_tier("nodes", nodes)] + [_tier(t, [s for s in switches if s["tier"] == t]) for t in _TIERS]
    tiers = [tier for tier in tiers if tier["count"]]
    bundles: dict[tuple[str, str], dict[str, Any]] = {}
    for link in links:
        key = (tier_of.get(link["source"], "nodes"), tier_of.get(link["target"], "leaf"))
        found = bundles.setdefault(key, {"source": key[0], "target": key[1], "count": 0, "spare": 0})
        found["count"] += link["count"]
        found["spare"] += link["spare_count"]
        found["bandwidth_bytes_s"] = link["bandwidth_bytes_s"]
        found["medium"] = link["medium"]
    said = ", ".join(f"{tier['count']:,.0f} {tier['label']}" for tier in tiers)
    cables = ", ".join(f"{b['count']:,.0f} {b['source']}-{b['target']} cables" for b in bundles.values())
    at = f" at {site}" if sites > 1 else ""
    data = {"tiers": tiers, "bundles": list(bundles.values())}
    note = "Counts hold spares and growth; '+n' says how many of them only spares and growth need."
    return Picture("fabric", f"Compute network{at}", f"Fabric{at}: {said}; {cables}.", data, note)


def _tier(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    spare = sum(r["count"] for r in rows if r.get("role") == "spare") + sum(r.get("spare_count", 0) for r in rows)
    first = rows[0] if rows else {}
    detail = f"{first.get('ports', 0):.0f} ports, {first.get('model', '')}" if "ports" in first else ""
    if "server" in first:
        detail = f"{first['server']}, {first['gpus']:.0f} GPUs, {first['nics']:.0f} NICs each"
    groups = sorted({r["name"].rsplit("-", 1)[0] for r in rows})
    return {
        "tier": name,
        "label": "nodes" if name == "nodes" else f"{name} switches",
        "count": sum(r["count"] for r in rows),
        "spare": spare,
        "detail": detail,
        "groups": len(groups),
    }


def _switch_grid(rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = [
        Column("Group"),
        Column("Network"),
        Column("Tier"),
        Column("Model"),
        Column("Ports", True),
        Column("Switches", True),
        Column("Of these spare", True),
        Column("Power each", True),
    ]
    made = [
        [
            Cell(row["name"], state="code"),
            Cell(row["network"]),
            Cell(row["tier"]),
            Cell(row["model"]),
            Cell(f"{row['ports']:,.0f}"),
            Cell(f"{row['count']:,.0f}"),
            Cell(f"{row['spare_count']:,.0f}"),
            Cell(number("x_w", row["power_w"])),
        ]
        for row in rows
    ]
    return Grid("Switches of all networks", columns, made)


def _link_grid(rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = [
        Column("From"),
        Column("To"),
        Column("Network"),
        Column("Cables", True),
        Column("Of these spare", True),
        Column("Rate", True),
        Column("Length", True),
        Column("Medium"),
    ]
    made = [
        [
            Cell(row["source"], state="code"),
            Cell(row["target"], state="code"),
            Cell(row["network"]),
            Cell(f"{row['count']:,.0f}"),
            Cell(f"{row['spare_count']:,.0f}"),
            Cell(link_rate(row["bandwidth_bytes_s"])),
            Cell(number("x_m", row["length_m"])),
            Cell(row["medium"]),
        ]
        for row in rows
    ]
    return Grid("Cables of all networks", columns, made)


def link_rate(bytes_s: float) -> str:
    """A link's rate in bits, as links are sold: ``400 Gb/s``."""
    return f"{bytes_s * 8 / 1e9:,.4g} Gb/s"


_FLOWS = (
    ("compute", "facility.compute_power_w"),
    ("network", "facility.network_power_w"),
    ("storage", "facility.storage_power_w"),
    ("management", "facility.management_power_w"),
)


def power(cluster: Cluster) -> Section:
    """From the meter to the GPUs: what the cooling takes, what each layer takes."""
    meter, it = value_of(cluster, "facility.meter_power_w"), value_of(cluster, "facility.it_power_w")
    names = ("it_power_w", "meter_power_w", "pue", "run_energy_j", "carbon_kg_run", "water_m3_per_year")
    found = numbers(cluster, [f"facility.{name}" for name in names])
    if not (meter > 0 and it > 0):
        return Section("power", "Power and cooling", numbers=found, missing="The design holds no power figures.")
    flows: list[dict[str, Any]] = [
        {"key": key, "label": key, "path": path, "value": value_of(cluster, path, 0.0)} for key, path in _FLOWS
    ]
    flows = [flow for flow in flows if flow["value"] > 0]
    overhead = max(0.0, meter - it)
    said = ", ".join(f"{f['label']} {number('x_w', f['value'])}" for f in flows)
    alt = f"{number('x_w', meter)} at the meter: cooling and losses {number('x_w', overhead)}, {said}."
    data = {"meter": meter, "it": it, "overhead": overhead, "flows": flows}
    return Section(
        "power",
        "Power and cooling",
        numbers=found,
        parts=[Picture("sankey", "Where the power goes", alt, data), *_site_grid(cluster)],
    )


def _site_grid(cluster: Cluster) -> list[Grid]:
    rows = list(cluster.tables["sites"].rows())
    if not rows:
        return []
    columns = [
        Column("Site"),
        Column("Region"),
        Column("Nodes", True),
        Column("IT power", True),
        Column("Meter", True),
        Column("PUE", True),
        Column("Energy", True),
        Column("Carbon", True),
        Column("Cooling"),
        Column("Redundancy"),
    ]
    made = []
    for i, row in enumerate(rows):
        here = f"sites[{i}]"
        made.append(
            [
                Cell(row["name"]),
                Cell(row["region"]),
                Cell(f"{row['nodes']:,.0f}"),
                _power_cell(cluster, f"{here}.it_power_w"),
                _power_cell(cluster, f"{here}.meter_power_w"),
                Cell(f"{row['pue']:.2f}"),
                Cell(f"${row['energy_usd_per_kwh']:.3f}/kWh"),
                Cell(f"{row['carbon_g_per_kwh']:,.0f} g/kWh"),
                Cell(row["cooling"]),
                Cell(row["redundancy"]),
            ]
        )
    return [Grid("Sites", columns, made)]


def _power_cell(cluster: Cluster, path: str) -> Cell:
    if path not in cluster.frame:
        return Cell("–", state="dim")
    estimate = cluster.total(path)
    return Cell(number(path, estimate.value), path, sub=span(path, estimate.low, estimate.high))


def storage(cluster: Cluster) -> Section:
    """Storage tiers, and the components that manage, observe and secure the cluster."""
    parts: list[Grid | Picture] = []
    tiers = list(cluster.tables["storage"].rows())
    if tiers:
        parts.append(_tiers(tiers))
    services = list(cluster.tables["services"].rows())
    if services:
        columns = [Column("Component"), Column("Layer"), Column("Nodes", True), Column("Runs on"), Column("Why")]
        rows = [
            [Cell(s["name"]), Cell(s["layer"]), Cell(f"{s['nodes']:,.0f}"), Cell(s["role"]), Cell(s["why"])]
            for s in services
        ]
        parts.append(Grid("Scheduling, observability, security", columns, rows))
    names = ("checkpoint_bytes", "checkpoint_write_s", "restart_read_s")
    found = numbers(cluster, [f"storage.{name}" for name in names])
    if not parts:
        return Section("storage", "Storage and services", numbers=found, missing="The design holds no storage tiers.")
    return Section("storage", "Storage and services", numbers=found, parts=parts)


def _tiers(rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = [
        Column("Tier"),
        Column("System"),
        Column("Capacity", True),
        Column("Read", True),
        Column("Write", True),
        Column("Power", True),
        Column("Sized by"),
    ]
    made = [
        [
            Cell(row["kind"]),
            Cell(row["system"]),
            Cell(number("x_bytes", row["capacity_bytes"])),
            Cell(number("x_bytes_s", row["read_bytes_s"])),
            Cell(number("x_bytes_s", row["write_bytes_s"])),
            Cell(number("x_w", row["power_w"])),
            Cell(row["why"]),
        ]
        for row in rows
    ]
    return Grid("Storage tiers", columns, made)
