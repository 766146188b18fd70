"""Drift: what runs against what was rendered, who is right, and what mends it."""

from __future__ import annotations

from clusterwright.operate.drift.codes import FINDINGS
from clusterwright.operate.drift.compare import Difference
from clusterwright.operate.drift.world import Drift, drift_of

__all__ = ["FINDINGS", "Difference", "Drift", "drift_of"]
