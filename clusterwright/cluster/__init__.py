"""WHAT IT IS: the one shared object that every stage reads and writes.

``Frame`` holds figures over candidates with interval and provenance, ``Table`` the groups of things, ``Cluster``
both and what was found. ``law`` makes a documented law of a function of arrays; ``save``, ``load`` and ``diff``
are the cluster as a file.
"""

from clusterwright.cluster.cluster import SCHEMA_NAME, Cluster
from clusterwright.cluster.frame import Estimate, Figure, Frame
from clusterwright.cluster.laws import Law, law, laws
from clusterwright.cluster.provenance import Provenance, assumed, chosen, from_spec
from clusterwright.cluster.store import FILE_NAME, FINDINGS, Change, diff, load, save
from clusterwright.cluster.tables import SCHEMA, Column, Table

__all__ = [
    "FILE_NAME",
    "FINDINGS",
    "SCHEMA",
    "SCHEMA_NAME",
    "Change",
    "Cluster",
    "Column",
    "Estimate",
    "Figure",
    "Frame",
    "Law",
    "Provenance",
    "Table",
    "assumed",
    "chosen",
    "diff",
    "from_spec",
    "law",
    "laws",
    "load",
    "save",
]
