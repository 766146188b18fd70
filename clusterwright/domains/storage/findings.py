"""What the storage room has to say."""

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "STORAGE-CHECKPOINT-SLOW",
        "warning",
        "Writing a checkpoint stalls training",
        "The parallel file system takes longer than a minute to write the largest checkpoint.",
    ),
    Code(
        "STORAGE-FROM-MEMORY",
        "info",
        "Storage figures are unchecked",
        "Capacity, rates or price of the chosen storage system are from memory or estimates; get the vendor's figures.",
    ),
)
"""Every code of this room."""
