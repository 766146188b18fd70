"""What is done with a job that lost a node, or is to leave one.

========== =========================================================================================================
retry       an error that is most often the job's own: when the job dies of it, it is requeued where it was
restart     it is requeued, starts elsewhere, and goes on from its last checkpoint
migrate     its batch script gets USR1 and may write a checkpoint now; then it is requeued, and loses no step
shrink      it starts on fewer nodes, when it says that it can: ``--comment clusterwright:min=2,max=4``
========== =========================================================================================================

A job says that it has written its checkpoint by touching ``SHARED/.clusterwright/saved/JOBID``, or by ending.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from clusterwright.operate.slurm import Job, Slurm
from clusterwright.operate.watch.look import World
from clusterwright.operate.watch.policy import Policy
from clusterwright.operate.watch.store import Action

__all__ = ["Progress", "elastic", "requeue", "resize", "saved_at"]

_OVER = ("COMPLETED", "CANCELLED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY", "PREEMPTED")
_DIED = ("FAILED", "NODE_FAIL", "BOOT_FAIL")
_ELASTIC = re.compile(r"clusterwright:min=(\d{1,6}),max=(\d{1,6})")


class Progress(NamedTuple):
    """How far an action is: its state, its phase, and a note in words."""

    state: str
    phase: str = ""
    note: str = ""


def elastic(comment: str) -> tuple[int, int] | None:
    """Fewest and most nodes of a job that can do with fewer; None for any comment that is not just that."""
    found = _ELASTIC.fullmatch(comment.strip())
    if found is None:
        return None
    low, high = int(found.group(1)), int(found.group(2))
    return (low, high) if 1 <= low <= high else None


def saved_at(shared: Path | None, job: str) -> float:
    """When a job last said that its checkpoint is written, seconds since the epoch; 0 for never."""
    try:
        return (shared / ".clusterwright" / "saved" / job).stat().st_mtime if shared else 0.0
    except OSError:
        return 0.0


def requeue(one: Action, world: World, slurm: Slurm, policy: Policy, save: Callable[[Action], None]) -> Progress:
    """One step of ending a job and letting it wait again. ``restarts`` tells its lives apart: it is ended once."""
    job = world.jobs.get(one.target)
    if job is not None:
        job = slurm.job(one.target)  # as it is now: a node that was given up has sent it back already
    if job is None:
        return Progress("abandoned", note="Slurm does not hold the job any more")
    if job.state in _OVER:
        return Progress("abandoned", note=f"it is {job.state} already")
    if job.restarts > int(one.params["restarts"]):
        return _again(one, job, slurm)
    if job.state == "COMPLETING":
        return Progress("intended", one.phase or "ends", "it is ending")
    if job.state == "PENDING":
        return Progress("abandoned", note="it has not begun")
    ready = _ready(one, job, slurm, policy, save)
    if ready is not None:
        return ready
    slurm.requeue(one.target)
    return Progress("intended", "requeued", f"requeued {one.params['strategy']}")


def _ready(one: Action, job: Job, slurm: Slurm, policy: Policy, save: Callable[[Action], None]) -> Progress | None:
    """None when it may be requeued now; how far it is otherwise."""
    now = time.time()
    if one.params["strategy"] == "retry":
        if job.state in _DIED:
            most = int(policy.numbers["retry"]["most"])
            return (
                None if job.restarts < most else Progress("abandoned", note=f"restarted {job.restarts} times already")
            )
        if now - one.made_s < policy.numbers["retry"]["settle_s"]:
            return Progress("intended", "settles", "whether it dies of it")
        return Progress("done", note="it lives on")
    if one.params["strategy"] == "migrate" and job.state in ("RUNNING", "SUSPENDED"):
        shared = Path(str(one.params["shared"])) if one.params.get("shared") else None
        if one.params.get("asked_s") is None:
            one.params |= {"asked_s": now, "saved_s": saved_at(shared, one.target)}
            one.phase = "asks"
            save(one)  # killed between here and the call: asked again below, which costs a second checkpoint at most
        if one.phase == "asks":
            slurm.signal(one.target, "USR1")
            return Progress("intended", "saves", "asked for a checkpoint")
        saved = saved_at(shared, one.target) != float(one.params["saved_s"])  # no clock is compared with another
        if not saved and now - float(one.params["asked_s"]) < policy.numbers["migration"]["wait_s"]:
            return Progress("intended", "saves", "asked for a checkpoint")
    return None


def _again(one: Action, job: Job, slurm: Slurm) -> Progress:
    """It was requeued, by us or by Slurm: let it start at once, not in two minutes."""
    if job.state == "COMPLETING":
        return Progress("intended", "requeued", "its old life is ending")
    if job.state != "PENDING":
        return Progress("done", note=f"runs again on {job.node_count} nodes {time.time() - one.made_s:.0f} s later")
    wanted = int(one.params.get("nodes", 0))
    if wanted and one.phase not in ("woken", "waits"):
        slurm.set_node_count(job.key, wanted, int(one.params.get("per_node", 0)))
    if job.reason == "BeginTime" or one.phase not in ("woken", "waits"):
        slurm.start_soon(job.key)
        return Progress("intended", "woken", "may start at once")
    return Progress("intended", "waits", f"waits: {job.reason}"[:80])


def resize(one: Action, world: World, slurm: Slurm) -> Progress:
    """A waiting job asks for another number of nodes."""
    job, wanted = world.jobs.get(one.target), int(one.params["nodes"])
    if job is None or job.state != "PENDING":
        return Progress("abandoned", note=f"it is {job.state if job else 'gone'}")
    slurm.set_node_count(one.target, wanted, int(one.params.get("per_node", 0)))
    if job.reason == "BeginTime":
        slurm.start_soon(one.target)
    return Progress("done", "asked", f"asks for {wanted} of {one.params.get('was', job.node_count)} nodes")
