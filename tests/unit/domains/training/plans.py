"""Single plans and machines written by name, for hand calculations."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from clusterwright.domains.training import Machines, ModelShape, Physics, Plans, Runs, shape_of
from tests.unit.domains.designs import catalog

_PLAN = {f.name: 1.0 for f in fields(Plans)}
_PLAN |= {"recompute": 0.0, "schedule": 0.0, "offload": 0.0, "shard_group": 0.0}
_H100 = {
    "memory_bytes": 80e9,
    "memory_bandwidth_bytes_s": 3.35e12,
    "peak_flops": 989e12,
    "achievable_flops": 800e12,
    "achievable_bf16_flops": 800e12,
    "bytes_per_element": 2.0,
    "power_ratio": 1.0,
    "power_density": 0.7e-12,
    "domain": 8.0,
    "scaleup_bytes_s": 450e9,
    "network_bytes_s": 50e9,
    "latency_s": 5e-6,
}
_WHOLE = ("matmul", "matmul_8bit", "matmul_4bit", "row_scaled", "grouped", "attention", "first_attention", "memory")
_SEEN = ("portable_attention", "collectives", "all_to_all", "ep_exposed", "ep_overlapped", "pp_exposed", "tp_exposed")
EXACT = Physics(**dict.fromkeys((f.name for f in fields(Physics)), 0.0) | dict.fromkeys((*_WHOLE, *_SEEN), 1.0))
"""Every rate as on paper, nothing lost, nothing hidden."""


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
