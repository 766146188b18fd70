"""Work that was kept and lost: attempts of a job put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clusterwright.traces.jobs import INTERRUPTED, JobTable

__all__ = ["PerJob", "kept_us", "per_job"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class PerJob(NamedTuple):
    """A row a job, by rising number.

    Attributes:
        job_id: shape (jobs,), as all others.
        ready_us: when it could first start; end_us: when its last attempt ended, -1 while it waits or runs.
        run_us: of all attempts; last_run_us: of the last one; kept_us: run time whose work was kept.
        attempts: rows that ran.
        gpus: most that an attempt held.
    """

    job_id: Ints
    ready_us: Ints
    end_us: Ints
    run_us: Ints
    last_run_us: Ints
    kept_us: Ints
    attempts: Ints
    gpus: Reals


def kept_us(table: JobTable, until_us: int, checkpoint_us: int = -1) -> Ints:
    """Run time of each attempt whose work was kept, shape (rows,).

    Only an attempt that was ended from outside loses work: what ``lost_us`` says, else half a checkpoint interval
    (the mean of an interruption at any moment, Young 1974), else, without checkpoints, all of it.
    """
    run = table.run_us(until_us)
    guess = run if checkpoint_us < 0 else np.minimum(run, checkpoint_us // 2)
    lost = np.where(table.lost_us >= 0, np.minimum(table.lost_us, run), guess)
    return np.where(table.are(*INTERRUPTED), run - lost, run)


def per_job(attempts: JobTable, until_us: int, checkpoint_us: int = -1) -> PerJob:
    """Attempts, in the order of :meth:`JobTable.attempts`, put together by job."""
    if not len(attempts):
        none = np.zeros(0, dtype=np.int64)
        return PerJob(none, none, none, none, none, none, none, np.zeros(0))
    first = np.flatnonzero(np.diff(attempts.job_id, prepend=np.int64(-2)))
    last = np.append(first[1:], len(attempts)) - 1
    run = attempts.run_us(until_us)
    going = attempts.are("PENDING", "RUNNING", "SUSPENDED", "REQUEUED")
    return PerJob(
        attempts.job_id[first],
        attempts.ready_us()[first],
        np.where(going[last], -1, attempts.end_us[last]),
        np.add.reduceat(run, first),
        run[last],
        np.add.reduceat(kept_us(attempts, until_us, checkpoint_us), first),
        np.add.reduceat((attempts.start_us >= 0).astype(np.int64), first),
        np.maximum.reduceat(attempts.gpus, first),
    )
