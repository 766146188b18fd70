"""All of it together: files on disk, Slurm, Prometheus; spares that the watcher moved are no drift."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from clusterwright.cluster import edited_files
from clusterwright.domains.scheduling import hosts
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Finding
from clusterwright.operate.drift import compare
from clusterwright.operate.drift.codes import FINDINGS
from clusterwright.operate.drift.compare import BUNDLE, Difference
from clusterwright.operate.observe.found import Dump
from clusterwright.operate.observe.nodes import plain
from clusterwright.operate.observe.read import read_dump, texts_of
from clusterwright.operate.prometheus import Prometheus
from clusterwright.operate.site import Site, deployed_of
from clusterwright.operate.slurm import Node, Slurm

if TYPE_CHECKING:
    from clusterwright.deploy import Folder
    from clusterwright.deploy import SlurmFiles as Read

__all__ = ["Drift", "drift_of"]

SCHEMA = "clusterwright/drift/1"
_OURS = "clusterwright:"
"""What reasons begin with that the watcher gives."""


@dataclass
class Drift:
    """What came of it.

    Attributes:
        name: of the cluster.
        differences: in the order of the parts.
        compared: part -> how many things of it were compared.
        findings: what was not compared, and what is as it should be.
    """

    name: str
    differences: list[Difference] = field(default_factory=list)
    compared: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "verdict": "drift" if self.differences else "as rendered",
            "compared": self.compared,
            "differences": [one.to_dict() for one in self.differences],
            "findings": [one.to_dict() for one in self.findings],
        }


def drift_of(site: Site) -> Drift:
    """Compare what runs with the site's bundle.

    Raises:
        InputError: the site has no bundle, or it is of another cluster.
        WorldError: Slurm does not answer. A Prometheus that does not answer is a finding.
    """
    from clusterwright.deploy import Folder

    bundle = deployed_of(site)
    folder = Folder.open(bundle)
    slurm = Slurm(site.slurm_conf)
    dump = read_dump(texts_of(slurm))
    read = _read(folder, dump)
    made = Drift(site.name)
    _files(made, bundle, folder)
    take = shlex.join(site.take) if site.take else "scontrol reconfigure"
    moved = _moved(site, read, dump, slurm.nodes(), made)
    _slurm(made, read, dump, moved, site.exempt, take)
    if site.prometheus:
        _watched(made, Prometheus(site.prometheus, site.token_file), folder, read)
    return made


def _read(folder: Folder, dump: Dump) -> Read:
    from clusterwright.deploy import slurm_files

    name, found = dump.setting("ClusterName"), slurm_files(folder)
    for one in found:
        if one.setting("ClusterName") == name:
            return one
    names = ", ".join(one.setting("ClusterName") for one in found) or "none"
    said = f"cluster '{plain(name)}' runs; the bundle has {names}"
    raise InputError(FINDINGS["DRIFT-SITE"].at(str(folder.root), said, "bundle: of site.yaml names another folder"))


def _files(made: Drift, bundle: Path, folder: Folder) -> None:
    made.compared["file"] = len(folder.paths)
    mend = "take the change into the spec, design and render again; or put the file back"
    for path in edited_files(bundle):
        made.differences.append(Difference("file", path, "", "as rendered", "edited", BUNDLE, mend, str(bundle / path)))


def _slurm(
    made: Drift, read: Read, dump: Dump, moved: Mapping[str, set[str]], exempt: tuple[str, ...], take: str
) -> None:
    settings, unseen, seen = compare.settings(read, dump, exempt, take)
    made.differences += compare.nodes(read, dump)
    made.differences += compare.partitions(read, dump, moved, take)
    made.differences += settings
    made.compared |= {
        "node": len(read.nodes),
        "partition": len(read.of("PartitionName")),
        "setting": seen,
    }
    if exempt:
        said = f"{len(exempt)} keys are exempt: {', '.join(exempt)}"
        made.findings.append(FINDINGS["DRIFT-ACCEPTED"].at("exempt", said))
    if unseen:
        said = f"'scontrol show config' does not show {', '.join(unseen)}"
        made.findings.append(FINDINGS["DRIFT-NOT-SEEN"].at(read.path("slurm.conf"), said))
    if dump.qos is None or dump.accounts is None:
        said = "sacctmgr does not answer: QOS and accounts were not compared"
        made.findings.append(FINDINGS["DRIFT-NOT-SEEN"].at(read.path("accounts.sh"), said, "is slurmdbd up?"))
        return
    made.differences += [*compare.qos(read, dump), *compare.accounts(read, dump)]
    kinds = [kind for _, kind, _, _ in read.calls]
    made.compared |= {"qos": kinds.count("qos"), "account": kinds.count("account")}


# --- spares that stand in ---


def _moved(site: Site, read: Read, dump: Dump, nodes: list[Node], made: Drift) -> dict[str, set[str]]:
    """Partition -> spares in it that the watcher put there: by its journal, or for a node that it drained."""
    spares = {name for name, line in read.nodes.items() if "spare" in line.get("Feature").split(",")}
    journal = _journal(site.state)
    drained = {one.name for one in nodes if one.reason.startswith(_OURS)}
    moved: dict[str, set[str]] = {}
    for line in read.of("PartitionName"):
        queue = dump.queues.get(line.value)
        if queue is None:
            continue
        own = set(hosts(line.get("Nodes")))
        come = (set(hosts(queue.nodes)) - own) & spares
        free = len(own & drained) - len(come & journal)
        rest = sorted(come - journal)
        moved[line.value] = (come & journal) | set(rest[: max(free, 0)])
        for name in sorted(moved[line.value]):
            said = f"spare {name} stands in for a node that the watcher took out of '{line.value}'"
            made.findings.append(FINDINGS["DRIFT-ACCEPTED"].at(read.path("slurm.conf"), said))
    return moved


_JOURNAL = {
    "watch.sqlite": "SELECT json_object('spare', spare) FROM nodes WHERE spare != ''",
    "operate.sqlite": "SELECT params FROM actions WHERE kind = 'spare' AND state IN ('intended', 'done')",
}
"""File of the watcher's state -> spares that it put in and did not take out again."""


