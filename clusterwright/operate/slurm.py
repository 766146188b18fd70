"""A client of Slurm: what its own programs say and do, for every release since 22.05.

Free text (names and comments of jobs) is never asked for together with anything else, so that nobody's job name can
stand in for another field. Nodes' reasons are written by operators only, and are read last.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright.domains.scheduling import hosts
from clusterwright.errors import WorldError
from clusterwright.operate.codes import FINDINGS

__all__ = ["OWN_REASONS", "Job", "Node", "Partition", "Slurm", "plain_text"]

_PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_:/]*)=")
_REASON = re.compile(r" Reason=(.*) \[(\S+)@([0-9T:-]+)\]")
_GPUS = re.compile(r"gres/gpu=(\d+)")
_JOB_FIELDS = ("JobID", "ArrayJobID", "State", "Account", "QOS", "Partition", "UserName", "NumNodes", "NodeList",
               "tres-alloc", "RestartCnt", "SubmitTime", "StartTime", "TimeLimit", "EndTime", "NumTasks",
               "ReasonList")  # fmt: skip
OWN_REASONS = ("Not responding", "Node unexpectedly rebooted")
"""What slurmctld itself writes as the reason of a node that it gives up."""
_UNUSABLE = {"DOWN", "FAIL", "FAILING", "ERROR", "UNKNOWN", "NOT_RESPONDING", "INVALID", "INVALID_REG", "POWERED_DOWN"}


def plain_text(text: str, most: int = 80) -> str:
    """Somebody's text without control characters, so that it cannot move a terminal's cursor."""
    return "".join(c if c.isprintable() else "?" for c in text)[:most]


@dataclass(frozen=True)
class Node:
    """A node as slurmctld holds it.

    Attributes:
        states: base state and flags, such as ``IDLE``, ``DRAIN``, ``NOT_RESPONDING``.
        gpus, gpus_used: that it has, that jobs hold.
        reason: why it is drained or down; empty without.
        reason_by: who said so; reason_at_s: when.
        booted_s, started_s: when the machine and slurmd started, seconds since the epoch; 0 unknown.
        features: that jobs can ask for.
        address, port: where its slurmd listens; 0 unknown.
    """

    name: str
    states: frozenset[str]
    gpus: int = 0
    gpus_used: int = 0
    reason: str = ""
    reason_by: str = ""
    reason_at_s: float = 0.0
    booted_s: float = 0.0
    started_s: float = 0.0
    features: tuple[str, ...] = ()
    address: str = ""
    port: int = 0

    @property
    def draining(self) -> bool:
        """Whether it takes no new jobs."""
        return bool(self.states & {"DRAIN", "DRAINED", "DRAINING"})

    @property
    def busy(self) -> bool:
        """Whether a job is on it, or still ending on it."""
        return bool(self.states & {"ALLOCATED", "MIXED", "COMPLETING"})

    @property
    def unusable(self) -> bool:
        """Whether no job can run on it."""
        return bool(self.states & _UNUSABLE)

    @property
    def held(self) -> bool:
        """Whether somebody took it out of service: drained, or down for a reason that is not slurmctld's own."""
        theirs = bool(self.reason) and not self.reason.startswith(OWN_REASONS)
        return self.draining or ("DOWN" in self.states and theirs)

    @property
    def answers(self) -> bool:
        """Whether its slurmd answers the controller."""
        return not self.states & {"NOT_RESPONDING", "DOWN", "UNKNOWN"}


@dataclass(frozen=True)
class Job:
    """A job that slurmctld holds.

    Attributes:
        key: its number; of a task of an array, the task's own.
        state: such as ``RUNNING``.
        nodes: that it is on.
        gpus: that it holds.
        restarts: how often it was requeued.
        submitted_s, started_s: seconds since the epoch, 0 unknown.
        limit_s: its time limit, 0 without.
        reason: why it waits.
        ended_s: when it ended, or is to end at the latest.
        tasks: that it asks for.
    """

    key: str
    state: str
    account: str
    user: str
    partition: str
    qos: str
    node_count: int
    nodes: tuple[str, ...]
    gpus: int
    restarts: int
    submitted_s: float
    started_s: float
    limit_s: float
    reason: str
    ended_s: float = 0.0
    tasks: int = 0


