"""Files and world: a cluster that runs is submitted to, watched, repaired, looked at and accounted for.

A cluster is reached through ``site.yaml`` (:class:`Site`): a lab writes one, a real site writes its own.
"""

from __future__ import annotations

from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.prometheus import Prometheus
from clusterwright.operate.site import Site, Watch, deployed_of, find_site, read_site
from clusterwright.operate.slurm import Slurm
from clusterwright.operate.submit import Planned, Seen, follow, plan_job, script_of, send, states

__all__ = [
    "FINDINGS",
    "Planned",
    "Prometheus",
    "Seen",
    "Site",
    "Slurm",
    "Watch",
    "deployed_of",
    "find_site",
    "follow",
    "plan_job",
    "read_site",
    "script_of",
    "send",
    "states",
]
