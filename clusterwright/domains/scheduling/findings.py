"""What the scheduling room has to say."""

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "SCHEDULING-CHOICE",
        "info",
        "Why this scheduler",
        "The scheduler was chosen from the workloads, or named by the spec; the finding says what speaks for it.",
    ),
    Code(
        "SCHEDULING-LARGE",
        "risk",
        "More nodes than one scheduler is known to run",
        "The cluster has more nodes than published installations of the scheduler under one controller.",
    ),
)
"""Every code of this room."""
