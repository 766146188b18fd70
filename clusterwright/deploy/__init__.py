"""Cluster -> files: one bundle of real configuration, each file accepted by the tool that reads it.

:func:`render` makes a bundle from a design, :func:`verify` judges one on disk. Targets (``targets/``) write and read
the files of one tool each; judges (``judges/``) drive the real programs.
"""

from __future__ import annotations

from clusterwright.deploy.bundle import Check, Fact, File, Folder
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.expand import expand
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.render import VERSIONS, Bundle, render
from clusterwright.deploy.targets import TARGETS
from clusterwright.deploy.verify import LEVELS, document, verify

__all__ = [
    "FINDINGS",
    "LEVELS",
    "TARGETS",
    "VERSIONS",
    "Bundle",
    "Check",
    "Fact",
    "File",
    "Folder",
    "Inventory",
    "document",
    "expand",
    "render",
    "verify",
]
