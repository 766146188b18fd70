"""The reliability room's tables, answers and findings."""

from __future__ import annotations

import math
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance
from clusterwright.domains.reliability.findings import FINDINGS
from clusterwright.spec import Spec
from clusterwright.units import YEAR_S, human

__all__ = ["fill_failures", "redundancy", "say"]

BEARABLE = 0.9
"""Effective training time ratio below which a job is called too large."""

_COMPONENTS = (
    # catalogue part, words, how many (path, factor), blast radius, what absorbs it
    ("gpu", "GPU", ("server.gpus", "nodes"), "the node, and the job on it", "spare nodes, restart from the checkpoint"),
    (
        "hbm",
        "GPU memory",
        ("server.gpus", "nodes"),
        "the node, and the job on it",
        "spare nodes, row remapping, restart",
    ),
    (
        "nic",
        "network card",
        ("server.nics", "nodes"),
        "one rail of the node, and the job on it",
        "spare nodes, restart",
    ),
    ("host", "host (CPU, memory, board)", ("", "nodes"), "the node, and the job on it", "spare nodes, restart"),
    ("power-supply", "power supply", ("psu", "nodes"), "nothing while a redundant one is left", "redundant supplies"),
    ("cable", "optical link", ("links", ""), "one rail of one node, or 1 of many leaf-spine paths", "adaptive routing"),
    (
        "switch",
        "switch",
        ("switches", ""),
        "a leaf: one rail of its group; a spine: bandwidth",
        "other spines; spare switch",
    ),
)
SUPPLIES_PER_NODE = 6.0
"""Power supplies of an 8-GPU server, redundant 4+2 or 3+3."""


def fill_failures(cluster: Cluster, catalog: Catalog) -> None:
    """The table of component failures: how many there are, how often one fails, what stops."""
    table = cluster.tables["failures"]
    for name, words, (each, of), blast, absorbed in _COMPONENTS:
        part = catalog.get("reliability", name)
        population = _population(cluster, each, of)
        mttf, repair = part["mttf_s"], part["repair_s"]
        source = part.fact("mttf_s").source
        table.add(
            component=words,
            population=int(population),
            mttf_s=mttf,
            repair_s=repair,
            expected_per_year=population * YEAR_S / mttf,
            blast_radius=blast,
            redundancy=absorbed,
            source=f"{source.title} ({part.fact('mttf_s').status})",
        )
    law = Provenance("law", law="reliability.expected_interruptions", inputs={"table": "population, mttf_s"})
    table.explain("expected_per_year", law)
    table.explain("mttf_s", Provenance("catalog", place="catalogue: reliability", note="component conventions"))


def _population(cluster: Cluster, each: str, of: str) -> float:
    nodes = cluster.value("compute.nodes") + cluster.value("compute.spare_nodes")
    if each == "links":
        paths = ("node_leaf_cables", "leaf_spine_cables", "spine_core_cables")
        return sum(cluster.value(f"fabric.all.{p}") for p in paths)
    if each == "switches":
        return sum(cluster.value(f"fabric.all.{t}_switches") for t in ("leaf", "spine", "core"))
    factor = SUPPLIES_PER_NODE if each == "psu" else cluster.value(each) if each else 1.0
    return nodes * factor if of else factor


def redundancy(cluster: Cluster, spec: Spec) -> list[dict[str, Any]]:
    """What is there more than once, and what happens when one of it fails."""
    scheme = spec.reliability.redundancy
    power = {"N": "none: one feed", "N+1": "one module more than needed", "2N": "two independent feeds"}[scheme]
    spares = int(cluster.value("compute.spare_nodes"))
    hot = {"N": "the racks on the failed module stop", "N+1": "nothing stops", "2N": "nothing stops"}[scheme]
    return [
        {"component": "compute node", "scheme": f"{spares} spare nodes", "consequence": "job restarts on a spare"},
        {
            "component": "GPU",
            "scheme": "none within the node",
            "consequence": "node is drained, job restarts on a spare",
        },
        {
            "component": "leaf switch",
            "scheme": "one per rail",
            "consequence": "its rail group loses one rail; job restarts",
        },
        {"component": "spine switch", "scheme": "many, equal paths", "consequence": "bandwidth falls by its share"},
        {"component": "power (UPS, generators)", "scheme": f"{scheme}: {power}", "consequence": hot},
        {"component": "cooling (CDU, chillers)", "scheme": f"{scheme}: {power}", "consequence": hot},
        {"component": "power supplies", "scheme": "redundant in each server", "consequence": "nothing stops"},
        {"component": "storage servers", "scheme": "high-availability pairs", "consequence": "bandwidth falls"},
        {"component": "scheduler, management", "scheme": "active and standby", "consequence": "running jobs go on"},
    ]