@dataclass(frozen=True)
class Partition:
    """A partition and its nodes."""

    name: str
    nodes: tuple[str, ...]
    up: bool


@dataclass(frozen=True)
class Slurm:
    """One Slurm.

    Attributes:
        conf: slurm.conf, None for the system's own.
        seconds: after which a client that does not answer is given up.
    """

    conf: Path | None = None
    seconds: float = 20.0
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Of the clients."""
        made = {"PATH": _PLACES, "LANG": "C.UTF-8", "HOME": "/", "SLURM_TIME_FORMAT": "%s", **self.extra}
        return made | ({"SLURM_CONF": str(self.conf)} if self.conf else {})

    def run(self, *words: str, stdin: str = "", seconds: float | None = None) -> str:
        """What a client said.

        Raises:
            WorldError: it is not installed, does not answer, or refuses.
        """
        limit = self.seconds if seconds is None else seconds
        try:
            done = subprocess.run(
                list(words),
                env=self.environment,
                input=stdin,
                capture_output=True,
                timeout=limit,
                check=False,
                encoding="utf-8",
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            raise self._failed(words, f"no answer within {limit:g} s", "is slurmctld up? scontrol ping") from None
        except OSError as error:
            raise self._failed(words, str(error.strerror or error), "apt install slurm-client") from None
        if done.returncode:
            said = " ".join(line.strip() for line in done.stderr.splitlines() if line.strip()) or "it says nothing"
            raise self._failed(words, plain_text(said, 300), "scontrol ping says whether slurmctld answers")
        return done.stdout

    def _failed(self, words: Sequence[str], said: str, hint: str) -> WorldError:
        return WorldError(FINDINGS["OPERATE-SLURM"].at(" ".join(words[:3]), said, hint))

    # --- what there is ---

    def up(self) -> bool:
        """Whether slurmctld answers."""
        try:
            return " is UP" in self.run("scontrol", "ping", seconds=5)
        except WorldError:
            return False

    def must_be_up(self) -> None:
        """Nothing when slurmctld answers.

        Raises:
            WorldError: it does not.
        """
        if not self.up():
            raise self._failed(("scontrol", "ping"), "slurmctld does not answer", "bring it up; nothing was changed")

    def nodes(self) -> list[Node]:
        """Every node."""
        lines = self.run("scontrol", "--oneliner", "show", "node").splitlines()
        return [_node(line) for line in lines if line.startswith("NodeName=")]

    def node(self, name: str) -> Node | None:
        """One node as it is now; None when there is none of that name."""
        lines = self.run("scontrol", "--oneliner", "show", "node", name).splitlines()
        return next((_node(line) for line in lines if line.startswith(f"NodeName={name} ")), None)

    def job(self, key: str) -> Job | None:
        """One job as it is now; None when the controller does not hold it."""
        try:
            return next((one for one in self._jobs("-j", key) if one.key == key), None)
        except WorldError as error:
            if "Invalid job id" in error.findings[0].message:
                return None
            raise

    def jobs(self) -> list[Job]:
        """Every job that the controller still holds, tasks of arrays apart."""
        return self._jobs()

    def _jobs(self, *which: str) -> list[Job]:
        asked = ",".join(f"{name}:|" for name in _JOB_FIELDS)
        lines = self.run("squeue", "--noheader", "--all", "--array", "--states=all", *which, "-O", asked).splitlines()
        rows = [line.split("|") for line in lines]
        return [_job(row) for row in rows if len(row) > len(_JOB_FIELDS) - 1 and row[0].isdigit()]

    def partitions(self) -> list[Partition]:
        """Every partition."""
        made = []
        for line in self.run("scontrol", "--oneliner", "--all", "show", "partition").splitlines():
            held = _fields(line)
            if "PartitionName" in held:
                named = held.get("Nodes", "")
                nodes = () if named == "(null)" else tuple(hosts(named))
                made.append(Partition(held["PartitionName"], nodes, held.get("State") == "UP"))
        return made

    def booted_s(self) -> float:
        """When slurmctld started, seconds since the epoch; 0 unknown."""
        for line in self.run("scontrol", "show", "config").splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "BOOT_TIME":
                return _seconds(value.strip())
        return 0.0

    def job_name(self, key: str) -> str:
        """The name of a job, as its user wrote it."""
        return self.run("squeue", "--noheader", "--states=all", "-j", key, "-o", "%j").rstrip("\n")

    def job_state(self, key: str) -> str:
        """The state of a job now; empty when the controller does not hold it."""
        try:
            return self.run("squeue", "--noheader", "--states=all", "-j", key, "-o", "%T").strip()
        except WorldError:
            return ""

    def job_comment(self, key: str) -> str:
        """The comment of a job, as its user wrote it."""
        return self.run("squeue", "--noheader", "--states=all", "-j", key, "-o", "%k").rstrip("\n")

    def ended_s(self, key: str) -> float:
        """When a job ended, seconds since the epoch; 0 when the controller does not hold it."""
        try:
            return _seconds(self.run("squeue", "--noheader", "--states=all", "-j", key, "-O", "EndTime:.").strip())
        except WorldError:
            return 0.0

    # --- what is done; each call is one change ---

    def drain(self, node: str, reason: str) -> None:
        """No new jobs on a node; jobs on it go on."""
        self._update(f"NodeName={node}", "State=DRAIN", f"Reason={reason}")

    def down(self, node: str, reason: str) -> None:
        """Give a node up: its jobs end there and are requeued, those that may be."""
        self._update(f"NodeName={node}", "State=DOWN", f"Reason={reason}")

    def resume(self, node: str) -> None:
        """Take a drained or lost node back."""
        self._update(f"NodeName={node}", "State=RESUME")

    def requeue(self, job: str) -> None:
        """End a job and let it wait again."""
        self.run("scontrol", "requeue", job)

    def start_soon(self, job: str) -> None:
        """Consider a job that was requeued in two seconds; Slurm holds it back for two minutes.

        Not at once: slurmd revoked the credential of the old life, counts in seconds, and would kill the new one, too.
        """
        self._update(f"JobId={job}", "StartTime=now+2")

    def set_node_count(self, job: str, count: int, per_node: int = 0) -> None:
        """How many nodes a waiting job asks for; its tasks and processors follow, or it could never start.

        Args:
            job: its number.
            count: of nodes.
            per_node: tasks on a node; worked out when left out, which holds for the first change only: of a job that
                was changed Slurm shows a number of nodes that does not fit its tasks.

        Raises:
            WorldError: it does not wait: what is left of a job that is ending is not what it asks for.
        """
        asked = "State:|,NumNodes:|,NumTasks:|,NumCPUs:|"
        said = self.run("squeue", "--noheader", "--states=all", "-j", job, "-O", asked)
        state, *rest = (one.strip() for one in said.split("|")[:4])
        if state != "PENDING" or not all(one.isdigit() and int(one) for one in rest):
            raise self._failed(("squeue", "-j", job), f"job {job} is {plain_text(state)}, not PENDING", "try again")
        nodes, tasks, cpus = map(int, rest)
        wanted = per_node * count or max(tasks * count // nodes, 1)
        words = (f"NumTasks={wanted}", f"NumCPUs={max(cpus * wanted // tasks, 1)}")
        self._update(f"JobId={job}", f"NumNodes={count}-{count}", *words)

    def set_partition_nodes(self, partition: str, nodes: Sequence[str]) -> None:
        """The nodes of a partition."""
        self._update(f"PartitionName={partition}", f"Nodes={_folded(nodes)}")

    def set_partition_up(self, partition: str, up: bool) -> None:
        """Whether jobs of a partition may start; those that run go on."""
        self._update(f"PartitionName={partition}", f"State={'UP' if up else 'DOWN'}")

    def signal(self, job: str, name: str) -> None:
        """Send a signal to the batch script of a job."""
        self.run("scancel", f"--signal={name}", "--batch", job)

    def cancel(self, job: str) -> None:
        """End a job for good."""
        self.run("scancel", job)

    def _update(self, *words: str) -> None:
        self.run("scontrol", "update", *words)


def _folded(nodes: Sequence[str]) -> str:
    """Names in Slurm's form, ``n[001-128],s1``: thousands of them would not fit into one argument."""
    numbers: dict[tuple[str, int], list[int]] = {}
    others = []
    for name in dict.fromkeys(nodes):
        stem = name.rstrip("0123456789")
        digits = name[len(stem) :]
        if digits:
            numbers.setdefault((stem, len(digits)), []).append(int(digits))
        else:
            others.append(name)
    for (stem, width), held in numbers.items():
        spans: list[list[int]] = []
        for number in sorted(held):
            if spans and number == spans[-1][1] + 1:
                spans[-1][1] = number
            else:
                spans.append([number, number])
        inside = ",".join(f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in spans)
        others.append(f"{stem}[{inside}]")
    return ",".join(others)


