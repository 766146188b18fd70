"""Files and world: a cluster that runs is submitted to, watched, repaired, looked at and accounted for.

A cluster is reached through ``site.yaml`` (:class:`Site`): a lab writes one, a real site writes its own.
:func:`describe` makes a spec of a cluster that is there, :func:`drift_of` compares it with its files. The watcher has a
door of its own, :mod:`clusterwright.operate.watch`.
"""

from __future__ import annotations

from clusterwright.findings import codes as together
from clusterwright.operate.account import BASES, IDLE_RULES, Bill, Team, account
from clusterwright.operate.account_codes import FINDINGS as ACCOUNT_FINDINGS
from clusterwright.operate.account_costs import Costs, costs_of
from clusterwright.operate.account_focus import COLUMNS as FOCUS_COLUMNS
from clusterwright.operate.account_focus import focus_rows
from clusterwright.operate.account_history import history, measured, period
from clusterwright.operate.account_job import JobReport, job_report
from clusterwright.operate.codes import FINDINGS as SITE_FINDINGS
from clusterwright.operate.drift import FINDINGS as DRIFT_FINDINGS
from clusterwright.operate.drift import Difference, Drift, drift_of
from clusterwright.operate.observe import FINDINGS as OBSERVE_FINDINGS
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
from clusterwright.operate.status import Status, status
from clusterwright.operate.submit import Planned, Seen, follow, plan_job, script_of, send, states

__all__ = [
    "BASES",
    "FINDINGS",
    "FOCUS_COLUMNS",
    "IDLE_RULES",
    "Bill",
    "Costs",
    "Difference",
    "Drift",
    "JobReport",
    "Observation",
    "Planned",
    "Prometheus",
    "Seen",
    "Site",
    "Slurm",
    "SpareRule",
    "Status",
    "Team",
    "Watch",
    "account",
    "cluster_of",
    "costs_of",
    "deployed_of",
    "describe",
    "drift_of",
    "files_of",
    "find_site",
    "focus_rows",
    "follow",
    "history",
    "how",
    "job_report",
    "measured",
    "period",
    "plan_job",
    "read_dump",
    "read_site",
    "script_of",
    "send",
    "states",
    "status",
    "texts_of",
]

FINDINGS = together(
    *SITE_FINDINGS.values(), *ACCOUNT_FINDINGS.values(), *OBSERVE_FINDINGS.values(), *DRIFT_FINDINGS.values()
)
"""The codes of the room."""
