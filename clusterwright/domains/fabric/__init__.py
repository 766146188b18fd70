"""Fabric: switches and cables of the compute, storage and management networks, and the time of collectives."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, chosen, laws
from clusterwright.domains.fabric import alternatives, cables, endpoints, fattree, side, sites, wiring
from clusterwright.domains.fabric.advice import findings, topology_text
from clusterwright.domains.fabric.cables import cable_power, cable_price
from clusterwright.domains.fabric.collectives import (
    all_gather_s,
    all_reduce_s,
    all_to_all_s,
    reduce_scatter_s,
    send_s,
)
from clusterwright.domains.fabric.fattree import fat_tree
from clusterwright.domains.fabric.findings import FINDINGS
from clusterwright.domains.fabric.sizing import size
from clusterwright.spec import Spec

__all__ = [
    "FINDINGS",
    "LAWS",
    "all_gather_s",
    "all_reduce_s",
    "all_to_all_s",
    "apply",
    "cable_power",
    "cable_price",
    "fat_tree",
    "reduce_scatter_s",
    "send_s",
    "size",
]

LAWS = laws(
    fattree.links_per_node,
    fattree.up_ports,
    fattree.down_ports,
    fattree.leaf_switches,
    fattree.tiers,
    fattree.pods,
    fattree.fits,
    fattree.spine_switches,
    fattree.core_switches,
    fattree.node_leaf_cables,
    fattree.leaf_spine_cables,
    fattree.spine_core_cables,
    fattree.bisection_bandwidth,
    endpoints.rails,
    endpoints.networked_nodes,
    endpoints.all_nodes,
    endpoints.spare_down_ports,
    endpoints.spare_up_ports,
    side.storage_oversubscription,
    side.storage_service_links,
    side.storage_device_links,
    side.storage_extra_links,
    side.storage_price,
    side.management_switches,
    side.management_cables,
    side.management_price,
    side.network_power,
    side.network_units,
    side.network_weight,
    cables.cable_price,
    cables.cable_power,
    cables.cable_length,
    cables.trunk_length,
    cables.longest_cable,
    cables.longest_trunk,
    sites.total,
    sites.added,
    sites.largest,
    sites.most,
    sites.least,
    sites.difference,
    sites.hops,
    alternatives.dragonfly_switches,
    alternatives.dragonfly_trunks,
    alternatives.dragonfly_bisection,
    alternatives.mesh_switches,
    all_reduce_s,
    all_gather_s,
    reduce_scatter_s,
    all_to_all_s,
    send_s,
)


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the tables ``switches`` and ``links``, name the topology, weigh the others, and say what matters.

    Args:
        cluster: its frame holds what :func:`size` derived.
        spec: sites.
        catalog: models of switches and cables.
    """
    wiring.fill(cluster, spec, catalog)
    cluster.frame.choose("fabric.topology", topology_text(cluster), chosen("see the topologies weighed"))
    cluster.answers["fabric_options"] = alternatives.options(cluster, len(spec.sites))
    cluster.say(*findings(cluster, spec, catalog))
