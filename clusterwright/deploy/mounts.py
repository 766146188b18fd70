"""Where storage tiers are mounted: one table that every file reads."""

from __future__ import annotations

__all__ = ["LOCAL", "MOUNTS", "PARALLEL"]

LOCAL = "/scratch"
"""Local NVMe of a node: hot cache of the job on it."""
PARALLEL = "/shared"
"""The parallel file system."""
MOUNTS = {"parallel": PARALLEL, "nvme": LOCAL, "block": "/system", "object": "s3"}
"""Kind of tier -> where it is found."""
