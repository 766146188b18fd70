"""What operating a cluster can say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "OPERATE-NO-SITE",
        "error",
        "No cluster was named",
        "Verbs that operate a cluster are told how it is reached by a file site.yaml: with --site, by "
        "CLUSTERWRIGHT_SITE, or by the one lab that is up on this machine.",
    ),
    Code(
        "OPERATE-SITE",
        "error",
        "site.yaml is wrong",
        "The file that says how a cluster is reached cannot be read, or holds a key or a value that it cannot hold.",
    ),
    Code(
        "OPERATE-SLURM",
        "error",
        "Slurm does not answer as it should",
        "A client of Slurm is missing, the controller did not answer in time, or it refused what was asked for.",
    ),
    Code(
        "OPERATE-PROMETHEUS",
        "error",
        "Prometheus does not answer",
        "The server cannot be reached, did not answer in time, or refused the query.",
    ),
)
