"""Start a lab: a real Slurm of the rendered bundle on this machine, watched by Prometheus and Alertmanager."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, save
from clusterwright.deploy import MARIADBD, SLURMCTLD, SLURMD, SLURMDBD, Folder, Program, render
from clusterwright.deploy import SlurmFiles as Read
from clusterwright.deploy import SlurmPorts as Ports
from clusterwright.deploy import slurm_files as sites
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Finding
from clusterwright.lab import slurm
from clusterwright.lab.clock import Clock
from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.down import down
from clusterwright.lab.monitoring import PROGRAMS as WATCHERS
from clusterwright.lab.monitoring import start_monitoring
from clusterwright.lab.place import Lab, labs, place_of
from clusterwright.lab.processes import call

__all__ = ["Started", "describe_nodes", "missing", "up"]

MUNGED = Program("munged", "apt install munge")
_SECONDS = 120.0
_NAMES_ONLY = 3
"""Exit code of accounts.sh before slurmctld has told the database of GPUs."""
_SHARED_BYTES = 1 << 30


@dataclass(frozen=True)
class Started:
    """What came of it.

    Attributes:
        lab: that is up.
        nodes: that are idle.
        gpus: of them.
        ready_s: from the first step until all nodes were idle.
        steps: seconds of each step.
        findings: what the lab leaves out.
    """

    lab: Lab
    nodes: int
    gpus: int
    ready_s: float
    steps: Mapping[str, float]
    findings: tuple[Finding, ...] = field(default=())


def missing(watched: bool = True) -> list[Finding]:
    """What this machine lacks for a lab."""
    found = []
    if os.geteuid() != 0:
        found.append(FINDINGS["LAB-NOT-ROOT"].at("", "this user is not root", "run it with sudo, or in a container"))
    for program in (SLURMCTLD, SLURMD, SLURMDBD, MARIADBD, MUNGED, *(WATCHERS if watched else ())):
        if program.path is None:
            said = f"{program.name} is not installed"
            found.append(FINDINGS["LAB-PROGRAM-MISSING"].at(program.name, said, program.install))
    return found


def up(
    cluster: Cluster,
    catalog: Catalog,
    *,
    name: str | None = None,
    site: str | None = None,
    rate: float = 1.0,
    watched: bool = True,
    scrape_s: float = 2.0,
    keep: bool = False,
    said: Callable[[str], None] = lambda _: None,
) -> Started:
    """Start a lab of a design.

    Args:
        cluster: a design whose scheduler is Slurm.
        catalog: for the rendering.
        name: of the lab; the design's when left out.
        site: which of the design's sites; needed when it has several.
        rate: of the clock of Slurm: seconds of Slurm in a true second.
        watched: whether Prometheus, Alertmanager and the exporters run, too.
        scrape_s: how often they look.
        keep: leave a lab that did not start as it is, to look at its logs.
        said: is told what is being done.

    Raises:
        WorldError: not root, a program is missing, a daemon does not start; nothing is left running.
        InputError: a lab of that name is up, or the design is not for Slurm.
    """
    lacking = missing(watched)
    if lacking:
        raise WorldError(lacking)
    bundle = render(cluster, catalog)
    called = name or bundle.inventory.name
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,30}", called):
        said_ = "letters, digits, dots and dashes, at most 31: sockets lie in its folder"
        raise InputError(FINDINGS["LAB-FAULT"].at("--name", f"'{called[:40]}' is no name for a lab", said_))
    lab = Lab(place_of(called))
    _claim(lab)
    with _ended_unless_up(lab, keep), _alone(said):
        bundle.write(lab.bundle)
        save(cluster, lab.root / "design")
        read = _site(Folder.open(lab.bundle), site)
        return _Start(lab, read, Clock(lab, rate), watched, scrape_s, said).run()


@contextmanager
def _alone(said: Callable[[str], None]) -> Iterator[None]:
    """One lab starts at a time on this machine: ports that one has chosen are not taken before its daemons listen."""
    limit = time.monotonic() + _SECONDS
    with socket.socket(socket.AF_UNIX) as held:
        while True:
            try:
                held.bind("\0clusterwright-lab-up")  # of no file, and gone with this process
            except OSError:
                if time.monotonic() > limit:
                    text = "another lab has been starting for two minutes"
                    raise WorldError(FINDINGS["LAB-START"].at("", text, "ps ax | grep 'lab up'")) from None
                said("another lab is starting")
                time.sleep(0.2)
            else:
                break
        yield


def _claim(lab: Lab) -> None:
    labs().mkdir(parents=True, exist_ok=True)
    try:
        lab.root.mkdir(mode=0o755)
    except FileExistsError:
        hint = f"clusterwright lab down --name {lab.name}"
        raise InputError(FINDINGS["LAB-UP"].at("", f"the lab '{lab.name}' is up, or was left", hint)) from None
    for folder in ("log", "nodes", "shared", "state", "design"):
        (lab.root / folder).mkdir()


def _site(folder: Folder, name: str | None) -> Read:
    found = sites(folder)
    if not found:
        raise InputError(
            FINDINGS["LAB-SCHEDULER"].at("scheduler.kind", "the design has no Slurm", "scheduler: {kind: slurm}")
        )
    chosen = [one for one in found if name in (None, one.site)]
    if len(chosen) != 1:
        names = ", ".join(one.site for one in found)
        raise InputError(FINDINGS["LAB-SITE"].at("--at", f"sites of the design: {names}", "say one of them with --at"))
    return chosen[0]


@contextmanager
def _ended_unless_up(lab: Lab, keep: bool) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if not keep:
            down(lab)
        raise


@dataclass
class _Start:
    lab: Lab
    read: Read
    clock: Clock
    watched: bool
    scrape_s: float
    said: Callable[[str], None]
    steps: dict[str, float] = field(default_factory=dict)
    shared: str = "folder"

    def run(self) -> Started:
        begun = time.monotonic()
        lab, read = self.lab, self.read
        with self._step("files"):
            self.shared = _mount(lab.shared)
            ports, nodes = Ports.free(), slurm.node_ports(read.nodes, {})
            made = slurm.configure(lab, read, SLURMCTLD.version, ports, nodes)
            slurm.start_munge(lab)
            self.clock.start()
        with self._step("database"):
            slurm.start_database(lab, made)
            slurm.start_slurm(lab, "slurmdbd")
        with self._step("accounts"):
            self._accounts(first=True)
        with self._step("controller"):
            slurm.start_slurm(lab, "slurmctld", self.clock.environment)
        with self._step("nodes"):
            for node in read.nodes:
                slurm.start_node(lab, node, self.clock.environment)
        with self._step("limits"):
            self._accounts(first=False)
        about = self._about(ports, nodes)
        (lab.root / "lab.json").write_text(json.dumps(about, indent=1), "utf-8")
        lab.faults.write_text("[]", "utf-8")
        if self.watched:
            with self._step("monitoring"):
                names = ("prometheus", "alertmanager", "exporter", "slurm-exporter")
                first_free = slurm.free_range(len(names), max(nodes.values()) + 1)
                about["ports"] = {one: first_free + i for i, one in enumerate(names)}
                start_monitoring(lab, read, self.scrape_s, about["ports"])
        with self._step("idle"):
            self._idle(len(read.nodes))
        (lab.root / "lab.json").write_text(json.dumps(about, indent=1), "utf-8")
        lab.site.write_text(yaml.safe_dump(self._reached(about), sort_keys=False), "utf-8")
        gone = sorted(set(made.left_out))
        note = FINDINGS["LAB-LEFT-OUT"].at("slurm.conf", f"left out: {', '.join(gone)}", "docs/guides/lab.md says why")
        gpus = sum(read.gpus.values())
        return Started(lab, len(read.nodes), gpus, time.monotonic() - begun, self.steps, (note,) if gone else ())

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self.said(name)
        begun = time.monotonic()
        yield
        self.steps[name] = time.monotonic() - begun

    def _accounts(self, first: bool) -> None:
        people = [] if first else slurm.people(self.read)
        code, said = slurm.accounts(self.lab, people)
        if code != 0 and not (first and code == _NAMES_ONLY):
            raise WorldError(
                FINDINGS["LAB-START"].at("accounts.sh", said.strip()[-400:], "clusterwright verify BUNDLE")
            )

    def _idle(self, count: int) -> None:
        limit = time.monotonic() + _SECONDS
        held = 0
        while time.monotonic() < limit:
            held = len(set(call(self.lab, ["sinfo", "-hN", "-t", "idle", "-o", "%N"])[1].split()))
            if held >= count:
                return
            time.sleep(0.2)
        said = f"{held} of {count} nodes are idle after {_SECONDS:g} s: {self.lab.said('slurmctld')}"
        raise WorldError(FINDINGS["LAB-START"].at("slurmd", said, f"read {self.lab.root}/log with 'lab up --keep'"))

    def _about(self, ports: Ports, nodes: Mapping[str, int]) -> dict[str, Any]:
        return {
            "schema": "clusterwright/lab/1",
            "name": self.lab.name,
            "site": self.read.site,
            "begun_s": time.time(),
            "rate": self.clock.rate,
            "clock": self.clock.environment,
            "slurm": SLURMCTLD.version,
            "release": self.read.release,
            "scrape_s": self.scrape_s,
            "shared": self.shared,
            "slurm_ports": asdict(ports),
            "nodes": describe_nodes(self.read, nodes),
            "ports": {},
        }

    def _reached(self, about: Mapping[str, Any]) -> dict[str, Any]:
        ports, root = about["ports"], self.lab.root
        made: dict[str, Any] = {
            "version": 1,
            "name": self.lab.name,
            "slurm": {"conf": str(self.lab.conf)},
            "bundle": str(self.lab.bundle),
            "design": str(root / "design"),
            "state": str(root / "state"),
            "shared": str(self.lab.shared),
            "take": [*_ourselves(), "lab", "take", "--name", self.lab.name],
            "check": [*_ourselves(), "lab", "check", "--name", self.lab.name, "{node}"],
            "watch": {"every_s": 1, "dead_after_s": 3},
            "exempt": slurm.replaced(self.read, self.lab.conf),
        }
        if ports:
            made["prometheus"] = f"http://127.0.0.1:{ports['prometheus']}"
            made["alertmanager"] = f"http://127.0.0.1:{ports['alertmanager']}"
        return made


def describe_nodes(read: Read, nodes: Mapping[str, int]) -> dict[str, Any]:
    """What is noted of each node."""
    hosts = read.folder.inventory["hosts"]
    return {
        node: {
            "port": port,
            "rack": hosts[node]["rack"],
            "gpus": read.gpus[node],
            "spare": "spare" in read.nodes[node].get("Feature").split(","),
        }
        for node, port in nodes.items()
    }


def _mount(folder: Path) -> str:
    """A file system of its own that can run full, where this machine allows it."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={_SHARED_BYTES},mode=755", "clusterwright-lab", str(folder)]
    done = subprocess.run(words, check=False, capture_output=True)
    return "tmpfs" if done.returncode == 0 else "folder"


def _ourselves() -> list[str]:
    import sys

    beside = Path(sys.executable).with_name("clusterwright")
    return (
        [str(beside)] if beside.is_file() else [shutil.which("clusterwright") or sys.executable, "-m", "clusterwright"]
    )
