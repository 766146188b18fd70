"""The real Slurm as a judge: MariaDB, slurmdbd and slurmctld run for seconds on a scratch copy, on loopback only."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Judged, Program, older, run
from clusterwright.deploy.judges.slurm import (
    MARIADBD,
    PASSWORD,
    SLURMCTLD,
    SLURMD,
    SLURMDBD,
    Ports,
    Scratch,
    scratch,
)
from clusterwright.deploy.targets.slurm.reading import Read, sites
from clusterwright.deploy.targets.slurm.versions import Dialect
from clusterwright.domains.scheduling import duration, hosts, minutes, parse

__all__ = ["judge"]

_START_S, _LONGEST_S = 90.0, 400
_TOOLS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FATAL = re.compile(r"(?:fatal|error): (?!Database settings not recommended).*", re.IGNORECASE)


def judge(folder: Folder) -> Iterator[Check]:
    """Start the daemons on each site's files and compare what they say with what is written."""
    if SLURMCTLD.path is None:
        return
    for read in sites(folder):
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # a database there is ten times faster
        with tempfile.TemporaryDirectory(prefix="clusterwright-", dir=shared) as held:
            yield from _Judge(read, Path(held)).checks()


class _Call(NamedTuple):
    """Settings of one daemon: its command, and when it is up."""

    words: Sequence[str]
    ready: Callable[[], bool]


