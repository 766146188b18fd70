"""Nodes, as 'scontrol show node', its JSON, sinfo and slurm.conf write them.

Free text (a node's reason, comment, extra, its kernel) can hold anything, 'Gres=gpu:h100:800' too: it is cut away
before fields are read, and of two equal keys the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from clusterwright.domains.scheduling import Line, hosts
from clusterwright.findings import Finding
from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Dump, Node, gpus_of
from clusterwright.source import Place

__all__ = ["add_node", "nodes_of_conf", "nodes_of_json", "nodes_of_sinfo", "nodes_of_text", "plain"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_FREE = (" Reason=", " Comment=", " Extra=")
_KERNEL_LINE = re.compile(r" OS=.*(?= RealMemory=\d)")
_KEYS = (
    "CPUTot", "Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory", "AvailableFeatures", "Gres", "State",
    "Partitions", "Version",
)  # fmt: skip
_VALUE = re.compile(r"\S*")
_NEEDED = ("CPUTot", "RealMemory", "Gres", "State")
_NONE = {"", "(null)", "N/A", "none"}


def plain(text: str, most: int = 60) -> str:
    """Somebody's text without control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)[:most]


def add_node(dump: Dump, node: Node) -> None:
    """Take a node in; its name is judged, and what another file said of it is compared."""
    if not _NAME.fullmatch(node.name):
        said = f"'{plain(node.name)}' is no name of a node"
        dump.findings.append(FINDINGS["OBSERVE-NAME"].at(node.place, said, "letters, digits, dots and dashes"))
        return
    held = dump.nodes.get(node.name)
    if held is None:
        dump.nodes[node.name] = node
        return
    if held.place.file == node.place.file:
        said = f"node '{node.name}' is here twice, first at {held.place}"
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(node.place, said, "make the dump again"))
    elif sum(n for _, n in held.gres) != sum(n for _, n in node.gres):
        said = f"node '{node.name}' has {_told(node)}, and {_told(held)} at {held.place}"
        dump.findings.append(FINDINGS["OBSERVE-MIXED"].at(node.place, said, "make all files of the dump at one time"))


def _told(node: Node) -> str:
    return " and ".join(f"{n} GPUs {kind}".rstrip() for kind, n in node.gres) or "no GPUs"


