"""The fabric: every cable with both ends, ports of hosts, switches, racks by height unit, and the NetBox import."""

from __future__ import annotations

from clusterwright.deploy.judges.opensm import PROGRAMS, judge_fabric
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.fabric.check import check
from clusterwright.deploy.targets.fabric.facts import facts
from clusterwright.deploy.targets.fabric.files import files

__all__ = ["TARGET"]

TARGET = Target(files=files, facts=facts, check=check, judges=(judge_fabric,), programs=lambda: PROGRAMS)
