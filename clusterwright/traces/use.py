"""How busy the GPUs of each job were, and what energy it took, from samples of the nodes that it held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.traces.jobs import SECOND_US, JobTable
from clusterwright.traces.occupancy import places

__all__ = ["NodeSamples", "with_use"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeSamples:
    """Samples of nodes at common times.

    Attributes:
        at_us: rising, shape (samples,).
        values: node -> shape (samples,); NaN where there is none.
    """

    at_us: Ints
    values: Mapping[str, Reals]


def with_use(table: JobTable, until_us: int, node_gpus: int, busy: NodeSamples, power: NodeSamples) -> JobTable:
    """The table with utilisation and energy filled in where they are not known yet.

    Both are means over the nodes and the run time of a row. A node that several jobs share counts for each of them
    with its mean, and its energy by the share of its GPUs that the job holds: counters of nodes cannot tell more.

    Args:
        table: with node lists; rows without one stay as they are.
        until_us: end of jobs that run.
        node_gpus: GPUs of a node.
        busy: share of busy GPUs, 0 to 1.
        power: of the servers in watts.
    """
    share = _means(table, until_us, busy)
    watts = _means(table, until_us, power)
    seconds = table.run_us(until_us) / SECOND_US
    energy = watts / node_gpus * table.gpus * seconds
    return table.with_columns(
        utilisation=np.where(np.isfinite(table.utilisation), table.utilisation, np.clip(share, 0.0, 1.0)),
        energy_j=np.where(np.isfinite(table.energy_j), table.energy_j, np.where(seconds > 0, energy, np.nan)),
    )


def _means(table: JobTable, until_us: int, samples: NodeSamples) -> Reals:
    """Mean of the samples of each row's nodes while it ran, shape (rows,); NaN where there is none.

    A run that lies between two samples takes the next one.
    """
    found = np.full(len(table), np.nan)
    runs = np.flatnonzero((table.start_us >= 0) & (table.gpus > 0) & ~table.node_list.are(""))
    if not len(runs) or not len(samples.at_us):
        return found
    jobs = table.take(runs)
    node, row, names = places(jobs)
    if node is None:
        return found
    none = np.full(len(samples.at_us), np.nan)
    grid = np.stack([samples.values.get(name, none) for name in names])
    there = np.isfinite(grid)
    zero = np.zeros((len(grid), 1))
    sums = np.hstack([zero, np.cumsum(np.where(there, grid, 0.0), axis=1)])
    counts = np.hstack([zero, np.cumsum(there, axis=1)])
    first = np.searchsorted(samples.at_us, jobs.start_us)
    last = np.searchsorted(samples.at_us, jobs.ends_us(until_us), side="right")
    last = np.minimum(np.maximum(last, first + 1), len(samples.at_us))
    first = np.minimum(first, last)
    total = np.bincount(row, (sums[node, last[row]] - sums[node, first[row]]), len(jobs))
    count = np.bincount(row, (counts[node, last[row]] - counts[node, first[row]]), len(jobs))
    found[runs] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found
