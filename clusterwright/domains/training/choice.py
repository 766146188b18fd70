"""The fastest plan that fits: every legal plan of every machine is worked out at once, and one a machine is kept."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.memory import USABLE_FRACTION, fits_host, memory_of
from clusterwright.domains.training.options import BATCH_TOLERANCE, FREE, Asked, Job, legal_plans
from clusterwright.domains.training.plans import (
    ADDED,
    FULL,
    NONE,
    OFFLOADS,
    RECOMPUTE,
    SELECTIVE,
    Machines,
    Plans,
    stacked,
)
from clusterwright.domains.training.step import step_of

__all__ = ["BATCH_TOLERANCE", "Chosen", "Ranked", "choose", "nearest", "rank"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_DISLIKE = 60.0
"""How strongly a plan is put back for each unit that its batch is beyond the tolerance."""
_EXTRA = 0.01
"""What a plan is put back for each doubling of context parallelism, and half of it for each of interleaving:
differences below what the law resolves are no reason for a plan that is harder to run. Idle GPUs are not put back, so
that no job is slower on more GPUs."""
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
class Held:
    """Plans with what they recompute and offload; their memory; whether they fit, shape (P,)."""

    plans: Plans
    memory_bytes: Floats
    fits: NDArray[np.bool_]


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
    held = _with_recompute(job, stacked(sets), machines, owner, recompute)
    if asked.offload == "auto":
        held = _with_offload(job, held, machines, owner, recompute)
    plans, memory, fits = held.plans, held.memory_bytes, held.fits
    step = np.empty(len(owner))
    for start in range(0, len(owner), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(owner)))
        timed, _ = step_of(job.runs(plans.take(rows), machines.take(owner[rows])))
        step[rows] = timed.total_s
    away = np.maximum(np.abs(plans.batch / job.batch - 1.0) - BATCH_TOLERANCE, 0.0)
    simple = 1.0 - _EXTRA * np.log2(plans.cp) - 0.5 * _EXTRA * np.log2(plans.interleave)
    score = plans.batch * job.sequence / step * simple / (1.0 + _DISLIKE * away) ** 2
    return Ranked(plans, owner, step, memory, fits, np.where(fits, score, -memory))


def _with_recompute(job: Job, plans: Plans, machines: Machines, owner: Rows, recompute: str) -> Held:
    """Give each plan the least recomputation that fits (or the one asked for); its memory; whether it fits."""
    room = USABLE_FRACTION * machines.memory_bytes[owner]
    held = np.ones(len(owner), dtype=bool)
    levels = (NONE, SELECTIVE, FULL) if recompute == "auto" else (float(RECOMPUTE.index(recompute)),)
    kept = np.full(len(owner), levels[0])
    memory = np.full(len(owner), np.inf)
    for level in levels:
        short = np.flatnonzero(memory > room)
        if not len(short):
            break
        kept[short] = level
        tried = replace(plans.take(short), recompute=np.full(len(short), level))
        need = memory_of(job.shape, tried, job.sequence)
        memory[short], held[short] = need.total_bytes, fits_host(need, machines.host_memory_bytes[owner[short]])
    return Held(replace(plans, recompute=kept), memory, (memory <= room) & held)


def _with_offload(job: Job, held: Held, machines: Machines, owner: Rows, recompute: str) -> Held:
    """Where no plan of a machine fits, what the host can hold is moved there: optimizer, activations, then both."""
    plans, memory, fits = held.plans, held.memory_bytes.copy(), held.fits.copy()
    offload = plans.offload.copy()
    recomputed = plans.recompute.copy()
    for way in range(1, len(OFFLOADS)):
        found = np.zeros(len(machines), dtype=bool)
        np.logical_or.at(found, owner, fits)
        rows = np.flatnonzero(~found[owner])
        if not len(rows):
            break
        moved = replace(plans.take(rows), offload=np.full(len(rows), float(way)))
        tried = _with_recompute(job, moved, machines, owner[rows], recompute)
        good = rows[tried.fits]
        offload[good], recomputed[good] = float(way), tried.plans.recompute[tried.fits]
        memory[good], fits[good] = tried.memory_bytes[tried.fits], True
    return Held(replace(plans, offload=offload, recompute=recomputed), memory, fits)


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
        none = np.zeros(machines)
        alone = Plans(**{f.name: one for f in fields(Plans)} | {"recompute": none, **dict.fromkeys(ADDED, none)})
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
