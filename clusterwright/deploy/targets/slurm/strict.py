"""Whether each line is one that the release knows: parameters, kinds of values, words of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from clusterwright.deploy.targets.slurm.versions import parameters, values
from clusterwright.domains.scheduling import Line, hosts, minutes, parse

__all__ = ["wrong_lines"]

_LINES = {"nodename", "partitionname", "downnodes", "nodeset", "switchname", "blockname"}
"""Keys that begin a line of several pairs with keys of its own."""
_REPEATED = {*_LINES, "slurmctldhost", "include", "name", "autodetect"}
_TIMES = {
    "maxtime",
    "defaulttime",
    "prioritydecayhalflife",
    "prioritymaxage",
    "prioritycalcperiod",
    "preemptexempttime",
}
_HOSTS = {"nodes", "nodename", "nodeaddr", "switches"}
_NEEDED = {
    "slurm.conf": ("ClusterName", "SlurmctldHost", "StateSaveLocation", "SlurmUser", "NodeName", "PartitionName"),
    "slurmdbd.conf": ("DbdHost", "StorageType", "SlurmUser", "StorageUser"),
    "gres.conf": ("NodeName",),
    "cgroup.conf": ("ConstrainDevices",),
    "topology.conf": (),
    "job_container.conf": ("BasePath",),
}
_BITS = {"uint16": 16, "uint32": 32, "uint64": 64}
_OTHER: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "job_container.conf": {
        name.lower(): (name, kind)
        for name, kind in (("AutoBasePath", "boolean"), ("BasePath", "string"), ("Dirs", "string"))
    }
}
_DURATION = re.compile(r"\d+(hours?|days?|months?)?")


def wrong_lines(name: str, text: str, release: str) -> Iterator[str]:
    """What is wrong in a file, with line numbers.

    Args:
        name: slurm.conf, gres.conf, cgroup.conf, topology.conf, slurmdbd.conf or job_container.conf.
        text: of the file.
        release: of Slurm.
    """
    known = {**parameters(release), **_OTHER}
    seen: dict[str, int] = {}
    for line in parse(text):
        if line.rest or not line.pairs:
            yield f"line {line.number}: {line.rest[:60]!r} is no Key=Value"
            continue
        first = line.key.lower()
        if first in seen and first not in _REPEATED:
            yield f"line {line.number}: {line.key} stands in line {seen[first]} already"
        seen.setdefault(first, line.number)
        yield from _line(name, line, known, release)
    for key in _NEEDED[name]:
        if key.lower() not in seen:
            yield f"{key} is missing"


def _line(name: str, line: Line, known: Mapping[str, Mapping[str, tuple[str, str]]], release: str) -> Iterator[str]:
    first = line.key.lower()
    if first == "include":
        return
    own = known.get(name, {})
    inside = known.get(f"{name} {own.get(first, (line.key,))[0]}", {}) if first in _LINES else {}
    several = name == "gres.conf" or first in _LINES
    for i, (key, value) in enumerate(line.pairs):
        table = own if name == "gres.conf" or i == 0 or not several else inside
        if i and not several:
            yield f"line {line.number}: {key} after {line.key}: a line holds one setting"
            continue
        found = table.get(key.lower()) or (
            ("NodeName", "string") if name == "gres.conf" and key == "NodeName" else None
        )
        if found is None:
            yield f"line {line.number}: Slurm {release} knows no {key} {'here' if i else f'in {name}'}"
        else:
            yield from _value(line.number, found[0], found[1], value, release if name == "slurm.conf" and not i else "")
    if len({key.lower() for key, _ in line.pairs}) < len(line.pairs):
        yield f"line {line.number}: a key stands twice"


def _value(number: int, key: str, kind: str, value: str, release: str) -> Iterator[str]:
    said = f"line {number}: {key}={value[:40]}"
    special = value.upper() in ("UNLIMITED", "INFINITE", "NONE")
    if kind in _BITS and not special and not (value.isdigit() and int(value) < 2 ** _BITS[kind]):
        yield f"{said} is no whole number of {_BITS[kind]} bits"
    elif kind == "boolean" and value.lower() not in ("yes", "no", "true", "false", "up", "down", "1", "0"):
        yield f"{said} is neither yes nor no"
    elif kind == "float" and not re.fullmatch(r"\d+(\.\d+)?", value):
        yield f"{said} is no number"
    elif key.lower() in _TIMES and not _reads(minutes, value):
        yield f"{said} is no time"
    elif key.lower() in _HOSTS and not _reads(hosts, value):
        yield f"{said} is no host list"
    elif key.startswith("Purge") and not _DURATION.fullmatch(value):
        yield f"{said} is no time such as 12month"
    elif key.endswith("Port") and value.isdigit() and not 0 < int(value) < 65536:
        yield f"{said} is no port"
    words = values(release).get(key.lower()) if release else None
    if words is not None:
        for word in value.split(","):
            if word.partition("=")[0].lower() not in words:
                yield f"line {number}: Slurm {release} knows no {word[:40]!r} in {key}"


def _reads(reader: object, value: str) -> bool:
    try:
        reader(value)  # type: ignore[operator]
    except ValueError:
        return False
    return True
