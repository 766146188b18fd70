"""The fastest plan that fits: every legal plan of every machine is worked out at once, and one a machine is kept."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.memory import USABLE_FRACTION, memory_of
from clusterwright.domains.training.options import FREE, Asked, Job, legal_plans
from clusterwright.domains.training.plans import FULL, NONE, RECOMPUTE, SELECTIVE, Machines, Plans, stacked
from clusterwright.domains.training.step import step_of

__all__ = ["BATCH_TOLERANCE", "Chosen", "Ranked", "choose", "nearest", "rank"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

BATCH_TOLERANCE = 0.05
"""A batch this near the wished one counts as it; beyond, nearness comes before speed."""
_DISLIKE = 60.0
"""How strongly a plan is put back for each unit that its batch is beyond the tolerance."""
_IDLE = 0.05
_EXTRA = 0.01
"""What a plan is put back for leaving GPUs idle, and for each doubling of context parallelism and of interleaving:
differences below what the law resolves are no reason for a plan that is harder to run."""
BLOCK = 16384
"""Plans worked out together, so that the columns stay in the processor's cache."""


@dataclass(frozen=True)
class Ranked:
    """All legal plans of one or several machines, with their times.

    Attributes:
        plans: shape (P,).
        owner: row of the machine that a plan belongs to, shape (P,).
        step_s: step time, shape (P,).
        memory_bytes: shape (P,).
        fits: memory suffices, shape (P,).
        score: tokens per second, put back where the batch is not the wished one or memory is short, shape (P,).
    """

    plans: Plans
    owner: Rows
    step_s: Floats
    memory_bytes: Floats
    fits: NDArray[np.bool_]
    score: Floats


@dataclass(frozen=True)
class Chosen:
    """The kept plan of each machine, shape (U,).

    Attributes:
        plans: the plans.
        fits: memory suffices; where none fits the plan with the least memory is kept.
        legal: whether any legal plan was found; where none was, a plan of one rank stands in.
    """

    plans: Plans
    fits: NDArray[np.bool_]
    legal: NDArray[np.bool_]

    def or_else(self, other: Chosen) -> Chosen:
        """The other's plan where this one found none; such a plan is not the one asked for, so it does not fit."""
        plans = {
            f.name: np.where(self.legal, getattr(self.plans, f.name), getattr(other.plans, f.name))
            for f in fields(Plans)
        }
        return Chosen(Plans(**plans), self.fits & self.legal, self.legal)


def rank(job: Job, machines: Machines, gpus: Floats, asked: Asked = FREE, recompute: str = "auto") -> Ranked:
    """Work out every legal plan of every machine.

    Args:
        job: the model, sequence and batch.
        machines: shape (U,).
        gpus: accelerators for the job, shape (U,).
        asked: dimensions that are fixed.
        recompute: ``auto`` takes for each plan the least that fits.
    """
    sets = [legal_plans(job, int(g), int(d), asked) for g, d in zip(gpus, machines.domain, strict=True)]
    owner = np.repeat(np.arange(len(sets), dtype=np.intp), [len(s) for s in sets])
    if not len(owner):
        empty = np.zeros(0)
        return Ranked(stacked(sets), owner, empty, empty, empty > 0, empty)
    plans, memory, fits = _with_recompute(job, stacked(sets), machines, owner, recompute)
    step = np.empty(len(owner))
    for start in range(0, len(owner), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(owner)))
        timed, _ = step_of(job.runs(plans.take(rows), machines.take(owner[rows])))
        step[rows] = timed.total_s
    away = np.maximum(np.abs(plans.batch / job.batch - 1.0) - BATCH_TOLERANCE, 0.0)
    simple = (
        1.0 - _IDLE * (plans.gpus < gpus[owner]) - _EXTRA * np.log2(plans.cp) - 0.5 * _EXTRA * np.log2(plans.interleave)
    )
    score = plans.batch * job.sequence / step * simple / (1.0 + _DISLIKE * away) ** 2
    return Ranked(plans, owner, step, memory, fits, np.where(fits, score, -memory))


def _with_recompute(
    job: Job, plans: Plans, machines: Machines, owner: Rows, recompute: str
) -> tuple[Plans, Floats, NDArray[np.bool_]]:
    """Give each plan the least recomputation that fits (or the one asked for); its memory; whether it fits."""
    room = USABLE_FRACTION * machines.memory_bytes[owner]
    levels = (NONE, SELECTIVE, FULL) if recompute == "auto" else (float(RECOMPUTE.index(recompute)),)
    kept = np.full(len(owner), levels[0])
    memory = np.full(len(owner), np.inf)
    for level in levels:
        short = np.flatnonzero(memory > room)
        if not len(short):
            break
        kept[short] = level
        tried = replace(plans.take(short), recompute=np.full(len(short), level))
        memory[short] = memory_of(job.shape, tried, job.sequence).total_bytes
    return replace(plans, recompute=kept), memory, memory <= room


def choose(ranked: Ranked, machines: int) -> Chosen:
    """Keep the best plan of each machine.

    Args:
        ranked: plans of machines 0 .. machines - 1, grouped by machine.
        machines: how many there are.
    """
    best = np.zeros(machines, dtype=np.intp)
    legal = np.zeros(machines, dtype=bool)
    if len(ranked.owner):
        order = np.lexsort((ranked.score, ranked.owner))
        last = np.flatnonzero(np.append(np.diff(ranked.owner[order]) > 0, True))
        best[ranked.owner[order[last]]] = order[last]
        legal[ranked.owner[order[last]]] = True
    if not len(ranked.owner):
        one = np.ones(machines)
        alone = Plans(**{f.name: one for f in fields(Plans)})
        return Chosen(alone, np.zeros(machines, dtype=bool), legal)
    return Chosen(ranked.plans.take(best), ranked.fits[best] & legal, legal)


def nearest(ranked: Ranked, asked: Asked) -> Ranked:
    """The same plans, ranked by how near they are to the dimensions asked for; speed decides among equals.

    Distance is the sum of the doublings that each fixed dimension is away.
    """
    away = np.zeros(len(ranked.owner))
    for name, value in asked.fixed().items():
        away += np.abs(np.log2(getattr(ranked.plans, name) / value))
    fastest = np.max(ranked.score, initial=1.0)
    return replace(ranked, score=np.where(ranked.fits, 0.0, -1e3) - away + 1e-3 * ranked.score / fastest)
