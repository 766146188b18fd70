"""Files and world: a cluster that runs is submitted to, watched, repaired, looked at and accounted for.

A cluster is reached through ``site.yaml`` (:class:`Site`): a lab writes one, a real site writes its own.
"""

from __future__ import annotations

from clusterwright.findings import codes as _codes
from clusterwright.operate.codes import FINDINGS as OWN
from clusterwright.operate.drift.codes import FINDINGS as DRIFT
from clusterwright.operate.observe.codes import FINDINGS as OBSERVE
from clusterwright.operate.prometheus import Prometheus
from clusterwright.operate.site import Site, Watch, deployed_of, find_site, read_site
from clusterwright.operate.slurm import Slurm

__all__ = ["FINDINGS", "Prometheus", "Site", "Slurm", "Watch", "deployed_of", "find_site", "read_site"]

FINDINGS = _codes(*OWN.values(), *OBSERVE.values(), *DRIFT.values())
