"""The plans side by side: the best ones, those that would be faster did they fit, and why each lost."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.choice import Ranked
from clusterwright.domains.training.memory import USABLE_FRACTION
from clusterwright.domains.training.options import BATCH_TOLERANCE, Job
from clusterwright.domains.training.plans import OFFLOADS, RECOMPUTE, ZERO_BUBBLE, Machines, Plans
from clusterwright.domains.training.step import Step, step_of

__all__ = ["PART_NAMES", "contest", "words_of"]

Floats = NDArray[np.float64]

SHOWN_PLANS = 8
SHOWN_MISFITS = 3
_DIMENSIONS = ("tp", "pp", "cp", "ep", "dp", "interleave", "micro_batch", "micro_batches")

PART_NAMES = {
    "matmul_s": "matrix products",
    "attention_s": "attention",
    "memory_bound_s": "element-wise work",
    "tp_s": "tensor-parallel traffic",
    "pp_bubble_s": "pipeline bubble",
    "pp_s": "pipeline traffic",
    "cp_s": "context-parallel traffic",
    "ep_s": "expert traffic",
    "dp_s": "data-parallel traffic",
    "optimizer_s": "optimizer",
    "offload_s": "offloading",
    "other_s": "stragglers",
}
"""The parts of a step in words."""


def contest(job: Job, ranked: Ranked, machines: Machines) -> list[dict[str, Any]]:
    """The best few plans of one machine, the chosen one first, then the fastest that do not fit.

    Args:
        job: the model, sequence and batch.
        ranked: all plans of the machine.
        machines: that machine, shape (1,).

    Returns:
        A mapping a plan: its dimensions, ``step_time_s``, ``tokens_per_s``, ``mfu``, ``memory_bytes``, ``fits``,
        ``chosen`` and ``why``.
    """
    if not len(ranked.owner):
        return []
    rows = np.array(_shown(job, ranked), dtype=np.intp)
    plans = ranked.plans.take(rows)
    step, _ = step_of(job.runs(plans, machines.take(ranked.owner[rows])))
    table = _Table(job, machines, step, plans.batch)
    made: list[dict[str, Any]] = []
    for k, i in enumerate(rows):
        entry: dict[str, Any] = {d: int(getattr(plans, d)[k]) for d in _DIMENSIONS}
        entry |= {
            "gpus": int(plans.gpus[k]),
            "recompute": RECOMPUTE[int(plans.recompute[k])],
            **words_of(plans, k),
            "batch_sequences": int(plans.batch[k]),
            "step_time_s": float(step.total_s[k]),
            "tokens_per_s": table.speed(k),
            "mfu": table.mfu(k, float(plans.gpus[k])),
            "memory_bytes": float(ranked.memory_bytes[i]),
            "fits": bool(ranked.fits[i]),
            "chosen": k == 0 and bool(ranked.fits[i]),
        }
        entry["why"] = table.why(k, entry, made[0] if made else entry)
        made.append(entry)
    return made


def words_of(plans: Plans, k: int = 0) -> dict[str, Any]:
    """Schedule, sharing and offloading of one plan; ``shard`` as in :class:`Plans`, a group where one is."""
    zero, chunks, group = plans.schedule[k] == ZERO_BUBBLE, plans.interleave[k] > 1, int(plans.shard_group[k])
    shard = int(plans.shard[k])
    made: dict[str, Any] = {"schedule": "zero-bubble" if zero else "interleaved" if chunks else "1f1b"}
    if plans.pp[k] <= 1:
        made["schedule"] = "none"
    made |= {"sharding": "hsdp" if group else f"zero-{shard}", "shard": shard}
    return made | ({"shard_group": group} if group else {}) | {"offload": OFFLOADS[int(plans.offload[k])]}


def _shown(job: Job, ranked: Ranked) -> list[int]:
    """Rows of the plans worth showing."""
    speed = ranked.plans.batch / ranked.step_s
    fitting = [int(i) for i in np.argsort(-ranked.score, kind="stable") if ranked.fits[i]]
    if not fitting:
        return _distinct(ranked, [int(i) for i in np.argsort(ranked.memory_bytes)], SHOWN_MISFITS)
    near = np.abs(ranked.plans.batch / job.batch - 1.0) <= BATCH_TOLERANCE
    tempting = ~ranked.fits & near & (speed > speed[fitting[0]])
    misfits = [int(i) for i in np.argsort(-speed) if tempting[i]]
    return _distinct(ranked, fitting, SHOWN_PLANS) + _distinct(ranked, misfits, SHOWN_MISFITS)


def _distinct(ranked: Ranked, order: list[int], most: int) -> list[int]:
    """The first few that differ in more than interleaving and unused ranks."""
    kept: dict[tuple[float, ...], int] = {}
    for i in order:
        key = tuple(float(getattr(ranked.plans, d)[i]) for d in ("tp", "pp", "cp", "ep", "micro_batch"))
        kept.setdefault(key, i)
        if len(kept) == most:
            break
    return list(kept.values())


@dataclass(frozen=True)
class _Table:
    """The shown plans worked out."""

    job: Job
    machines: Machines
    step: Step
    batch: Floats

    def speed(self, k: int) -> float:
        return float(self.batch[k] * self.job.sequence / self.step.total_s[k])

    def mfu(self, k: int, gpus: float) -> float:
        peak = float(self.machines.peak_flops[0]) * gpus
        return self.speed(k) * float(self.job.shape.flop_per_token(self.job.sequence)) / peak

    def why(self, k: int, entry: dict[str, Any], winner: dict[str, Any]) -> str:
        if not entry["fits"]:
            room = float(self.machines.memory_bytes[0]) * USABLE_FRACTION
            return f"needs {entry['memory_bytes'] / 1e9:.0f} GB of memory, {room / 1e9:.0f} GB can be filled"
        if k == 0:
            return "fastest plan that fits"
        slower = winner["tokens_per_s"] / entry["tokens_per_s"] - 1.0
        if slower < 0.0005:
            return self._why_not_faster(-slower, entry, winner)
        scale = self.batch[0] / self.batch[k]
        more = {
            f.name: float(getattr(self.step, f.name)[k] * scale - getattr(self.step, f.name)[0]) for f in fields(Step)
        }
        worst = max(more, key=lambda name: more[name])
        return f"{slower:.1%} slower, most of it {PART_NAMES[worst]} (+{more[worst]:.2f} s a step)"

    @staticmethod
    def _why_not_faster(faster: float, entry: dict[str, Any], winner: dict[str, Any]) -> str:
        """Plans that are as fast or faster but were put back."""
        if entry["batch_sequences"] != winner["batch_sequences"]:
            return f"{faster:.1%} faster with another batch ({entry['batch_sequences']} sequences)"
        return f"{faster:.1%} faster, which is less than the law resolves, with more context ranks or chunks"
