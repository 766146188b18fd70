"""The table of failures by component class."""

from __future__ import annotations

import re
from typing import NamedTuple

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance
from clusterwright.domains.reliability.sizing import RATE
from clusterwright.units import YEAR_S

__all__ = ["fill_failures", "supplies"]

_USUAL_SUPPLIES = 6
_SMALL_SUPPLIES = 2


class _Class(NamedTuple):
    """A component class: its words, where its record stands, what stops when one fails, what absorbs it."""

    words: str
    record: str
    stops: str
    absorbs: str


_PARTS = (
    _Class("GPU", "gpu", "the node, and the job on it", "spare nodes; restart from the checkpoint"),
    _Class("GPU memory", "hbm", "the node, and the job on it", "row remapping; spare nodes; restart"),
    _Class("network card", "nic", "one rail of the node, and the job on it", "spare nodes; restart"),
    _Class("host (CPU, memory, board)", "host", "the node, and the job on it", "spare nodes; restart"),
    _Class("power supply", "power-supply", "nothing while a redundant one is left", "redundant supplies of the server"),
    _Class("cable with its optics", "cable", "a node's rail, or one of many paths", "restart; adaptive routing"),
    _Class(
        "switch", "switch", "a leaf: one rail of its group; a spine: its share of bandwidth", "other spines; a spare"
    ),
)
"""Classes with a record among the catalogue's reliability components."""
_PLANTS = (
    _Class(
        "storage building block",
        "storage_block",
        "its share of bandwidth and capacity",
        "redundant servers, erasure code",
    ),
    _Class("power feed", "power_feed", "the site, unless UPS and generators carry it", "UPS and generators"),
    _Class("UPS module", "ups_module", "what it feeds, unless a spare module takes over", "redundancy of the facility"),
    _Class(
        "cooling unit", "cooling_module", "what it cools, unless a spare unit takes over", "redundancy of the facility"
    ),
)
"""Classes with planning values ``<record>_mttf_s`` and ``<record>_repair_s``."""


def fill_failures(cluster: Cluster, catalog: Catalog) -> None:
    """Fill the table: how many there are, how often one fails, how long it is away, what stops."""
    counts = _counts(cluster, catalog)
    fact = catalog.get("reliability", RATE).fact("interruptions_per_1000_node_days")
    node = _Class("node, any cause", "node", "the job on it", "spare nodes; restart from the checkpoint")
    mttf, repair = 1.0 / cluster.value("reliability.failure_rate_per_s"), cluster.value("reliability.mean_repair_s")
    _add(cluster, node, counts["node"], (mttf, repair), f"{fact.source.title} ({fact.status})")
    for part in _PARTS:
        record = catalog.get("reliability", part.record)
        known = record.fact("mttf_s")
        times = (known.value, record["repair_s"])
        _add(cluster, part, counts[part.record], times, f"{known.source.title} ({known.status})")
    for plant in _PLANTS:
        known = catalog.planning(f"{plant.record}_mttf_s")
        times = (known.value, catalog.planning(f"{plant.record}_repair_s").value)
        _add(cluster, plant, counts[plant.record], times, f"{known.source.title} ({known.status})")
    _explain(cluster)


def _add(cluster: Cluster, kind: _Class, count: float, times: tuple[float, float], source: str) -> None:
    mttf, repair = times
    if count:
        cluster.tables["failures"].add(
            component=kind.words,
            population=int(count),
            mttf_s=mttf,
            repair_s=repair,
            expected_per_year=count * YEAR_S / mttf,
            blast_radius=kind.stops,
            redundancy=kind.absorbs,
            source=source,
        )


def _explain(cluster: Cluster) -> None:
    table = cluster.tables["failures"]
    inputs = {"table": "population, mttf_s"}
    table.explain("expected_per_year", Provenance("law", law="reliability.expected_interruptions", inputs=inputs))
    for column in ("mttf_s", "repair_s", "source"):
        note = "reliability components and planning values; of whole nodes the published rate of clusters"
        table.explain(column, Provenance("catalog", place="catalogue: reliability, planning", note=note))
    counted = {"of": ["compute.nodes", "compute.spare_nodes", "fabric.all", "storage", "facility"]}
    table.explain("population", Provenance("law", law="reliability.machine_nodes", inputs=counted))
    for column in ("component", "blast_radius", "redundancy"):
        table.explain(column, Provenance("choice", note="what a failure of the class does, in words"))


def _counts(cluster: Cluster, catalog: Catalog) -> dict[str, float]:
    """How many of each class there are, spares and all networks counted."""

    def held(*paths: str) -> float:
        return sum(float(cluster.frame.get(path, 0.0)[0]) for path in paths)

    nodes = held("reliability.machine_nodes")
    gpus = nodes * held("server.gpus")
    links = [f"fabric.all.{name}_cables" for name in ("node_leaf", "leaf_spine", "spine_core")]
    tiers = [f"{net}.{tier}_switches" for net in ("fabric.all", "fabric.storage") for tier in ("leaf", "spine", "core")]
    sites = {path.partition(".")[0] for path in cluster.frame if path.startswith("sites[")}
    return {
        "node": nodes,
        "gpu": gpus,
        "hbm": gpus,
        "nic": nodes * held("server.nics"),
        "host": nodes,
        "power-supply": nodes * supplies(cluster, catalog),
        "cable": held(*links, "fabric.storage.cables"),
        "switch": held(*tiers, "fabric.management.switches"),
        "storage_block": held("storage.parallel.systems", "storage.block.systems"),
        "power_feed": len(sites),
        "ups_module": held("facility.ups_modules"),
        "cooling_module": held("facility.cdu_modules", "facility.air_handler_modules"),
    }


def supplies(cluster: Cluster, catalog: Catalog) -> int:
    """Power supplies of one server: the first number of what the catalogue says of them, else a usual number."""
    server = cluster.frame.text("compute.server", "")
    part = catalog.get("server", server) if server else None
    if part is not None and "power_supplies" in part:
        found = re.match(r"\s*(\d+)", part.text("power_supplies"))
        if found:
            return int(found[1])
    return _USUAL_SUPPLIES if cluster.value("server.gpus") >= 8 else _SMALL_SUPPLIES
