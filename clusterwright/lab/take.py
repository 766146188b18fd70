"""Bring a lab to what its bundle says now, without ending its jobs.

What changed decides what is done: values are re-read, new nodes and plug-ins want daemons to start anew, another
release of Slurm starts them in the order of an upgrade: slurmdbd, slurmctld, slurmd. Steps of jobs live in processes
of their own and go on meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from clusterwright.deploy import SLURMCTLD, Folder
from clusterwright.deploy import SlurmFiles as Read
from clusterwright.deploy import SlurmPorts as Ports
from clusterwright.domains.scheduling import parse
from clusterwright.errors import InputError, WorldError
from clusterwright.lab import slurm
from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.monitoring import configure_monitoring, start_exporter
from clusterwright.lab.place import Lab
from clusterwright.lab.processes import Process, call, end, marked
from clusterwright.lab.up import describe_nodes

__all__ = ["take"]

_READ_ANEW = {"partitionname", "schedulerparameters", "preemptexempttime", "preemptmode", "preemptparameters",
              "slurmctlddebug", "slurmddebug", "minjobage", "maxjobcount", "maxarraysize"}  # fmt: skip
"""Keys of slurm.conf, beside those of priorities and time limits, that 'scontrol reconfigure' takes over."""


def take(lab: Lab) -> list[str]:
    """Take the bundle over.

    Returns:
        what was done, in order.

    Raises:
        InputError: a node that has jobs would go.
        WorldError: a daemon does not start again.
    """
    about = dict(lab.about)
    read = Read(Folder.open(lab.bundle), about["site"])
    held = {node: int(one["port"]) for node, one in about["nodes"].items()}
    nodes = slurm.node_ports(read.nodes, held, max(held.values()) + 1)
    gone = [node for node in held if node not in nodes]
    _must_be_idle(lab, gone)
    next_ = lab.root / "slurm.next"
    shutil.rmtree(next_, ignore_errors=True)
    slurm.configure(lab, read, SLURMCTLD.version, Ports(**about["slurm_ports"]), nodes, next_.name)
    changed = _changed(next_, lab.conf.parent)
    anew = _wants_restart(next_ / "slurm.conf", lab.conf) or bool(changed & {"gres.conf", "topology.conf"})
    upgrade = read.release != about.get("release")
    for name in changed:
        shutil.copy2(next_ / name, lab.conf.parent / name)
    shutil.rmtree(next_)
    fresh = [node for node in nodes if node not in held]
    about["nodes"] = describe_nodes(read, nodes)
    about["release"] = read.release
    (lab.root / "lab.json").write_text(json.dumps(about, indent=1), "utf-8")
    done = _daemons(lab, changed, gone, [*nodes], anew or upgrade, upgrade)
    if fresh:
        done.append(f"{len(fresh)} nodes started")
    if "accounts.sh" in changed or upgrade:
        code, said = slurm.accounts(lab, slurm.people(read))
        if code:
            raise WorldError(
                FINDINGS["LAB-START"].at("accounts.sh", said.strip()[-400:], "clusterwright verify BUNDLE")
            )
        done.append("accounts.sh run again")
    if about["ports"]:
        done += _monitoring(lab, read, bool(fresh or gone))
    return done


def _changed(new: Path, old: Path) -> set[str]:
    """Files that differ."""
    names = {path.name for folder in (new, old) for path in folder.iterdir() if path.is_file()}
    changed = set()
    for name in sorted(names):
        if (new / name).is_file() and (
            not (old / name).is_file() or (new / name).read_bytes() != (old / name).read_bytes()
        ):
            changed.add(name)
    return changed - {"slurmctld.pid", "slurmdbd.pid"}


def _wants_restart(new: Path, old: Path) -> bool:
    """Whether lines differ that only a start reads: nodes, plug-ins, ports."""
    lines = [{(one.key.lower(), tuple(one.pairs)) for one in parse(path.read_text("utf-8"))} for path in (new, old)]
    keys = {key for key, _ in lines[0] ^ lines[1]}
    return any(
        not key.startswith("priority") and not key.endswith(("timeout", "wait")) and key not in _READ_ANEW
        for key in keys
    )


def _must_be_idle(lab: Lab, gone: Sequence[str]) -> None:
    if not gone:
        return
    code, said = call(lab, ["squeue", "-h", "-w", ",".join(gone), "-o", "%A"], 20)
    if code or said.split():
        text = f"{len(gone)} nodes would go, and jobs {' '.join(said.split()[:5])} are on them"
        raise InputError(FINDINGS["LAB-BUSY"].at(gone[0], text, "drain them and wait, or cancel the jobs"))


def _daemons(
    lab: Lab, changed: set[str], gone: Sequence[str], nodes: Sequence[str], anew: bool, upgrade: bool
) -> list[str]:
    done, clock = [], lab.about["clock"]
    if upgrade or changed & {"slurmdbd.conf"}:
        _stop(lab, "slurmdbd")
        slurm.start_slurm(lab, "slurmdbd")
        done.append("slurmdbd started anew")
    if anew:
        _stop(lab, "slurmctld")
        for node in (*gone, *nodes):
            _stop(lab, "slurmd", node, wait=False)
        slurm.start_slurm(lab, "slurmctld", clock)
        done.append("slurmctld started anew")
        for node in nodes:
            slurm.start_node(lab, node, clock)
        _registered(lab, nodes)
        done.append("slurmd of every node started anew")
    elif "slurm.conf" in changed:
        code, said = call(lab, ["scontrol", "reconfigure"], 60)
        if code:
            raise WorldError(FINDINGS["LAB-START"].at("slurmctld", said.strip()[-300:], "scontrol ping"))
        done.append("scontrol reconfigure")
    return done


def _stop(lab: Lab, command: str, node: str | None = None, wait: bool = True) -> None:
    """End a daemon, not the steps of jobs that it started."""

    def left() -> list[Process]:
        return [one for one in marked(lab.root, node) if one.command == command]

    if wait:
        end(left)
        return
    for one in left():
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)  # slurmd keeps no state that it must write


def _registered(lab: Lab, nodes: Sequence[str]) -> None:
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        _, said = call(lab, ["sinfo", "-hN", "-o", "%N %T"], 20)
        states = dict(line.split() for line in said.splitlines() if len(line.split()) == 2)
        if all(not states.get(node, "unknown").startswith("unk") for node in nodes):
            return
        time.sleep(0.2)


def _monitoring(lab: Lab, read: Read, nodes: bool) -> list[str]:
    every_s, ports = float(lab.about["scrape_s"]), lab.about["ports"]
    if not configure_monitoring(lab, read, every_s, ports) and not nodes:
        return []
    if nodes:
        end(lambda: [one for one in marked(lab.root) if _is_exporter(one.pid)], 5)
        start_exporter(lab, read, every_s, ports)
    for one in marked(lab.root):
        if one.command.startswith("prometheus"):
            os.kill(one.pid, signal.SIGHUP)
    return ["Prometheus and Alertmanager read their files again"]


def _is_exporter(pid: int) -> bool:
    try:
        return b"clusterwright.lab.exporter" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
