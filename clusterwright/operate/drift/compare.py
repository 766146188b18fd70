"""What runs against what was rendered: nodes, partitions, settings, QOS, accounts; each difference and its mend."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.domains.scheduling import Line, hosts
from clusterwright.operate.observe.found import Account, Dump, Node, Queue, gpus_of
from clusterwright.operate.observe.nodes import plain
from clusterwright.operate.slurm import plain_text

if TYPE_CHECKING:
    from clusterwright.deploy import SlurmFiles as Read

__all__ = ["BUNDLE", "CLUSTER", "Difference", "accounts", "nodes", "normal", "partitions", "qos", "settings"]

BUNDLE, CLUSTER = "bundle", "cluster"
"""Who is right: what was designed, or what is there."""
INTO_THE_SPEC = "clusterwright observe --base SPEC --out SPEC, then design, render, plan, apply"


@dataclass(frozen=True)
class Difference:
    """One thing that runs otherwise than it was rendered.

    Attributes:
        part: ``node``, ``partition``, ``setting``, ``qos``, ``account``, ``rule``, ``target`` or ``file``.
        name: of the thing; ``key`` what of it differs.
        rendered, running: both values; empty where the thing is not there.
        wins: ``bundle`` where the running side is put back, ``cluster`` where the spec has to follow.
        mend: the command.
        place: of the rendered value.
    """

    part: str
    name: str
    key: str
    rendered: str
    running: str
    wins: str
    mend: str
    place: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


_MORE_MEMORY = 1.06


def normal(value: str) -> str:
    """A value as Slurm compares it: no units, no case, no order of a list, durations in seconds."""
    text = value.strip().strip('"').lower()
    if text in ("(null)", "n/a", "none", "-1"):
        return ""
    found = re.fullmatch(r"(\d+) (?:sec|min|usec|percent|nodes/min)", text)
    text = found.group(1) if found else text
    clock = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d)(?::(\d\d))?", text)
    if clock:
        days, first, second, third = clock.groups()
        hours, minutes, seconds = (first, second, third) if third or days else ("0", first, second)
        return str(int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0))
    text = re.sub(r"^([a-z_][a-z0-9_-]*)\(\d+\)$", r"\1", text)
    return ",".join(sorted(set(text.split(",")))) if "," in text else text


def _shown(value: str) -> str:
    return plain_text(value, 120) or "nothing"


# --- nodes ---


def nodes(read: Read, dump: Dump) -> Iterator[Difference]:
    """Nodes that are missing, that are more, that are other."""
    conf = read.path("slurm.conf")
    for name, line in read.nodes.items():
        place, node = f"{conf}:{line.number}", dump.nodes.get(name)
        if node is None:
            yield Difference("node", name, "", "a node", "", CLUSTER, INTO_THE_SPEC, place)
            continue
        for key, rendered, running in _of_node(line, node):
            if rendered != running and not (key == "RealMemory" and _same_memory(rendered, running)):
                yield Difference("node", name, key, _shown(rendered), _shown(running), CLUSTER, INTO_THE_SPEC, place)
    for name in dump.nodes:
        if name not in read.nodes:
            yield Difference("node", plain(name), "", "", "a node", CLUSTER, INTO_THE_SPEC, conf)


def _of_node(line: Line, node: Node) -> Iterator[tuple[str, str, str]]:
    yield "GPUs", _gpus(gpus_of(line.get("Gres"))), _gpus(node.gres)
    yield "CPUs", line.get("CPUs"), str(node.cpus)
    yield "RealMemory", line.get("RealMemory"), str(node.memory_mib)
    yield "Feature", ",".join(sorted(filter(None, line.get("Feature").split(",")))), ",".join(sorted(node.features))


def _same_memory(rendered: str, running: str) -> bool:
    """A node registers what it has; what is rendered is the least that it has, three hundredths below its label."""
    least = int(rendered) if rendered.isdigit() else 0
    return least <= int(running) <= least * _MORE_MEMORY


def _gpus(gres: Sequence[tuple[str, int]]) -> str:
    return " ".join(f"{count} {kind}".strip() for kind, count in gres)


# --- partitions ---

_KEYS = (
    "Default", "MaxTime", "DefaultTime", "MaxNodes", "PriorityTier", "PriorityJobFactor", "QOS", "AllowQos", "DenyQos",
    "AllowAccounts", "TRESBillingWeights", "Hidden", "DefCpuPerGPU", "DefMemPerGPU",
)  # fmt: skip
_USUAL = {
    "Default": "NO", "MaxTime": "UNLIMITED", "MaxNodes": "UNLIMITED", "PriorityTier": "1", "PriorityJobFactor": "1",
    "Hidden": "NO", "DefaultTime": "NONE",
}  # fmt: skip


def partitions(read: Read, dump: Dump, moved: Mapping[str, set[str]], take: str) -> Iterator[Difference]:
    """Partitions: their nodes and limits.

    Args:
        read: the rendered files.
        dump: what runs.
        moved: partition -> spares that the watcher put into it.
        take: what makes the cluster read its files again.
    """
    rendered = {line.value: line for line in read.of("PartitionName")}
    for name, line in rendered.items():
        place, queue = f"{read.path('slurm.conf')}:{line.number}", dump.queues.get(name)
        if queue is None:
            yield Difference("partition", name, "", "a partition", "", BUNDLE, take, place)
            continue
        yield from _members(name, line, queue, moved.get(name, set()), place)
        for key in _KEYS:
            usual = _USUAL.get(key, "")
            want, have = line.get(key, usual) or usual, queue.get(key, usual) or usual
            if normal(want) != normal(have) or have.upper() == "NONE" != want.upper():
                mend = _update(name, key, want, take)
                yield Difference("partition", name, key, _shown(want), _shown(have), BUNDLE, mend, place)
    for name, queue in dump.queues.items():
        if name not in rendered:
            mend = f"scontrol delete PartitionName={shlex.quote(plain(name))}"
            said = f"{len(hosts(queue.nodes))} nodes"
            yield Difference("partition", plain(name), "", "", said, BUNDLE, mend, read.path("slurm.conf"))


def _update(name: str, key: str, want: str, take: str) -> str:
    """What sets a key of a partition; scontrol knows no word for some, which only a new reading of the files sets."""
    if key.startswith("Def") and key != "Default" and (key != "DefaultTime" or want == "NONE"):
        return take
    value = want or ("ALL" if key.startswith("Allow") else "")
    return f"scontrol update PartitionName={shlex.quote(name)} {key}={shlex.quote(value) if value else ''}"


def _members(name: str, line: Line, queue: Queue, moved: set[str], place: str) -> Iterator[Difference]:
    want, have = set(hosts(line.get("Nodes"))), set(hosts(queue.nodes))
    gone, come = sorted(want - have), sorted(have - want - moved)
    for key, names in (("nodes gone", gone), ("nodes more", come)):
        if names:
            told = f"{len(names)}: {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}"
            mend = f"scontrol update PartitionName={shlex.quote(name)} Nodes={shlex.quote(line.get('Nodes'))}"
            rendered, running = (told, "") if key == "nodes gone" else ("", told)
            yield Difference("partition", name, key, rendered, plain(running), BUNDLE, mend, place)


# --- settings ---

_NOT_SETTINGS = {"nodename", "partitionname", "slurmctldhost", "include", "nodeset", "downnodes", "frontendname"}
_AT_LEAST = {"accountingstoragetres"}
"""Keys to whose lists Slurm adds words of its own."""


def settings(read: Read, dump: Dump, exempt: Sequence[str], take: str) -> tuple[list[Difference], list[str], int]:
    """Keys of slurm.conf against 'scontrol show config', keys that it does not show, how many were compared.

    Args:
        read: the rendered files.
        dump: what runs.
        exempt: keys that a site has otherwise on purpose.
        take: what makes the cluster read its files again.
    """
    found, unseen, seen = [], [], 0
    skipped = {key.lower() for key in exempt} | _NOT_SETTINGS
    for line in read.lines:
        key = line.key.lower()
        if key in skipped or len(line.pairs) != 1:
            continue
        running = dump.config.get(key)
        if running is None:
            unseen.append(line.key)
            continue
        seen += 1
        want, have = normal(line.value), normal(running[1])
        same = set(want.split(",")) <= set(have.split(",")) if key in _AT_LEAST else want == have
        if not same:
            place = f"{read.path('slurm.conf')}:{line.number}"
            rendered, runs = _words_apart(line.value, running[1])
            found.append(Difference("setting", line.key, "", rendered, runs, BUNDLE, take, place))
    return found, unseen, seen


def _words_apart(rendered: str, running: str) -> tuple[str, str]:
    """Only the words in which two long lists differ."""
    if len(rendered) < 60 or "," not in rendered:
        return _shown(rendered), _shown(running)
    a, b = rendered.split(","), running.split(",")
    left = [word for word in a if word.lower() not in {one.lower() for one in b}]
    right = [word for word in b if word.lower() not in {one.lower() for one in a}]
    return _shown(",".join(left)), _shown(",".join(right))


# --- classes and accounts ---


def qos(read: Read, dump: Dump) -> Iterator[Difference]:
    """Classes of jobs: limits, priorities, who preempts whom."""
    held, file = dump.qos or {}, read.path("accounts.sh")
    made = {name: (number, keys) for number, kind, name, keys in read.calls if kind == "qos"}
    for name, (number, keys) in made.items():
        place = f"{file}:{number}"
        if name not in held:
            yield Difference("qos", name, "", "a QOS", "", BUNDLE, "bash accounts.sh", place)
            continue
        for key, want, have in _pairs(keys | {"Preempt": keys.get("Preempt", "")}, held[name][0]):
            mend = f"sacctmgr -i modify qos where name={shlex.quote(name)} set {key}={shlex.quote(want or '')}"
            yield Difference("qos", name, key, _shown(want), _shown(have), BUNDLE, mend, place)
    for name in held:
        if name not in made and name != "normal":
            mend = f"{INTO_THE_SPEC}; or: sacctmgr delete qos {shlex.quote(plain(name))}"
            yield Difference("qos", plain(name), "", "", "a QOS", CLUSTER, mend, file)


def accounts(read: Read, dump: Dump) -> Iterator[Difference]:
    """Accounts: shares, limits, classes, and people that the bundle names."""
    file, cluster = read.path("accounts.sh"), read.setting("ClusterName")
    ours = [one for one in dump.accounts or () if one.cluster in ("", cluster)]
    held = {one.name: one for one in ours if not one.user}
    people = {(one.name, one.user) for one in ours if one.user}
    made = {name: (number, keys) for number, kind, name, keys in read.calls if kind == "account"}
    for name, (number, keys) in made.items():
        place = f"{file}:{number}"
        if name not in held:
            yield Difference("account", name, "", "an account", "", BUNDLE, "bash accounts.sh", place)
            continue
        for key, want, have in _pairs(keys, _words(held[name])):
            mend = f"sacctmgr -i modify account where name={shlex.quote(name)} cluster={shlex.quote(cluster)}"
            mend += f" set {key}={shlex.quote(want)}"
            yield Difference("account", name, key, _shown(want), _shown(have), BUNDLE, mend, place)
    for number, kind, name, keys in read.calls:
        for user in keys.get("users", "").split(",") if kind == "users" else ():
            if (name, user) not in people:
                place, mend = f"{file}:{number}", "bash accounts.sh"
                yield Difference("account", name, "user", user, "nothing", BUNDLE, mend, place)
    for name in held:
        if name not in made and name != "root":
            mend = f"{INTO_THE_SPEC}; or: sacctmgr delete account {shlex.quote(plain(name))}"
            yield Difference("account", plain(name), "", "", "an account", CLUSTER, mend, file)


def _words(one: Account) -> dict[str, str]:
    return {
        "parent": one.parent or "root",
        "fairshare": one.share,
        "GrpTRES": f"gres/gpu={one.gpus}",
        "QOS": ",".join(one.qos),
        "DefaultQOS": one.default_qos,
    }


def _pairs(rendered: Mapping[str, str], running: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for key, want in rendered.items():
        have = running.get(key, "")
        if normal(want) != normal(have) and not (
            key == "PreemptMode" and {normal(want), normal(have)} == {"", "cluster"}
        ):
            yield key, want, have
