"""Pareto front: which rows no other row beats in every objective."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dominated"]


def dominated(objectives: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows are dominated: another row is no worse in every objective and better in at least one.

    Args:
        objectives: shape (n, k), smaller is better; a row of ``inf`` counts as dominated by any finite row.

    Returns:
        Shape (n,), True for dominated rows. Equal rows do not dominate each other.

    The rows are sorted lexicographically, so that only earlier rows can dominate later ones, and each is held against
    the front found so far: O(n f k) for a front of f rows.
    """
    n = len(objectives)
    order = np.lexsort(objectives.T[::-1])
    result = np.zeros(n, dtype=bool)
    front = np.empty((0, objectives.shape[1]))
    for i in order:
        row = objectives[i]
        no_worse = (front <= row).all(axis=1)
        if (no_worse & (front < row).any(axis=1)).any():
            result[i] = True
        elif not no_worse.any():
            front = np.vstack([front, row])
    return result