class _Judge:
    """One site."""

    def __init__(self, read: Read, root: Path) -> None:
        accounting = SLURMDBD.path is not None and MARIADBD.path is not None
        self.read = read
        self.copy: Scratch = scratch(read, root, Ports.free(), SLURMCTLD.version, accounting)
        self.root = root
        self.environment = {"SLURM_CONF": str(self.copy.conf), "PATH": _TOOLS}

    def run(self, *words: str, seconds: float = 60.0) -> Judged:
        """A client of Slurm."""
        return run(words, self.root, seconds, self.environment)

    def say(self, name: str, program: Program, ok: bool, message: str) -> Check:
        """A judgement of a file of the site."""
        gone = sorted(set(self.copy.left_out))
        about = [one for one in gone if one.startswith(f"{name}:") or (name == "slurm.conf" and ": " not in one)]
        note = f"; not known to {program.version} and left out: {', '.join(about)}" if ok and about else ""
        version = program.version or SLURMCTLD.version  # slurmdbd says none without a configuration
        written = self.read.release if older(version, self.read.release) else ""
        left_out = ", ".join(gone if name == "slurm.conf" else about) if written else ""
        return Check(self.read.path(name), program.name, version, "tool", ok, (message + note)[:600], written, left_out)

    def checks(self) -> Iterator[Check]:
        """All of them."""
        with ExitStack() as stack:
            if self.copy.accounting:
                if said := self._database(stack):
                    yield self.say("slurmdbd.conf", SLURMDBD, False, said)
                    return
                yield self.say("slurmdbd.conf", SLURMDBD, True, "slurmdbd started with it and keeps accounts")
                first = self._accounts()
                if first.code not in (0, 3):
                    yield self.say("accounts.sh", SLURMDBD, False, _last(first.text))
                    return
            if said := self._controller(stack):
                name = "topology.conf" if re.search(r"topology|switch", said, re.IGNORECASE) else "slurm.conf"
                name = name if self.read.has(name) else "topology.yaml" if "topology" in name else "slurm.conf"
                yield self.say(name, SLURMCTLD, False, said)
                return
            if self.copy.accounting:
                yield self._accounts_held()
            yield from self._conf()
            yield from self._topology()
            yield from self._cgroup()
            if self.copy.accounting:
                yield from self._jobs()
            yield from self._gres()

    # --- daemons ---

    def _database(self, stack: ExitStack) -> str:
        data, where = self.root / "db", self.root / "db.sock"
        made = run(
            ["mariadb-install-db", f"--datadir={data}", "--skip-test-db", "--auth-root-authentication-method=socket"],
            self.root,
            60,
        )
        if made.code:
            return f"no database to judge with: {_last(made.text)}"
        user = ["--user=root"] if os.geteuid() == 0 else []
        words = [
            *("mariadbd", "--no-defaults", *user, f"--datadir={data}", f"--socket={where}"),
            *("--bind-address=127.0.0.1", f"--port={self.copy.ports.mariadb}", f"--pid-file={self.root / 'db.pid'}"),
            *("--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0"),
        ]
        grants = "".join(
            f"create user slurm@'{host}' identified by '{PASSWORD}'; grant all on slurm_acct_db.* to slurm@'{host}';"
            for host in ("localhost", "127.0.0.1")
        )
        client = ["mariadb", "--no-defaults", f"--socket={where}", *user, "-e", grants]
        if not stack.enter_context(self._daemon(_Call(words, lambda: run(client, self.root, 10).code == 0))):
            return "no database to judge with: MariaDB does not start"
        ready = _Call(["slurmdbd", "-D"], lambda: self.run("sacctmgr", "-nP", "list", "cluster", seconds=5).code == 0)
        return "" if stack.enter_context(self._daemon(ready)) else _fatal(self._said("slurmdbd"))

    def _controller(self, stack: ExitStack) -> str:
        up = _Call(
            ["slurmctld", "-D", "-f", str(self.copy.conf)], lambda: "UP" in self.run("scontrol", "ping", seconds=5).text
        )
        return "" if stack.enter_context(self._daemon(up)) else _fatal(self._said("slurmctld"))

    def _said(self, name: str) -> str:
        files = (self.root / f"{name}.out", self.root / "log" / f"{name}.log")
        return "".join(path.read_text("utf-8", "replace") for path in files if path.is_file())

    @contextmanager
    def _daemon(self, call: _Call) -> Iterator[bool]:
        """Start a program; it ends with the block, and by itself after some minutes whatever happens to us."""
        out = self.root / f"{call.words[0]}.out"
        with out.open("wb") as stream:
            started = subprocess.Popen(
                ["timeout", "-k", "5", str(_LONGEST_S), *call.words],  # noqa: S607  # found in _TOOLS
                cwd=self.root,
                env={**self.environment, "HOME": str(self.root), "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
            try:
                end = time.monotonic() + _START_S
                up = False
                while not up and started.poll() is None and time.monotonic() < end:
                    up = call.ready()
                    time.sleep(0.0 if up else 0.1)
                yield up and started.poll() is None
            finally:
                started.terminate()
                try:
                    started.wait(15)
                except subprocess.TimeoutExpired:
                    started.kill()
                    started.wait()

    # --- accounts ---

    def _accounts(self) -> Judged:
        return self.run("bash", str(self.root / "accounts.sh"), seconds=200)

    def _accounts_held(self) -> Check:
        """Run the script again, now with limits; what accounting holds must be what the script says."""
        again = self._accounts()
        if again.code:
            return self.say("accounts.sh", SLURMDBD, False, _last(again.text))
        wrong = list(self._differences())
        done = f"{len(self.read.calls)} QOS, accounts and lists of users made, made again, and held as written"
        return self.say("accounts.sh", SLURMDBD, not wrong, "; ".join(wrong[:3]) or done)

    def _differences(self) -> Iterator[str]:
        fields = "name,priority,preempt,preemptmode,gracetime,grptres,maxtrespu,maxwall"
        held = {row[0]: row for row in self._table("qos", fields)}
        fields = "account,user,share,grptres,qos,defaultqos"
        named = {(row[0], row[1]): row for row in self._table("assoc", fields)}
        for _, kind, name, keys in self.read.calls:
            if kind == "qos" and name in held:
                yield from _qos_differs(name, keys, held[name])
            elif kind == "account" and (name, "") in named:
                row = named[name, ""]
                wanted = [keys["fairshare"], _limit(keys["GrpTRES"]), *_sorted(keys["QOS"]), keys["DefaultQOS"]]
                if [row[2], row[3], *_sorted(row[4]), row[5]] != wanted:
                    yield f"account {name} is held as {'|'.join(row[2:])}"
            elif kind == "users":
                absent = [user for user in keys["users"].split(",") if (name, user) not in named]
                yield from (f"user {user} is not in {name}" for user in absent)
            else:
                yield f"{kind} {name} is not held"

    def _table(self, entity: str, fields: str) -> list[list[str]]:
        said = self.run("sacctmgr", "-nP", "list", entity, f"format={fields}").text
        return [line.split("|") for line in said.splitlines() if "|" in line]

    # --- the controller ---

    def _conf(self) -> Iterator[Check]:
        nodes = self.run("scontrol", "show", "nodes", "--oneliner").text.splitlines()
        parts = self.run("scontrol", "show", "partitions", "--oneliner").text.splitlines()
        wrong = []
        gpus = sum(int(found.group(1)) for line in nodes if (found := re.search(r" Gres=gpu:[\w-]+:(\d+)", line)))
        for what, held, said in (
            ("nodes", len([line for line in nodes if line.startswith("NodeName=")]), len(self.read.nodes)),
            ("GPUs", gpus, sum(self.read.gpus.values())),
            (
                "partitions",
                len([line for line in parts if line.startswith("PartitionName=")]),
                len(self.read.of("PartitionName")),
            ),
        ):
            if held != said:
                wrong.append(f"slurmctld holds {held} {what}, the file says {said}")
        totals = {line.split()[0].partition("=")[2]: line for line in parts if line.startswith("PartitionName=")}
        for line in self.read.of("PartitionName"):
            size = len(hosts(line.get("Nodes")))
            if f" TotalNodes={size} " not in totals.get(line.value, ""):
                wrong.append(f"partition {line.value} is not held with {size} nodes")
        ignored = re.findall(
            r"error: (.*(?:[Ii]nvalid|[Ii]gnor|[Uu]nrecognized|not configured).*)", self._said("slurmctld")
        )
        wrong += [text for text in ignored if "MailProg" not in text]
        done = f"{len(nodes)} nodes, {gpus} GPUs, {len(parts)} partitions held as written"
        yield self.say("slurm.conf", SLURMCTLD, not wrong, "; ".join(wrong[:3]) or done)

    def _topology(self) -> Iterator[Check]:
        if not self.copy.topology:
            return
        name = "topology.yaml" if self.read.documents else "topology.conf"
        said = self.run("scontrol", "show", "topology").text
        held = {m[0]: hosts(m[1]) for m in re.findall(r"SwitchName=(\S+) Level=0 .*?Nodes=(\S+)", said)}
        written = {
            line.value: hosts(line.get("Nodes"))
            for line in parse((self.root / "topology.conf").read_text("utf-8"))
            if line.get("Nodes")
        }
        wrong = [leaf for leaf, nodes in written.items() if sorted(held.get(leaf, [])) != sorted(nodes)]
        done = f"{len(held)} leaves with {sum(map(len, held.values()))} nodes held as written"
        yield self.say(name, SLURMCTLD, not wrong, f"not held as written: {', '.join(wrong[:5])}" if wrong else done)

    def _cgroup(self) -> Iterator[Check]:
        said = dict(re.findall(r"^(\w+) +=\s*(\S+)$", self.run("scontrol", "show", "config").text, re.MULTILINE))
        wrong = []
        for line in parse((self.root / "cgroup.conf").read_text("utf-8")):
            held = said.get(line.key, "").rstrip("%")
            if held.lower() != line.value.lower() and _number(held) != _number(line.value):
                wrong.append(f"{line.key} is held as {held or 'nothing'}, written {line.value}")
        yield self.say("cgroup.conf", SLURMCTLD, not wrong, "; ".join(wrong[:3]) or "read and held as written")

    def _jobs(self) -> Iterator[Check]:
        """Every batch script is queued, held, through the rules and limits; two that break the rules are refused."""
        accounts = sorted(name for _, kind, name, _ in self.read.calls if kind == "account")
        for account in accounts:
            self.run("sacctmgr", "-i", "add", "user", self._user(), f"account={account}")
        batch = self.read.path("batch/")
        for path in (path for path in self.read.folder.paths if path.startswith(batch)):
            name = path.removeprefix(self.read.path(""))
            text, gone = _older(self.read.folder.read(path), self.copy.release)
            self.copy.left_out += (f"{name}: {option}" for option in gone)
            said = run(["sbatch", "--hold"], self.root, 60, self.environment, text)
            ok = "Submitted batch job" in said.text
            yield self.say(name, SLURMCTLD, ok, "queued through rules and limits" if ok else _last(said.text))
        yield self._rules(accounts[0])

    def _user(self) -> str:
        return self.copy.conf.read_text("utf-8").partition("SlurmUser=")[2].split()[0]

    def _rules(self, account: str) -> Check:
        wrap = ["--hold", f"--account={account}", "--wrap=true"]
        bad = {
            "without GPUs": ("is for jobs with GPUs", ["--time=10"]),
            "without a time limit": ("how long the job runs", ["--gpus-per-node=1"]),
            "with a part of several nodes": ("takes whole nodes", ["--nodes=2", "--gpus-per-node=1", "--time=10"]),
        }
        if max(self.read.gpus.values(), default=0) == 1:
            bad.popitem()
        wrong = []
        for what, (answer, words) in bad.items():
            said = self.run("sbatch", *wrap, *words)
            if answer not in said.text:
                wrong.append(f"a job {what} is not refused by it: {_last(said.text)}")
        broken = re.findall(r"error: (job_submit/lua.*|.*lua.*)", self._said("slurmctld"))
        wrong += broken[:1]
        return self.say("job_submit.lua", SLURMCTLD, not wrong, "; ".join(wrong) or f"refuses jobs {', '.join(bad)}")

    # --- devices ---

    def _gres(self) -> Iterator[Check]:
        """slurmd lists the devices of a node of each line, with character devices in place of GPUs."""
        if SLURMD.path is None or os.geteuid() != 0:
            return
        lines = parse(self.read.text("gres.conf"))
        made = []
        for line in lines:
            files = hosts(line.get("File")) or [f"/dev/gpu{i}" for i in range(int(line.get("Count", "0")))]
            for path in files:
                target = self.root / path.replace("/", "_")
                if not target.exists():
                    os.mknod(target, 0o20666, os.makedev(1, 3))
            numbered = ",".join(str(self.root / path.replace("/", "_")) for path in files)
            pairs = {**dict(line.pairs), "AutoDetect": "off", "File": numbered}
            made.append(" ".join(f"{key}={value}" for key, value in pairs.items()))
        (self.root / "gres.conf").write_text("\n".join(made) + "\n", "utf-8")
        wrong = []
        for line in lines:
            names = hosts(line.get("NodeName"))
            said = (
                self.run("slurmd", "-G", "-N", names[0], "-f", str(self.copy.conf)) if names else Judged(1, "no node")
            )
            held = sum(
                int(n) for n in re.findall(rf"Gres Name=gpu Type={re.escape(line.get('Type'))} Count=(\d+)", said.text)
            )
            if said.code or held != self.read.gpus.get(names[0] if names else "", 0):
                wrong.append(f"slurmd finds {held} GPUs on {names[:1]}: {_last(said.text)}")
        done = f"slurmd finds the devices of a node of each of {len(lines)} lines (AutoDetect left out: no GPUs here)"
        yield self.say("gres.conf", SLURMD, not wrong, "; ".join(wrong[:3]) or done)


def _older(text: str, release: str) -> tuple[str, list[str]]:
    """A batch script without options that a release does not know, and those options."""
    dialect, gone = Dialect(release), []
    if not dialect.expedite and "--requeue=expedite" in text:
        text, gone = text.replace("--requeue=expedite", "--requeue"), ["--requeue=expedite"]
    if not dialect.segment and (found := re.search(r"^#SBATCH (--segment=\d+)\n", text, re.MULTILINE)):
        text, gone = text.replace(found.group(0), ""), [*gone, found.group(1)]
    return text, gone


def _qos_differs(name: str, keys: Mapping[str, str], row: Sequence[str]) -> Iterator[str]:
    clock = row[4].split(":")
    grace = int(clock[0]) * 3600 + int(clock[1]) * 60 + int(clock[2]) if len(clock) == 3 else -1
    wall = duration(minutes(keys["MaxWall"])) if keys.get("MaxWall", "-1") != "-1" else ""
    held = [row[1], *_sorted(row[2]), row[3], grace, row[5], row[6], duration(minutes(row[7])) if row[7] else ""]
    wanted = [keys["Priority"], *_sorted(keys.get("Preempt", "")), keys["PreemptMode"], int(keys["GraceTime"]),
              _limit(keys["GrpTRES"]), _limit(keys["MaxTRESPerUser"]), wall]  # fmt: skip
    if held != wanted:
        yield f"QOS {name} is held as {'|'.join(row[1:])}"


def _limit(text: str) -> str:
    return "" if text.endswith("=-1") else text


def _sorted(text: str) -> list[str]:
    return sorted(part for part in text.split(",") if part)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[-2:])[:300] or "it says nothing"


def _fatal(text: str) -> str:
    """The last fatal error that a daemon logged, else the last error."""
    found = _FATAL.findall(text)
    fatal = [line for line in found if line.lower().startswith("fatal")]
    return str((fatal or found or [_last(text)])[-1])[:300]
