"""The rates that products and attention reach inside a step: best measured product, format, power limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.plans import Runs

__all__ = ["Rates", "rates_of"]

Floats = NDArray[np.float64]

USUAL_DENSITY = 0.7e-12
"""Power behind a FLOP/s of the BF16 peak, W: an H100's (A100 1.28, B200 0.44, GB300 0.56)."""
ASYNCHRONOUS_FLOPS = 4e14
"""Parts whose best product is faster have tensor cores that work beside the instruction stream (Hopper and later)."""


@dataclass(frozen=True)
class Rates:
    """FLOP/s, shape (P,) each.

    Attributes:
        products: of large products at the precision of the training.
        grouped: of the experts' products.
        bf16: of large products in BF16: the head stays in it.
        attention: of fused attention, which stays in BF16.
        scan: of the scan of state-space blocks, whose kernels are portable ones.
    """

    products: Floats
    grouped: Floats
    bf16: Floats
    attention: Floats
    scan: Floats


def rates_of(runs: Runs) -> Rates:
    """Rates of each run."""
    machines, physics = runs.machines, runs.physics
    lasting = np.clip(machines.power_density / USUAL_DENSITY, 0.25, 4.0) ** physics.sustained
    lasting = np.minimum(lasting, 1.0 / physics.matmul)  # nothing lasts above the best measured product
    clock = machines.power_ratio**physics.power * lasting
    width = machines.bytes_per_element
    share = np.where(width >= 2.0, physics.matmul, np.where(width >= 1.0, physics.matmul_8bit, physics.matmul_4bit))
    share = share * np.where((width == 1.0) & (np.asarray(runs.software.row_scaled) > 0), physics.row_scaled, 1.0)
    products = share * machines.achievable_flops * clock
    bf16 = machines.achievable_bf16_flops * clock
    asynchronous = machines.achievable_bf16_flops > ASYNCHRONOUS_FLOPS
    portable = asynchronous & (np.asarray(runs.software.async_attention) <= 0)
    attention = physics.attention * np.where(portable, physics.portable_attention, 1.0)
    scan = physics.attention * np.where(asynchronous, physics.portable_attention, 1.0)
    attention = attention * np.where(np.asarray(runs.software.tiled_attention) > 0, 1.0, physics.first_attention)
    grouped = np.where(np.asarray(runs.software.fused_experts) > 0, physics.grouped_fused, physics.grouped)
    return Rates(products, grouped * products, physics.matmul * bf16, attention * bf16, scan * bf16)
