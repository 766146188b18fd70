"""Errors of predictions in one vocabulary: fractions of the measured step time, averaged over families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KEYS", "errors_of", "macro"]

Floats = NDArray[np.float64]

KEYS = ("mape", "median", "p90", "bias", "coverage80")
"""Mean, median and 90th percentile of the absolute error, mean error, share inside the 80 % interval."""


def errors_of(error: Floats, inside: NDArray[np.bool_] | None = None) -> dict[str, float | None]:
    """The five figures of some rows.

    Args:
        error: predicted over measured, minus one, shape (n,).
        inside: whether the measured value lies in the interval, shape (n,).
    """
    if not len(error):
        return dict.fromkeys(KEYS)
    size = np.abs(error)
    return {
        "mape": float(size.mean()),
        "median": float(np.median(size)),
        "p90": float(np.quantile(size, 0.9)),
        "bias": float(error.mean()),
        "coverage80": None if inside is None else float(inside.mean()),
    }


def macro(families: Sequence[Any], error: Floats, inside: NDArray[np.bool_] | None = None) -> dict[str, float | None]:
    """The five figures worked out family by family, and their mean: a large family does not outvote a small one."""
    names = np.array(families, dtype=object)
    each = [
        errors_of(error[names == name], None if inside is None else inside[names == name])
        for name in sorted(set(families))
    ]
    found: dict[str, float | None] = {}
    for key in KEYS:
        values = [v for e in each if (v := e[key]) is not None]
        found[key] = float(np.mean(values)) if values else None
    return found
