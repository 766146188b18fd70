"""What is broken on purpose: each fault shows in the metrics and does to processes what the real one does.

=============  ==============================================================================================
``xid``         the GPU reports the code; the job's processes on the node die, unless the code is harmless
``gpu-lost``    the GPU is gone from the metrics; the job's processes on the node die
``node-dead``   slurmd and all that runs on the node is killed; its exporters do not answer
``node-hung``   all of it is stopped, not ended; its exporters do not answer
``link-down``   a port of the fabric is down; the job's processes on the node make no progress
``node-slow``   clocks fall; the job's processes on the node run a part of the time
``fs-full``     the shared file system has no room left
``rack-power``  every node of the rack is dead
=============  ==============================================================================================
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from clusterwright.deploy import monitoring_table as table
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.place import Lab
from clusterwright.lab.processes import alive, end, marked, start

__all__ = ["KINDS", "Fault", "broken", "check", "inject", "mend"]

KINDS = ("xid", "gpu-lost", "node-dead", "node-hung", "link-down", "node-slow", "fs-full", "rack-power")
_HARMLESS = {"45", "43"}
"""XID codes that come when processes end, or that a debugger makes: nothing dies of them."""
_FILL = ".full"


@dataclass(frozen=True)
class Fault:
    """One thing that is broken.

    Attributes:
        kind: one of :data:`KINDS`.
        node: where; empty for the shared file system.
        gpu: number of the GPU, or -1.
        xid: code, or 0.
        factor: of ``node-slow``, the part of the time that processes run.
        begun_s: seconds since the epoch.
    """

    kind: str
    node: str
    gpu: int = -1
    xid: int = 0
    factor: float = 1.0
    begun_s: float = 0.0


def broken(lab: Lab) -> list[Fault]:
    """What is broken now."""
    try:
        return [Fault(**one) for one in json.loads(lab.faults.read_text("utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


@contextlib.contextmanager
def _held(lab: Lab) -> Iterator[list[Fault]]:
    """The list under a lock; what is left in it is written back whole."""
    with (lab.root / "faults.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        faults = broken(lab)
        yield faults
        fresh = lab.faults.with_suffix(".new")
        fresh.write_text(json.dumps([asdict(one) for one in faults], indent=1), "utf-8")
        fresh.replace(lab.faults)


def inject(
    lab: Lab, kind: str, places: Sequence[str] = (), *, gpu: int = 0, xid: int = 79, factor: float = 0.3
) -> list[Fault]:
    """Break something.

    Args:
        lab: that is up.
        kind: one of :data:`KINDS`.
        places: nodes; for ``rack-power`` racks; none for ``fs-full``.
        gpu: for ``xid`` and ``gpu-lost``.
        xid: code, for ``xid``.
        factor: for ``node-slow``, the part of the time that processes run.

    Raises:
        InputError: with everything that is wrong; then nothing is broken.
    """
    wrong = list(_wrong(lab, kind, places, gpu, xid, factor))
    if wrong:
        raise InputError(wrong)
    nodes, now = _nodes(lab, kind, places), time.time()
    made = [
        Fault(
            kind,
            node,
            gpu if kind in ("xid", "gpu-lost") else -1,
            xid if kind == "xid" else 0,
            factor if kind == "node-slow" else 1.0,
            now,
        )
        for node in nodes
    ]
    with _held(lab) as faults:
        faults.extend(made)
    for one in made:
        _do(lab, one)
    return made


def _wrong(lab: Lab, kind: str, places: Sequence[str], gpu: int, xid: int, factor: float) -> Iterator[Finding]:
    def say(place: str, text: str, hint: str) -> Finding:
        return FINDINGS["LAB-FAULT"].at(place, text, hint)

    nodes = lab.about["nodes"]
    racks = {one["rack"] for one in nodes.values()}
    if kind not in KINDS:
        yield say("KIND", f"no fault is called '{kind}'", f"one of {', '.join(KINDS)}")
        return
    known, what = (racks, "rack") if kind == "rack-power" else (set(nodes), "node")
    yield from (
        say(place, f"the lab has no {what} '{place}'", f"such as {min(known)}")
        for place in places
        if place not in known
    )
    if bool(places) == (kind == "fs-full"):
        yield say("NODE", "fs-full takes no node" if places else f"say at which {what}", f"such as {min(known)}")
    most = min((nodes[place]["gpus"] for place in places if place in nodes), default=1)
    if kind in ("xid", "gpu-lost") and not 0 <= gpu < most:
        yield say("--gpu", f"the node has GPUs 0 to {most - 1}, not {gpu}", "count from 0")
    if kind == "xid" and not 1 <= xid <= 999:
        yield say("--xid", f"{xid} is no XID code", "such as 79")
    if kind == "node-slow" and not 0.01 <= factor < 1:
        yield say("--factor", f"{factor:g} is no part of the time", "such as 0.3")
    if kind == "fs-full" and lab.about.get("shared") != "tmpfs":
        yield say(
            "fs-full", "the shared folder is no file system of its own here", "mount is not allowed on this machine"
        )


def _nodes(lab: Lab, kind: str, places: Sequence[str]) -> list[str]:
    if kind == "fs-full":
        return [""]
    if kind == "rack-power":
        return [node for node, one in lab.about["nodes"].items() if one["rack"] in places]
    return list(places)


def _do(lab: Lab, fault: Fault) -> None:
    match fault.kind:
        case "xid":
            if _kills(fault.xid):
                _signal_tasks(lab, fault.node, signal.SIGKILL)
        case "gpu-lost":
            _signal_tasks(lab, fault.node, signal.SIGKILL)
        case "node-dead" | "rack-power":
            _signal(lab, fault.node, signal.SIGKILL)
        case "node-hung":
            _signal(lab, fault.node, signal.SIGSTOP)
        case "link-down":
            _signal_tasks(lab, fault.node, signal.SIGSTOP)
        case "node-slow":
            import sys

            words = [sys.executable, "-m", "clusterwright.lab.throttle", str(lab.root), fault.node, f"{fault.factor:g}"]
            start(lab, f"throttle-{fault.node}", words, {"PYTHONPATH": ":".join(p for p in sys.path if p)})
        case "fs-full":
            _fill(lab.shared)


def _kills(xid: int) -> bool:
    known = {row["xid"] for row in table("xid.csv")}
    return str(xid) in known and str(xid) not in _HARMLESS


def _signal_tasks(lab: Lab, node: str, number: int) -> None:
    for one in marked(lab.root, node):
        if one.task:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, number)


def _signal(lab: Lab, node: str, number: int) -> None:
    for _ in range(3 if number == signal.SIGKILL else 1):  # what was being started meanwhile dies in the next round
        found = marked(lab.root, node)
        for one in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, number)
        if not found:
            break
        time.sleep(0.02)


def _fill(folder: Path) -> None:
    with (folder / _FILL).open("ab") as stream:
        block = 16 << 20
        while block:
            try:
                os.posix_fallocate(stream.fileno(), stream.seek(0, os.SEEK_END), block)
            except OSError:
                block //= 4


def check(lab: Lab, node: str) -> list[str]:
    """What the node's health check would print; empty for a healthy node.

    Raises:
        InputError: the lab has no such node.
    """
    if node not in lab.about["nodes"]:
        raise InputError(
            FINDINGS["LAB-FAULT"].at(node, "the lab has no such node", "lab status lists none; sinfo does")
        )
    told = {
        "xid": "xid: {xid} on GPU {gpu}",
        "gpu-lost": "gpu: GPU {gpu} is gone",
        "node-dead": "node: does not answer",
        "rack-power": "node: does not answer",
        "node-hung": "node: does not answer",
        "link-down": "fabric: a port is down",
        "node-slow": "gpu: is slowed down by its hardware",
    }
    found = [told[one.kind].format(**asdict(one)) for one in broken(lab) if one.node == node and one.kind in told
             and (one.kind != "xid" or _kills(one.xid))]  # fmt: skip
    if not found and not any(one.command == "slurmd" and alive(one.pid) for one in marked(lab.root, node)):
        found.append("slurmd: does not run")
    if any(one.kind == "fs-full" for one in broken(lab)):
        found.append("disk: the shared file system is full")
    return found


def mend(lab: Lab, nodes: Sequence[str] = ()) -> list[Fault]:
    """Repair nodes (all, and the shared file system, when none is named); a dead node boots again.

    Slurm's state of the node is left alone: whoever drained it gives it back.
    """
    known = lab.about["nodes"]
    wrong = [
        FINDINGS["LAB-FAULT"].at(n, f"the lab has no node '{n}'", f"such as {min(known)}")
        for n in nodes
        if n not in known
    ]
    if wrong:
        raise InputError(wrong)
    with _held(lab) as faults:
        gone = [one for one in faults if not nodes or one.node in nodes]
        faults[:] = [one for one in faults if one not in gone]
    if any(one.kind == "fs-full" for one in gone):
        (lab.shared / _FILL).unlink(missing_ok=True)
    for node in {one.node for one in gone if one.node} | set(nodes):
        _boot(lab, node, [one for one in gone if one.node == node])
    return gone


def _boot(lab: Lab, node: str, gone: Sequence[Fault]) -> None:
    from clusterwright.lab.slurm import start_node

    end(lambda: [one for one in marked(lab.root) if f"throttle-{node}" in one.command or _throttles(one.pid, node)], 2)
    _signal(lab, node, signal.SIGCONT)
    rebooted = any(one.kind in ("node-hung", "node-dead", "rack-power") for one in gone)
    if any(one.kind == "node-hung" for one in gone):
        _signal(lab, node, signal.SIGKILL)
    runs = any(one.command == "slurmd" for one in marked(lab.root, node))
    if rebooted or not runs:
        start_node(lab, node, lab.about["clock"])


def _throttles(pid: int, node: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"clusterwright.lab.throttle" in words and node.encode() in words
