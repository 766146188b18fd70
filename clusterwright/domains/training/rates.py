"""The rates that products and attention reach inside a step: best measured product, format, power limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training.plans import Runs

__all__ = ["Rates", "rates_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """FLOP/s, shape (P,) each.

    Attributes:
        products: of large products at the precision of the training.
        grouped: of the experts' products.
        bf16: of large products in BF16: the head stays in it.
        attention: of fused attention, which stays in BF16.
    """

    products: Floats
    grouped: Floats
    bf16: Floats
    attention: Floats


def rates_of(runs: Runs) -> Rates:
    """Rates of each run."""
    machines, physics = runs.machines, runs.physics
    clock = machines.power_ratio**physics.power
    width = machines.bytes_per_element
    share = np.where(width >= 2.0, physics.matmul, np.where(width >= 1.0, physics.matmul_8bit, physics.matmul_4bit))
    share = share * np.where((width == 1.0) & (np.asarray(runs.software.row_scaled) > 0), physics.row_scaled, 1.0)
    products = share * np.minimum(machines.achievable_flops * clock, machines.peak_flops)
    bf16 = np.minimum(machines.achievable_bf16_flops * clock, machines.achievable_bf16_flops * 1.3)
    return Rates(products, physics.grouped * products, physics.matmul * bf16, physics.attention * bf16)
