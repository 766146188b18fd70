"""The constants of the step-time law: a handful, physical, the same for every model, machine and framework."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PHYSICS", "Physics"]


@dataclass(frozen=True)
class Physics:
    """Global constants.

    Attributes:
        matmul: share of the best measured matrix-product rate that products inside a training step reach (clocks
            under sustained power, shapes that are not the best ones).
        attention: share of the same rate that fused attention reaches, forward and backward together.
        memory: share of the memory bandwidth that element-wise kernels reach.
        collectives: share of its bare rate that a collective reaches beside the computing kernels.
        tp_hidden: share of tensor-parallel traffic hidden behind products when the sequence is cut too.
        overhead: share of the step lost, at each doubling of the ranks, to stragglers and synchronisation.
    """

    matmul: float = 0.92
    attention: float = 0.40
    memory: float = 0.40
    collectives: float = 0.80
    tp_hidden: float = 0.10
    overhead: float = 0.005


PHYSICS = Physics()
