"""How often a job is interrupted, and what part of the nodes is up."""

from __future__ import annotations

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = [
    "all_interruptions",
    "expected_interruptions",
    "job_nodes",
    "largest_run",
    "machine_nodes",
    "mean_repair",
    "mtti",
    "node_availability",
    "node_failure_rate",
]

NODE_GPUS = 8.0
"""GPUs of the nodes that published rates are about."""


@law(
    "reliability.node_failure_rate",
    formula="published interruptions per node-day of 8-GPU nodes x gpus per node / 8",
    unit="1/s",
    source="Kokolis et al., HPCA 2025 (arXiv:2410.21680) for the model; rates from the catalogue",
    valid="8-GPU nodes in steady state; new hardware fails more often in its first months",
)
def node_failure_rate(published_per_1000_node_days: Floats, server_gpus: Floats) -> Floats:
    """Interruptions per second of one node, all causes that stop a job, shape (n,)."""
    return published_per_1000_node_days / 1000.0 / 86400.0 * server_gpus / NODE_GPUS


@law(
    "reliability.mean_repair",
    formula="replaced x replacement + (1 - replaced) x restart",
    unit="s",
    source="mean over the interruptions that end in new hardware and those that a restart mends",
)
def mean_repair(replaced_share: Floats, replacement_s: Floats, restart_s: Floats) -> Floats:
    """Mean time until a node that failed serves again."""
    return replaced_share * replacement_s + (1.0 - replaced_share) * restart_s


@law(
    "reliability.node_availability",
    formula="MTTF / (MTTF + repair), MTTF = 1 / rate",
    unit="1",
    source="steady-state availability of an alternating renewal process",
    bounds=(0.0, 1.0),
)
def node_availability(rate_per_s: Floats, repair_s: Floats) -> Floats:
    """Fraction of time in which a node serves."""
    return 1.0 / (1.0 + rate_per_s * repair_s)


@law(
    "reliability.job_nodes",
    formula="ceil(gpus / gpus per node)",
    unit="1",
    source="arithmetic",
    count=True,
)
def job_nodes(gpus: Floats, server_gpus: Floats) -> Floats:
    """Nodes that a job runs on."""
    return np.ceil(gpus / server_gpus - 1e-9)


@law(
    "reliability.mtti",
    formula="1 / (nodes x rate)",
    unit="s",
    source="Kokolis et al., HPCA 2025 (arXiv:2410.21680); failures of nodes are independent",
    valid="synchronous jobs, where one failed node stops all",
)
def mtti(nodes: Floats, rate_per_s: Floats) -> Floats:
    """Mean time to interruption of a job on ``nodes`` nodes."""
    return 1.0 / np.maximum(nodes * rate_per_s, 1e-30)


@law(
    "reliability.expected_interruptions",
    formula="wall-clock time / MTTI",
    unit="1",
    source="mean of a Poisson process",
    bounds=(0.0, float("inf")),
)
def expected_interruptions(time_s: Floats, mtti_s: Floats) -> Floats:
    """Interruptions expected in a run."""
    return time_s / mtti_s


@law(
    "reliability.all_interruptions",
    formula="sum over the runs",
    unit="1",
    source="arithmetic",
    bounds=(0.0, float("inf")),
)
def all_interruptions(parts: list[Floats]) -> Floats:
    """Interruptions expected in all runs, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law("reliability.largest_run", formula="most nodes of any run", unit="1", source="it suffers most", count=True)
def largest_run(nodes: list[Floats]) -> Floats:
    """Nodes of the largest run, shape (n,)."""
    return np.asarray(np.max(nodes, axis=0), dtype=np.float64)


@law("reliability.machine_nodes", formula="nodes + spares", unit="1", source="arithmetic", count=True)
def machine_nodes(nodes: Floats, spares: Floats) -> Floats:
    """Nodes that can fail, shape (n,)."""
    return nodes + spares
