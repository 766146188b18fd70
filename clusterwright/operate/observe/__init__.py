"""An existing cluster as a spec: what Slurm says of itself, live or as files, read, judged and written down."""

from __future__ import annotations

from clusterwright.operate.observe.cluster import cluster_of
from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Dump
from clusterwright.operate.observe.groups import Group, SpareRule
from clusterwright.operate.observe.read import COMMANDS, files_of, how, read_dump, texts_of
from clusterwright.operate.observe.write import Observation, describe

__all__ = [
    "COMMANDS",
    "FINDINGS",
    "Dump",
    "Group",
    "Observation",
    "SpareRule",
    "cluster_of",
    "describe",
    "files_of",
    "how",
    "read_dump",
    "texts_of",
]
