"""Partitions, configuration and topology, as scontrol and the files of Slurm write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.domains.scheduling import Line, brackets, duration, hosts
from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Dump, Leaf, Queue
from clusterwright.operate.observe.nodes import number, plain, words
from clusterwright.source import Place

__all__ = ["add_queue", "config_of_text", "leaves_of_lines", "leaves_of_yaml", "queues_of_json", "queues_of_text"]

_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_]*)=(\S*)")
_SHOWN = (
    "Default", "MaxTime", "DefaultTime", "MaxNodes", "PriorityTier", "PriorityJobFactor", "QoS", "AllowQos", "DenyQos",
    "AllowAccounts", "DenyAccounts", "AllowGroups", "TRESBillingWeights", "Hidden", "State", "OverSubscribe",
    "ExclusiveUser", "MinNodes",
)  # fmt: skip
_AS_USUAL = {"", "(null)", "N/A", "ALL", "UP"}


def add_queue(dump: Dump, name: str, nodes: str, pairs: Mapping[str, str], place: Place) -> None:
    """Take a partition in; what slurmctld told of it counts more than a file."""
    if name == "DEFAULT" or name in dump.queues:
        return
    try:
        brackets(nodes)
    except ValueError as error:
        said = f"partition '{plain(name)}': {plain(str(error), 120)}"
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "make the file again"))
        return
    dump.queues[name] = Queue(name, nodes, tuple(pairs.items()), place)


def queues_of_text(text: str, file: str, dump: Dump) -> None:
    """Of ``scontrol show partition``, one line a partition or many."""
    block: list[str] = []
    start = 0

    def take() -> None:
        held: dict[str, str] = {}
        for key, value in _FIELD.findall(" ".join(block)):
            held.setdefault(key, value)
        place = Place(file, start, 1)
        if "Nodes" not in held or "MaxTime" not in held:
            said = f"partition '{plain(held.get('PartitionName', ''))}' ends before Nodes or MaxTime"
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "scontrol show partition"))
            return
        pairs = {key: held[key] for key in _SHOWN if held.get(key, "") not in _AS_USUAL}
        defaults = dict(pair.split("=", 1) for pair in held.get("JobDefaults", "").split(",") if "=" in pair)
        nodes = "" if held["Nodes"] == "(null)" else held["Nodes"]
        add_queue(dump, held["PartitionName"], nodes, pairs | defaults, place)

    for i, line in enumerate(text.splitlines(), 1):
        if line.startswith("PartitionName="):
            if block:
                take()
            block, start = [line], i
        elif block:
            block.append(line.strip())
    if block:
        take()


def queues_of_json(rows: Sequence[Any], file: str, dump: Dump) -> None:
    """Of ``scontrol show partition --json`` since v0.0.39."""
    for i, row in enumerate(rows):
        place = Place(f"{file}: partitions[{i}]")
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, "is no partition with a name", "make it again"))
            continue

        def at(*keys: str, row: Mapping[str, Any] = row) -> Any:
            here: Any = row
            for key in keys:
                here = here.get(key) if isinstance(here, Mapping) else None
            return here

        flags = {str(one).upper() for one in (at("flags") or [])}
        pairs = {
            "Default": "YES" if "DEFAULT" in flags else "NO",
            "MaxTime": _minutes(at("maximums", "time")),
            "DefaultTime": _minutes(at("defaults", "time")),
            "MaxNodes": number(at("maximums", "nodes") or "") or "UNLIMITED",
            "PriorityTier": number(at("priority", "tier") or 1),
            "PriorityJobFactor": number(at("priority", "job_factor") or 1),
            "QoS": words(at("qos", "assigned")),
            "AllowQos": words(at("qos", "allowed")),
            "DenyQos": words(at("qos", "deny")),
            "AllowAccounts": words(at("accounts", "allowed")),
            "TRESBillingWeights": words(at("tres", "billing_weights")),
            "Hidden": "YES" if "HIDDEN" in flags else "",
        }
        kept = {key: value for key, value in pairs.items() if value not in _AS_USUAL}
        add_queue(dump, row["name"], words(at("nodes", "configured")), kept, place)


def _minutes(value: object) -> str:
    told = number(value) if value is not None else ""
    return duration(int(told)) if told.isdigit() else "UNLIMITED"


# --- configuration ---


def config_of_text(text: str, file: str, dump: Dump) -> None:
    """Of ``scontrol show config``: ``Key = value``."""
    for i, line in enumerate(text.splitlines(), 1):
        key, sign, value = line.partition(" = ")
        if sign and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*(\[\d+\])?\s*", key):
            held = "" if value.strip() in ("(null)", "(null type)") else value.strip()
            dump.config.setdefault(key.strip().lower(), (key.strip(), held, Place(file, i, 1)))
    name, version = dump.setting("ClusterName"), dump.setting("SLURM_VERSION")
    if name:
        dump.clusters.setdefault(name, dump.config["clustername"][2])
    dump.release = version or dump.release
    if not name:
        said = "ends before ClusterName"
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(Place(file, 1, 1), said, "scontrol show config"))


# --- topology ---


def leaves_of_lines(lines: Sequence[Line], file: str, dump: Dump) -> None:
    """Of topology.conf and ``scontrol show topology``: switches that have nodes and no switches, and blocks."""
    for line in lines:
        if line.key.lower() not in ("switchname", "blockname"):
            continue
        level = line.get("Level")
        if line.get("Nodes") and not line.get("Switches") and level in ("", "0"):
            _leaf(dump, line.value, line.get("Nodes"), Place(file, line.number, 1))


def leaves_of_yaml(documents: object, file: str, dump: Dump) -> None:
    """Of topology.yaml: the leaves of its first topology."""
    first = next((one for one in documents if isinstance(one, Mapping)), {}) if isinstance(documents, list) else {}
    for kind, key, name in (("tree", "switches", "switch"), ("block", "blocks", "block")):
        held = first.get(kind)
        items = held.get(key) if isinstance(held, Mapping) else None
        for one in items if isinstance(items, list) else ():
            if isinstance(one, Mapping) and one.get("nodes"):
                _leaf(dump, str(one.get(name)), str(one["nodes"]), Place(file))


def _leaf(dump: Dump, name: str, nodes: str, place: Place) -> None:
    if name in dump.leaves:
        return
    try:
        dump.leaves[name] = Leaf(name, tuple(hosts(nodes)), place)
    except ValueError as error:
        said = f"leaf '{plain(name)}': {plain(str(error), 120)}"
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, said, "a host list such as n[01-16]"))
