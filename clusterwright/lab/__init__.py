"""A lab: the rendered cluster as a real Slurm on one machine.

:func:`up` starts the real daemons from the rendered files, :func:`down` leaves nothing behind. What is broken on purpose is
said to :mod:`~clusterwright.lab.faults`. A lab writes ``site.yaml``, which is how the verbs that operate a cluster reach it.
"""

from __future__ import annotations

from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.down import down
from clusterwright.lab.place import Lab, find, find_any, labs
from clusterwright.lab.state import state_of
from clusterwright.lab.up import Started, missing, up

__all__ = ["FINDINGS", "Lab", "Started", "down", "find", "find_any", "labs", "missing", "state_of", "up"]
