"""The choice among options by a weighted objective, with a rule for ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["best", "median", "relative", "weighted"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def median(values: ArrayLike) -> float:
    """The middle of finite values, of an even number the mean of the two middle ones; 0 of none.

    ``numpy.median`` would load ``numpy.ma``, a third of the time that NumPy itself takes to load.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64).reshape(-1))
    count = len(ordered)
    return float(0.5 * (ordered[(count - 1) // 2] + ordered[count // 2])) if count else 0.0


def relative(values: ArrayLike) -> Floats:
    """Values divided by the median of the finite ones, so that different units can be added; shape kept.

    A median of zero, or no finite value at all, leaves the values as they are.
    """
    array = np.asarray(values, dtype=np.float64)
    middle = median(array[np.isfinite(array)])
    return array / middle if middle else array.copy()


def weighted(objectives: Floats, weights: ArrayLike) -> Floats:
    """The weighted sum of objectives, each relative to its median over the options; smaller is better.

    Args:
        objectives: shape (n, k), smaller is better.
        weights: shape (k,), not negative; an objective of weight zero is left out, also where it is infinite.

    Returns:
        Shape (n,).

    Raises:
        ValueError: a weight is negative, or none is positive.
    """
    shares = np.asarray(weights, dtype=np.float64)
    if (shares < 0).any() or not (shares > 0).any():
        raise ValueError("weights must not be negative, and one must be positive")
    total = np.zeros(len(objectives))
    for column in np.flatnonzero(shares):
        total += shares[column] * relative(objectives[:, column])
    return total


def best(score: Floats, allowed: Bools, ties: Sequence[Floats] = (), tolerance: float = 1e-4) -> int | None:
    """The allowed option with the smallest score; among near equals the ``ties`` decide, one after the other.

    Args:
        score: shape (n,), smaller is better; ``nan`` never wins.
        allowed: shape (n,), which options may be chosen.
        ties: further figures, smaller is better; each narrows down the options that are still equal.
        tolerance: scores within this fraction of the smallest count as equal; figures of ``ties`` likewise.

    Returns:
        The position of the choice, the first of those that are equal in everything; None when none is allowed.
    """
    left = np.flatnonzero(np.asarray(allowed) & ~np.isnan(score))
    for figures in (score, *ties):
        if len(left) == 0:
            return None
        values = np.where(np.isnan(figures[left]), np.inf, figures[left])
        least = values.min()
        left = left[values <= least + tolerance * abs(least)] if np.isfinite(least) else left[values == least]
    return int(left[0]) if len(left) else None
