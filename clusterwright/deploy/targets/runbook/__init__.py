"""The runbook: from provisioning over acceptance tests, with the design's figures as pass marks, to decommissioning."""

from __future__ import annotations

from clusterwright.deploy.judges import shell
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.runbook.check import check, facts
from clusterwright.deploy.targets.runbook.files import files

__all__ = ["TARGET"]

TARGET = Target(
    files=files,
    facts=facts,
    check=check,
    judges=(lambda folder: shell.judge_scripts(folder, "runbook/acceptance/*.sh"),),
    programs=lambda: (shell.SHELLCHECK,),
)
