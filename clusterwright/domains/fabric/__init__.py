"""Network fabric: switches, cables, collectives."""

from clusterwright.domains.fabric.collectives import (
    all_gather_s,
    all_reduce_s,
    all_to_all_s,
    reduce_scatter_s,
    send_s,
)
from clusterwright.domains.fabric.fattree import fat_tree

__all__ = ["all_gather_s", "all_reduce_s", "all_to_all_s", "fat_tree", "reduce_scatter_s", "send_s"]
