"""What the software of a run does, apart from the plan and the hardware."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.shape import Number

__all__ = ["MODERN", "Software"]


@dataclass(frozen=True)
class Software:
    """Traits of the software, one number for all runs or one a run.

    Attributes:
        factor: step time relative to the mean software.
        host: host time relative to eager execution: captured graphs launch nearly for free.
        fused_attention: 1 where scores are never written to memory (FlashAttention), 0 where they are.
        tiled_attention: 1 where fused attention kernels are of the second generation (FlashAttention 2) or later.
        async_attention: 1 where attention kernels are written for asynchronous tensor cores (cuDNN, FlashAttention 3).
        whole_recompute: 1 where full recomputation repeats a layer whole, 0 where it stops at the last input needed.
        once_per_domain: 1 where a token for several experts of one domain crosses the network once.
        fused_experts: 1 where one grouped kernel does all experts of a rank, with casts, activation and permutation.
        tp_overlap: 1 where tensor-parallel traffic is overlapped with products.
        dp_overlap: 1 where gradients are reduced behind the backward pass.
        natural_routing: 1 where routers choose freely, 0 where a benchmark forces balance.
        frozen_weights: 1 where only small adapters are trained: no gradients of the weights, none to reduce.
        half_gradients: 1 where gradients are added up and reduced in two bytes, 0 where in four.
        frees_outputs: 1 where a pipeline stage frees what it has sent on, 0 where it keeps it until the backward pass.
        separate_casts: 1 where operands are measured and cast to 8 bits by kernels of their own, 0 where what makes an
            element casts it.
        row_scaled: 1 where 8-bit operands are scaled by rows in kernels of their own.
    """

    factor: Number = 1.0
    host: Number = 1.0
    fused_attention: Number = 1.0
    tiled_attention: Number = 1.0
    async_attention: Number = 1.0
    whole_recompute: Number = 1.0
    once_per_domain: Number = 1.0
    fused_experts: Number = 0.0
    tp_overlap: Number = 1.0
    dp_overlap: Number = 1.0
    natural_routing: Number = 0.0
    frees_outputs: Number = 1.0
    separate_casts: Number = 0.0
    row_scaled: Number = 0.0
    half_gradients: Number = 0.0
    frozen_weights: Number = 0.0

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Self:
        """Some of the rows; a trait that all share stays one number."""
        values = {f.name: np.asarray(getattr(self, f.name)) for f in fields(self)}
        return type(self)(**{name: v[rows] if v.ndim else float(v) for name, v in values.items()})


MODERN = Software()
"""A current framework as its makers recommend it; what a plan is designed for."""
