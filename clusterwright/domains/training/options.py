"""The legal plans of a job on a number of GPUs: how tensor, pipeline, context, expert and data ranks may divide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from clusterwright.domains.training.physics import PHYSICS, Physics
from clusterwright.domains.training.plans import NONE, OFFLOADS, ZERO_BUBBLE, Machines, Plans, Runs, stacked
from clusterwright.domains.training.shape import ModelShape
from clusterwright.domains.training.software import MODERN, Software

__all__ = ["BATCH_TOLERANCE", "FREE", "SHARDS", "Asked", "Job", "legal_plans"]

BATCH_TOLERANCE = 0.05
"""A batch this near the wished one counts as it; beyond, nearness comes before speed."""
MOST_TP = 64
MOST_PP = 128
MOST_CP = 64
MOST_MICRO_BATCH = 8
MOST_CHUNKS = 10
LEAST_TOKENS_PER_RANK = 2048
"""Context parallelism below this many tokens a rank only starves the kernels."""
UNEVEN_LAYERS = 0.08
"""Largest share of layer slots that an uneven split over pipeline stages may waste."""


SHARDS = {"auto": 1.0, "zero-0": 0.0, "zero-1": 1.0, "zero-2": 2.0, "zero-3": 3.0, "fsdp": 3.0, "hsdp": 3.0}
"""What data-parallel ranks share out, by the word that asks for it."""


@dataclass(frozen=True)
class Asked:
    """What a person fixed of a plan; None is free.

    Attributes:
        tp, pp, cp, ep, dp, interleave, micro_batch: dimensions, as in :class:`Plans`.
        schedule: of the pipeline: ``auto`` (1F1B, interleaved where that is faster), ``1f1b``, ``interleaved`` or
            ``zero-bubble``.
        sharding: ``zero-0`` to ``zero-3``, ``fsdp`` (the same as ``zero-3``), ``hsdp``; ``auto`` is ``zero-1``.
        shard_group: ranks of a group of ``hsdp``.
        offload: one of :data:`OFFLOADS`; ``auto`` is none unless nothing fits.
    """

    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None
    dp: int | None = None
    micro_batch: int | None = None
    interleave: int | None = None
    schedule: str = "auto"
    sharding: str = "auto"
    shard_group: int | None = None
    offload: str = "auto"

    def fixed(self) -> dict[str, int]:
        """The dimensions that are fixed."""
        return {k: v for k, v in vars(self).items() if isinstance(v, int) and k != "shard_group"}

    def said(self) -> str:
        """All that is fixed and decides which plans are legal, in words."""
        told = {k: v for k, v in vars(self).items() if v not in (None, "auto") and k != "offload"}
        return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in told.items())

    @property
    def shard(self) -> float:
        """What is shared out, as in :class:`Plans`."""
        return SHARDS[self.sharding]


FREE = Asked()
"""Nothing is fixed."""


@dataclass(frozen=True)
class Job:
    """What decides which plans are legal.

    Attributes:
        shape: the model.
        sequence: tokens in a sequence.
        batch: sequences in a step, as wished.
        physics: constants of the law.
        software: traits of the software, and its factor.
        spread: half-width of the 80 % interval of the step time, relative; None: that of the law.
        spread_of: what makes it another than the law's.
    """

    shape: ModelShape
    sequence: int
    batch: float
    physics: Physics = PHYSICS
    software: Software = MODERN
    spread: float | None = None
    spread_of: str = ""

    def runs(self, plans: Plans, machines: Machines) -> Runs:
        """Plans of this job, each on its machine."""
        return Runs(self.shape, self.sequence, plans, machines, self.physics, self.software)


@lru_cache(maxsize=4096)
def legal_plans(job: Job, gpus: int, domain: int, asked: Asked = FREE) -> Plans:
    """All legal plans on at most ``gpus`` accelerators, without recomputation.

    Tensor parallelism stays inside the scale-up domain and divides the heads; pipeline stages split the layers nearly
    evenly; expert parallelism divides the experts and lies across the other ranks; data parallelism takes what is
    left: as many ranks as there are, the largest number that divides the batch, and where the batch is then far from
    the one wished, the most that keep it near.
    """
    rows = list(_rows(job, gpus, domain, asked))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 8).T
    tp, pp, cp, ep, dp, interleave, micro_batch, micro_batches = columns
    ones = np.ones_like(tp)
    plans = Plans(
        *(tp, pp, cp, ep, dp, interleave, micro_batch, micro_batches, NONE * ones, asked.shard * ones, ones),
        schedule=np.where(pp > 1, ZERO_BUBBLE, 0.0) if asked.schedule == "zero-bubble" else 0.0 * ones,
        offload=0.0 * ones if asked.offload == "auto" else OFFLOADS.index(asked.offload) * ones,
    )
    return _grouped(plans, domain, asked) if asked.sharding == "hsdp" else plans


def _grouped(plans: Plans, domain: int, asked: Asked) -> Plans:
    """Plans whose ranks share out in groups: of the size asked for, else of one scale-up domain and its doublings."""
    near = np.maximum(domain // plans.tp, 1.0)
    sizes = [np.full_like(near, asked.shard_group)] if asked.shard_group else [near * 2.0**k for k in range(12)]
    made = []
    for size in sizes:
        legal = (plans.copies % size == 0) & (plans.expert_copies % np.minimum(size, plans.expert_copies) == 0)
        rows = np.flatnonzero(legal & (size > 1) & (size < plans.copies))
        made.append(replace(plans.take(rows), shard_group=size[rows]))
    return stacked(made)


def _rows(job: Job, gpus: int, domain: int, asked: Asked) -> Iterator[tuple[int, ...]]:
    shape = job.shape
    feeds: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    chunks: dict[tuple[int, int], list[int]] = {}
    experts: dict[int, list[int]] = {}
    for tp, pp, cp in product(_tensor(shape, domain, asked), _stages(shape, asked), _contexts(job, asked)):
        most = gpus // (tp * pp * cp)
        if (most, pp) not in feeds:
            feeds[most, pp] = list(_feeds(job, most, pp, asked))
        for micro_batch, dp, count in feeds[most, pp]:
            if (pp, count) not in chunks:
                chunks[pp, count] = _chunks(shape, pp, count, asked)
            ranks = tp * cp * dp
            if ranks not in experts:
                experts[ranks] = _experts(shape, ranks, asked)
            for interleave, ep in product(chunks[pp, count], experts[ranks]):
                yield tp, pp, cp, ep, dp, interleave, micro_batch, count


def _feeds(job: Job, most: int, pp: int, asked: Asked) -> Iterator[tuple[int, int, int]]:
    """Micro-batch, data-parallel ranks (at most ``most``) and micro-batches of a rank."""
    if most < 1:
        return
    experts = bool(job.shape.moe_layers)
    for micro_batch in _micro_batches(job.batch, asked):
        for dp, count in _copies(most, job.batch, micro_batch, pp, asked, exactly=experts):
            yield micro_batch, dp, count


def _tensor(shape: ModelShape, domain: int, asked: Asked) -> list[int]:
    widest = min(domain, MOST_TP)
    free = [2**k for k in range(MOST_TP.bit_length()) if 2**k <= widest]
    return [t for t in ([asked.tp] if asked.tp else free) if t <= domain and shape.heads % t == 0]


def _stages(shape: ModelShape, asked: Asked) -> list[int]:
    layers = int(shape.layers)
    if asked.pp:
        return [asked.pp] if asked.pp <= layers else []
    wasted = {p: math.ceil(layers / p) * p / layers - 1.0 for p in range(1, min(layers, MOST_PP) + 1)}
    handy = {2**k for k in range(8)} | {p for p in wasted if layers % p == 0}
    return [p for p, share in wasted.items() if p in handy and share <= UNEVEN_LAYERS]


def _contexts(job: Job, asked: Asked) -> list[int]:
    if asked.cp:
        return [asked.cp] if asked.cp <= job.sequence else []
    free = (2**k for k in range(MOST_CP.bit_length()))
    return [c for c in free if c == 1 or (c <= MOST_CP and job.sequence // c >= LEAST_TOKENS_PER_RANK)]


def _micro_batches(batch: float, asked: Asked) -> list[int]:
    if asked.micro_batch:
        return [asked.micro_batch]
    return [b for b in (1, 2, 4, MOST_MICRO_BATCH) if b <= max(1.0, batch)]


def _copies(
    most: int, batch: float, micro_batch: int, pp: int, asked: Asked, *, exactly: bool
) -> list[tuple[int, int]]:
    """Data-parallel ranks and the micro-batches of each, as many ranks as keep the batch near the one wished.

    All ranks, where that comes near; fewer where it does not, or where each rank then has a multiple of the stages of
    micro-batches, which lets a pipeline interleave. More ranks at as many micro-batches are never slower, so that no
    plan on fewer accelerators is missed that would be faster; one that leaves more than half of them idle never is.

    Args:
        most: ranks that there are.
        batch: sequences of a step, as wished.
        micro_batch: sequences of a micro-batch.
        pp: pipeline stages.
        asked: dimensions that are fixed.
        exactly: also the most ranks that divide the batch, which experts may need.
    """
    shares = batch / micro_batch
    if asked.dp:
        return [(asked.dp, max(1, round(shares / asked.dp)))] if asked.dp <= most else []
    all_of_them = most, max(1, round(shares / most))
    near = {all_of_them} if _is_near(all_of_them, shares) else set()
    fewest = max(1, math.ceil((1.0 - BATCH_TOLERANCE) * shares / most))
    for count in {fewest, math.ceil(fewest / pp) * pp}:
        dp = min(most, int((1.0 + BATCH_TOLERANCE) * shares / count))
        known = dp == most and near and (count % pp or all_of_them[1] % pp == 0)
        if not known and 2 * dp >= min(most, shares) and _is_near((dp, count), shares):
            near.add((dp, count))
    whole = round(batch) / micro_batch
    if (exactly or not near) and whole.is_integer() and whole >= 1:
        exact = _largest_divisor(int(whole), most)
        near.add((exact, max(1, round(shares / exact))))
    return sorted(near or {all_of_them})


def _is_near(pair: tuple[int, int], shares: float) -> bool:
    """Whether ranks x micro-batches come near the micro-batches of the wished batch."""
    return abs(pair[0] * pair[1] / shares - 1.0) <= BATCH_TOLERANCE + 1e-9


@lru_cache(maxsize=65536)
def _largest_divisor(number: int, most: int) -> int:
    """The largest divisor of ``number`` that is at most ``most``."""
    best = 1
    for low in range(1, math.isqrt(number) + 1):
        if number % low == 0:
            for divisor in (low, number // low):
                if best < divisor <= most:
                    best = divisor
    return best


def _chunks(shape: ModelShape, pp: int, count: int, asked: Asked) -> list[int]:
    """Interleaving: none, the fewest and the most chunks that cut a stage evenly; it needs whole rounds."""
    if pp == 1 and asked.schedule in ("interleaved", "zero-bubble"):
        return []
    layers = math.ceil(shape.layers / pp)
    even = [v for v in range(2, MOST_CHUNKS + 1) if layers % v == 0 and pp * v <= shape.layers]
    if asked.interleave:
        even = [asked.interleave] if 1 < asked.interleave <= layers and pp * asked.interleave <= shape.layers else []
    several = [] if pp == 1 or count % pp or asked.schedule == "1f1b" else [*even[:1], *even[-1:]]
    once = [] if asked.schedule == "interleaved" or (asked.interleave or 1) > 1 else [1]
    return sorted({*once, *several})


def _experts(shape: ModelShape, ranks: int, asked: Asked) -> list[int]:
    """Expert parallelism over the ranks that share a pipeline stage."""
    if not shape.moe_layers:
        return [1] if asked.ep in (None, 1) else []
    free = [2**k for k in range(10) if 2**k <= shape.experts]
    wanted = [asked.ep] if asked.ep else free
    return [e for e in wanted if ranks % e == 0 and shape.experts % e == 0]
