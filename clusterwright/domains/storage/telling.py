"""The storage room's table, options and findings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance
from clusterwright.domains.storage.findings import FINDINGS
from clusterwright.domains.storage.systems import Wanted, block_figure, lifetime_usd, needed, offers
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["fill_storage", "options", "say"]

_FOR = {
    "nvme": "hot cache in the nodes: data of the epoch, copies of the last checkpoints",
    "parallel": "training data and checkpoints",
    "object": "raw data, artifacts and checkpoints kept for good",
    "block": "system volumes: images, databases, home folders of services",
}
SLOW_S = 60.0
"""A checkpoint that takes longer is said to stall training."""


def fill_storage(cluster: Cluster, catalog: Catalog) -> None:
    """One row a tier that is there."""
    table, value, frame = cluster.tables["storage"], cluster.value, cluster.frame
    for tier, use in _FOR.items():
        path = f"storage.{tier}"
        if tier == "nvme":
            system, count, iops, rent = "in the servers", 0, math.nan, 0.0
        else:
            system, count = frame.text(f"{path}.system"), int(value(f"{path}.systems"))
            iops = catalog.get("storage", system).get("iops", math.nan) * count
            rent = value(f"{path}.rent_usd_per_tb_month") * 12 * value(f"{path}.raw_bytes") / 1e12
        if tier != "nvme" and not count:
            continue
        table.add(
            name=tier,
            kind=tier,
            system=system,
            capacity_bytes=value(f"{path}.capacity_bytes"),
            read_bytes_s=value(f"{path}.read_bytes_s"),
            write_bytes_s=value(f"{path}.write_bytes_s"),
            iops=iops,
            power_w=value(f"{path}.power_w"),
            units=value(f"{path}.units"),
            systems=count,
            usd_per_year=rent,
            why=use if tier == "nvme" else f"{use}; sized by {_sized_by(cluster, path)}",
        )
    _explain(cluster)


def _explain(cluster: Cluster) -> None:
    frame, table = cluster.frame, cluster.tables["storage"]
    for column in ("capacity_bytes", "read_bytes_s", "write_bytes_s", "power_w", "units", "systems"):
        table.explain(column, frame.figure(f"storage.parallel.{column}").provenance)
    table.explain("system", frame.texts["storage.parallel.system"][1])
    table.explain("usd_per_year", frame.figure("storage.object.rent_usd_per_tb_month").provenance)
    system = frame.text("storage.parallel.system")
    table.explain("iops", Provenance("catalog", place=f"catalogue: storage/{system} iops", note="times the blocks"))
    words = Provenance("choice", note="tiers by use; the criterion that needs most building blocks sizes a tier")
    for column in ("name", "kind", "why"):
        table.explain(column, words)


def _sized_by(cluster: Cluster, path: str) -> str:
    """Which of capacity, read and write needs the most blocks, with the figure."""
    value = cluster.value
    capacity = value(f"{path}.wanted_bytes")
    needs = {
        f"capacity ({human('x_bytes', capacity)})": capacity
        / (value(f"{path}.block_bytes") * value(f"{path}.usable_fraction")),
        "the smallest system": value(f"{path}.fewest"),
    }
    for way in ("read", "write"):
        each, wanted = value(f"{path}.block_{way}_bytes_s"), value(f"{path}.wanted_{way}_bytes_s")
        needs[f"{way} rate ({human('x_bytes_s', wanted)})"] = wanted / each if each else 0.0
    return max(needs, key=lambda name: needs[name])


def options(cluster: Cluster, catalog: Catalog, years: float) -> list[dict[str, Any]]:
    """The systems weighed for the parallel and the object tier, the chosen one of each ticked."""
    rows = []
    for tier in ("parallel", "object"):
        if cluster.value(f"storage.{tier}.systems"):
            rows += _options_of(cluster, catalog, tier, years)
    return rows


def _options_of(cluster: Cluster, catalog: Catalog, tier: str, years: float) -> list[dict[str, Any]]:
    value, chosen = cluster.value, cluster.frame.text(f"storage.{tier}.system")
    figures = ("wanted_bytes", "wanted_read_bytes_s", "wanted_write_bytes_s")
    wanted = Wanted(*(np.array([value(f"storage.{tier}.{figure}")]) for figure in figures))
    parts = offers(catalog, tier)
    if chosen not in {part.name for part in parts}:
        parts.append(catalog.get("storage", chosen))
    cost = {part.name: float(lifetime_usd(part, wanted, years)[0]) for part in parts}
    rows = []
    for part in sorted(parts, key=lambda p: cost[p.name]):
        count = float(needed(part, wanted)[0])
        read, write = (count * block_figure(part, f"block_{way}_bytes_s") for way in ("read", "write"))
        rows.append(
            {
                "name": part.name,
                "tier": tier,
                "title": part.title,
                "chosen": part.name == chosen,
                "blocks": int(count),
                "price_usd": cost[part.name] if math.isfinite(cost[part.name]) else None,
                "read_bytes_s": read,
                "write_bytes_s": write,
                "why": f"{tier}: {_why(cost[part.name], cost[chosen], part.name == chosen, years)}; "
                f"{count:,.0f} blocks, {human('x_bytes_s', read)} read, {human('x_bytes_s', write)} write",
            }
        )
    return rows


def _why(own: float, chosen: float, picked: bool, years: float) -> str:
    if not math.isfinite(own):
        return "no price is known"
    said = f"{human('x_usd', own)} over {years:g} years"
    if picked or not math.isfinite(chosen):
        return said
    return f"{said}, {human('x_usd', abs(own - chosen))} {'more' if own >= chosen else 'less'} than the choice"


def say(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Slow checkpoints, drives that are too small, figures that nobody checked."""
    seconds = cluster.value("storage.checkpoint_write_s")
    if seconds > SLOW_S:
        size = human("x_bytes", cluster.value("storage.checkpoint_bytes"))
        message = f"a checkpoint of {size} takes {human('x_s', seconds)} to write"
        hint = "copy to host memory or local drives first and drain in the background, or add storage bandwidth"
        cluster.say(FINDINGS["STORAGE-CHECKPOINT-SLOW"].at("storage.checkpoint_write_s", message, hint))
    _say_drives(cluster)
    if cluster.value("storage.parallel.systems"):
        _say_unchecked(cluster, catalog)


