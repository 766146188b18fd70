"""The reliability room's findings."""

from __future__ import annotations

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, assumed
from clusterwright.domains.reliability.checkpoints import largest_job
from clusterwright.domains.reliability.findings import FINDINGS
from clusterwright.domains.reliability.sizing import WORST
from clusterwright.domains.reliability.spares import spare_nodes
from clusterwright.spec import Spec
from clusterwright.units import DAY_S, HOUR_S, human

__all__ = ["bear", "say"]

BEARABLE = 0.9
"""Effective training time ratio below which a job is called too large."""
_SHORT_S = HOUR_S
_FIRST_ORDER = 0.1


def bear(cluster: Cluster) -> None:
    """Put ``reliability.largest_job_nodes``: how many nodes one job may span."""
    cluster.frame.give("reliability.bearable_ettr", BEARABLE, assumed("what published large runs reach"))
    cluster.frame.derive(
        "reliability.largest_job_nodes",
        largest_job,
        rate_per_s="reliability.failure_rate_per_s",
        checkpoint_s="storage.checkpoint_write_s",
        restart_s="reliability.restart_overhead_s",
        target="reliability.bearable_ettr",
    )


def say(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Add the findings: interruptions, jobs that are too large, spares, the chain, new hardware."""
    for j, workload in enumerate(spec.workloads):
        if workload.train is not None:
            _say_run(cluster, catalog, f"training[{j}]", workload.name)
    _say_machine(cluster)
    _say_spares(cluster, spec)
    _say_availability(cluster, spec)
    share = catalog.get("reliability", "infant-mortality").fact("share_fraction")
    gpus = cluster.value("reliability.machine_nodes") * cluster.value("server.gpus")
    message = (
        f"in the first months {share.low:.0%} to {share.high:.0%} of new accelerators fail, here "
        f"{gpus * share.low:,.0f} to {gpus * share.high:,.0f}; the rates used are of clusters in steady state"
    )
    hint = "burn every node in before it takes jobs, and order spare parts with the cluster"
    cluster.say(FINDINGS["RELIABILITY-EARLY-FAILURES"].at("reliability.failure_rate_per_s", message, hint))


def _say_run(cluster: Cluster, catalog: Catalog, run: str, name: str) -> None:
    count, ettr = cluster.total(f"{run}.expected_interruptions"), cluster.total(f"{run}.ettr")
    mtti, gpus = cluster.value(f"{run}.mtti_s"), cluster.value(f"{run}.gpus")
    if ettr.value < BEARABLE:
        message = (
            f"{name} on {gpus:,.0f} GPUs is interrupted every {human('x_s', mtti)}, which leaves {ettr.value:.0%} of "
            f"the time productive; at these rates a job may span about {_span(cluster):,.0f} GPUs for {BEARABLE:.0%}"
        )
        hint = "make the job smaller, checkpoint asynchronously, or replace only what failed; see recovery_options"
        cluster.say(FINDINGS["RELIABILITY-MTTI-SHORT"].at(f"{run}.mtti_s", message, hint))
    elif count.value >= 1.0:
        worst = catalog.get("reliability", WORST)["interruptions_per_1000_node_days"]
        most = count.value * worst / cluster.value("reliability.published_per_1000_node_days")
        message = (
            f"{name} will be interrupted about {count.value:,.0f} times ({count.low:,.0f} to {count.high:,.0f}; "
            f"{most:,.0f} at the worst published rate), which with checkpoints costs {1 - ettr.value:.1%} of the time"
        )
        every = human("x_s", cluster.value(f"{run}.checkpoint_interval_s"))
        hint = f"checkpoint every {every}; restart automatically"
        cluster.say(FINDINGS["RELIABILITY-INTERRUPTIONS"].at(f"{run}.expected_interruptions", message, hint))
    loss = cluster.value(f"{run}.first_order_loss")
    if loss > _FIRST_ORDER:
        message = (
            f"{name}: restart and lost steps are {loss:.0%} of the time to interruption; exact {ettr.value:.1%}, "
            f"first order {cluster.value(f'{run}.ettr_first_order'):.1%}"
        )
        cluster.say(FINDINGS["RELIABILITY-FIRST-ORDER"].at(f"{run}.first_order_loss", message))


def _span(cluster: Cluster) -> float:
    """GPUs that one job may span, two digits of it."""
    gpus = cluster.value("reliability.largest_job_nodes") * cluster.value("server.gpus")
    return float(f"{gpus:.2g}")


def _say_machine(cluster: Cluster) -> None:
    mtti, nodes = cluster.total("reliability.machine_mtti_s"), cluster.value("reliability.machine_nodes")
    if mtti.value < _SHORT_S:
        message = (
            f"some node of {nodes:,.0f} fails every {human('x_s', mtti.value)} ({human('x_s', mtti.low)} to "
            f"{human('x_s', mtti.high)}), {DAY_S / mtti.value:,.0f} times a day; a job may span about "
            f"{_span(cluster):,.0f} GPUs for {BEARABLE:.0%} of productive time"
        )
        hint = "run several jobs side by side, staff repairs around the clock, and keep spare nodes in every pod"
        cluster.say(FINDINGS["RELIABILITY-MACHINE-MTTI"].at("reliability.machine_mtti_s", message, hint))


def _say_spares(cluster: Cluster, spec: Spec) -> None:
    """The spares at the ends of the interval of a node's availability, when the design counts them."""
    node, target = cluster.total("reliability.node_availability"), cluster.frame["reliability.availability_target"]
    if spec.reliability.spares is not None:
        return
    system = cluster.frame["server.system_nodes"]
    counts = [
        sum(
            float(spare_nodes(cluster.frame[f"sites[{i}].nodes"], np.array([a]), target, system)[0])
            for i in range(len(spec.sites))
        )
        for a in (node.high, node.value, node.low)
    ]
    if counts[0] < counts[2]:
        message = (
            f"{counts[1]:,.0f} spare nodes at an availability of {node.value:.2%} a node; {counts[0]:,.0f} at "
            f"{node.high:.2%}, {counts[2]:,.0f} at {node.low:.2%}"
        )
        hint = "agree repair times with the vendor: they move the number of spares more than failure rates do"
        cluster.say(FINDINGS["RELIABILITY-SPARES-RANGE"].at("compute.spare_nodes", message, hint))


def _say_availability(cluster: Cluster, spec: Spec) -> None:
    value = cluster.value
    target, nodes, chain = (
        value(f"reliability.{name}") for name in ("availability_target", "job_availability", "availability")
    )
    if spec.reliability.spares is not None and spec.reliability.availability is not None and nodes < target:
        asked = spec.reliability.spares
        message = f"{asked} spare nodes keep all nodes up for {nodes:.3%} of the time, {target:.3%} is asked"
        place = spec.place("reliability.spares")
        cluster.say(FINDINGS["RELIABILITY-FEW-SPARES"].at(place, message, "leave 'spares' at auto"))
    elif spec.reliability.availability is not None and chain < target:
        power, store, control = (value(f"reliability.{x}_availability") for x in ("power", "storage", "control"))
        message = (
            f"spares keep all nodes up for {nodes:.3%} of the time; with power and cooling ({power:.3%}), storage "
            f"({store:.3%}) and scheduler ({control:.3%}) a job can run for {chain:.2%}"
        )
        hint = "2N power, or a lower target; the target is held against the nodes"
        cluster.say(FINDINGS["RELIABILITY-CHAIN"].at("reliability.availability", message, hint))
