"""GitLab: the pipeline that lints, verifies, plans and applies the bundle."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Fact, File, Folder
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.targets import TARGETS, Target
from clusterwright.deploy.targets.gitlab.check import PATH, check
from clusterwright.deploy.targets.gitlab.judges import JUDGES
from clusterwright.deploy.targets.gitlab.pipeline import pipeline
from clusterwright.deploy.text import as_yaml

__all__ = ["TARGET"]

_COMMENT = (
    "Pipeline of the bundle; rendered by clusterwright, do not edit. Name this path in Settings, CI/CD; set "
    "DEPLOYED and STATE_CONFIG there."
)


def _files(inventory: Inventory) -> Iterator[File]:
    targets = [name for name, entry in TARGETS.items() if entry.wanted(inventory)]
    yield File(PATH, as_yaml(pipeline(inventory, targets), comment=_COMMENT), after="git push")


def _facts(_: Folder) -> Iterator[Fact]:
    return iter(())


TARGET = Target(files=_files, facts=_facts, check=check, judges=JUDGES)
