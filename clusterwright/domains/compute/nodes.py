"""How many nodes carry the GPUs, and how sites share them: whole servers, whole rack-scale systems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import law

__all__ = ["nodes", "site_gpus", "site_nodes"]

Floats = NDArray[np.float64]

_HAIR = 1e-9


@law(
    "compute.nodes",
    formula="ceil(gpus / (gpus per server x nodes per system)) x nodes per system",
    unit="1",
    source="servers and rack-scale systems are bought whole",
    count=True,
)
def nodes(gpus: Floats, server_gpus: Floats, system_nodes: Floats) -> Floats:
    """Compute nodes for the GPUs that work; spares come on top.

    Args:
        gpus: shape (n,).
        server_gpus: GPUs in one node, shape (n,).
        system_nodes: nodes sold as one fixed system (18 in an NVL72 rack), 1 for single servers, shape (n,).
    """
    return np.ceil(gpus / (server_gpus * system_nodes) - _HAIR) * system_nodes


@law(
    "compute.site_nodes",
    formula="largest remainder: floor(share x systems), what is left to the largest fractions; earlier sites first",
    unit="1",
    source="method of largest remainders (Hamilton), so that the sites sum to the whole",
    count=True,
)
def site_nodes(nodes: Floats, system_nodes: Floats, share: Floats, before: list[Floats], after: list[Floats]) -> Floats:
    """Compute nodes of one site.

    Args:
        nodes: all compute nodes, shape (n,).
        system_nodes: nodes of one system, which no two sites share, shape (n,).
        share: fraction of all GPUs at this site, shape (n,).
        before: fractions of the sites listed before it, (n,) each.
        after: fractions of the sites listed after it, (n,) each.
    """
    systems = nodes / system_nodes
    shares = np.stack([*before, share, *after])
    wanted = shares / shares.sum(axis=0) * systems
    whole = np.floor(wanted + _HAIR)
    left = systems - whole.sum(axis=0)
    rank = np.argsort(np.argsort(-(wanted - whole), axis=0, kind="stable"), axis=0, kind="stable")
    given = whole + (rank < left - 0.5)
    return np.asarray(given[len(before)] * system_nodes, dtype=np.float64)


@law(
    "compute.site_gpus",
    formula="min(nodes x gpus per server, gpus that the sites before do not hold)",
    unit="1",
    source="arithmetic; the last node may hold GPUs that were not asked for",
    count=True,
)
def site_gpus(gpus: Floats, server_gpus: Floats, nodes: Floats, before: list[Floats]) -> Floats:
    """GPUs that work at one site.

    Args:
        gpus: all GPUs that work, shape (n,).
        server_gpus: GPUs in one node, shape (n,).
        nodes: compute nodes at this site, shape (n,).
        before: compute nodes of the sites listed before it, (n,) each.
    """
    taken = sum(before, np.zeros_like(gpus)) * server_gpus
    return np.clip(gpus - taken, 0.0, nodes * server_gpus)
