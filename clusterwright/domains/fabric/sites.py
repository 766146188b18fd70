"""From sites to the whole: sums, largest values, and what spares add."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import law

__all__ = ["added", "difference", "hops", "largest", "least", "most", "total"]

Floats = NDArray[np.float64]


@law("fabric.total", formula="sum over sites", unit="1", source="arithmetic", count=True)
def total(parts: list[Floats]) -> Floats:
    """A count of all sites together."""
    return np.asarray(np.sum(np.stack(parts), axis=0), dtype=np.float64)


@law("fabric.sum", formula="sum over sites", unit="SI unit of the parts", source="arithmetic")
def added(parts: list[Floats]) -> Floats:
    """A quantity of all sites together."""
    return np.asarray(np.sum(np.stack(parts), axis=0), dtype=np.float64)


@law("fabric.largest", formula="largest of the sites", unit="SI unit of the parts", source="arithmetic")
def largest(parts: list[Floats]) -> Floats:
    """The largest value of any site."""
    return np.asarray(np.max(np.stack(parts), axis=0), dtype=np.float64)


@law("fabric.most", formula="largest of the sites", unit="1", source="arithmetic", count=True)
def most(parts: list[Floats]) -> Floats:
    """The largest count of any site."""
    return np.asarray(np.max(np.stack(parts), axis=0), dtype=np.float64)


@law("fabric.least", formula="smallest of the parts", unit="1", source="arithmetic", count=True)
def least(parts: list[Floats]) -> Floats:
    """1 where all parts are 1."""
    return np.asarray(np.min(np.stack(parts), axis=0), dtype=np.float64)


@law(
    "fabric.spares",
    formula="max(0, with spares - without)",
    unit="1",
    source="arithmetic; where leaves are widened for spares the whole may need fewer uplinks, and spares add none",
    count=True,
)
def difference(everyone: Floats, working: Floats) -> Floats:
    """What spares and growth add to what the requested nodes need."""
    return np.maximum(everyone - working, 0.0)


@law("fabric.hops", formula="2 x tiers - 1", unit="1", source="up to the top tier and down again", count=True)
def hops(tier_count: Floats) -> Floats:
    """Switches on the longest path between two nodes."""
    return np.maximum(2.0 * tier_count - 1.0, 0.0)
