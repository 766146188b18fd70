"""What the storage room has to say."""

from __future__ import annotations

from clusterwright.findings import Code, codes

__all__ = ["FINDINGS"]

FINDINGS = codes(
    Code(
        "STORAGE-CHECKPOINT-SLOW",
        "warning",
        "Writing a checkpoint stalls training",
        "The storage takes longer than a minute to write the largest checkpoint. Every rank waits meanwhile, unless "
        "the checkpoint is copied to host memory or local drives first and drained in the background.",
    ),
    Code(
        "STORAGE-FROM-MEMORY",
        "info",
        "Storage figures are unchecked",
        "Capacity, rates or price of the chosen storage system are from memory or estimates; get the vendor's figures.",
    ),
    Code(
        "STORAGE-IN-NODES",
        "info",
        "A small cluster keeps its data in its nodes",
        "Up to a few nodes a shared file system costs more than it brings. Data and checkpoints lie on the local "
        "drives; what must outlive a node is copied to the object store.",
    ),
    Code(
        "STORAGE-NODES-FULL",
        "warning",
        "The local drives do not hold what they are to hold",
        "The data and checkpoints of a cluster without shared storage, or the checkpoint copies that nodes keep for "
        "fast restarts, do not fit the local drives.",
    ),
)
"""Every code of this room."""