def say(cluster: Cluster, spec: Spec) -> None:
    """Interruptions to expect; jobs that are too large; too few spares."""
    for j, workload in enumerate(spec.workloads):
        _say_run(cluster, f"training[{j}]", workload.name)
    target, reached = cluster.value("reliability.availability_target"), cluster.value("reliability.availability")
    if spec.reliability.spares is not None and reached < target:
        cluster.say(
            FINDINGS["RELIABILITY-FEW-SPARES"].at(
                spec.place("reliability.spares"),
                f"{spec.reliability.spares} spare nodes keep all nodes up for {reached:.3%} of the time, "
                f"{target:.3%} is asked",
                "leave 'spares' at auto",
            )
        )
    cluster.say(
        FINDINGS["RELIABILITY-EARLY-FAILURES"].at(
            "reliability.node_failure_rate_per_s",
            "in the first months 3-10 % of new accelerators fail, more than these steady-state rates say",
            "burn every node in before it takes jobs, and order spare parts with the cluster",
        )
    )


def _say_run(cluster: Cluster, run: str, name: str) -> None:
    count, ettr = cluster.total(f"{run}.expected_interruptions"), cluster.total(f"{run}.ettr")
    mtti, gpus = cluster.value(f"{run}.mtti_s"), cluster.value(f"{run}.gpus")
    if ettr.value < BEARABLE:
        span = _bearable_gpus(cluster, run)
        cluster.say(
            FINDINGS["RELIABILITY-MTTI-SHORT"].at(
                f"{run}.mtti_s",
                f"{name} on {gpus:,.0f} GPUs is interrupted every {human('x_s', mtti)}, which leaves {ettr.value:.0%} "
                f"of the time productive; at these rates a job may span about {span:,.0f} GPUs for {BEARABLE:.0%}",
                "make the job smaller, checkpoint faster (local NVMe, asynchronous), or restart only what failed",
            )
        )
    elif count.value >= 1.0:
        lost, interval = 1.0 - ettr.value, cluster.value(f"{run}.checkpoint_interval_s")
        cluster.say(
            FINDINGS["RELIABILITY-INTERRUPTIONS"].at(
                f"{run}.expected_interruptions",
                f"{name} will be interrupted about {_times(count.value)} ({count.low:.0f} to {count.high:.0f}), "
                f"which with checkpoints costs {lost:.1%} of the time",
                f"checkpoint every {human('x_s', interval)}; restart automatically",
            )
        )


def _times(count: float) -> str:
    return "once" if round(count) == 1 else f"{count:.0f} times"


def _bearable_gpus(cluster: Cluster, run: str) -> float:
    """GPUs of a job whose ETTR is :data:`BEARABLE`, first order: l (R + sqrt(2 C / l) / 2 ...) solved for l.

    With Young's interval 1 - ETTR = sqrt(2 C l) + R l; the positive root of that quadratic in sqrt(l).
    """
    checkpoint, restart = cluster.value("storage.checkpoint_write_s"), cluster.value("reliability.restart_overhead_s")
    loss = 1.0 - BEARABLE
    root = (-math.sqrt(2 * checkpoint) + math.sqrt(2 * checkpoint + 4 * restart * loss)) / (2 * restart)
    now = 1.0 / cluster.value(f"{run}.mtti_s")
    return cluster.value(f"{run}.gpus") * root * root / now
