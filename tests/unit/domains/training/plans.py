"""Single plans and machines written by name, for hand calculations."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from clusterwright.domains.training import Machines, ModelShape, Physics, Plans, Runs, shape_of
from tests.unit.domains.designs import catalog

_PLAN = {f.name: 1.0 for f in fields(Plans)} | {"recompute": 0.0}
_H100 = {
    "memory_bytes": 80e9,
    "memory_bandwidth_bytes_s": 3.35e12,
    "peak_flops": 989e12,
    "achievable_flops": 800e12,
    "achievable_bf16_flops": 800e12,
    "bytes_per_element": 2.0,
    "domain": 8.0,
    "scaleup_bytes_s": 450e9,
    "network_bytes_s": 50e9,
    "latency_s": 5e-6,
}
EXACT = Physics(matmul=1.0, attention=1.0, memory=1.0, collectives=1.0, tp_hidden=0.0, overhead=0.0)
"""Every rate as on paper, nothing lost."""


def plan(**dimensions: float) -> Plans:
    """One plan; what is not named is 1, without recomputation, with optimizer state shared out."""
    return Plans(**{name: np.array([value]) for name, value in (_PLAN | dimensions).items()})


def machine(**figures: float) -> Machines:
    """An H100 in a server of eight with one 400 Gb/s card a GPU; products reach 800 TFLOP/s."""
    return Machines(**{name: np.array([value]) for name, value in (_H100 | figures).items()})


def llama_70b() -> ModelShape:
    """80 layers, hidden 8192, 64 heads of which 8 key-value, inner 28672, vocabulary 128256."""
    return shape_of(catalog().model("llama-3-70b"))


def runs(shape: ModelShape, of: Plans, on: Machines | None = None, sequence: float = 8192) -> Runs:
    """With exact physics."""
    return Runs(shape, sequence, of, on or machine(), EXACT)