def _fields(line: str) -> dict[str, str]:
    """'A=1 B=two words' as a mapping; the first of two equal names counts."""
    found = list(_FIELD.finditer(line))
    ends = [one.start() for one in found[1:]] + [len(line)]
    made: dict[str, str] = {}
    for one, end in zip(found, ends, strict=True):
        made.setdefault(one.group(1), line[one.end() : end].strip())
    return made


def _node(line: str) -> Node:
    held, why = _fields(line), _REASON.search(line)
    features = held.get("AvailableFeatures", "")
    return Node(
        name=held["NodeName"],
        states=frozenset(held.get("State", "UNKNOWN").replace("*", "+NOT_RESPONDING").split("+")),
        gpus=_gpus(held.get("CfgTRES", "")),
        gpus_used=_gpus(held.get("AllocTRES", "")),
        reason=why.group(1) if why else "",
        reason_by=why.group(2) if why else "",
        reason_at_s=_seconds(why.group(3)) if why else 0.0,
        booted_s=_seconds(held.get("BootTime", "")),
        started_s=_seconds(held.get("SlurmdStartTime", "")),
        features=() if features == "(null)" else tuple(features.split(",")),
        address=held.get("NodeAddr", ""),
        port=int(held["Port"]) if held.get("Port", "").isdigit() else 6818,
    )


