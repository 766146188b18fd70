"""Published memory and the bare fact that a run happened, against the memory law."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterwright.domains import training
from clusterwright.domains.training import Plans
from clusterwright.validation.training_cases import Case, memory_under

__all__ = ["judged_memory", "memory_bytes", "verdict"]

_FUSED = ("megatron", "nemo", "mlperf", "transformer engine")
"""Frameworks whose norms and loss are fused kernels on a rank's part of the vocabulary."""


def memory_bytes(case: Case, plan: Mapping[str, float] | None = None, **software: Any) -> float:
    """What the law says the fullest accelerator of a case holds, with its plan or another.

    Where the row gives what the allocator counts, the driver and the communicators are not in it.
    """
    columns = Plans(**{k: np.array([v]) for k, v in (plan or case.plan).items()})
    memory = memory_under(case.shape, columns, case.sequence, case.traits, **software)
    allocated = plan is None and re.search(r"\balloc", case.row.text("verbatim_note").lower())
    return float((memory.allocated_bytes if allocated else memory.total_bytes)[0])


def _is_fused(case: Case) -> bool:
    framework = case.row.text("framework").lower()
    return any(word in framework for word in _FUSED)


def _least_bytes(case: Case) -> float:
    """With what is not published of the plan, and what is not known of the software, at its most sparing."""
    plan = dict(case.plan)
    if any(said.startswith(("recomputation", "plan")) for said in case.assumed):
        plan |= {"recompute": 2.0, "sequence_parallel": 1.0, "micro_batch": 1.0}
    software = {} if _is_fused(case) else {"gradient_bytes": training.EAGER_GRADIENT_BYTES}
    return memory_bytes(case, plan, **software)


def _most_bytes(case: Case) -> float:
    """With what is not known of the software at its most wasteful: plain operators and a large reserve."""
    if _is_fused(case):
        return memory_bytes(case)
    return memory_bytes(case, eager=True) + training.EAGER_RESERVE_BYTES - training.RESERVE_BYTES


def verdict(case: Case) -> str:
    """``fits``, ``impossible`` or, between them, ``unsure``."""
    if training.fits(_most_bytes(case), case.chip.memory_bytes):
        return "fits"
    return "impossible" if training.impossible(_least_bytes(case), case.chip.memory_bytes) else "unsure"


def judged_memory(cases: Sequence[Case]) -> dict[str, Any]:
    """Rows with a published memory, the mean error on them, and how many runs that happened are called impossible.

    Rows whose column ``outcome`` says ``oom`` ran out of memory: how many of them are said to fit.
    """
    known = [(memory_bytes(c) / 2**30, g) for c in cases if (g := c.row.number("measured_memory_gib"))]
    error = np.array([m / g - 1.0 for m, g in known])
    short = [c for c in cases if _outcome(c) == "oom"]
    happened = [c for c in cases if _outcome(c) == "ran"]
    misfits = [c.row.id for c in happened if verdict(c) == "impossible"]
    false_fits = [c.row.id for c in short if verdict(c) == "fits"]
    return {
        "rows": len(known),
        "mape": float(np.abs(error).mean()) if len(error) else None,
        "bias": float(error.mean()) if len(error) else None,
        "happened": len(happened),
        "false_misfits": len(misfits),
        "misfits": misfits,
        "out_of_memory": {
            "rows": len(short),
            "false_fits": len(false_fits),
            "fits": false_fits,
            "called_impossible": sum(verdict(c) == "impossible" for c in short),
        },
    }


def _outcome(case: Case) -> str:
    """``ran``, ``oom`` or nothing: a run with a measured step time ran."""
    return case.row.text("outcome").lower() or ("ran" if case.row.step_s is not None else "")
