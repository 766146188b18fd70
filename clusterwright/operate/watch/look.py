"""One look at the cluster: nodes and jobs from Slurm, alerts and metrics from Prometheus, the nodes' own checks.

A source that does not answer is named, and nothing is concluded from its silence.
"""

from __future__ import annotations

import json
import math
import re
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from clusterwright.errors import WorldError
from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.prometheus import Prometheus
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Job, Node, Partition, Slurm, plain_text
from clusterwright.operate.watch.policy import Policy

__all__ = ["Checked", "Checks", "Signal", "World", "answers_at", "look", "racks_of"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_MOST_SIGNALS = 20_000
XIDS = 'DCGM_EXP_XID_ERRORS_COUNT{xid!=""} > 0'
SILENT = 'up{job="node-exporter"} == 0'


class Signal(NamedTuple):
    """What a source says now.

    Attributes:
        source, node, kind, detail: see :class:`~clusterwright.operate.watch.store.Condition`.
        began_s: when it began, as the source says; 0 when it does not.
        times: of events, how often.
        firm: whether the source is sure; a pending alert is not.
        event: whether it happened, rather than holds.
    """

    source: str
    node: str
    kind: str
    detail: str
    began_s: float = 0.0
    times: int = 0
    firm: bool = True
    event: bool = False


@dataclass
class World:
    """The cluster at one moment.

    Attributes:
        at_s: when, seconds since the epoch.
        nodes: by name; jobs: by number.
        partitions: by name.
        signals: what the sources say.
        blind: source -> why it did not answer.
        racks: node -> rack.
        booted_s: when slurmctld started; 0 unknown.
        skew_s: by how much the clock of Prometheus is ahead of ours.
    """

    at_s: float
    nodes: Mapping[str, Node] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    signals: Sequence[Signal] = ()
    blind: dict[str, str] = field(default_factory=dict)
    racks: Mapping[str, str] = field(default_factory=dict)
    booted_s: float = 0.0
    skew_s: float = 0.0

    def on(self, node: str) -> list[Job]:
        """Jobs that are on a node."""
        return [job for job in self.jobs.values() if node in job.nodes and job.state not in _ENDED]


_ENDED = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
          "OUT_OF_MEMORY", "PENDING"}  # fmt: skip


def look(site: Site, slurm: Slurm, policy: Policy, racks: Mapping[str, str]) -> World:
    """Look once; never raises for a source that fails."""
    world = World(time.time(), racks=racks)
    try:
        nodes, jobs, partitions = slurm.nodes(), slurm.jobs(), slurm.partitions()
        world.nodes = {one.name: one for one in nodes}
        world.jobs = {one.key: one for one in jobs}
        world.partitions = {one.name: one for one in partitions}
        world.booted_s = slurm.booted_s()
    except WorldError as error:
        world.blind["slurm"] = error.findings[0].message
    signals = _of_slurm(world)
    if site.prometheus:
        try:
            signals += _of_prometheus(Prometheus(site.prometheus, site.token_file, 3.0), policy, world)
        except WorldError as error:
            world.blind["prometheus"] = error.findings[0].message
    world.signals = signals[:_MOST_SIGNALS]
    return world


def _of_slurm(world: World) -> list[Signal]:
    made = []
    for node in world.nodes.values():
        if node.unusable and not node.reason.startswith("clusterwright:"):
            what = "+".join(sorted(node.states - {"DRAIN", "CLOUD"}))
            made.append(Signal("slurm", node.name, "node-dead", f"Slurm: {what}", firm=not node.answers))
    return made


