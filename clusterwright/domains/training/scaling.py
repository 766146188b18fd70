"""What scaling efficiency is measured against: the same job on fewer GPUs, where each GPU does most."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.choice import choose, rank
from clusterwright.domains.training.machine import Fleet
from clusterwright.domains.training.options import Asked, Job
from clusterwright.domains.training.plans import Machines
from clusterwright.domains.training.record import Scale
from clusterwright.domains.training.step import step_of

__all__ = ["FIRST_COUNT", "MOST_DOUBLINGS", "scale_of"]

Floats = NDArray[np.float64]

FIRST_COUNT = 8
"""GPUs of the smallest machine tried; each next one has twice as many."""
MOST_DOUBLINGS = 5
"""Doublings tried from the first count on which the job fits: beyond, a GPU only does less at the same batch."""


def scale_of(job: Job, fleet: Fleet, own: Scale, asked: Asked, recompute: str) -> Scale:
    """The GPU count, no larger than the job's, at which a GPU does most, and what it does there.

    Args:
        job: the model, sequence and batch.
        fleet: distinct machines with their GPUs, shape (U,).
        own: the job on all its GPUs; stands where no smaller machine does better.
        asked: dimensions that are fixed; data parallelism is freed.
        recompute: as asked.
    """
    asked = replace(asked, dp=None, offload="none" if asked.offload == "auto" else asked.offload)
    columns = np.stack([getattr(fleet.machines, f.name) for f in fields(Machines)])
    unique, index = np.unique(columns, axis=1, return_inverse=True)
    index = index.reshape(-1)
    machines = Machines(**{f.name: unique[i] for i, f in enumerate(fields(Machines))})
    most = np.zeros(len(machines))
    np.maximum.at(most, index, fleet.gpus)
    gpus, speed = own.gpus.copy(), own.tokens_per_s_per_gpu.copy()
    fitting = np.zeros(len(machines))
    count = FIRST_COUNT
    pending = np.flatnonzero(most > count)
    while len(pending):
        tried = np.zeros(len(machines))
        tried[pending] = _speeds(job, machines.take(pending), count, asked, recompute)
        fitting += (tried > 0) | (fitting > 0)
        better = (tried[index] > speed) & (count < fleet.gpus)
        gpus[better], speed[better] = count, tried[index][better]
        count *= 2
        pending = pending[(most[pending] > count) & (fitting[pending] <= MOST_DOUBLINGS)]
    return Scale(gpus, speed)


def _speeds(job: Job, machines: Machines, count: int, asked: Asked, recompute: str) -> Floats:
    """Tokens a second and GPU on ``count`` GPUs of each machine; 0 where the job does not fit."""
    counts = np.full(len(machines), float(count))
    kept = choose(rank(job, machines, counts, asked, recompute), len(machines))
    step, _ = step_of(job.runs(kept.plans, machines))
    return np.where(kept.fits, kept.plans.batch * job.sequence / step.total_s / count, 0.0)
