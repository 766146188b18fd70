"""clusterwright: one model of an AI cluster, from a workload to a complete, explained design."""

__version__ = "0.1.0"
