"""What the compute room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "COMPUTE-GPUS-ROUNDED",
        "info",
        "Whole servers hold more GPUs than were asked for",
        "GPUs come in whole servers, and in rack-scale systems in whole racks. The design holds the nodes that are "
        "needed; the GPUs beyond those asked for are paid for and are not counted on in the training plan.",
    ),
    Code(
        "COMPUTE-SITE-EMPTY",
        "warning",
        "A site gets no compute node",
        "The site's share of the GPUs is less than half a server (or half a rack-scale system), so that largest-"
        "remainder rounding leaves it empty. Drop the site or give it a larger share.",
    ),
)