class _Lines:
    """Line numbers of offsets that only grow."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1

    def of(self, offset: int) -> int:
        self.line += self.text.count("\n", self.at, offset)
        self.at = offset
        return self.line


# --- scontrol show node ---


def nodes_of_text(text: str, file: str, dump: Dump) -> None:
    """Of ``scontrol show node``, one line a node or many."""
    starts = _starts(text)
    lines = _Lines(text)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        place = Place(file, lines.of(start), 1)
        node = _of_block(text[start:end], place, dump)
        if node is not None:
            add_node(dump, node)
    if not starts:
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(Place(file, 1, 1), "holds no node", "scontrol show node"))


def _starts(text: str) -> list[int]:
    """Where lines begin with ``NodeName=``."""
    made = [0] if text.startswith("NodeName=") else []
    at = text.find("\nNodeName=")
    while at >= 0:
        made.append(at + 1)
        at = text.find("\nNodeName=", at + 1)
    return made


def _of_block(block: str, place: Place, dump: Dump) -> Node | None:
    told = _without_free_text(block)
    held = {"NodeName": _value(told, len("NodeName="))}
    for key in _KEYS:
        at = told.find(f" {key}=")
        if at >= 0:
            held[key] = _value(told, at + len(key) + 2)
    lacking = [key for key in _NEEDED if key not in held]
    if lacking:
        said = f"node '{plain(held.get('NodeName', ''))}' ends before {', '.join(lacking)}"
        hint = "the file is cut off; make it again with 'scontrol show node'"
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, hint))
        return None
    dump.release = dump.release or held.get("Version", "")
    return _node(
        dump,
        place,
        name=held["NodeName"],
        gres=held["Gres"],
        cpus=held["CPUTot"],
        sockets=held.get("Sockets", "1"),
        cores=held.get("CoresPerSocket", "1"),
        threads=held.get("ThreadsPerCore", "1"),
        memory=held["RealMemory"],
        features=held.get("AvailableFeatures", ""),
        partitions=_split(held.get("Partitions", "")),
    )


def _without_free_text(block: str) -> str:
    """The fields of a node before its reason, comment and extra, without its kernel; hundreds of thousands are read."""
    end = min((at for key in _FREE if (at := block.find(key)) >= 0), default=len(block))
    told = block[:end]
    start = told.find(" OS=")
    if start < 0:
        return told
    line = told.find("\n ", start)
    return told[:start] + told[line:] if line >= 0 else _KERNEL_LINE.sub("", told, count=1)


def _value(text: str, at: int) -> str:
    found = _VALUE.match(text, at)
    return found.group() if found else ""


def _node(
    dump: Dump,
    place: Place,
    *,
    name: str,
    gres: str,
    cpus: str,
    sockets: str,
    cores: str,
    threads: str,
    memory: str,
    features: str,
    partitions: tuple[str, ...] | None,
) -> Node | None:
    try:
        counts = [int(one) for one in (cpus, sockets, cores, threads, memory)]
        if min(counts) < 1:
            raise ValueError("CPUs and memory are counts above 0")
        gpus = () if gres in _NONE else gpus_of(gres)
        return Node(name, gpus, *_five(counts), _split(features), partitions, place)
    except ValueError as error:
        said = f"node '{plain(name)}': {plain(str(error), 120)}"
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "make the file again"))
        return None


def _five(counts: list[int]) -> tuple[int, int, int, int, int]:
    cpus, sockets, cores, threads, memory = counts
    return cpus, sockets, cores, threads, memory


@lru_cache(maxsize=4096)
def _split(text: str) -> tuple[str, ...]:
    return () if text in _NONE else tuple(part for part in text.split(",") if part)


# --- scontrol show node --json ---


def nodes_of_json(rows: Sequence[Any], file: str, dump: Dump) -> None:
    """Of ``scontrol show node --json``, plug-ins v0.0.37 to v0.0.44: lists or text, numbers or ``{set, number}``."""
    for i, row in enumerate(rows):
        place = Place(f"{file}: nodes[{i}]")
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, "is no node with a name", "make the file again"))
            continue
        lacking = [key for key in ("cpus", "real_memory", "gres") if key not in row]
        if lacking:
            said = f"node '{plain(row['name'])}' has no {', '.join(lacking)}"
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "scontrol show node --json"))
            continue
        node = _node(
            dump,
            place,
            name=row["name"],
            gres=words(row["gres"]),
            cpus=number(row["cpus"]),
            sockets=number(row.get("sockets", 1)),
            cores=number(row.get("cores", 1)),
            threads=number(row.get("threads", 1)),
            memory=number(row["real_memory"]),
            features=words(row.get("features", "")),
            partitions=_split(words(row.get("partitions", ""))),
        )
        if node is not None:
            add_node(dump, node)


def words(value: object) -> str:
    """A list of words, or text with commas, as text with commas."""
    if isinstance(value, list):
        return ",".join(str(one) for one in value)
    return "" if value is None else str(value)


def number(value: object) -> str:
    """A number, or ``{set, infinite, number}``, as digits; empty when it is not set or has no end."""
    if isinstance(value, Mapping):
        infinite, given = value.get("infinite"), value.get("set", True)
        return "" if infinite or not given else number(value.get("number"))
    return str(value)


# --- sinfo ---

_COLUMNS = {
    "NODELIST": "name", "HOSTNAMES": "name", "GRES": "gres", "CPUS": "cpus", "MEMORY": "memory",
    "AVAIL_FEATURES": "features", "FEATURES": "features", "PARTITION": "partition", "S:C:T": "shape",
}  # fmt: skip


def nodes_of_sinfo(text: str, file: str, dump: Dump) -> None:
    """Of ``sinfo -o '%N|%P|%G|%c|%m|%f'`` with its header, '|' or blanks between columns; with ``-N`` or without.

    A node has a line for each of its partitions.
    """
    lines = text.splitlines()
    sign = "|" if "|" in lines[0] else None
    head = [_COLUMNS.get(word.strip(), "") for word in lines[0].split(sign)]
    if not {"name", "gres", "cpus", "memory"} <= set(head):
        said = "has not the columns NODELIST, GRES, CPUS and MEMORY"
        hint = "sinfo -N -o '%N|%P|%G|%c|%m|%f'"
        dump.findings.append(FINDINGS["OBSERVE-IGNORED"].at(Place(file, 1, 1), said, hint))
        return
    found: dict[str, tuple[Place, dict[str, str], list[str]]] = {}
    for i, line in enumerate(lines[1:], 2):
        cells, place = [word.strip() for word in line.split(sign)], Place(file, i, 1)
        if not line.strip():
            continue
        if len(cells) != len(head):
            said = f"has {len(cells)} columns, the head has {len(head)}"
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "the file is cut off; make it again"))
            continue
        row = dict(zip(head, cells, strict=True))
        try:
            named = hosts(row["name"])
        except ValueError as error:
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, plain(str(error), 120), "make the file again"))
            continue
        for name in named:
            _, _, partitions = found.setdefault(name, (place, row, []))
            partitions += [row["partition"].rstrip("*")] if row.get("partition") else []
    for name, (place, row, partitions) in found.items():
        node = None if name in dump.nodes else _of_row(dump, place, name, row, partitions)
        if node is not None:
            add_node(dump, node)


def _of_row(dump: Dump, place: Place, name: str, row: Mapping[str, str], partitions: list[str]) -> Node | None:
    shape = row.get("shape", "").split(":") if row.get("shape", "").count(":") == 2 else ["1", "1", "1"]
    return _node(
        dump,
        place,
        name=name,
        gres=row["gres"],
        cpus=row["cpus"].rstrip("+"),
        sockets=shape[0],
        cores=shape[1],
        threads=shape[2],
        memory=row["memory"].rstrip("+"),
        features=row.get("features", ""),
        partitions=tuple(partitions) if "partition" in row else None,
    )


# --- slurm.conf ---


def nodes_of_conf(lines: Sequence[Line], file: str, dump: Dump, said_already: bool) -> Iterator[Finding]:
    """Of the lines ``NodeName=`` of slurm.conf; ``NodeName=DEFAULT`` stands for keys that a line leaves out.

    Args:
        lines: of the file.
        file: its name.
        dump: that takes them in.
        said_already: whether 'scontrol show node' told of them, which counts more.
    """
    default: dict[str, str] = {}
    for line in lines:
        if line.key.lower() != "nodename":
            continue
        place = Place(file, line.number, 1)
        keys = {**default, **{key.lower(): value for key, value in line.pairs[1:]}}
        if line.value == "DEFAULT":
            default = keys
            continue
        try:
            named = hosts(line.value)
        except ValueError as error:
            yield FINDINGS["OBSERVE-FILE"].at(place, plain(str(error), 120), "a host list such as n[01-16]")
            continue
        if said_already:
            continue
        sockets, cores, threads = (
            keys.get("sockets", "1"),
            keys.get("corespersocket", "1"),
            keys.get("threadspercore", "1"),
        )
        product = _product(sockets, cores, threads)
        for name in named:
            node = _node(
                dump,
                place,
                name=name,
                gres=keys.get("gres", ""),
                cpus=keys.get("cpus", product),
                sockets=sockets,
                cores=cores,
                threads=threads,
                memory=keys.get("realmemory", "1"),
                features=keys.get("feature", keys.get("features", "")),
                partitions=None,
            )
            if node is None:
                break
            add_node(dump, node)


def _product(*texts: str) -> str:
    made = 1
    for text in texts:
        made *= int(text) if text.isdigit() else 1
    return str(made)
