"""A scratch copy of a Slurm configuration that runs on one machine.

:func:`scratch` changes only what cannot be the same on one machine without its hardware, and says what it changed:

- users, folders, ports, log files; one controller on loopback; every node at 127.0.0.1;
- authentication without munge, no tokens, no PMIx, no SPANK plug-ins, no namespaces: they need the system's set-up;
- what the installed release does not know is left out; topology.yaml becomes topology.conf where it has a tree.

Nodes, partitions, policy, topology, accounts and rules stay as they were rendered. The judges start daemons on it
(``slurm_live``); a lab that runs many slurmd on one machine starts from the same copy.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import socket
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright.deploy.judges.programs import Program
from clusterwright.deploy.targets.slurm.reading import Read
from clusterwright.deploy.targets.slurm.site import CONF
from clusterwright.deploy.targets.slurm.versions import nearest, parameters, values
from clusterwright.domains.scheduling import Line, parse

__all__ = ["MARIADBD", "PROGRAMS", "SLURMCTLD", "SLURMD", "SLURMDBD", "Ports", "Scratch", "scratch"]

SLURMCTLD = Program("slurmctld", "apt install slurmctld slurm-client slurm-wlm-basic-plugins", ("-V",))
SLURMD = Program("slurmd", "apt install slurmd", ("-V",))
SLURMDBD = Program("slurmdbd", "apt install slurmdbd", ("-V",))
MARIADBD = Program("mariadbd", "apt install mariadb-server")
PROGRAMS = (SLURMCTLD, SLURMD, SLURMDBD, MARIADBD)
PASSWORD = "scratch"  # noqa: S105  # of a database that lives for seconds on loopback


@dataclass(frozen=True)
class Ports:
    """Free ports of this machine."""

    slurmctld: int
    slurmd: int
    slurmdbd: int
    mariadb: int

    @classmethod
    def free(cls) -> Ports:
        """Ports that nobody listens on now."""
        held = [socket.socket() for _ in range(4)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        numbers = [int(one.getsockname()[1]) for one in held]
        for one in held:
            one.close()
        return cls(*numbers)


@dataclass
class Scratch:
    """The copy.

    Attributes:
        root: its folder; ``slurm.conf`` and the others lie there.
        release: of the programs that will read it, the nearest that configuration is written for.
        left_out: what of the rendered files is not judged, in words.
        topology: whether topology.conf is that of the bundle.
    """

    root: Path
    ports: Ports
    release: str
    accounting: bool
    left_out: list[str] = field(default_factory=list)
    topology: bool = False

    @property
    def conf(self) -> Path:
        """slurm.conf."""
        return self.root / "slurm.conf"


_DROPPED = {
    "slurmctldhost", "authalttypes", "authaltparameters", "plugstackconfig", "jobcontainertype", "namespacetype",
    "accountingstoragebackuphost", "switchtype", "metricstype",
}  # fmt: skip
_ABSENT = {"plugstack.conf", "job_container.conf", "namespace.yaml"}
"""Files of what the copy does without."""
_ACCOUNTING = {"accountingstoragehost", "accountingstorageport", "accountingstoragetres", "accountingstorageenforce"}
_OF_ACCOUNTING = {"allowqos", "denyqos", "qos", "allowaccounts", "tresbillingweights"}


def scratch(read: Read, root: Path, ports: Ports, version: str, accounting: bool = True) -> Scratch:
    """Write the copy.

    Args:
        read: the site's files in the bundle.
        root: an empty folder.
        ports: to listen on.
        version: of the installed programs, such as 22.05.8.
        accounting: whether a slurmdbd will run beside; without, accounting, QOS and limits are left out.
    """
    made = Scratch(root, ports, nearest(version), accounting)
    for name in ("state", "spool", "archive", "secrets", "log", "scripts"):
        (root / name).mkdir()
    for path in read.folder.paths:
        inside = path.removeprefix(read.path(""))
        if inside != path and "/" not in inside and inside not in _ABSENT:
            shutil.copyfile(read.folder.root / path, root / inside)
    made.conf.write_text(_slurm_conf(read, made), "utf-8")
    _known_only(read, made, "cgroup.conf")
    _database(read, made)
    _topology(read, made)
    return made


def _replaced(made: Scratch) -> dict[str, str]:
    here, user = made.root, getpass.getuser()
    found = {
        "SlurmctldPort": str(made.ports.slurmctld),
        "SlurmdPort": str(made.ports.slurmd),
        "SlurmUser": user,
        "SlurmdUser": user,
        "StateSaveLocation": f"{here}/state",
        "SlurmdSpoolDir": f"{here}/spool",
        "SlurmctldPidFile": f"{here}/slurmctld.pid",
        "SlurmdPidFile": f"{here}/slurmd.pid",
        "SlurmctldLogFile": f"{here}/log/slurmctld.log",
        "SlurmdLogFile": f"{here}/log/slurmd.log",
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "MpiDefault": "none",
        "DisableRootJobs": "NO",
        "AccountingStorageHost": "127.0.0.1",
        "AccountingStoragePort": str(made.ports.slurmdbd),
        "AccountingStorageType": "accounting_storage/slurmdbd" if made.accounting else "accounting_storage/none",
    }
    return {key.lower(): value for key, value in found.items()}


def _slurm_conf(read: Read, made: Scratch) -> str:
    host = socket.gethostname().partition(".")[0]
    replaced, known = _replaced(made), parameters(made.release)
    lines = [f"SlurmctldHost={host}(127.0.0.1)", "MailProg=/bin/true"]
    for line in read.lines:
        first = line.key.lower()
        if first in _DROPPED or (not made.accounting and first in _ACCOUNTING):
            continue
        if first not in known["slurm.conf"]:
            made.left_out.append(line.key)
        elif first in ("nodename", "partitionname"):
            lines.append(_several(line, made, known))
        elif value := _words(line, made, replaced.get(first, line.value)):
            lines.append(f"{line.key}={value}")
    if read.documents and not read.setting("TopologyPlugin"):
        lines.append("TopologyPlugin=topology/tree")
    return "\n".join(lines).replace(f"{CONF}/", f"{made.root}/") + "\n"


def _several(line: Line, made: Scratch, known: object) -> str:
    table = parameters(made.release)[f"slurm.conf {'NodeName' if line.key.lower() == 'nodename' else 'PartitionName'}"]
    pairs = []
    for i, (key, value) in enumerate(line.pairs):
        if not made.accounting and key.lower() in _OF_ACCOUNTING:
            continue
        if i and key.lower() not in table:
            made.left_out.append(key)
            continue
        pairs.append((key, "127.0.0.1" if key == "NodeAddr" else value))
    return " ".join(f"{key}={value}" for key, value in pairs)


def _words(line: Line, made: Scratch, value: str) -> str:
    """The value without words that the release does not know."""
    words = values(made.release).get(line.key.lower())
    if words is None:
        return value
    held = [word for word in value.split(",") if word.partition("=")[0].lower() in words]
    gone = [word for word in value.split(",") if word not in held]
    made.left_out += [f"{line.key}={word}" for word in gone]
    if line.key.lower() == "topologyplugin" and not held:
        return "topology/none"
    return ",".join(held)


def _known_only(read: Read, made: Scratch, name: str) -> None:
    table = parameters(made.release)[name]
    kept = []
    for line in parse(read.text(name)):
        if line.key.lower() in table:
            kept.append(f"{line.key}={line.value}")
        else:
            made.left_out.append(f"{name}: {line.key}")
    (made.root / name).write_text("\n".join(kept) + "\n", "utf-8")


def _database(read: Read, made: Scratch) -> None:
    host, user, here = socket.gethostname().partition(".")[0], getpass.getuser(), made.root
    replaced = {
        "authtype": "auth/none",
        "dbdhost": host,
        "dbdaddr": "127.0.0.1",
        "dbdport": str(made.ports.slurmdbd),
        "slurmuser": user,
        "logfile": f"{here}/log/slurmdbd.log",
        "pidfile": f"{here}/slurmdbd.pid",
        "storagehost": "127.0.0.1",
        "storageport": str(made.ports.mariadb),
        "archivedir": f"{here}/archive",
    }
    dropped = {
        "authalttypes",
        "authaltparameters",
        "dbdbackuphost",
        "storagebackuphost",
        "storagepassscript",
        "include",
    }
    table = parameters(made.release)["slurmdbd.conf"]
    lines = [f"Include {here}/secrets/slurmdbd_password.conf"]
    for line in parse(read.text("slurmdbd.conf")):
        first = line.key.lower()
        if first in dropped:
            continue
        if first in table:
            lines.append(f"{line.key}={replaced.get(first, line.value)}")
        else:
            made.left_out.append(f"slurmdbd.conf: {line.key}")
    for name, text in (
        ("slurmdbd.conf", "\n".join(lines)),
        ("secrets/slurmdbd_password.conf", f"StoragePass={PASSWORD}"),
    ):
        (here / name).write_text(text + "\n", "utf-8")
        os.chmod(here / name, 0o600)  # noqa: PTH101  # slurmdbd wants it so


def _topology(read: Read, made: Scratch) -> None:
    """topology.conf for the installed release; a tree of topology.yaml is written out."""
    text = read.text("topology.conf")
    (made.root / "topology.yaml").unlink(missing_ok=True)
    for one in read.documents:
        for switch in (one.get("tree") or {}).get("switches") or []:
            kind = "Nodes" if "nodes" in switch else "Switches"
            members = switch.get("nodes", switch.get("children", ""))
            text += f"SwitchName={switch.get('switch')} {kind}={members}\n"
    if read.documents:
        made.left_out.append("topology.yaml: its blocks" if "SwitchName=" in text else "topology.yaml")
    known = parameters(made.release)
    if "blockname" not in known["topology.conf"] and re.search(r"^BlockName=", text, re.MULTILINE):
        made.left_out.append("topology.conf: blocks")
        text = ""
    made.topology = bool(text)
    if text:
        (made.root / "topology.conf").write_text(text, "utf-8")
    else:
        (made.root / "topology.conf").unlink(missing_ok=True)