def _journal(state: Path) -> set[str]:
    """Spares that stand in by the watcher's journal; nothing without one that can be read."""
    found: set[str] = set()
    for name, question in _JOURNAL.items():
        path = state / name
        if not path.is_file():
            continue
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as held:
                rows = held.execute(question).fetchall()
            found |= {str(json.loads(text).get("spare")) for (text,) in rows}
        except (sqlite3.Error, ValueError, AttributeError):
            continue
    return found


# --- Prometheus ---


def _watched(made: Drift, prometheus: Prometheus, folder: Folder, read: Read) -> None:
    try:
        made.differences += _rules(made, prometheus, folder, read.site)
        made.differences += _targets(made, prometheus, folder, read)
    except WorldError as error:
        said = "Prometheus does not answer: rules and targets were not compared"
        made.findings.append(FINDINGS["DRIFT-NOT-SEEN"].at(prometheus.url, said, error.findings[0].message))


def _rules(made: Drift, prometheus: Prometheus, folder: Folder, site: str) -> Iterator[Difference]:
    rendered: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for path in folder.paths:
        if re.fullmatch(rf"monitoring/{re.escape(site)}/prometheus/rules/[^/]+\.yml", path):
            for group in (yaml.safe_load(folder.read(path)) or {}).get("groups", []):
                for rule in group["rules"]:
                    key = (str(group["name"]), str(rule.get("alert") or rule.get("record")))
                    rendered.setdefault(key, []).append((str(rule["expr"]), path))
    loaded: dict[tuple[str, str], list[str]] = {}
    for group_name, name, query in prometheus.rules():
        loaded.setdefault((group_name, name), []).append(query)
    made.compared["rule"] = sum(map(len, rendered.values()))
    mend = f"curl -X POST {prometheus.url}/-/reload"
    for key, rules in rendered.items():
        queries = loaded.pop(key, [])
        if len(queries) != len(rules):
            said = f"{len(queries)} loaded"
            yield Difference("rule", key[1], key[0], f"{len(rules)} in the files", said, BUNDLE, mend, rules[0][1])
            continue
        for (want, path), have in zip(rules, queries, strict=True):
            if not _same_query(prometheus, want, have):
                yield Difference("rule", key[1], "expr", want[:120], plain(have, 120), BUNDLE, mend, path)
    for key in loaded:
        place = f"monitoring/{site}/prometheus/rules"
        yield Difference("rule", plain(key[1]), plain(key[0]), "", "loaded", BUNDLE, mend, place)


def _same_query(prometheus: Prometheus, want: str, have: str) -> bool:
    bare = [re.sub(r"\s", "", text) for text in (want, have)]
    return bare[0] == bare[1] or prometheus.formatted(want) == prometheus.formatted(have)


def _targets(made: Drift, prometheus: Prometheus, folder: Folder, read: Read) -> Iterator[Difference]:
    """Nodes that jobs run on must be scraped by every job that is rendered for them."""
    active = {(job, node) for job, node in prometheus.targets()}
    mend = f"curl -X POST {prometheus.url}/-/reload"
    count = 0
    for path in folder.paths:
        found = re.fullmatch(rf"monitoring/{re.escape(read.site)}/prometheus/targets/([^/]+)\.json", path)
        if not found:
            continue
        for one in json.loads(folder.read(path)):
            node = one.get("labels", {}).get("node")
            if node not in read.nodes:
                continue
            count += 1
            if (found.group(1), node) not in active:
                yield Difference("target", node, found.group(1), "scraped", "", BUNDLE, mend, path)
    made.compared["target"] = count
