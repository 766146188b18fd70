"""What the reliability room has to say."""

from __future__ import annotations

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
        "RELIABILITY-MACHINE-MTTI",
        "risk",
        "The whole machine is interrupted within the hour",
        "Some node of the machine fails more often than once an hour. Jobs should span a part of it; the finding says "
        "how many GPUs a job may span so that 90 % of its time is productive.",
    ),
    Code(
        "RELIABILITY-INTERRUPTIONS",
        "risk",
        "Interruptions to expect",
        "How often the runs will be interrupted at the published failure rates, and what that costs.",
    ),
    Code(
        "RELIABILITY-FIRST-ORDER",
        "info",
        "The first-order formula of the effective training time does not hold",
        "Restart and lost steps take more than a tenth of the time between interruptions. The design uses the exact "
        "form for memoryless failures; the published first-order formula would say less.",
    ),
    Code(
        "RELIABILITY-FEW-SPARES",
        "warning",
        "Fewer spares than the availability needs",
        "The spec fixes the number of spare nodes, and with that number the asked nodes are up for a smaller share of "
        "the time than the spec's availability.",
    ),
    Code(
        "RELIABILITY-SPARES-RANGE",
        "info",
        "How many spares the range of failure rates and repair times asks for",
        "Spares are counted for the central availability of a node. Its interval comes from published failure rates "
        "and repair times; repairs that take a week instead of days need many more spares than repairs within a day.",
    ),
    Code(
        "RELIABILITY-CHAIN",
        "info",
        "Power, storage and scheduler take their share of the availability",
        "Spares keep enough nodes up for the asked share of the time. A job also needs power and cooling, storage and "
        "the scheduler; with them it can run for a smaller share of the time than was asked of the nodes.",
    ),
    Code(
        "RELIABILITY-EARLY-FAILURES",
        "info",
        "New hardware fails more often",
        "The published rates are of clusters in steady state. In the first months 3-10 % of new accelerators fail.",
    ),
)
"""Every code of this room."""
