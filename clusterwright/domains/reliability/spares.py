"""Spare nodes: the fewest that keep the asked number of nodes up for the asked share of the time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from clusterwright.cluster import Floats, law

__all__ = ["all_spares", "chain", "enough_nodes", "enough_nodes_up", "site_spares", "spare_nodes"]

LARGE = 600.0
"""Mean number of nodes down from which the normal approximation is used: its error is below one node there."""


@law(
    "reliability.spare_nodes",
    formula="min k: sum_{i >= n} C(n+k, i) a^i (1-a)^(n+k-i) >= target; of rack-scale systems of s nodes n / s "
    "systems of availability a^s are counted",
    unit="1",
    source="binomial: nodes fail and come back independently; normal approximation for more than 600 nodes down",
    count=True,
)
def spare_nodes(nodes: Floats, availability: Floats, target: Floats, system_nodes: Floats) -> Floats:
    """Spare nodes of one site.

    Args:
        nodes: nodes that must be up, shape (n,).
        availability: of one node, shape (n,).
        target: share of time in which ``nodes`` are to be up, shape (n,).
        system_nodes: nodes of one rack-scale system, bought whole; 1 for single servers, shape (n,). A spare node of
            one rack cannot join the links of another, so that a system counts as up with all its nodes only.
    """
    systems, up = nodes / system_nodes, availability**system_nodes
    fewest = _per_kind(lambda n, a, t: float(_fewest(math.ceil(n - 1e-9), a, t)), systems, up, target)
    return np.asarray(fewest * system_nodes, dtype=np.float64)


@law(
    "reliability.site_spares",
    formula="round(spares x share up to this site) - round(spares x share before it)",
    unit="1",
    source="cumulative rounding, so that the sites sum to the whole",
    count=True,
)
def site_spares(spares: Floats, shares: list[Floats], share: Floats, before: list[Floats]) -> Floats:
    """Spare nodes of one site when the spec fixes their number, shape (n,)."""
    whole = np.sum(shares, axis=0)
    until = sum(before, np.zeros_like(spares)) / whole
    return np.asarray(np.round(spares * (until + share / whole)) - np.round(spares * until), dtype=np.float64)


@law("reliability.all_spares", formula="sum over the sites", unit="1", source="arithmetic", count=True)
def all_spares(parts: list[Floats]) -> Floats:
    """Spare nodes of all sites, shape (n,)."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@law(
    "reliability.enough_nodes_up",
    formula="smallest over the sites of sum_{i >= n} C(n+k, i) a^i (1-a)^(n+k-i), rack-scale systems counted whole",
    unit="1",
    source="binomial: nodes fail and come back independently",
    bounds=(0.0, 1.0),
)
def enough_nodes_up(nodes: list[Floats], spares: list[Floats], availability: Floats, system_nodes: Floats) -> Floats:
    """Share of time in which the asked number of nodes is up, spares stepping in, shape (n,)."""
    up = availability**system_nodes
    found = [
        _per_kind(
            lambda n, k, a: enough_nodes(math.ceil(n - 1e-9), int(k), a), here / system_nodes, spare / system_nodes, up
        )
        for here, spare in zip(nodes, spares, strict=True)
    ]
    return np.asarray(np.min(found, axis=0), dtype=np.float64)


@law(
    "reliability.chain",
    formula="nodes x power and cooling x storage x scheduler",
    unit="1",
    source="a job runs when all of them are there; independent",
    bounds=(0.0, 1.0),
)
def chain(parts: list[Floats]) -> Floats:
    """Share of time in which a job that spans the cluster can run, shape (n,)."""
    return np.asarray(np.prod(parts, axis=0), dtype=np.float64)


def enough_nodes(nodes: int, spares: int, availability: float) -> float:
    """Probability that at most ``spares`` of ``nodes + spares`` nodes are down."""
    down, total = 1.0 - availability, nodes + spares
    if down <= 0.0 or nodes <= 0:
        return 1.0
    if total * down > LARGE:
        deviation = math.sqrt(total * down * availability)
        return 0.5 * math.erfc((total * down - spares - 0.5) / deviation / math.sqrt(2.0))
    i = np.arange(1, spares + 1)
    steps = (total - i + 1) / i * (down / availability)
    first = math.exp(total * math.log(availability))
    return min(1.0, first * (1.0 + float(np.cumprod(steps).sum())))


def _per_kind(function: Callable[[float, float, float], float], *columns: Floats) -> Floats:
    """A function of three scalars over columns of shape (n,), computed once for each kind of row."""
    kinds, where = np.unique(np.stack(columns), axis=1, return_inverse=True)
    found = np.array([function(*(float(x) for x in kind)) for kind in kinds.T], dtype=np.float64)
    return found[where.reshape(-1)]


@lru_cache(maxsize=65536)
def _fewest(nodes: int, availability: float, target: float) -> int:
    """The fewest spares, by bisection: more spares never make it worse."""
    high = 1
    while enough_nodes(nodes, high, availability) < target and high < 10 * nodes + 100:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough_nodes(nodes, middle, availability) >= target else (middle, high)
    return high
