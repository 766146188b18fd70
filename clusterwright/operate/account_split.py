"""Amounts of money are whole cents, and parts of an amount sum to it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["split"]


def split(amount: int, weights: Sequence[float]) -> list[int]:
    """Divide a whole amount by weights, so that the parts sum to it: largest remainder (Hamilton's method).

    Exact: weights count as the fractions that they are, equal remainders go to the first. A negative amount is divided
    as its opposite. Where all weights are 0 everybody gets the same.

    Args:
        amount: in the smallest unit, cents or grams.
        weights: finite, not negative, at least one.

    Raises:
        ValueError: there are no weights, or a weight is negative or not finite.
    """
    if not weights or not all(0 <= weight < float("inf") for weight in weights):
        raise ValueError("weights must be at least one, finite and not negative")
    if amount < 0:
        return [-part for part in split(-amount, weights)]
    exact = [Fraction(weight) for weight in weights]
    whole = sum(exact)
    if not whole:
        exact, whole = [Fraction(1)] * len(weights), Fraction(len(weights))
    due = [amount * weight / whole for weight in exact]
    parts = [int(one) for one in due]
    left = amount - sum(parts)
    for i in sorted(range(len(due)), key=lambda i: (parts[i] - due[i], i))[:left]:
        parts[i] += 1
    return parts
