"""A lab: the rendered cluster as a real Slurm on one machine.

:func:`up` starts the real daemons from the rendered files, :func:`down` leaves nothing behind; :func:`inject` breaks
something and :func:`mend` repairs it. A lab writes ``site.yaml``: the verbs that operate a cluster reach it by that.
"""

from __future__ import annotations

from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.down import down
from clusterwright.lab.faults import KINDS, Fault, broken, check, inject, mend
from clusterwright.lab.place import Lab, find, find_any, labs
from clusterwright.lab.record import Asked, read_workload, record, synthetic
from clusterwright.lab.state import state_of
from clusterwright.lab.take import take
from clusterwright.lab.up import Started, missing, up

__all__ = [
    "FINDINGS",
    "KINDS",
    "Asked",
    "Fault",
    "Lab",
    "Started",
    "broken",
    "check",
    "down",
    "find",
    "find_any",
    "inject",
    "labs",
    "mend",
    "missing",
    "read_workload",
    "record",
    "state_of",
    "synthetic",
    "take",
    "up",
]
