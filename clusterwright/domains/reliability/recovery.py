"""What is there more than once, and the ways of recovery that were weighed."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterwright.cluster import Cluster, Floats
from clusterwright.domains.reliability.checkpoints import daly_interval, ettr
from clusterwright.spec import Spec

__all__ = ["recovery_options", "redundancy"]

_SCHEMES = {
    "N": ("as many as needed", "what the failed one carries stops"),
    "N+1": ("one more than needed at each site", "nothing stops; a second failure of the kind does"),
    "2N": ("twice what is needed, on two paths", "nothing stops"),
}


def redundancy(cluster: Cluster, spec: Spec) -> list[dict[str, Any]]:
    """Rows of component, scheme and what a failure does."""
    scheme, stops = _SCHEMES[spec.reliability.redundancy]
    spares = int(cluster.value("compute.spare_nodes"))
    held = f"{spares:,} spare nodes" if spares else "none"
    on_spare = "job restarts on a spare" if spares else "job waits for the repair"
    rows = [
        ("compute node", held, on_spare),
        ("GPU", "none within the node", f"node is drained, {on_spare}"),
        ("leaf switch", "one a rail", "its rail group loses one rail; job restarts without these nodes"),
        ("spine switch", "many, equal paths", "bandwidth falls by its share"),
        ("power supplies", "redundant in each server", "nothing stops"),
        *_facility(cluster, f"{spec.reliability.redundancy}: {scheme}", stops),
        ("storage servers", "redundant pairs or erasure code", "bandwidth falls by its share"),
        *_control(cluster),
    ]
    return [dict(zip(("component", "scheme", "consequence"), row, strict=True)) for row in rows]


def _facility(cluster: Cluster, scheme: str, stops: str) -> list[tuple[str, str, str]]:
    """Modules of power and cooling, with their counts where the facility has been sized."""
    named = (
        ("UPS", "ups"),
        ("generators", "genset"),
        ("coolant distribution units", "cdu"),
        ("room air handlers", "air_handler"),
    )
    counts = {words: int(cluster.frame.get(f"facility.{kind}_modules", 0.0)[0]) for words, kind in named}
    rows = [(words, f"{scheme} ({count:,})", stops) for words, count in counts.items() if count]
    return rows or [("power and cooling", scheme, stops)]


def _control(cluster: Cluster) -> list[tuple[str, str, str]]:
    servers = int(cluster.frame.get("scheduling.scheduler_nodes", 0.0)[0])
    if "scheduling.scheduler_nodes" in cluster.frame and not servers:
        return [("scheduler, management", "one server", "running jobs go on, no new ones start")]
    return [
        ("scheduler", "active and standby", "the standby takes over; running jobs go on"),
        ("management network", "none", "nodes cannot be managed out of band; jobs go on"),
    ]


def recovery_options(cluster: Cluster, gpu_nodes: str = "reliability.job_nodes") -> list[dict[str, Any]]:
    """Ways to survive failures, with the effective training time that each would give the largest run.

    Args:
        cluster: sized by this room.
        gpu_nodes: figure with the nodes of the job.
    """
    value = cluster.value
    write, read, fixed = (
        value("storage.checkpoint_write_s"),
        value("storage.restart_read_s"),
        float(cluster.frame.get("storage.fixed_s", 5.0)[0]),
    )
    restart, mtti = value("reliability.restart_overhead_s"), value("reliability.mtti_s")
    detect = value("reliability.recovery_detect_s") + value("reliability.recovery_reschedule_s")
    nodes = f"{value(gpu_nodes):,.0f} nodes"

    def ratio(checkpoint: float, lost: float) -> float:
        save, mean = _one(checkpoint), _one(mtti)
        return float(ettr(daly_interval(save, mean), save, _one(lost), mean)[0])

    rows = (
        (
            "synchronous checkpoints, automatic restart on a spare",
            ratio(write, restart),
            f"every rank waits {write:.0f} s for the parallel file system; works with every framework",
        ),
        (
            "asynchronous checkpoints",
            ratio(min(fixed, write), restart),
            "only the copy to host memory blocks; needs host memory for the state and a framework that drains it",
        ),
        (
            "asynchronous, with copies in neighbours' memory or drives",
            ratio(min(fixed, write), restart - read + min(fixed, read)),
            "restarts without reading the file system; the file system still gets a copy now and then",
        ),
        (
            "replace the failed replica, the others wait",
            ratio(min(fixed, write), detect),
            "only detection and a spare stand between failure and going on, at best; needs a fault-tolerant framework",
        ),
    )
    return [
        {"name": name, "chosen": i == 0, "ettr": found, "why": f"{found:.1%} of the time productive on {nodes}; {why}"}
        for i, (name, found, why) in enumerate(rows)
    ]


def _one(x: float) -> Floats:
    return np.array([x], dtype=np.float64)
