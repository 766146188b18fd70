"""What a predictor must beat: two rules of thumb on the same rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clusterwright.validation.training_cases import Case

__all__ = ["RULE_MFU", "constant_efficiency_s", "rule_of_thumb_s"]

Floats = NDArray[np.float64]

RULE_MFU = 0.40
"""Share of the peak that the rule of thumb takes for granted."""


def _tokens(case: Case) -> float:
    plan = case.plan
    return plan["dp"] * plan["micro_batch"] * plan["micro_batches"] * case.sequence


def _gpus(case: Case) -> float:
    plan = case.plan
    return plan["tp"] * plan["pp"] * plan["cp"] * plan["dp"]


def rule_of_thumb_s(case: Case) -> float:
    """Step time by 6 N D at 40 % of the peak, N the parameters that a token passes."""
    return 6.0 * float(case.shape.matmul_parameters) * _tokens(case) / (_gpus(case) * case.peak_flops * RULE_MFU)


def _efficiency(case: Case) -> float:
    """Model FLOP utilisation of a measured run, attention counted."""
    flop = float(case.shape.flop_per_token(case.sequence)) * _tokens(case)
    return flop / (_gpus(case) * case.peak_flops * float(case.row.step_s or np.nan))


def constant_efficiency_s(cases: Sequence[Case], known: Sequence[Case]) -> Floats:
    """Step time of every case by one efficiency a system, from families that are not its own.

    A system is an accelerator at a precision with a kind of model; what no other family ran takes the median of the
    precision, then of the accelerator, then of the kind of model.

    Args:
        cases: to predict.
        known: measured runs to learn from.
    """
    learnt: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in known:
        for key in _systems(one):
            learnt[key][one.row.family].append(_efficiency(one))
    return np.array([_constant(case, learnt) for case in cases])


def _systems(case: Case) -> list[tuple[str, ...]]:
    """What an efficiency belongs to, the nearest first: accelerator, precision and kind of model; fewer of them."""
    kind = "moe" if case.shape.expert else "dense"
    chip, precision = case.chip.name, case.precision
    return [(chip, precision, kind), (precision, kind), (chip, kind), (kind,), ()]


def _constant(case: Case, learnt: dict[tuple[str, ...], dict[str, list[float]]]) -> float:
    for key in _systems(case):
        others = [float(np.median(v)) for family, v in learnt[key].items() if family != case.row.family]
        if others:
            flop = float(case.shape.flop_per_token(case.sequence)) * _tokens(case)
            return flop / (_gpus(case) * case.peak_flops * float(np.median(others)))
    return rule_of_thumb_s(case)
