"""Security: who may do what, which data is encrypted how, which flows are let through, which secrets there are."""

from __future__ import annotations

from clusterwright.deploy.judges import hcl
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.security.check import check, facts
from clusterwright.deploy.targets.security.files import files

__all__ = ["TARGET"]

TARGET = Target(
    files=files, facts=facts, check=check, judges=(lambda folder: hcl.judge_hcl(folder, "security/vault/*.hcl"),)
)
