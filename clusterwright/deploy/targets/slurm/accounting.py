"""Our own reading of accounts, batch scripts and the other scripts of a site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.deploy.targets.slurm.reading import Read
from clusterwright.domains.scheduling import hosts, minutes

__all__ = ["wrong_accounts", "wrong_jobs", "wrong_scripts"]

_QOS_KEYS = {
    "Priority", "Preempt", "PreemptMode", "GraceTime", "GrpTRES", "MaxTRESPerUser", "MaxWall", "MaxJobsPerUser",
    "Flags",
}  # fmt: skip
_ACCOUNT_KEYS = {"parent", "fairshare", "GrpTRES", "QOS", "DefaultQOS"}
_MODES = {"cluster", "requeue", "cancel", "suspend"}
_GPUS = re.compile(r"gres/gpu=-?\d+")
_ACTIONS = {"drain", "repeat", "fatal", "recovery", "after-job", "count", "alert"}
Found = tuple[str, str, Iterable[str]]


def wrong_accounts(read: Read) -> Iterator[str]:
    """What is wrong in accounts.sh."""
    qos: set[str] = set()
    accounts = {"root"}
    if not read.calls:
        yield "makes nothing"
    cluster = re.search(r"^readonly CLUSTER=(\S+)$", read.text("accounts.sh"), re.MULTILINE)
    if not cluster or cluster.group(1) != read.setting("ClusterName"):
        yield f"CLUSTER is not {read.setting('ClusterName')}, as slurm.conf says"
    for number, kind, name, keys in read.calls:
        known = {"qos": _QOS_KEYS, "account": _ACCOUNT_KEYS, "users": {"users"}}[kind]
        for key in sorted(set(keys) - known):
            yield f"line {number}: sacctmgr knows no {key} for {kind}"
        for key in ("GrpTRES", "MaxTRESPerUser"):
            if key in keys and not _GPUS.fullmatch(keys[key]):
                yield f"line {number}: {key}={keys[key]} is not gres/gpu=NUMBER"
        if kind == "qos":
            yield from _qos(number, keys, qos)
            qos.add(name)
        elif kind == "account":
            yield from _account(number, keys, qos, accounts)
            accounts.add(name)
        elif name not in accounts:
            yield f"line {number}: users of {name!r}, which is no account"
    yield from _tenants(read, accounts, qos)


def _qos(number: int, keys: dict[str, str], known: set[str]) -> Iterator[str]:
    for name in filter(None, keys.get("Preempt", "").split(",")):
        if name not in known:
            yield f"line {number}: it preempts {name!r}, which no line above makes"
    for key in ("Priority", "GraceTime"):
        if not keys.get(key, "").isdigit():
            yield f"line {number}: {key}={keys.get(key, '')} is no whole number"
    if keys.get("PreemptMode") not in _MODES:
        yield f"line {number}: PreemptMode={keys.get('PreemptMode')} is none of {', '.join(sorted(_MODES))}"
    try:
        minutes(keys.get("MaxWall", "-1"))
    except ValueError:
        yield f"line {number}: MaxWall={keys['MaxWall']} is no time"


def _account(number: int, keys: dict[str, str], qos: set[str], accounts: set[str]) -> Iterator[str]:
    if keys.get("parent") not in accounts:
        yield f"line {number}: its parent {keys.get('parent')!r} is no account"
    if not keys.get("fairshare", "").isdigit() or int(keys["fairshare"]) < 1:
        yield f"line {number}: fairshare={keys.get('fairshare')} is no whole number above 0"
    names = keys.get("QOS", "").split(",")
    for name in names:
        if name not in qos:
            yield f"line {number}: QOS {name!r} is none that the script makes"
    if keys.get("DefaultQOS") not in names:
        yield f"line {number}: its default QOS {keys.get('DefaultQOS')!r} is none of its QOS"


def _tenants(read: Read, accounts: set[str], qos: set[str]) -> Iterator[str]:
    for name, tenant in read.folder.inventory.get("tenants", {}).items():
        if name not in accounts or f"{name}-own" not in qos:
            yield f"tenant {name} has no account or no QOS of its own"
        made = {
            u
            for _, kind, account, keys in read.calls
            if kind == "users" and account == name
            for u in keys["users"].split(",")
        }
        if made != set(tenant.get("users", [])):
            yield f"users of {name} differ from the inventory"


# --- batch scripts ---


def wrong_jobs(read: Read) -> Iterator[Found]:
    """Path, what was looked at, and what is wrong, for each batch script."""
    for path in read.folder.paths:
        if path.startswith(f"slurm/{read.site}/batch/"):
            yield path, "account, QOS, partition, nodes and GPUs are there", _job(read, read.folder.read(path))


def _job(read: Read, text: str) -> Iterator[str]:
    pairs = dict(re.findall(r"^#SBATCH --([a-z-]+)(?:=(\S+))?$", text, re.MULTILINE))
    known = {kind: {n: k for _, of, n, k in read.calls if of == kind} for kind in ("qos", "account")}
    account = known["account"].get(pairs.get("account", ""))
    partition = next((line for line in read.of("PartitionName") if line.value == pairs.get("partition")), None)
    for key in ("account", "partition", "nodes", "gpus-per-node", "time", "signal"):
        if not pairs.get(key):
            yield f"--{key} is missing"
            return
    if account is None:
        yield f"--account={pairs['account']} is no account"
    elif pairs.get("qos") not in account.get("QOS", "").split(","):
        yield f"--qos={pairs.get('qos')} is none of the account's"
    if partition is None:
        yield f"--partition={pairs['partition']} is no partition"
        return
    yield from _sizes(read, pairs, hosts(partition.get("Nodes")), partition.get("MaxTime"))


def _sizes(read: Read, pairs: dict[str, str], members: list[str], longest: str) -> Iterator[str]:
    for key in ("nodes", "gpus-per-node", "cpus-per-task"):
        if not pairs.get(key, "").isdigit():
            yield f"--{key}={pairs.get(key)} is no number"
            return
    nodes, gpus, cpus = (int(pairs[key]) for key in ("nodes", "gpus-per-node", "cpus-per-task"))
    if nodes > len(members):
        yield f"--nodes={nodes}, the partition has {len(members)}"
    most = max((read.gpus.get(name, 0) for name in members), default=0)
    if gpus > most:
        yield f"--gpus-per-node={gpus}, nodes have {most}"
    if nodes > 1 and gpus < most:
        yield f"--gpus-per-node={gpus}: a job of several nodes takes whole nodes"
    if members and cpus > int(read.nodes[members[0]].get("CPUs", "0")):
        yield f"--cpus-per-task={cpus} is more than a node has"
    limit, most_min = minutes(pairs["time"]), minutes(longest)
    if most_min and (limit == 0 or limit > most_min):
        yield f"--time={pairs['time']} is longer than the partition allows"
    lead = pairs["signal"].rpartition("@")[2]
    if not lead.isdigit() or int(lead) >= limit * 60:
        yield f"--signal={pairs['signal']} is not before the end"


# --- scripts and their data ---


def wrong_scripts(read: Read) -> Iterator[Found]:
    """Path, what was looked at, and what is wrong, for scripts, their data and the rules."""
    for name in ("prolog", "epilog"):
        said = "drains by its exit code, calls no controller"
        yield read.path(f"scripts/{name}.sh"), said, _silent(read.text(f"scripts/{name}.sh"))
    yield read.path("scripts/checks.sh"), "calls no controller", _silent(read.text("scripts/checks.sh"))
    program = read.text("scripts/health_check.sh")
    owned = [] if "Reason=" in program and "health:" in program else ["drains without a reason of its own"]
    yield read.path("scripts/health_check.sh"), "drains with a reason of its own", owned
    yield read.path("health.conf"), "names every node, and what slurm.conf says of it", _health(read)
    for name in ("xid_actions.csv", "xid_overrides.csv"):
        if read.has(name):
            yield read.path(name), "codes and actions", _xid(read.text(name))
    yield read.path("job_submit.lua"), "accounts, quotas, partitions as elsewhere", _rules(read)
    if read.has("plugstack.conf"):
        first = [line for line in read.text("plugstack.conf").splitlines() if line and not line.startswith("#")]
        wrong = [line for line in first if not re.match(r"(required|optional|include)\s+/\S+", line)]
        yield (
            read.path("plugstack.conf"),
            "required or optional, and a path",
            [f"{line[:60]!r} is no plug-in" for line in wrong],
        )
    if read.has("namespace.yaml"):
        yield read.path("namespace.yaml"), "keys of namespace.yaml", _namespace(read)


def _silent(text: str) -> Iterator[str]:
    if not text.startswith("#!/bin/bash\n"):
        yield "does not begin with #!/bin/bash"
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("#")[0]
        if found := re.search(r"\b(scontrol|squeue|sinfo|sacct|sacctmgr|sbatch|srun)\b", code):
            yield f"line {number}: it calls {found.group(1)}, which asks the controller"
    if not re.search(r"^exit ", text, re.MULTILINE):
        yield "does not say its exit code"


def _health(read: Read) -> Iterator[str]:
    groups = re.findall(r"^    (\S+)-\*\)\n(.*?);;", read.text("health.conf"), re.MULTILINE | re.DOTALL)
    expected = {name: dict(re.findall(r"(EXPECT_\w+)=(\S*)", body)) for name, body in groups}
    for name, line in {name.rpartition("-")[0]: line for name, line in read.nodes.items()}.items():
        if name not in expected:
            yield f"nodes {name}-* are not expected"
            continue
        gpus = str(line.get("Gres").rpartition(":")[2] or 0)
        for key, value in (("GPUS", gpus), ("CPUS", line.get("CPUs")), ("MEMORY_MIB", line.get("RealMemory"))):
            if expected[name].get(f"EXPECT_{key}") != value:
                yield f"{name}-*: EXPECT_{key}={expected[name].get(f'EXPECT_{key}')}, slurm.conf says {value}"


def _xid(text: str) -> Iterator[str]:
    lines = text.splitlines()
    if not lines or lines[0] != "xid,mnemonic,action,remedy":
        yield "the first line is not xid,mnemonic,action,remedy"
    seen = set()
    for number, line in enumerate(lines[1:], 2):
        parts = line.split(",")
        if len(parts) != 4 or not parts[0].isdigit():
            yield f"line {number}: {line[:40]!r} is not a code, a name, an action and a remedy"
        elif parts[2] not in _ACTIONS:
            yield f"line {number}: {parts[2]!r} is none of {', '.join(sorted(_ACTIONS))}"
        elif parts[0] in seen:
            yield f"line {number}: {parts[0]} stands twice"
        seen.add(parts[0])


def _rules(read: Read) -> Iterator[str]:
    text = read.text("job_submit.lua")
    for name in ("slurm_job_submit", "slurm_job_modify"):
        if not re.search(rf"^function {name}\(", text, re.MULTILINE):
            yield f"function {name} is missing"
    accounts = {name: keys for _, kind, name, keys in read.calls if kind == "account"}
    own = {name: keys for _, kind, name, keys in read.calls if kind == "qos"}
    ruled = {name: (o, m) for name, o, m in re.findall(r'\["([\w-]+)"\] = \{ own = (\d+), most = (\d+) \}', text)}
    if set(ruled) != set(accounts):
        yield f"accounts differ from accounts.sh: {', '.join(sorted(set(ruled) ^ set(accounts))[:5])}"
    for name, (quota, most) in ruled.items():
        for figure, keys in ((quota, own.get(f"{name}-own")), (most, accounts.get(name))):
            written = (keys or {}).get("GrpTRES", "").rpartition("=")[2]
            if keys is not None and written not in ("-1", figure):
                yield f"account {name}: {figure} GPUs, accounts.sh says {written}"
    gpus = re.search(r"^local NODE_GPUS = (\d+)$", text, re.MULTILINE)
    if not gpus or int(gpus.group(1)) != max(read.gpus.values(), default=0):
        yield "NODE_GPUS is not what nodes have"
    named = re.search(r"^local PARTITIONS = \{(.*)\}$", text, re.MULTILINE)
    if not named or set(re.findall(r'\["([\w-]+)"\]', named.group(1))) != {
        line.value for line in read.of("PartitionName")
    }:
        yield "PARTITIONS differ from slurm.conf"


def _namespace(read: Read) -> Iterator[str]:
    from clusterwright.deploy.text import load_yaml

    found = load_yaml(read.text("namespace.yaml"))
    known = {"auto_base_path", "base_path", "dirs"}
    if not isinstance(found, dict) or set(found) - {"defaults", "node_confs", "disable_bpf_token"}:
        yield "has other keys than defaults, node_confs and disable_bpf_token"
    elif not isinstance(found.get("defaults"), dict) or set(found["defaults"]) != known:
        yield f"defaults has other keys than {', '.join(sorted(known))}"