def _of_prometheus(server: Prometheus, policy: Policy, world: World) -> list[Signal]:
    """Signals of nodes that Slurm knows; labels are somebody else's text and are only believed when they are names."""
    known = world.nodes
    made: dict[tuple[str, str, str, str], Signal] = {}

    def add(signal: Signal) -> None:
        held = made.get(signal[:4])
        if held is None or (signal.firm, signal.times) > (held.firm, held.times):
            made[signal[:4]] = signal

    now = server.query("time()")
    if not now:
        raise WorldError(FINDINGS["WATCH-BLIND"].at(server.url, "it does not say what time it is"))
    world.skew_s = now[0].at_s - time.time()
    for alert in server.alerts():
        fault = policy.alerts.get(alert.name)
        node = alert.labels.get("node", "")
        nodes = [node]
        if not node and alert.name == "RackDown":
            nodes = [name for name, rack in world.racks.items() if rack and rack == alert.labels.get("rack")]
        for name in nodes if fault else []:
            site_wide = fault == "fs-full"
            since = alert.since_s - world.skew_s if alert.since_s else 0.0
            if fault and (site_wide or name in known):
                add(Signal("prometheus", "" if site_wide else name, fault, alert.name, since, 0, alert.firing))
    for sample in server.query(SILENT):
        name = sample.labels.get("node", "")
        if name in known:
            add(Signal("prometheus", name, "node-dead", "its exporter does not answer", firm=False))
    for sample in server.query(XIDS):
        name, code = sample.labels.get("node", ""), sample.labels.get("xid", "")
        if name in known and code.isdigit() and math.isfinite(sample.value):
            detail = f"xid {int(code)} on GPU {plain_text(sample.labels.get('gpu', '?'), 8)}"
            kind = policy.fault_of_xid(int(code))
            add(Signal("prometheus", name, kind, detail, 0.0, int(sample.value), True, True))
    return list(made.values())


# --- checks ---


@dataclass(frozen=True)
class Checked:
    """What the check of a node said.

    Attributes:
        node: name.
        at_s: when it began.
        fit: whether it passed.
        said: lines; ``node: does not answer`` when it did not end in time.
    """

    node: str
    at_s: float
    fit: bool
    said: tuple[str, ...] = ()


class Checks:
    """Runs checks beside the rounds of the watcher, a few at a time, each node one at a time."""

    def __init__(self, words: Sequence[str], seconds: float, at_once: int = 4) -> None:
        self.words, self.seconds = tuple(words), seconds
        self.pool = ThreadPoolExecutor(at_once, thread_name_prefix="check")
        self.running: dict[str, Future[Checked]] = {}
        self.latest: dict[str, Checked] = {}

    def ask(self, node: str, older_than_s: float) -> Checked | None:
        """The latest answer that began after a moment; asks for one when there is none."""
        self.collect()
        found = self.latest.get(node)
        if found is not None and found.at_s >= older_than_s:
            return found
        if self.words and node not in self.running and _NAME.fullmatch(node):
            self.running[node] = self.pool.submit(self._run, node)
        return None

    def collect(self) -> None:
        """Take what has ended."""
        for node, future in list(self.running.items()):
            if future.done():
                self.latest[node] = future.result()
                del self.running[node]

    def close(self) -> None:
        """Start no more."""
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, node: str) -> Checked:
        at = time.time()
        words = [word.replace("{node}", node) for word in self.words]
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                timeout=self.seconds, check=False, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Checked(node, at, False, ("node: does not answer",))
        except OSError as error:
            return Checked(node, at, False, (f"check: cannot be run: {error.strerror}",))
        said = tuple(plain_text(line, 200) for line in done.stdout.splitlines() if line.strip())[:20]
        if done.returncode == 255 and not said:  # what ssh says of a host that it cannot reach
            said = ("node: does not answer",)
        return Checked(node, at, done.returncode == 0, said or (() if done.returncode == 0 else ("check: failed",)))


def answers_at(host: str, port: int, seconds: float = 1.0) -> bool | None:
    """Whether slurmd's port takes a connection; None when the host does not answer at all."""
    try:
        socket.create_connection((host, port), seconds).close()
        return True
    except ConnectionRefusedError:
        return False
    except OSError:
        return None


def racks_of(bundle: Path | None) -> dict[str, str]:
    """Node -> rack of the bundle; empty without."""
    try:
        held = json.loads((bundle / "inventory.json").read_text("utf-8")) if bundle else {}
        return {str(name): str(one.get("rack") or "") for name, one in held.get("hosts", {}).items()}
    except (OSError, ValueError, AttributeError):
        return {}
