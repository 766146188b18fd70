"""The rendered Slurm on this machine: its files, and its daemons.

The files are the scratch copy that the judges use (``deploy.judges``) with what a cluster on one machine needs beside:
a port for each slurmd, fake devices in place of GPUs, munge with a key and a socket of its own, no cgroups, and no
prolog, epilog and health program, which ask real GPUs.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from clusterwright.deploy import SCRATCH_PASSWORD as PASSWORD
from clusterwright.deploy import SlurmFiles as Read
from clusterwright.deploy import SlurmPorts as Ports
from clusterwright.deploy import SlurmScratch as Scratch
from clusterwright.deploy import slurm_scratch as scratch
from clusterwright.domains.scheduling import hosts, parse
from clusterwright.lab.place import MARK, Lab
from clusterwright.lab.processes import call, start, wait_for

__all__ = [
    "accounts",
    "configure",
    "free_range",
    "node_ports",
    "replaced",
    "start_database",
    "start_munge",
    "start_node",
    "start_slurm",
]

_REPLACED = {
    "proctracktype": "ProctrackType=proctrack/pgid",
    "taskplugin": "TaskPlugin=task/none",
    "jobacctgathertype": "JobAcctGatherType=jobacct_gather/linux",
    "jobacctgatherfrequency": "JobAcctGatherFrequency=5",
    "returntoservice": "ReturnToService=1",
    "treewidth": "TreeWidth=65533",
    "authtype": "AuthType=auth/munge",
    "credtype": "CredType=cred/munge",
    "launchparameters": "LaunchParameters=use_interactive_step",
}
_DROPPED = {
    "prolog", "epilog", "prologflags", "prologtimeout", "epilogtimeout", "healthcheckprogram", "healthcheckinterval",
    "healthchecknodestate", "rebootprogram", "routeplugin", "privatedata",
}  # fmt: skip


def free_range(count: int, low: int = 17000) -> int:
    """The first of ``count`` ports in a row that nobody listens on."""
    at = low
    while at + count < 60000:
        taken = next((p for p in range(at + count - 1, at - 1, -1) if not _free(p)), None)
        if taken is None:
            return at
        at = taken + 1
    raise OSError("no free ports")


def _free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def configure(
    lab: Lab, read: Read, version: str, ports: Ports, nodes: Mapping[str, int], folder: str = "slurm"
) -> Scratch:
    """Write the files of Slurm.

    Args:
        lab: whose they are.
        read: the site's files in the bundle.
        version: of the installed programs.
        ports: of the daemons.
        nodes: node -> port of its slurmd.
        folder: of the lab to write to; paths within the files are those of ``slurm`` all the same.
    """
    root, at = lab.root / folder, lab.conf.parent
    root.mkdir(mode=0o755)
    made = scratch(read, root, ports, version)
    made.conf.write_text("\n".join(_lines(lab, made, nodes)) + "\n", "utf-8")
    (root / "cgroup.conf").write_text("", "utf-8")
    (root / "gres.conf").write_text("\n".join(_devices(lab, read)) + "\n", "utf-8")
    with (root / "slurmdbd.conf").open("a", encoding="utf-8") as stream:
        stream.write(f"AuthInfo=socket={_socket(lab)}\n")
    (root / "task_prolog.sh").write_text(f"#!/bin/sh\necho export {MARK}={lab.root}\n", "utf-8")
    (root / "task_prolog.sh").chmod(0o755)
    for name in ("slurm.conf", "slurmdbd.conf"):
        text = (root / name).read_text("utf-8").replace(f"{root}/", f"{at}/")
        (root / name).write_text(text.replace("AuthType=auth/none", "AuthType=auth/munge"), "utf-8")
    os.chmod(root / "slurmdbd.conf", 0o600)  # noqa: PTH101  # slurmdbd wants it so
    return made


def replaced(read: Read, conf: Path) -> list[str]:
    """Keys of the rendered slurm.conf that a lab has otherwise, or not at all.

    Args:
        read: the site's files in the bundle.
        conf: slurm.conf of the lab.
    """
    here = {line.key.lower(): line.value for line in parse(conf.read_text("utf-8")) if len(line.pairs) == 1}
    keys = (line for line in read.lines if len(line.pairs) == 1)
    return sorted({line.key for line in keys if here.get(line.key.lower()) != line.value})


def _socket(lab: Lab) -> Path:
    return lab.root / "munge" / "socket"


def _lines(lab: Lab, made: Scratch, nodes: Mapping[str, int]) -> Iterator[str]:
    host, seen = socket.gethostname().partition(".")[0], set()
    for line in parse(made.conf.read_text("utf-8")):
        key = line.key.lower()
        if key == "nodename":
            span = _spans([nodes[node] for node in hosts(line.value)])
            words = " ".join(f"{k}={v}" for k, v in line.pairs if k not in ("NodeAddr", "NodeHostname", "Port"))
            yield f"{words} NodeHostname={host} NodeAddr=127.0.0.1 Port={span}"
        elif key == "slurmctldparameters":
            kept = [w for w in line.value.split(",") if not w.startswith(("enable_configless", "node_reg_mem_percent"))]
            yield f"SlurmctldParameters={','.join(kept)}" if kept else ""
        elif key in _DROPPED:
            continue
        elif key in ("slurmdspooldir", "slurmdpidfile", "slurmdlogfile"):
            yield f"{line.key}={_of_node(lab, key)}"
        elif key == "communicationparameters":
            yield f"CommunicationParameters={line.value},NoInAddrAny"
            seen.add(key)
        elif key == "slurmctldlogfile":
            yield f"SlurmctldLogFile={lab.log('slurmctld')}"
        else:
            seen.add(key)
            pairs = " ".join(f"{k}={v}" for k, v in line.pairs)
            yield _REPLACED.get(key, pairs)
    if "communicationparameters" not in seen:
        yield "CommunicationParameters=NoInAddrAny"
    yield f"AuthInfo=socket={_socket(lab)},cred_expire=30"
    yield f"AccountingStoragePass={_socket(lab)}"
    yield "SlurmdParameters=config_overrides"
    yield f"TaskProlog={made.root}/task_prolog.sh"


def _of_node(lab: Lab, key: str) -> str:
    return {
        "slurmdspooldir": f"{lab.root}/nodes/%n",
        "slurmdpidfile": f"{lab.root}/nodes/%n.pid",
        "slurmdlogfile": f"{lab.root}/log/slurmd-%n.log",
    }[key]


def _devices(lab: Lab, read: Read) -> Iterator[str]:
    """gres.conf with character devices in place of GPUs; one set serves every node."""
    for line in parse(read.text("gres.conf")):
        count = len(hosts(line.get("File"))) or int(line.get("Count", "0") or 0)
        for i in range(count):
            path = lab.root / f"gpu{i}"
            if not path.exists():
                os.mknod(path, 0o20666, os.makedev(1, 3))
        span = f"{lab.root}/gpu[0-{count - 1}]" if count > 1 else f"{lab.root}/gpu0"
        yield f"NodeName={line.get('NodeName')} AutoDetect=off Name=gpu Type={line.get('Type')} File={span}"


def node_ports(nodes: Iterable[str], held: Mapping[str, int], above: int = 17000) -> dict[str, int]:
    """Node -> port of its slurmd; a node that has one keeps it."""
    fresh = [node for node in nodes if node not in held]
    first = free_range(len(fresh), above) if fresh else 0
    given = {node: first + i for i, node in enumerate(fresh)}
    return {node: held.get(node) or given[node] for node in nodes}


def _spans(ports: Sequence[int]) -> str:
    """'[17000-17031,17050]' in the order of the nodes."""
    parts: list[list[int]] = []
    for port in ports:
        if parts and port == parts[-1][1] + 1:
            parts[-1][1] = port
        else:
            parts.append([port, port])
    text = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
    return text if len(ports) == 1 else f"[{text}]"


# --- daemons ---


def start_munge(lab: Lab) -> None:
    """munged with a key of this lab, so that no other user of the machine can speak for root."""
    folder = lab.root / "munge"
    folder.mkdir(mode=0o755)
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o600)
    words = ["munged", "-F", f"--key-file={folder}/key", f"--socket={_socket(lab)}", f"--pid-file={folder}/pid",
             f"--log-file={folder}/log", f"--seed-file={folder}/seed", "--num-threads=4", "--force"]  # fmt: skip
    started = start(lab, "munged", words)
    wait_for(lab, "munged", started, lambda: call(lab, ["munge", "-n", "-S", str(_socket(lab))], 5)[0] == 0, 20)


def start_database(lab: Lab, made: Scratch) -> subprocess.Popen[bytes]:
    """MariaDB on a folder and a socket of its own; it answers when this returns."""
    data, where = lab.root / "db", lab.root / "db.sock"
    code, said = call(
        lab, ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db", "--user=root",
              "--auth-root-authentication-method=socket", "--skip-name-resolve", "--innodb-doublewrite=0",
              "--innodb-flush-log-at-trx-commit=0"], 60,
    )  # fmt: skip
    if code:
        lab.log("mariadbd").write_text(said, "utf-8")
    words = [
        *("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={where}"),
        *("--bind-address=127.0.0.1", f"--port={made.ports.mariadb}", f"--pid-file={lab.root / 'db.pid'}"),
        *("--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0"),
        *("--innodb-doublewrite=0", "--skip-name-resolve"),
    ]
    started = start(lab, "mariadbd", words)
    grants = "".join(
        f"create user if not exists slurm@'{host}' identified by '{PASSWORD}';"
        f"grant all on slurm_acct_db.* to slurm@'{host}';"
        for host in ("localhost", "127.0.0.1")
    )
    client = ["mariadb", "--no-defaults", f"--socket={where}", "--user=root", "-e", grants]
    wait_for(lab, "mariadbd", started, lambda: call(lab, client, 10)[0] == 0)
    return started


_READY = {"slurmdbd": (["sacctmgr", "-nP", "list", "cluster"], ""), "slurmctld": (["scontrol", "ping"], " is UP")}


def start_slurm(lab: Lab, name: str, extra: Mapping[str, str] | None = None) -> None:
    """slurmdbd or slurmctld; it answers when this returns."""
    ready, answer = _READY[name]
    words = [name, "-D"] if name == "slurmdbd" else [name, "-D", "-f", str(lab.conf)]
    started = start(lab, name, words, extra)

    def up() -> bool:
        code, said = call(lab, ready, 5)
        return code == 0 and answer in said

    wait_for(lab, name, started, up)


def start_node(lab: Lab, node: str, extra: Mapping[str, str]) -> None:
    """slurmd of one node; it registers by itself."""
    (lab.root / "nodes" / node).mkdir(parents=True, exist_ok=True)
    start(lab, f"slurmd-{node}", ["slurmd", "-D", "-N", node, "-f", str(lab.conf)], extra, node)


def people(read: Read) -> list[str]:
    """Accounts of the site."""
    return [name for _, kind, name, _ in read.calls if kind == "account"]


def accounts(lab: Lab, people: Sequence[str]) -> tuple[int, str]:
    """Run accounts.sh, and let root submit for every account."""
    code, said = call(lab, ["bash", str(lab.conf.parent / "accounts.sh")], 200)
    if code == 0 and people:
        _, added = call(lab, ["sacctmgr", "-i", "add", "user", "root", f"account={','.join(people)}"], 60)
        said += added
    return code, said
