"""What the reliability room has to say."""

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "RELIABILITY-MTTI-SHORT",
        "risk",
        "A job is interrupted more often than it can bear",
        "The mean time to interruption of the job is so short that less than 90 % of the time is productive. The "
        "finding says how many GPUs one job may span at 90 %.",
    ),
    Code(
        "RELIABILITY-INTERRUPTIONS",
        "risk",
        "Interruptions to expect",
        "How often the run will be interrupted at the published failure rates, and what each interruption costs.",
    ),
    Code(
        "RELIABILITY-FEW-SPARES",
        "warning",
        "Fewer spares than the availability needs",
        "The spec fixes the number of spare nodes, and with that number the asked nodes are up for a smaller share of "
        "the time than the spec's availability.",
    ),
    Code(
        "RELIABILITY-EARLY-FAILURES",
        "info",
        "New hardware fails more often",
        "The published rates are of clusters in steady state. In the first months 3-10 % of new accelerators fail.",
    ),
)
"""Every code of this room."""
