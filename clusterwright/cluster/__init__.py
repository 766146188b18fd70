"""WHAT IT IS: the one shared object that every stage reads and writes.

``Frame`` holds figures over candidates with interval and provenance, ``Table`` the groups of things, ``Cluster``
both and what was found. ``law`` makes a documented law of a function of arrays.
"""

from clusterwright.cluster.cluster import SCHEMA_NAME, Cluster
from clusterwright.cluster.frame import Estimate, Figure, Frame
from clusterwright.cluster.laws import Law, law, laws
from clusterwright.cluster.provenance import Provenance, assumed, chosen, from_spec
from clusterwright.cluster.tables import SCHEMA, Column, Table

__all__ = [
    "SCHEMA",
    "SCHEMA_NAME",
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
    "from_spec",
    "law",
    "laws",
]
