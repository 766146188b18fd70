"""Node lists and classes: columns, classes, labels that the queues select, taints that training tolerates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.deploy.names import fits
from clusterwright.deploy.targets.kubernetes.check_quotas import policies, rows
from clusterwright.deploy.targets.kubernetes.nodes import COLUMNS
from clusterwright.deploy.targets.kubernetes.reading import Reading

__all__ = ["run"]

_LABEL = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
HOST = "kubernetes.io/hostname"


def run(reading: Reading) -> None:
    """Judge the nodes of every site, and that flavors and topology select them."""
    known = policies(reading)
    for site in reading.sites:
        root = f"kubernetes/{site}/nodes"
        about = reading.first(f"{root}/classes.yaml")
        classes = about.get("classes") if isinstance(about.get("classes"), Mapping) else {}
        for what in _classes(about, classes):
            reading.say(f"{root}/classes.yaml", what)
        for what in _rows(reading, site, classes):
            reading.say(f"{root}/nodes.csv", what)
        if site not in known:
            continue
        policy = known[site]
        levels = {*(about.get("labels_of_columns") or {}).values(), HOST}
        for level in policy.levels:
            if level not in levels:
                reading.say(f"kubernetes/{site}/queues/policy.yaml", f"no node carries the topology label {level}")
        for flavor in policy.flavors:
            chosen = [n for n, held in classes.items() if flavor.labels.items() <= (held.get("labels") or {}).items()]
            held = sum(int(row["gpus"]) for row in rows(reading, site) if row["class"] in chosen)
            if held != flavor.gpus:
                said = f"flavor {flavor.name} selects nodes with {held} GPUs, its quotas are {flavor.gpus}"
                reading.say(f"kubernetes/{site}/queues/policy.yaml", said)
            for name in chosen:
                keys = {str(taint.get("key")) for taint in classes[name].get("taints") or []}
                for key in keys - set(policy.taints):
                    said = f"flavor {flavor.name} does not tolerate the taint {key} of {name}"
                    reading.say(f"kubernetes/{site}/queues/policy.yaml", said)


def _classes(about: Mapping[str, Any], classes: Mapping[str, Any]) -> Iterator[str]:
    if not classes or set(about) - {"labels_of_columns", "classes"}:
        yield "names no classes, or has keys beside labels_of_columns and classes"
    columns = about.get("labels_of_columns")
    if not isinstance(columns, Mapping) or not set(columns) <= set(COLUMNS):
        yield f"labels_of_columns names columns that are not {', '.join(COLUMNS)}"
    for name, held in classes.items():
        for key, value in (held.get("labels") or {}).items():
            if not _LABEL.fullmatch(str(key)) or not _VALUE.fullmatch(str(value)):
                yield f"{name}: {key}={value} is no label"
        for taint in held.get("taints") or []:
            if taint.get("effect") not in _EFFECTS or not taint.get("key"):
                yield f"{name}: {taint} is no taint"
        if set(held) - {"labels", "taints"}:
            yield f"{name} has keys beside labels and taints"


def _rows(reading: Reading, site: str, classes: Mapping[str, Any]) -> Iterator[str]:
    text = reading.folder.read(f"kubernetes/{site}/nodes/nodes.csv")
    head, _, _ = text.partition("\n")
    if tuple(head.split(",")) != COLUMNS:
        yield f"its columns are {head[:60]}, not {','.join(COLUMNS)}"
        return
    seen: set[str] = set()
    for row in rows(reading, site):
        name = row["node"]
        if not fits(name):
            yield f"{name[:60]!r} is no name of a node"
        if name in seen:
            yield f"{name} is there twice"
        seen.add(name)
        if row["class"] not in classes:
            yield f"{name} is of the class {row['class']!r}, which is not there"
        if not row["gpus"].isdigit():
            yield f"{name} has {row['gpus']!r} GPUs"
        elif int(row["gpus"]) and row["class"] != row["group"]:
            yield f"{name} of the group {row['group']} is of the class {row['class']}"
