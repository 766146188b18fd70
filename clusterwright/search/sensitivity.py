"""Tornado: which single input swings a result most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["rank_swings"]

Floats = NDArray[np.float64]
Swing = tuple[int, float, float]


def rank_swings(at_low: Floats, at_high: Floats, base: float) -> list[Swing]:
    """Inputs ordered by how far they move a result.

    Args:
        at_low: the result with input k at its low end, shape (k,).
        at_high: the result with input k at its high end, shape (k,).
        base: the result with nothing moved.

    Returns:
        ``(k, result at low, result at high)``, the largest deviation from ``base`` first; ties keep their order.
    """
    swing = np.maximum(np.abs(at_low - base), np.abs(at_high - base))
    return [(int(k), float(at_low[k]), float(at_high[k])) for k in np.argsort(-swing, kind="stable")]
