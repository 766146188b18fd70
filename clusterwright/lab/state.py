"""What a lab is made of and how it is."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from clusterwright.lab.place import Lab
from clusterwright.lab.processes import call, marked

__all__ = ["state_of"]


def state_of(lab: Lab) -> dict[str, Any]:
    """Nodes by state, daemons, ports, faults."""
    about = lab.about
    code, said = call(lab, ["sinfo", "-hN", "-o", "%N %T"], 20)
    states = dict(line.split() for line in said.splitlines() if len(line.split()) == 2) if code == 0 else {}
    tasks = [one for one in marked(lab.root) if not one.task]
    daemons = Counter(one.command for one in tasks)
    return {
        "name": lab.name,
        "folder": str(lab.root),
        "slurm_conf": str(lab.conf),
        "slurm": about["slurm"],
        "rate": about["rate"],
        "nodes": len(about["nodes"]),
        "gpus": sum(one["gpus"] for one in about["nodes"].values()),
        "states": dict(sorted(Counter(states.values()).items()))
        if states
        else {"slurmctld does not answer": len(about["nodes"])},
        "daemons": dict(sorted(daemons.items())),
        "ports": about["ports"],
        "faults": json.loads(lab.faults.read_text("utf-8")),
    }
