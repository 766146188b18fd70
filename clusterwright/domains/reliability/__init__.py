"""Reliability: failures, spares, checkpoints, and what they leave of the time."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, laws
from clusterwright.domains.reliability import checkpoints, rates, spares
from clusterwright.domains.reliability.components import fill_failures
from clusterwright.domains.reliability.findings import FINDINGS
from clusterwright.domains.reliability.recovery import recovery_options, redundancy
from clusterwright.domains.reliability.sizing import size, size_job, size_spares
from clusterwright.domains.reliability.telling import bear, say
from clusterwright.spec import Spec

__all__ = ["FINDINGS", "LAWS", "apply", "size", "size_job", "size_spares"]

LAWS = laws(
    rates.node_failure_rate,
    rates.mean_repair,
    rates.node_availability,
    rates.job_nodes,
    rates.largest_run,
    rates.machine_nodes,
    rates.mtti,
    rates.expected_interruptions,
    rates.all_interruptions,
    checkpoints.young_interval,
    checkpoints.daly_interval,
    checkpoints.restart_overhead,
    checkpoints.ettr,
    checkpoints.ettr_first_order,
    checkpoints.first_order_loss,
    checkpoints.largest_job,
    checkpoints.time_to_train,
    checkpoints.finish,
    spares.spare_nodes,
    spares.site_spares,
    spares.all_spares,
    spares.enough_nodes_up,
    spares.chain,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the failures table and the answers ``redundancy`` and ``recovery_options``; say what to expect."""
    bear(cluster)
    fill_failures(cluster, catalog)
    cluster.answers["redundancy"] = redundancy(cluster, spec)
    cluster.answers["recovery_options"] = recovery_options(cluster)
    say(cluster, spec, catalog)
