"""What the scheduling room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "SCHEDULING-CHOICE",
        "info",
        "Why this scheduler",
        "The scheduler was chosen from what the workloads need, or named by the spec; the finding says what speaks "
        "for it. The options weighed say what each meets and lacks.",
    ),
    Code(
        "SCHEDULING-LARGE",
        "risk",
        "More nodes than one scheduler is known to run",
        "A site has more nodes than published installations of the scheduler have under one controller.",
    ),
    Code(
        "SCHEDULING-LACKS",
        "warning",
        "The scheduler lacks what the workloads need",
        "The spec names a scheduler that does not bring, by itself or with parts beside it, what training on a shared "
        "cluster needs. Something below or beside it has to.",
    ),
    Code(
        "SCHEDULING-SMALL",
        "info",
        "Two servers manage a small cluster",
        "Up to a few nodes, one login and one management server carry every role. Nothing of it is there twice: while "
        "the management server is mended, running jobs go on and no new ones start.",
    ),
)
"""Every code of this room."""
