"""Files and world: a cluster that runs is submitted to, watched, repaired, looked at and accounted for.

A cluster is reached through ``site.yaml`` (:class:`Site`): a lab writes one, a real site writes its own.
:func:`describe` makes a spec of a cluster that is there, :func:`drift_of` compares it with its files.
"""

from __future__ import annotations

from clusterwright.findings import codes as _codes
from clusterwright.operate.codes import FINDINGS as _OWN
from clusterwright.operate.drift import FINDINGS as _DRIFT
from clusterwright.operate.drift import Difference, Drift, drift_of
from clusterwright.operate.observe import FINDINGS as _OBSERVE
from clusterwright.operate.observe import (
    Observation,
    SpareRule,
    cluster_of,
    describe,
    files_of,
    how,
    read_dump,
    texts_of,
)
from clusterwright.operate.prometheus import Prometheus
from clusterwright.operate.site import Site, Watch, deployed_of, find_site, read_site
from clusterwright.operate.slurm import Slurm

__all__ = [
    "FINDINGS",
    "Difference",
    "Drift",
    "Observation",
    "Prometheus",
    "Site",
    "Slurm",
    "SpareRule",
    "Watch",
    "cluster_of",
    "deployed_of",
    "describe",
    "drift_of",
    "files_of",
    "find_site",
    "how",
    "read_dump",
    "read_site",
    "texts_of",
]

FINDINGS = _codes(*_OWN.values(), *_OBSERVE.values(), *_DRIFT.values())
"""The codes of the room."""
