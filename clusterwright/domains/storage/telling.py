"""The storage room's table, options and findings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance
from clusterwright.domains.storage.findings import FINDINGS
from clusterwright.domains.storage.sizing import BOUGHT
from clusterwright.domains.storage.systems import Wanted, offers, prices
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["fill_storage", "options", "say"]

_WHY = {
    "nvme": "hot cache in the nodes: data of the epoch, node-local checkpoints",
    "parallel": "training data and checkpoints",
    "object": "raw data, artifacts and checkpoints kept for good",
    "block": "system volumes of the nodes",
}
SLOW_S = 60.0


def fill_storage(cluster: Cluster, catalog: Catalog) -> None:
    """One row a tier."""
    table, value = cluster.tables["storage"], cluster.value
    for tier, why in _WHY.items():
        path = f"storage.{tier}"
        system = "in the servers" if tier == "nvme" else cluster.frame.text(f"{path}.system")
        iops = math.nan if tier == "nvme" else catalog.get("storage", system).get("iops", math.nan)
        systems = 0 if tier == "nvme" else int(value(f"{path}.systems"))
        rent = 0.0
        if tier != "nvme":
            rent = value(f"{path}.rent_usd_per_tb_month") * 12 * value(f"{path}.raw_bytes") / 1e12
        table.add(
            name=tier,
            kind=tier,
            system=system,
            capacity_bytes=value(f"{path}.capacity_bytes"),
            read_bytes_s=value(f"{path}.read_bytes_s"),
            write_bytes_s=value(f"{path}.write_bytes_s"),
            iops=iops * systems if systems else iops,
            power_w=value(f"{path}.power_w"),
            units=math.ceil(value(f"{path}.units")),
            systems=systems,
            usd_per_year=rent,
            why=why if tier == "nvme" else f"{why}; sized by {_sized_by(cluster, path)}",
        )
    for column, figure in (("capacity_bytes", "capacity_bytes"), ("power_w", "power_w"), ("systems", "systems")):
        paths = [f"storage.{tier}.{figure}" for tier in BOUGHT]
        table.explain(column, Provenance("law", law="storage.each_times", inputs={"tiers": paths}))


def _sized_by(cluster: Cluster, path: str) -> str:
    """Which of capacity, read and write needs the most blocks."""
    value = cluster.value
    needs = {
        "capacity": value(f"{path}.wanted_bytes") / (value(f"{path}.block_bytes") * value(f"{path}.usable_fraction")),
        "the smallest system": value(f"{path}.fewest"),
    }
    for way in ("read", "write"):
        each = value(f"{path}.block_{way}_bytes_s")
        needs[f"{way} rate"] = value(f"{path}.wanted_{way}_bytes_s") / each if each else 0.0
    return max(needs, key=lambda name: needs[name])


def options(cluster: Cluster, catalog: Catalog) -> list[dict[str, Any]]:
    """The parallel file systems that were weighed, the chosen one ticked, with blocks and price."""
    value, chosen = cluster.value, cluster.frame.text("storage.parallel.system")
    wanted = Wanted(
        np.array([value("storage.parallel.wanted_bytes")]),
        np.array([value("storage.parallel.wanted_read_bytes_s")]),
        np.array([value("storage.parallel.wanted_write_bytes_s")]),
    )
    parts = offers(catalog, "parallel")
    price = {p.name: float(usd) for p, usd in zip(parts, prices(parts, wanted)[:, 0], strict=True)}
    own = value("storage.parallel.systems") * value("storage.parallel.price_usd")
    rows = []
    for part in sorted(parts, key=lambda p: price[p.name]):
        usd, picked = price[part.name], part.name == chosen
        blocks = round(usd / part["purchase_price_usd"]) if part.get("purchase_price_usd") else 0
        difference = f"{human('x_usd', usd - own)} more" if usd >= own else f"{human('x_usd', own - usd)} less"
        rows.append(
            {
                "name": part.name,
                "title": part.title,
                "chosen": picked,
                "blocks": blocks,
                "price_usd": usd,
                "read_bytes_s": blocks * part["read_bytes_s"],
                "write_bytes_s": blocks * part["write_bytes_s"],
                "why": "chosen" if picked else f"{blocks} blocks, {difference} than the choice",
            }
        )
    return rows


def say(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Slow checkpoints and figures that nobody checked."""
    seconds = cluster.value("storage.checkpoint_write_s")
    if seconds > SLOW_S:
        cluster.say(
            FINDINGS["STORAGE-CHECKPOINT-SLOW"].at(
                "storage.checkpoint_write_s",
                f"a checkpoint of {human('x_bytes', cluster.value('storage.checkpoint_bytes'))} takes "
                f"{human('x_s', seconds)} to write",
                "write to local NVMe first and drain in the background, or add storage bandwidth",
            )
        )
    part = catalog.get("storage", cluster.frame.text("storage.parallel.system"))
    weak = [key for key in ("capacity_bytes", "write_bytes_s", "purchase_price_usd") if key in part]
    weak = [key for key in weak if part.fact(key).status in ("memory", "estimate")]
    if weak:
        names = ", ".join(key.rsplit("_", 1)[0].replace("_", " ") for key in weak)
        message = f"{part.title}: {names} are not checked against the vendor"
        finding = FINDINGS["STORAGE-FROM-MEMORY"]
        cluster.say(finding.at("storage.parallel.system", message, "ask the vendor for a quote"))
