"""Published memory and the bare fact that a run happened, against the memory law."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterwright.domains import training
from clusterwright.domains.training import Plans
from clusterwright.validation.training_cases import Case, memory_under

__all__ = ["judged_memory", "memory_bytes"]


def memory_bytes(case: Case, plan: Mapping[str, float] | None = None) -> float:
    """What the law says the fullest accelerator of a case holds, with its plan or another.

    Where the row gives what the allocator counts, the driver and the communicators are not in it.
    """
    columns = Plans(**{k: np.array([v]) for k, v in (plan or case.plan).items()})
    memory = memory_under(case.shape, columns, case.sequence, case.traits)
    allocated = plan is None and re.search(r"\balloc", case.row.text("verbatim_note").lower())
    return float((memory.allocated_bytes if allocated else memory.total_bytes)[0])


def _least_bytes(case: Case) -> float:
    """The same with what is not published of the plan at its most sparing."""
    if any(said.startswith(("recomputation", "plan")) for said in case.assumed):
        return memory_bytes(case, {**case.plan, "recompute": 2.0, "sequence_parallel": 1.0, "micro_batch": 1.0})
    return memory_bytes(case)


def judged_memory(cases: Sequence[Case]) -> dict[str, Any]:
    """Rows with a published memory, the mean error on them, and how many runs that happened are called impossible."""
    known = [(memory_bytes(c) / 2**30, g) for c in cases if (g := c.row.number("measured_memory_gib"))]
    error = np.array([m / g - 1.0 for m, g in known])
    happened = [c for c in cases if c.row.step_s is not None]
    misfits = [c.row.id for c in happened if training.impossible(_least_bytes(c), c.chip.memory_bytes)]
    return {
        "rows": len(known),
        "mape": float(np.abs(error).mean()) if len(error) else None,
        "bias": float(error.mean()) if len(error) else None,
        "false_misfits": len(misfits),
        "misfits": misfits,
    }
