"""Time that jobs hold and wait, summed over a history: sweeps over starts and ends, no loop over jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clusterwright.traces.capacity import Capacity
from clusterwright.traces.hostlist import hosts
from clusterwright.traces.jobs import JobTable

__all__ = ["NodeUse", "Queue", "held_us", "node_use", "places", "queue"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


def held_us(table: JobTable, begin_us: int, end_us: int) -> Ints:
    """Time of the period in which each row held its nodes, shape (rows,)."""
    start = np.clip(table.start_us, begin_us, end_us)
    end = np.clip(table.ends_us(end_us), begin_us, end_us)
    return np.where(table.start_us >= 0, np.maximum(end - start, 0), 0)


class Queue(NamedTuple):
    """Of a period, in shares of it.

    Attributes:
        waiting: share of the time in which at least one job waited.
        taken: mean share of the GPUs that jobs held, counted while a job waited and 0 else.
        free: mean share of the GPUs that could be had and were not, counted while a job waited and 0 else.
    """

    waiting: float
    taken: float
    free: float


def queue(table: JobTable, capacity: Capacity, begin_us: int, end_us: int) -> Queue:
    """How the queue and the free GPUs met.

    A row waits from when it could start until it starts or ends; a job that could not start yet does not wait.
    """
    ready = table.ready_us()
    waits = (ready >= 0) & ((table.eligible_us >= 0) | (table.start_us >= 0)) & (table.gpus > 0)
    until = np.where(table.start_us >= 0, table.start_us, table.ends_us(end_us))[waits]
    runs = (table.start_us >= 0) & (table.gpus > 0)
    since, up = capacity.since_us, capacity.up
    held, freed = table.gpus[runs], table.ends_us(end_us)[runs]
    times = np.concatenate([ready[waits], np.maximum(until, ready[waits]), table.start_us[runs], freed, since])
    jobs = np.zeros(len(times), dtype=np.int64)
    gpus = np.zeros(len(times))
    have = np.zeros(len(times))
    n, m = int(waits.sum()), int(runs.sum())
    jobs[:n], jobs[n : 2 * n] = table.tasks[waits], -table.tasks[waits]
    gpus[2 * n : 2 * n + m], gpus[2 * n + m : 2 * (n + m)] = held, -held
    have[2 * (n + m) :] = np.diff(up, prepend=0.0)
    order, span = _spans(times, begin_us, end_us)
    waiting = np.cumsum(jobs[order]) > 0
    taken, there = np.cumsum(gpus[order]), np.cumsum(have[order])
    whole = max(end_us - begin_us, 1)
    size = max(capacity.gpus, 1e-9)
    return Queue(
        float(np.sum(span[waiting]) / whole),
        float(np.sum((span * taken)[waiting]) / whole / size),
        float(np.sum((span * np.maximum(there - taken, 0))[waiting]) / whole / size),
    )


def _spans(times: Ints, begin_us: int, end_us: int) -> tuple[Ints, Ints]:
    """Order of the changes, and how long the state after each of them lasts inside the period."""
    order = np.argsort(times, kind="stable")
    edges = np.clip(np.append(times[order], end_us), begin_us, end_us)
    return order, np.diff(edges)


class NodeUse(NamedTuple):
    """Of a period.

    Attributes:
        held: node-microseconds in which a node had a job with GPUs.
        free: GPU-microseconds of free GPUs on nodes that had a job; on wholly free nodes are the others.
        gpu_held: GPU-microseconds held.
    """

    held: float
    free: float
    gpu_held: float


def node_use(table: JobTable, capacity: Capacity, begin_us: int, end_us: int) -> NodeUse | None:
    """How the jobs lay on the nodes; None where the history does not say on which.

    A job's GPUs count as spread evenly over its nodes.
    """
    runs = (held_us(table, begin_us, end_us) > 0) & (table.gpus > 0)
    jobs = table.take(runs)
    if not len(jobs):
        return NodeUse(0.0, 0.0, 0.0)
    node, row, _ = places(jobs)
    if node is None:
        return None
    share = (jobs.gpus / np.maximum(np.bincount(row, minlength=len(jobs)), 1))[row]
    start, end = jobs.start_us[row], jobs.ends_us(end_us)[row]
    where = np.concatenate([node, node])
    times = np.clip(np.concatenate([start, end]), begin_us, end_us)
    gpus = np.concatenate([share, -share])
    order = np.lexsort((times, where))
    last = np.append(where[order][1:] != where[order][:-1], True)
    span = np.append(np.diff(times[order]), 0)
    span[last] = 0
    used = np.cumsum(gpus[order])  # every node ends at 0, so that the sum may run on
    some = used > 1e-6
    free = np.maximum(capacity.node_gpus - used, 0.0)
    return NodeUse(float(span[some].sum()), float((span * free)[some].sum()), float((span * used)[some].sum()))


def places(jobs: JobTable) -> tuple[Ints | None, Ints, tuple[str, ...]]:
    """Node number and row of every node that a job holds, and the nodes' names by number.

    None instead of the numbers where a list is missing or cannot be read.
    """
    none = (None, np.zeros(0, dtype=np.int64), ())
    index: dict[str, int] = {}
    lists: list[Sequence[int]] = []
    used = set(np.unique(jobs.node_list.codes).tolist())
    for code, text in enumerate(jobs.node_list.words):
        try:
            names = hosts(text) if code in used else []
        except ValueError:
            return none
        if code in used and not names:
            return none
        lists.append([index.setdefault(name, len(index)) for name in names])
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    flat = np.fromiter((number for one in lists for number in one), dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    counts = lengths[jobs.node_list.codes]
    row = np.repeat(np.arange(len(jobs), dtype=np.int64), counts)
    inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return flat[np.repeat(begins[jobs.node_list.codes], counts) + inside], row, tuple(index)
