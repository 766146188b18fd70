"""WHAT IT IS: the one shared object that every stage reads and writes.

``Frame`` holds figures over candidates with interval and provenance, ``Table`` the groups of things, ``Cluster``
both and what was found. ``law`` makes a documented law of a function of arrays; ``save``, ``load`` and ``diff``
are the cluster as a file, ``write_run`` the folder of a run.
"""

from clusterwright.cluster.cluster import SCHEMA_NAME, Cluster
from clusterwright.cluster.frame import Estimate, Figure, Floats, Frame
from clusterwright.cluster.graph import Cable, Ends, Graph, Pattern, bundled, cables, ends, link_graph, member
from clusterwright.cluster.laws import Law, law, laws
from clusterwright.cluster.provenance import Provenance, assumed, chosen, from_spec
from clusterwright.cluster.runfolder import FINDINGS as RUN_FINDINGS
from clusterwright.cluster.runfolder import add_file, edited_files, read_manifest, write_run
from clusterwright.cluster.store import FILE_NAME, Change, diff, dumps, load, plain, save
from clusterwright.cluster.store import FINDINGS as STORE_FINDINGS
from clusterwright.cluster.tables import SCHEMA, Column, Table
from clusterwright.findings import codes

__all__ = [
    "FILE_NAME",
    "FINDINGS",
    "SCHEMA",
    "SCHEMA_NAME",
    "Cable",
    "Change",
    "Cluster",
    "Column",
    "Ends",
    "Estimate",
    "Figure",
    "Floats",
    "Frame",
    "Graph",
    "Law",
    "Pattern",
    "Provenance",
    "Table",
    "add_file",
    "assumed",
    "bundled",
    "cables",
    "chosen",
    "diff",
    "dumps",
    "edited_files",
    "ends",
    "from_spec",
    "law",
    "laws",
    "link_graph",
    "load",
    "member",
    "plain",
    "read_manifest",
    "save",
    "write_run",
]

FINDINGS = codes(*STORE_FINDINGS.values(), *RUN_FINDINGS.values())
"""The codes of the cluster's file and of the run folder."""
