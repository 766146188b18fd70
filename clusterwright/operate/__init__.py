"""Files and world: a cluster that runs is submitted to, watched, repaired, looked at and accounted for.

A cluster is reached through ``site.yaml`` (:class:`Site`): a lab writes one, a real site writes its own.
"""

from __future__ import annotations

from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.prometheus import Prometheus
from clusterwright.operate.site import Site, Watch, find_site, read_site
from clusterwright.operate.slurm import Slurm

__all__ = ["FINDINGS", "Prometheus", "Site", "Slurm", "Watch", "find_site", "read_site"]
