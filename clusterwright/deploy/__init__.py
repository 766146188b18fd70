"""Cluster -> files: one bundle of real configuration, each file accepted by the tool that reads it.

:func:`render` makes a bundle from a design, :func:`verify` judges one on disk, :func:`make_plan` says what deploying it
would change and :func:`apply_plan` does it. Targets (``targets/``) write and read
the files of one tool each; judges (``judges/``) drive the real programs.
"""

from __future__ import annotations

from clusterwright.deploy.apply import apply_plan, recheck
from clusterwright.deploy.bundle import Check, Fact, File, Folder
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.expand import expand
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.plan import Change, Plan, drift, make_plan, read_plan
from clusterwright.deploy.render import VERSIONS, Bundle, render
from clusterwright.deploy.targets import TARGETS
from clusterwright.deploy.targets.slurm.reading import Read as SlurmFiles
from clusterwright.deploy.targets.slurm.reading import sites as slurm_files
from clusterwright.deploy.verify import LEVELS, absent, document, verify

__all__ = [
    "FINDINGS",
    "LEVELS",
    "TARGETS",
    "VERSIONS",
    "Bundle",
    "Change",
    "Check",
    "Fact",
    "File",
    "Folder",
    "Inventory",
    "Plan",
    "SlurmFiles",
    "absent",
    "apply_plan",
    "document",
    "drift",
    "expand",
    "make_plan",
    "read_plan",
    "recheck",
    "render",
    "slurm_files",
    "verify",
]
