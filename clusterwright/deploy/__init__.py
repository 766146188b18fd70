"""Cluster -> files: one bundle of real configuration, each file accepted by the tool that reads it.

:func:`render` makes a bundle from a design, :func:`verify` judges one on disk, :func:`make_plan` says what deploying it
would change and :func:`apply_plan` does it. Targets (``targets/``) write and read
the files of one tool each; judges (``judges/``) drive the real programs.
"""

from __future__ import annotations

from clusterwright.deploy.apply import apply_plan, recheck
from clusterwright.deploy.asked import Ask
from clusterwright.deploy.bundle import Check, Fact, File, Folder
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.expand import expand
from clusterwright.deploy.inventory import Inventory, Tenant, Workload
from clusterwright.deploy.judges.programs import Program
from clusterwright.deploy.judges.slurm import MARIADBD, SLURMCTLD, SLURMD, SLURMDBD
from clusterwright.deploy.judges.slurm import PASSWORD as SCRATCH_PASSWORD
from clusterwright.deploy.judges.slurm import Ports as SlurmPorts
from clusterwright.deploy.judges.slurm import Scratch as SlurmScratch
from clusterwright.deploy.judges.slurm import scratch as slurm_scratch
from clusterwright.deploy.plan import Change, Plan, drift, make_plan, read_plan
from clusterwright.deploy.render import VERSIONS, Bundle, render
from clusterwright.deploy.targets import TARGETS
from clusterwright.deploy.targets.kubernetes.training import submitted as jobset
from clusterwright.deploy.targets.monitoring.figures import table as monitoring_table
from clusterwright.deploy.targets.slurm.jobs import batch_script
from clusterwright.deploy.targets.slurm.reading import Read as SlurmFiles
from clusterwright.deploy.targets.slurm.reading import sites as slurm_files
from clusterwright.deploy.targets.slurm.site import Here as SlurmSite
from clusterwright.deploy.targets.slurm.versions import Dialect as SlurmDialect
from clusterwright.deploy.verify import LEVELS, absent, aged, document, verify

__all__ = [
    "FINDINGS",
    "LEVELS",
    "MARIADBD",
    "SCRATCH_PASSWORD",
    "SLURMCTLD",
    "SLURMD",
    "SLURMDBD",
    "TARGETS",
    "VERSIONS",
    "Ask",
    "Bundle",
    "Change",
    "Check",
    "Fact",
    "File",
    "Folder",
    "Inventory",
    "Plan",
    "Program",
    "SlurmDialect",
    "SlurmFiles",
    "SlurmPorts",
    "SlurmScratch",
    "SlurmSite",
    "Tenant",
    "Workload",
    "absent",
    "aged",
    "apply_plan",
    "batch_script",
    "document",
    "drift",
    "expand",
    "jobset",
    "make_plan",
    "monitoring_table",
    "read_plan",
    "recheck",
    "render",
    "slurm_files",
    "slurm_scratch",
    "verify",
]
