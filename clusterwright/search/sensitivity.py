"""Tornado: which single input swings a result most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["one_at_a_time", "rank_swings", "tornado"]

Floats = NDArray[np.float64]
Swing = tuple[int, float, float]


def one_at_a_time(base: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
    """The rows of a sensitivity study: all inputs at their base, one of them at an end.

    Args:
        base: the inputs with nothing moved, shape (k,).
        low: their low ends, shape (k,).
        high: their high ends, shape (k,).

    Returns:
        Shape (2 k, k): rows 2 i and 2 i + 1 have input i at its low and at its high end.
    """
    start = np.asarray(base, dtype=np.float64)
    rows = np.tile(start, (2 * len(start), 1))
    column = np.arange(len(start))
    rows[2 * column, column] = low
    rows[2 * column + 1, column] = high
    return rows


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


def tornado(evaluate: Callable[[Floats], Floats], base: ArrayLike, low: ArrayLike, high: ArrayLike) -> list[Swing]:
    """Swings of a result when one input at a time moves to its ends, the largest first.

    Args:
        evaluate: rows of inputs, shape (m, k), to results, shape (m,); called once.
        base: the inputs with nothing moved, shape (k,).
        low: their low ends, shape (k,).
        high: their high ends, shape (k,).

    Returns:
        As :func:`rank_swings`. Inputs are moved alone: what two do together is not seen.
    """
    start = np.asarray(base, dtype=np.float64)
    values = evaluate(np.vstack([one_at_a_time(start, low, high), start]))
    return rank_swings(values[0:-1:2], values[1:-1:2], float(values[-1]))