def _job(row: Sequence[str]) -> Job:
    nodes = row[8] if row[8] not in ("", "(null)", "n/a") else ""
    return Job(
        key=row[0],
        state=row[2],
        account=row[3],
        qos=row[4],
        partition=row[5],
        user=row[6],
        node_count=int(row[7]) if row[7].isdigit() else 0,
        nodes=tuple(hosts(nodes)) if nodes else (),
        gpus=_gpus(row[9]),
        restarts=int(row[10]) if row[10].isdigit() else 0,
        submitted_s=_seconds(row[11]),
        started_s=_seconds(row[12]),
        limit_s=_limit(row[13]),
        reason=row[16].strip().removeprefix("(").removesuffix(")"),
        ended_s=_seconds(row[14]),
        tasks=int(row[15]) if row[15].isdigit() else 0,
    )


def _gpus(text: str) -> int:
    found = _GPUS.search(text)
    return int(found.group(1)) if found else 0


def _seconds(text: str) -> float:
    """Seconds since the epoch of ``2026-12-01T04:00:00`` (local time) or of a plain number; 0 for Unknown."""
    if text.isdigit():
        return float(text)
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, OverflowError):
        return 0.0


def _limit(text: str) -> float:
    """Seconds of ``D-HH:MM:SS``, ``HH:MM:SS`` or ``MM:SS``; 0 without a limit."""
    days, _, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in parts) or (days and not days.isdigit()):
        return 0.0
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(seconds + 86_400 * int(days or 0))
