"""Network fabric: switches, cables, collectives."""

from clusterwright.domains.fabric.collectives import (
    all_gather_s,
    all_reduce_s,
    all_to_all_s,
    reduce_scatter_s,
    send_s,
)

__all__ = ["all_gather_s", "all_reduce_s", "all_to_all_s", "reduce_scatter_s", "send_s"]