def _say_drives(cluster: Cluster) -> None:
    value = cluster.value
    drives = human("x_bytes", value("storage.nvme.capacity_bytes"))
    if not value("storage.parallel.systems"):
        wanted = value("storage.parallel.wanted_bytes")
        message = f"{value('compute.nodes'):.0f} nodes keep {human('x_bytes', wanted)} on their own {drives} of drives"
        code = "STORAGE-IN-NODES" if wanted <= value("storage.nvme.capacity_bytes") else "STORAGE-NODES-FULL"
        hint = "name a system under storage.parallel to have one"
        cluster.say(FINDINGS[code].at("storage.nvme.capacity_bytes", message, hint))
    elif value("storage.nvme.checkpoint_fraction") > 1.0:
        message = (
            f"{value('storage.local_copies'):.0f} copies of a checkpoint of "
            f"{human('x_bytes', value('storage.checkpoint_bytes'))} do not fit the nodes' {drives} of drives"
        )
        hint = "keep one copy, or restart from the parallel file system only"
        cluster.say(FINDINGS["STORAGE-NODES-FULL"].at("storage.nvme.checkpoint_fraction", message, hint))


def _say_unchecked(cluster: Cluster, catalog: Catalog) -> None:
    part = catalog.get("storage", cluster.frame.text("storage.parallel.system"))
    known = [key for key in ("capacity_bytes", "write_bytes_s", "purchase_price_usd") if key in part]
    weak = [key for key in known if part.fact(key).status in ("memory", "estimate")]
    if weak:
        words = {"capacity_bytes": "capacity", "write_bytes_s": "write rate", "purchase_price_usd": "price"}
        message = f"{part.title}: {', '.join(words[key] for key in weak)} not checked against the vendor"
        cluster.say(
            FINDINGS["STORAGE-FROM-MEMORY"].at("storage.parallel.system", message, "ask the vendor for a quote")
        )
