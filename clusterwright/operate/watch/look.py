"""One look at a cluster: what Slurm, Prometheus and the nodes' checks say at one moment."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clusterwright.errors import WorldError
from clusterwright.operate.prometheus import Alert, Prometheus
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Job, Node, Partition, Slurm, plain_text

__all__ = ["Checked", "Look", "check_node", "look"]

_CHECK_S = 60.0
_MOST_XIDS = 100_000


@dataclass(frozen=True)
class Look:
    """What was seen.

    Attributes:
        at_s: when, seconds since the epoch.
        nodes, jobs, partitions: of Slurm.
        silent: nodes whose exporter does not answer.
        xids: (node, GPU, code) -> how often in the exporter's window.
        alerts: pending and firing.
        blind: what could not be seen, in words.
    """

    at_s: float
    nodes: Mapping[str, Node]
    jobs: Mapping[str, Job]
    partitions: Mapping[str, Partition]
    silent: frozenset[str] = frozenset()
    xids: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    alerts: Sequence[Alert] = ()
    blind: tuple[str, ...] = ()

    def jobs_on(self, node: str) -> list[Job]:
        """Jobs that are on a node now."""
        states = ("RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STOPPED", "SIGNALING")
        return [job for job in self.jobs.values() if node in job.nodes and job.state in states]


def look(site: Site, slurm: Slurm) -> Look:
    """Look once.

    Raises:
        WorldError: Slurm does not answer; without it nothing can be done.
    """
    nodes, jobs, partitions = slurm.nodes(), slurm.jobs(), slurm.partitions()
    silent: frozenset[str] = frozenset()
    xids: dict[tuple[str, str, str], int] = {}
    alerts: Sequence[Alert] = ()
    blind = []
    if site.prometheus is None:
        blind.append("no Prometheus: GPUs and links are not seen")
    else:
        server = Prometheus(site.prometheus, site.token_file)
        try:
            down = server.query('max by (node) (up{job="node-exporter"}) == 0')
            silent = frozenset(one.labels.get("node", "") for one in down) - {""}
            for one in server.query("DCGM_EXP_XID_ERRORS_COUNT > 0")[:_MOST_XIDS]:
                key = (one.labels.get("node", ""), one.labels.get("gpu", ""), one.labels.get("xid", ""))
                xids[key] = max(xids.get(key, 0), int(one.value))
            alerts = server.alerts()
        except WorldError as error:
            blind.append(error.findings[0].message)
    return Look(
        time.time(),
        {one.name: one for one in nodes},
        {one.key: one for one in jobs},
        {one.name: one for one in partitions},
        silent,
        xids,
        alerts,
        tuple(blind),
    )


@dataclass(frozen=True)
class Checked:
    """What a node's check says.

    Attributes:
        fit: whether it may run jobs; None when the site has no check.
        said: why not.
    """

    fit: bool | None
    said: str = ""


def check_node(site: Site, node: str) -> Checked:
    """Run the site's check of a node."""
    if not site.check:
        return Checked(None, "the site has no check")
    words = [word.replace("{node}", node) for word in site.check]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_CHECK_S,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return Checked(False, f"the check does not end within {_CHECK_S:g} s")
    except OSError as error:
        return Checked(None, f"the check cannot be run: {error.strerror or error}")
    return Checked(done.returncode == 0, plain_text(" ".join(done.stdout.split()), 200))
