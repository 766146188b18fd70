"""Reliability: failures, spares, checkpoints, and what they leave of the time."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.reliability import checkpoints, rates, sizing, spares
from clusterwright.domains.reliability.checkpoints import daly_interval, ettr, young_interval
from clusterwright.domains.reliability.findings import FINDINGS
from clusterwright.domains.reliability.sizing import size, size_spares
from clusterwright.domains.reliability.spares import enough_nodes, spare_nodes
from clusterwright.domains.reliability.telling import fill_failures, redundancy, say
from clusterwright.spec import Spec

__all__ = [
    "FINDINGS",
    "LAWS",
    "apply",
    "daly_interval",
    "enough_nodes",
    "ettr",
    "size",
    "size_spares",
    "spare_nodes",
    "young_interval",
]

LAWS = laws(
    rates.node_failure_rate,
    rates.mean_repair,
    rates.node_availability,
    rates.job_nodes,
    rates.mtti,
    rates.expected_interruptions,
    checkpoints.young_interval,
    checkpoints.daly_interval,
    checkpoints.restart_overhead,
    checkpoints.ettr,
    checkpoints.time_to_train,
    spares.spare_nodes,
    spares.enough_nodes_up,
    sizing.site_spares,
    sizing.total,
    sizing.interruptions,
    sizing.smallest,
    sizing.largest,
    sizing.finish,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the failures table and the redundancy table, and say what to expect."""
    fill_failures(cluster, catalog)
    cluster.answers["redundancy"] = redundancy(cluster, spec)
    say(cluster, spec)
