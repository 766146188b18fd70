"""Our own reading of the files of a site: lines by release, and what must agree between files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import yaml

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.targets.slurm.accounting import wrong_accounts, wrong_jobs, wrong_scripts
from clusterwright.deploy.targets.slurm.reading import Read, gres_count, sites
from clusterwright.deploy.targets.slurm.strict import wrong_lines
from clusterwright.domains.scheduling import Line, hosts, parse

__all__ = ["check"]

OWN = "clusterwright"
_CONF = ("slurm.conf", "gres.conf", "cgroup.conf", "topology.conf", "slurmdbd.conf", "job_container.conf")
_MUST = ("slurm.conf", "gres.conf", "cgroup.conf", "slurmdbd.conf", "accounts.sh", "job_submit.lua")


def check(folder: Folder) -> Iterator[Check]:
    """Read every file of the target."""
    for read in sites(folder):
        for name in _MUST:
            if not read.has(name):
                yield Check(read.path(name), OWN, "", "own", False, "is not in the bundle")
        for name in (one for one in _CONF if read.has(one)):
            said = f"parameters and values as Slurm {read.release} knows them"
            yield from _checks(read.path(name), said, lambda n=name, r=read: wrong_lines(n, r.text(n), r.release))  # type: ignore[misc]
        for name, (said, looker) in _REFERENCES.items():
            if name.startswith("topology") and not read.has(name):
                continue
            yield from _checks(read.path(name), said, lambda look=looker, r=read: look(r))  # type: ignore[misc]
        for path, said, problems in (*wrong_scripts(read), *wrong_jobs(read)):
            yield from _checks(path, said, lambda found=problems: iter(found))  # type: ignore[misc]


def _checks(path: str, said: str, look: Callable[[], Iterator[str]]) -> Iterator[Check]:
    try:
        wrong = list(look())
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, yaml.YAMLError) as error:
        wrong = ["cannot be read: " + " ".join(str(error).split())[:200]]
    if not wrong:
        yield Check(path, OWN, "", "own", True, said)
    for problem in wrong[:20]:
        yield Check(path, OWN, "", "own", False, problem)


# --- slurm.conf ---


def _conf(read: Read) -> Iterator[str]:
    known = set(read.folder.inventory.get("hosts", {}))
    counted = Counter(name for line in read.of("NodeName") for name in hosts(line.value))
    for name in [name for name, times in counted.items() if times > 1][:3]:
        yield f"node {name} stands twice"
    for line in read.of("NodeName"):
        yield from _node_line(line)
    for value in read.settings("SlurmctldHost"):
        if (name := value.partition("(")[0]) not in known:
            yield f"SlurmctldHost={name} is no host of the inventory"
    for key in ("AccountingStorageHost", "AccountingStorageBackupHost"):
        if (name := read.setting(key)) and name not in known:
            yield f"{key}={name} is no host of the inventory"
    yield from _partitions(read)
    yield from _scheduling(read)


def _node_line(line: Line) -> Iterator[str]:
    names, addresses = hosts(line.value), hosts(line.get("NodeAddr"))
    if addresses and len(addresses) != len(names):
        yield f"line {line.number}: {len(names)} names, {len(addresses)} addresses"
    shape = [line.get(key) for key in ("Sockets", "CoresPerSocket", "ThreadsPerCore", "CPUs")]
    if all(part.isdigit() for part in shape):
        sockets, cores, threads, cpus = (int(part) for part in shape)
        if sockets * cores * threads != cpus:
            yield f"line {line.number}: {sockets} x {cores} x {threads} is not CPUs={cpus}"
    if int(line.get("MemSpecLimit", "0")) >= int(line.get("RealMemory", "1")):
        yield f"line {line.number}: MemSpecLimit leaves nothing of RealMemory"
    if line.get("Gres") and not gres_count(line.get("Gres")):
        yield f"line {line.number}: Gres={line.get('Gres')} is not gpu:TYPE:COUNT"


def _partitions(read: Read) -> Iterator[str]:
    placed: set[str] = set()
    qos = {name for _, kind, name, _ in read.calls if kind == "qos"}
    accounts = {name for _, kind, name, _ in read.calls if kind == "account"}
    for line in read.of("PartitionName"):
        members = hosts(line.get("Nodes"))
        placed |= set(members)
        if absent := [name for name in members if name not in read.nodes]:
            yield f"partition {line.value}: {len(absent)} of its nodes have no NodeName, {absent[0]} among them"
        for key, names, what in (
            ("AllowQos", qos, "QOS"),
            ("DenyQos", qos, "QOS"),
            ("QOS", qos, "QOS"),
            ("AllowAccounts", accounts, "account"),
        ):
            for name in filter(None, line.get(key).split(",")):
                if name not in names:
                    yield f"partition {line.value}: accounts.sh makes no {what} {name!r}"
    if left := [name for name in read.nodes if name not in placed]:
        yield f"{len(left)} nodes are in no partition, {left[0]} among them"
    if sum(line.get("Default").upper() == "YES" for line in read.of("PartitionName")) != 1:
        yield "not exactly one partition is the default"


def _scheduling(read: Read) -> Iterator[str]:
    policy = read.policy()
    longest = max((one.max_time_min for one in policy.partitions), default=0)
    if policy.backfill.window_min < longest:
        yield f"bf_window of {policy.backfill.window_min} min does not reach the longest limit, {longest} min"
    if policy.backfill.resolution_s * 2 > policy.backfill.window_min * 60:
        yield "bf_resolution is not finer than the window"
    if any(read.gpus.values()) and "gpu" not in read.setting("GresTypes").split(","):
        yield "nodes have GPUs, but GresTypes has no gpu"
    if any(read.gpus.values()) and "gres/gpu" not in policy.tracked:
        yield "AccountingStorageTRES does not track gres/gpu, so that quotas cannot hold"
    for one in policy.partitions:
        if any(read.gpus.get(name) for name in hosts(one.nodes)[:1]) and "GRES/gpu" not in dict(one.billing):
            yield f"partition {one.name}: GPUs are not billed"
    timeout, health = int(read.setting("SlurmdTimeout") or 300), int(read.setting("HealthCheckInterval") or 0)
    if health and not read.setting("HealthCheckProgram"):
        yield "HealthCheckInterval without HealthCheckProgram"
    if timeout < int(read.setting("MessageTimeout") or 10):
        yield "SlurmdTimeout is shorter than MessageTimeout"
    for key in ("Prolog", "Epilog", "HealthCheckProgram"):
        script = read.setting(key).rpartition("/")[2]
        if not script or not read.has(f"scripts/{script}"):
            yield f"{key}={read.setting(key)} is not in the bundle"


# --- the others ---


def _gres(read: Read) -> Iterator[str]:
    for name, count in read.gpus.items():
        kind, found = read.gres.get(name, ("", 0))
        if found != count:
            yield f"{name}: {found} devices, slurm.conf says {count} GPUs"
            return
        if count and (written := read.nodes[name].get("Gres").split(":")[1]) != kind:
            yield f"{name}: type {kind!r}, slurm.conf says {written!r}"
            return
    for name in read.gres:
        if name not in read.nodes:
            yield f"{name} is no node of slurm.conf"
            return


def _cgroup(read: Read) -> Iterator[str]:
    text = read.text("cgroup.conf").lower()
    for key in ("ConstrainCores", "ConstrainDevices", "ConstrainRAMSpace"):
        if not re.search(rf"^{key.lower()}=yes$", text, re.MULTILINE):
            yield f"{key} is not yes: jobs could take what is not theirs"


def _topology(read: Read) -> Iterator[str]:
    if read.has("topology.yaml") and not read.documents:
        yield "is no list of topologies"
        return
    names = sorted({leaf.topology for leaf in read.leaves}) or ["topology"]
    for name in names:
        leaves = [leaf for leaf in read.leaves if leaf.topology == name]
        counted = Counter(node for leaf in leaves for node in leaf.nodes)
        many = [node for node, times in counted.items() if times > 1]
        foreign = [node for node in counted if node not in read.nodes]
        absent = [node for node in read.nodes if node not in counted]
        for what, found in (("stand twice", many), ("are no nodes of slurm.conf", foreign), ("are missing", absent)):
            if found:
                yield f"{name}: {len(found)} nodes {what}, {found[0]} among them"
        if len({leaf.name for leaf in leaves}) < len(leaves):
            yield f"{name}: a name stands twice"
    yield from _tree(read)
    yield from _yaml(read)


def _tree(read: Read) -> Iterator[str]:
    """One root, and every child is there, once."""
    above: list[tuple[str, list[str]]] = []
    for line in parse(read.text("topology.conf")):
        if line.key.lower() == "switchname":
            above.append((line.value, hosts(line.get("Switches"))))
            if bool(line.get("Switches")) == bool(line.get("Nodes")):
                yield f"switch {line.value} needs either Switches or Nodes"
    for one in read.documents:
        switches = (one.get("tree") or {}).get("switches") or []
        above += [(str(s.get("switch")), hosts(str(s.get("children") or ""))) for s in switches]
    named = {name for name, _ in above}
    children = Counter(child for _, below in above for child in below)
    for child in children:
        if child not in named:
            yield f"switch {child} is nowhere described"
    roots = [name for name in named if name not in children]
    if above and len(roots) != 1:
        yield f"{len(roots)} switches are below no other: nodes of one cannot reach those of another"


def _yaml(read: Read) -> Iterator[str]:
    if not read.has("topology.yaml"):
        return
    names = [one.get("topology") for one in read.documents]
    if len(set(map(str, names))) < len(names) or None in names:
        yield "each topology needs a name of its own"
    if sum(one.get("cluster_default") is True for one in read.documents) != 1:
        yield "not exactly one topology is the cluster's default"
    for one in read.documents:
        for key in one:
            if key not in ("topology", "cluster_default", "tree", "block", "flat"):
                yield f"Slurm knows no {key!r} in a topology"
        if sum(kind in one for kind in ("tree", "block", "flat")) != 1:
            yield f"topology {one.get('topology')} is not exactly one of tree, block and flat"
        yield from _sizes((one.get("block") or {}).get("block_sizes"))
        for kind, group, key, allowed in (
            ("tree", "switches", "switch", ("switch", "children", "nodes")),
            ("block", "blocks", "block", ("block", "nodes")),
        ):
            for item in (one.get(kind) or {}).get(group) or []:
                if key not in item or set(item) - set(allowed):
                    yield f"{group}: {str(item)[:60]} has other keys than {', '.join(allowed)}"


def _sizes(sizes: object) -> Iterator[str]:
    if sizes is None:
        return
    base = sizes[0] if isinstance(sizes, list) and sizes else 0
    if not isinstance(base, int) or base <= 0:
        yield "block_sizes is no list of numbers"
        return
    for size in sizes if isinstance(sizes, list) else []:
        factor = size / base if isinstance(size, int) else 0.0
        if factor < 1 or factor != int(factor) or int(factor) & (int(factor) - 1):
            yield f"block size {size} is not {base} times a power of two"


def _database(read: Read) -> Iterator[str]:
    known = set(read.folder.inventory.get("hosts", {}))
    text = read.text("slurmdbd.conf")
    for key in ("DbdHost", "DbdBackupHost", "StorageHost", "StorageBackupHost"):
        found = re.search(rf"^{key}=(\S+)$", text, re.MULTILINE)
        if found and found.group(1) not in known:
            yield f"{key}={found.group(1)} is no host of the inventory"
    if re.search(r"^\s*StoragePass\s*=", text, re.MULTILINE | re.IGNORECASE):
        yield "a password stands in the file; it belongs in the secrets store"
    if not re.search(r"^(Include|StoragePassScript)", text, re.MULTILINE):
        yield "no word of where the password comes from"
    ours, theirs = re.search(r"^DbdPort=(\S+)$", text, re.MULTILINE), read.setting("AccountingStoragePort")
    if ours and ours.group(1) != theirs:
        yield f"DbdPort={ours.group(1)}, slurm.conf says {theirs}"


_REFERENCES: dict[str, tuple[str, Callable[[Read], Iterator[str]]]] = {
    "slurm.conf": ("hosts, nodes, partitions, QOS, scripts and scheduling agree", _conf),
    "gres.conf": ("devices as many as slurm.conf says, for each node", _gres),
    "cgroup.conf": ("cores, memory and devices are held to the job", _cgroup),
    "topology.conf": ("each node once, one root", _topology),
    "topology.yaml": ("each node once in each topology, one default", _topology),
    "slurmdbd.conf": ("hosts and ports agree, no password in the file", _database),
    "accounts.sh": ("parents, QOS, preemption and users agree", wrong_accounts),
}
