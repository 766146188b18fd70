"""The legal plans of a job on a number of GPUs: how tensor, pipeline, context, expert and data ranks may divide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from clusterwright.domains.training.physics import PHYSICS, Physics
from clusterwright.domains.training.plans import NONE, Machines, Plans, Runs
from clusterwright.domains.training.shape import ModelShape
from clusterwright.domains.training.software import MODERN, Software

__all__ = ["FREE", "Asked", "Job", "legal_plans"]

MOST_TP = 64
MOST_PP = 128
MOST_CP = 64
MOST_MICRO_BATCH = 8
MOST_CHUNKS = 10
LEAST_TOKENS_PER_RANK = 2048
"""Context parallelism below this many tokens a rank only starves the kernels."""
UNEVEN_LAYERS = 0.08
"""Largest share of layer slots that an uneven split over pipeline stages may waste."""


@dataclass(frozen=True)
class Asked:
    """Dimensions that a person fixed; None is free."""

    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None
    dp: int | None = None
    micro_batch: int | None = None

    def fixed(self) -> dict[str, int]:
        """Those that are fixed."""
        return {k: v for k, v in vars(self).items() if v is not None}


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
    """

    shape: ModelShape
    sequence: int
    batch: float
    physics: Physics = PHYSICS
    software: Software = MODERN
    spread: float | None = None

    def runs(self, plans: Plans, machines: Machines) -> Runs:
        """Plans of this job, each on its machine."""
        return Runs(self.shape, self.sequence, plans, machines, self.physics, self.software)


@lru_cache(maxsize=4096)
def legal_plans(job: Job, gpus: int, domain: int, asked: Asked = FREE) -> Plans:
    """All legal plans on at most ``gpus`` accelerators, without recomputation.

    Tensor parallelism stays inside the scale-up domain and divides the heads; pipeline stages split the layers nearly
    evenly; expert parallelism divides the experts and lies across the other ranks; data parallelism takes what is
    left, once as many ranks as there are and once the largest number that divides the batch.
    """
    rows = list(_rows(job, gpus, domain, asked))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 8).T
    tp, pp, cp, ep, dp, interleave, micro_batch, micro_batches = columns
    ones = np.ones_like(tp)
    return Plans(tp, pp, cp, ep, dp, interleave, micro_batch, micro_batches, NONE * ones, ones, ones)


def _rows(job: Job, gpus: int, domain: int, asked: Asked) -> Iterator[tuple[int, ...]]:
    shape = job.shape
    feeds: dict[int, list[tuple[int, int, int]]] = {}
    chunks: dict[tuple[int, int], list[int]] = {}
    experts: dict[int, list[int]] = {}
    for tp, pp, cp in product(_tensor(shape, domain, asked), _stages(shape, asked), _contexts(job, asked)):
        most = gpus // (tp * pp * cp)
        if most not in feeds:
            feeds[most] = list(_feeds(job.batch, most, asked))
        for micro_batch, dp, count in feeds[most]:
            if (pp, count) not in chunks:
                chunks[pp, count] = _chunks(shape, pp, count)
            ranks = tp * cp * dp
            if ranks not in experts:
                experts[ranks] = _experts(shape, ranks, asked)
            for interleave, ep in product(chunks[pp, count], experts[ranks]):
                yield tp, pp, cp, ep, dp, interleave, micro_batch, count


def _feeds(batch: float, most: int, asked: Asked) -> Iterator[tuple[int, int, int]]:
    """Micro-batch, data-parallel ranks (at most ``most``) and micro-batches of a rank."""
    if most < 1:
        return
    for micro_batch in _micro_batches(batch, asked):
        for dp in _copies(most, batch, micro_batch, asked):
            yield micro_batch, dp, max(1, round(batch / (dp * micro_batch)))


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


def _copies(most: int, batch: float, micro_batch: int, asked: Asked) -> list[int]:
    """Data-parallel ranks: all that there are, and the most that divide the batch exactly."""
    if asked.dp:
        return [asked.dp] if asked.dp <= most else []
    share = round(batch) / micro_batch
    exact = _largest_divisor(int(share), most) if share.is_integer() and share >= 1 else 1
    return sorted({most, exact})


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


def _chunks(shape: ModelShape, pp: int, count: int) -> list[int]:
    """Interleaving: none, the fewest and the most chunks that cut a stage evenly; it needs whole rounds."""
    if pp == 1 or count % pp:
        return [1]
    layers = math.ceil(shape.layers / pp)
    even = [v for v in range(2, MOST_CHUNKS + 1) if layers % v == 0 and pp * v <= shape.layers]
    return sorted({1, *even[:1], *even[-1:]})


def _experts(shape: ModelShape, ranks: int, asked: Asked) -> list[int]:
    """Expert parallelism over the ranks that share a pipeline stage."""
    if not shape.moe_layers:
        return [1] if asked.ep in (None, 1) else []
    free = [2**k for k in range(10) if 2**k <= shape.experts]
    wanted = [asked.ep] if asked.ep else free
    return [e for e in wanted if ranks % e == 0 and shape.experts % e == 0]
