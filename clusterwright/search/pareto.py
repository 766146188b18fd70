"""Pareto front: which rows no other row beats in every objective."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dominated"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
BLOCK = 256
"""Rows that are held against all that are left at once: few, so that the comparison stays in the cache."""


def dominated(objectives: Floats) -> Bools:
    """Which rows are dominated: another row is no worse in every objective and better in at least one.

    Args:
        objectives: shape (n, k), smaller is better. ``inf`` is worse than anything finite; ``nan`` counts as ``inf``:
            what is not known beats nothing.

    Returns:
        Shape (n,), True for dominated rows; the front is ``~dominated(objectives)``. Equal rows do not dominate each
        other.

    Two objectives are swept once in sorted order: O(n log n). For one or for more than two, the first rows strike out
    what they dominate, block by block: O(f n k) for a front of f rows (10,000 rows, all on the front, in 0.2 s).
    """
    rows = np.where(np.isnan(objectives), np.inf, objectives)
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)  # sorted by the first column, then the next
    found = _swept(unique) if unique.shape[1] == 2 else _struck(unique)
    return np.asarray(found[inverse.reshape(-1)], dtype=bool)


def _swept(unique: Floats) -> Bools:
    """Dominated rows of sorted, distinct pairs: some earlier row has a second value at most as large."""
    best = np.minimum.accumulate(unique[:, 1])
    return np.concatenate([[False], unique[1:, 1] >= best[:-1]])[: len(unique)]


def _struck(unique: Floats) -> Bools:
    """Dominated rows of sorted, distinct rows, in blocks: only an earlier row can dominate a later one."""
    result = np.zeros(len(unique), dtype=bool)
    left = np.arange(len(unique))
    while len(left):
        first = unique[left[:BLOCK]]
        no_worse: Bools = ~np.eye(len(first), len(left), dtype=bool)  # a row does not dominate itself
        for column in range(unique.shape[1]):
            no_worse &= first[:, column, None] <= unique[left, column]
        beaten: Bools = np.asarray(no_worse.any(axis=0))
        result[left[beaten]] = True
        left = left[BLOCK:][~beaten[BLOCK:]]
    return result
