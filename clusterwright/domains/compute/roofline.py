"""The roofline: how long a kernel takes on one accelerator, by its arithmetic and by the bytes it moves.

All functions work element by element on arrays of any common shape; SI units. They are laws of time by shape: an
accelerator enters with its peak, the fraction of it that the best measured matrix multiplication reaches, and its
memory bandwidth; nothing is fitted per model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clusterwright.cluster import law

__all__ = ["attention_flop", "attention_s", "matmul_bytes", "matmul_flop", "matmul_s", "memory_bound_s"]

Floats = NDArray[np.float64]


def matmul_flop(rows: Floats, inner: Floats, columns: Floats) -> Floats:
    """Floating point operations of a (rows x inner) by (inner x columns) product: 2 m k n."""
    return 2.0 * rows * inner * columns


def matmul_bytes(rows: Floats, inner: Floats, columns: Floats, bytes_per_element: Floats) -> Floats:
    """Bytes that must cross the memory bus once: both operands at the compute precision, the result in two bytes."""
    return bytes_per_element * (rows * inner + inner * columns) + 2.0 * rows * columns


@law(
    "compute.matmul",
    formula="t = 2 (m n + w) (k + k0) / achievable + (b (m k + k n) + 2 m n) / bandwidth",
    unit="s",
    source="additive roofline after Williams 2009 (doi:10.1145/1498765.1498785); achievable = best measured product",
    valid="dense products of at least a few hundred rows; launch time of tiny kernels is left out",
)
def matmul_s(
    rows: Floats,
    inner: Floats,
    columns: Floats,
    *,
    achievable_flops: Floats,
    bandwidth_bytes_s: Floats,
    bytes_per_element: Floats,
    depth: ArrayLike = 0.0,
    wave: ArrayLike = 0.0,
) -> Floats:
    """Seconds of one matrix multiplication.

    The additive roofline: arithmetic at the best measured rate plus the compulsory traffic, not the larger of the
    two, because filling and draining tiles is not hidden. Each tile of the result also starts and ends its sum over k,
    which costs as much as ``depth`` more elements of k, and the last wave of tiles leaves part of the processors idle,
    which costs as much as ``wave`` more elements of the result. A large square product runs at ``achievable_flops``; a
    narrow one (a few rows an expert, a thin tensor-parallel slice) falls towards the memory bandwidth.

    Args:
        rows: m, tokens.
        inner: k.
        columns: n.
        achievable_flops: best measured rate of a large product, FLOP/s.
        bandwidth_bytes_s: memory bandwidth, byte/s.
        bytes_per_element: of the operands; 2 for BF16, 1 for FP8.
        depth: k0, elements of k that filling and draining a tile costs.
        wave: w, elements of the result that an incomplete last wave of tiles costs: half the tiles that fit at once.
    """
    flop = 2.0 * (rows * columns + np.asarray(wave)) * (inner + np.asarray(depth))
    traffic = matmul_bytes(rows, inner, columns, bytes_per_element)
    seconds = flop / achievable_flops + traffic / bandwidth_bytes_s
    return np.where(rows * inner * columns > 0, seconds, 0.0)


def attention_flop(sequence: Floats, query_width: Floats, value_width: Floats) -> Floats:
    """Forward operations of causal attention over one sequence and all heads.

    Scores take 2 s^2 times the summed query width, the weighted values 2 s^2 times the summed value width; the causal
    mask leaves half: s^2 (query_width + value_width).
    """
    return sequence**2 * (query_width + value_width)


@law(
    "compute.attention",
    formula="t = flop / achievable",
    unit="s",
    source="flash attention is bound by arithmetic (Dao 2023, arXiv:2307.08691)",
    valid="fused attention, sequences from about 512 tokens",
)
def attention_s(flop: Floats, *, achievable_flops: Floats) -> Floats:
    """Seconds of fused (flash) attention, arithmetic bound from a few hundred tokens on.

    Args:
        flop: operations after the causal mask.
        achievable_flops: rate that fused attention reaches, FLOP/s.
    """
    return flop / achievable_flops


@law(
    "compute.memory_bound",
    formula="t = bytes / bandwidth",
    unit="s",
    source="roofline below the ridge point (Williams 2009)",
    valid="tensors larger than the caches",
)
def memory_bound_s(traffic_bytes: Floats, *, bandwidth_bytes_s: Floats) -> Floats:
    """Seconds of element-wise work (norms, activations, residuals, optimizer): bytes over bandwidth."""
    return traffic_bytes / bandwidth_bytes_s
