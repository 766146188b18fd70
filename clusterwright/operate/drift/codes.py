"""What comparing a running cluster with its files can say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "DRIFT-NOT-SEEN",
        "warning",
        "A part was not compared",
        "What runs could not be asked, or the bundle does not say: nothing is known of that part, and no drift in it "
        "is found. The other parts were compared.",
    ),
    Code(
        "DRIFT-ACCEPTED",
        "info",
        "A difference that is as it should be",
        "The watcher put a spare in the place of a node that failed, or the site lists the key among 'exempt'.",
    ),
    Code(
        "DRIFT-SITE",
        "error",
        "The bundle is not of this cluster",
        "No site of the bundle has the ClusterName of the Slurm that runs.",
    ),
)
