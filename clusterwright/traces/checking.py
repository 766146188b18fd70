"""Rows of a history that cannot be true are set aside, each kind with a count and its first job."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterwright.findings import Finding
from clusterwright.traces.codes import FINDINGS
from clusterwright.traces.jobs import JobTable

__all__ = ["checked"]

_1990_US = 631_152_000 * 1_000_000
_LATEST_US = 4_102_444_800 * 1_000_000
"""The year 2100: what lies beyond was no time in microseconds."""


def checked(table: JobTable, place: str = "") -> tuple[JobTable, list[Finding]]:
    """The rows that can be true, and what was set aside.

    A simulation has times from 0 on, so the first of January 1970 plus a few years is only refused beside others: a
    table counts as simulated when all its times lie before 1990.
    """
    wrong = {
        "end before they started": (table.end_us >= 0) & (table.start_us >= 0) & (table.end_us < table.start_us),
        "have an end and no start, and did not end while they waited": (table.end_us >= 0)
        & (table.start_us < 0)
        & ~table.are("CANCELLED", "DEADLINE", "FAILED", "BOOT_FAIL", "REQUEUED", "PREEMPTED", "REVOKED", "NODE_FAIL"),
        "have negative sizes": (table.nodes < 0) | ~(table.gpus >= 0) | ~np.isfinite(table.gpus) | (table.cpus < 0),
        "have no number": table.job_id < 0,
        "have times that cannot be": _strange_times(table),
        "have a share of busy GPUs outside 0 to 1": (table.utilisation < 0) | (table.utilisation > 1),
        "have negative energy": table.energy_j < 0,
    }
    found, good = [], np.ones(len(table), dtype=np.bool_)
    for what, rows in wrong.items():
        new = rows & good
        if new.any():
            found.append(FINDINGS["TRACE-JOB"].at(place, _counted(table, new, what), "they are left out"))
            good &= ~new
    kept = table.take(good) if not good.all() else table
    early = (kept.start_us >= 0) & (kept.start_us < np.maximum(kept.submit_us, kept.eligible_us))
    if early.any():
        found.append(FINDINGS["TRACE-CLOCK"].at(place, _counted(kept, early, "started before they could")))
    return kept, found


def _strange_times(table: JobTable) -> NDArray[np.bool_]:
    times = (table.submit_us, table.eligible_us, table.start_us, table.end_us)
    strange = np.zeros(len(table), dtype=np.bool_)
    simulated = all(column.max(initial=-1) < _1990_US for column in times)
    for column in times:
        strange |= (column < -1) | (column > _LATEST_US)
        if not simulated:
            strange |= (column >= 0) & (column < _1990_US)
    return strange


def _counted(table: JobTable, rows: NDArray[np.bool_], what: str) -> str:
    first = int(table.job_id[rows][0])
    return f"{int(rows.sum()):,} of {len(table):,} rows {what}, the first is of job {first}"
