"""Compute: nodes for the GPUs asked for, their split over the sites, and the roofline of one accelerator."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Frame, laws
from clusterwright.domains.compute.findings import FINDINGS
from clusterwright.domains.compute.groups import fill_nodes
from clusterwright.domains.compute.nodes import nodes, site_gpus, site_nodes
from clusterwright.domains.compute.roofline import (
    attention_s,
    matmul_bytes,
    matmul_flop,
    matmul_s,
    memory_bound_s,
)
from clusterwright.spec import Spec

__all__ = [
    "FINDINGS",
    "LAWS",
    "apply",
    "attention_s",
    "matmul_bytes",
    "matmul_flop",
    "matmul_s",
    "memory_bound_s",
    "size",
]

LAWS = laws(nodes, site_nodes, site_gpus, matmul_s, attention_s, memory_bound_s)


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Derive ``compute.nodes`` and, per site, ``sites[i].nodes`` and ``sites[i].gpus``.

    Args:
        frame: needs ``compute.gpus``, ``server.gpus``, ``server.system_nodes`` and ``sites[i].share``.
        spec: its sites.
        catalog: not needed.
    """
    frame.derive(
        "compute.nodes", nodes, gpus="compute.gpus", server_gpus="server.gpus", system_nodes="server.system_nodes"
    )
    shares = [f"sites[{i}].share" for i in range(len(spec.sites))]
    held = [f"sites[{i}].nodes" for i in range(len(spec.sites))]
    for i, path in enumerate(held):
        frame.derive(
            path,
            site_nodes,
            nodes="compute.nodes",
            system_nodes="server.system_nodes",
            share=shares[i],
            before=shares[:i],
            after=shares[i + 1 :],
        )
        frame.derive(
            f"sites[{i}].gpus",
            site_gpus,
            gpus="compute.gpus",
            server_gpus="server.gpus",
            nodes=path,
            before=held[:i],
        )


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the node groups of each site (compute and spare) and say what rounding did."""
    fill_nodes(cluster, spec, catalog)
