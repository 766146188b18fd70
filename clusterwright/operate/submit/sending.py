"""Hand a planned job to Slurm, and follow it to its end."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from clusterwright.deploy import SlurmDialect, batch_script
from clusterwright.errors import WorldError
from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.slurm import Slurm
from clusterwright.operate.submit.planning import Planned

__all__ = ["ENDED", "Seen", "follow", "script_of", "send", "states"]

ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL", "NODE_FAIL"}
"""States that a job does not leave; NODE_FAIL and PREEMPTED are left by a job that may be requeued."""
_MINE = ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "PYTHONPATH", "VIRTUAL_ENV")
"""Variables that a job has from who submits it; all others it says itself."""
_RELEASE = re.compile(r"slurm(?:-wlm)? (\d+\.\d+)")


@dataclass(frozen=True)
class Seen:
    """A job at one moment.

    Attributes:
        state: such as ``RUNNING``.
        nodes: it is on.
        restarts: how often it was requeued.
        why: it waits; empty when it does not.
    """

    state: str
    nodes: int
    restarts: int
    why: str = ""

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.state in ENDED


def release_of(slurm: Slurm, otherwise: str) -> str:
    """The release of the programs that will read the script; what the design says where there are none."""
    try:
        found = _RELEASE.search(slurm.run("sbatch", "--version"))
    except WorldError:
        return otherwise
    return found[1] if found else otherwise


def script_of(planned: Planned, slurm: Slurm) -> str:
    """The batch script."""
    release = release_of(slurm, planned.here.dialect.release)
    return batch_script(planned.here, planned.workload, planned.tenant, planned.ask, SlurmDialect(release))


def send(planned: Planned, script: str, slurm: Slurm) -> str:
    """Submit it; the number of the job. It finds the programs that its user finds.

    Raises:
        WorldError: the folder of checkpoints cannot be made, or Slurm refuses.
    """
    kept = Path(planned.ask.checkpoints)
    try:
        kept.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        said = f"cannot be made: {error.strerror}"
        raise WorldError(FINDINGS["SUBMIT-PATH"].at(str(kept), said, "checkpoint: {path: /shared/me/run}")) from None
    mine = {name: os.environ[name] for name in _MINE if name in os.environ}
    said = replace(slurm, extra=mine).run("sbatch", "--parsable", stdin=script)
    return said.strip().partition(";")[0]


def follow(slurm: Slurm, key: str, every_s: float = 1.0, give_up_s: float = 300.0) -> Iterator[Seen]:
    """What becomes of a job, each time that it changes, until it is over.

    A controller that does not answer is waited for.

    Args:
        slurm: its cluster.
        key: its number.
        every_s: between two looks.
        give_up_s: without an answer.

    Raises:
        WorldError: nobody has answered for that long.
    """
    last, answered = None, time.monotonic()
    while True:
        try:
            now = states(slurm, key)
            answered = time.monotonic()
        except WorldError:
            if time.monotonic() - answered > give_up_s:
                raise
            now = last
        if now is not None and now != last:
            last = now
            yield now
        if now is not None and now.ended:
            return
        time.sleep(every_s)


def states(slurm: Slurm, key: str) -> Seen | None:
    """The job now; from the accounting when the controller has forgotten it; None while nobody knows it.

    Raises:
        WorldError: Slurm does not answer.
    """
    for job in slurm.jobs():
        if job.key == key:
            why = job.reason if job.state == "PENDING" else ""
            return Seen(job.state, job.node_count, job.restarts, why)
    said = slurm.run("sacct", "-n", "-X", "-P", "-j", key, "-o", "State,NNodes")
    rows = [line.split("|") for line in said.splitlines() if line.strip()]
    if not rows:
        return None
    state, nodes = rows[-1][:2]
    return Seen(state.split()[0], int(nodes or 0), 0)
