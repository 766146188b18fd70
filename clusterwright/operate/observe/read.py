"""A dump: what a site's own programs say, as files in a folder or asked of a live Slurm; both are read the same way.

A file is known by what is in it, not by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from clusterwright.domains.scheduling import hosts, parse
from clusterwright.errors import InputError, WorldError
from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Dump
from clusterwright.operate.observe.nodes import (
    nodes_of_conf,
    nodes_of_json,
    nodes_of_sinfo,
    nodes_of_text,
    plain,
)
from clusterwright.operate.observe.people import (
    assoc_of_dump,
    assoc_of_json,
    assoc_of_text,
    qos_of_json,
    qos_of_text,
)
from clusterwright.operate.observe.queues import (
    add_queue,
    config_of_text,
    leaves_of_lines,
    leaves_of_yaml,
    queues_of_json,
    queues_of_text,
)
from clusterwright.operate.slurm import Slurm
from clusterwright.source import Place

__all__ = ["COMMANDS", "files_of", "how", "read_dump", "texts_of"]

_ASSOC = "format=Cluster,Account,User,ParentName,Share,GrpTRES,QOS,DefaultQOS,Partition"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "nodes.txt": ("scontrol", "--all", "show", "node"),
    "partitions.txt": ("scontrol", "--all", "show", "partition"),
    "config.txt": ("scontrol", "show", "config"),
    "topology.txt": ("scontrol", "show", "topology"),
    "qos.txt": ("sacctmgr", "-P", "show", "qos"),
    "assoc.txt": ("sacctmgr", "-P", "show", "assoc", _ASSOC),
}
"""File of a dump -> what makes it. Each reads only."""
_OPTIONAL = {"topology.txt", "qos.txt", "assoc.txt"}
"""A Slurm without a tree or without accounting cannot tell these."""
_MOST_BYTES = 1 << 30


def how() -> str:
    """A block of shell commands that makes a dump of a site."""
    lines = ["# On a host where Slurm's commands work; reads only. Then: clusterwright observe --dump dump"]
    lines.append("mkdir -p dump && export SLURM_TIME_FORMAT=standard")
    lines += [f"{' '.join(words)} > dump/{name}" for name, words in COMMANDS.items()]
    conf = "$(scontrol show config | awk '$1 == \"SLURM_CONF\" {print $3}')"
    lines.append(f'cp "$(dirname "{conf}")"/{{gres.conf,topology.conf,topology.yaml}} dump/ 2>/dev/null || true')
    return "\n".join(lines)


def texts_of(slurm: Slurm) -> dict[str, str]:
    """What a live Slurm says.

    Raises:
        WorldError: it does not answer.
    """
    slurm.must_be_up()
    made = {}
    for name, command in COMMANDS.items():
        try:
            made[name] = slurm.run(*command, seconds=60)
        except WorldError:
            if name not in _OPTIONAL:
                raise
    return made


def files_of(folder: Path) -> dict[str, str]:
    """The files of a folder.

    Raises:
        InputError: it is none, or files cannot be read.
    """
    if not folder.is_dir():
        hint = "clusterwright observe --how says what makes one"
        raise InputError(FINDINGS["OBSERVE-FILE"].at(str(folder), "is no folder", hint))
    made, wrong = {}, []
    for path in sorted(folder.iterdir()):
        if not path.is_file():
            continue
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError(f"has more than {_MOST_BYTES >> 20} MiB")
            made[str(path)] = path.read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            said = "is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            wrong.append(FINDINGS["OBSERVE-FILE"].at(str(path), f"cannot be read: {plain(said, 120)}"))
    if wrong:
        raise InputError(wrong)
    return made


_Reader = Callable[[str, str, Dump], None]


def read_dump(texts: Mapping[str, str]) -> Dump:
    """Read all files. What is wrong stands in ``findings``; nothing is raised.

    Args:
        texts: name of the file -> what is in it.
    """
    dump = Dump()
    found: list[tuple[int, str, str, _Reader]] = []
    for name, text in texts.items():
        order, reader = _reader(text)
        if reader is None:
            said = "is empty" if not text.strip() else "is none of the files that are read"
            dump.findings.append(FINDINGS["OBSERVE-IGNORED"].at(Place(name), said, "clusterwright observe --how"))
        else:
            found.append((order, name, text, reader))
    for _, name, text, reader in sorted(found, key=lambda one: one[:2]):
        reader(text, name, dump)
    dump.findings += list(_mixed(dump))
    return dump


_HEADS: tuple[tuple[int, str, _Reader], ...] = (
    (1, r"NodeName=\S+ (?:.*\n)?(?:.*\n)*?.*\bCPUTot=", nodes_of_text),
    (2, r"PartitionName=\S+\s(?:.*\n)?.*\bAllowGroups=", queues_of_text),
    (0, r"Configuration data as of ", config_of_text),
    (3, r"Name\|(?:.*\|)?Priority\|", qos_of_text),
    (3, r"(?:.*\|)?Account\|(?:.*\|)?User\|", assoc_of_text),
    (6, r"(?:.*[|\s])?(?:NODELIST|HOSTNAMES)\b", nodes_of_sinfo),
)
"""Order of reading, the beginning of a file, its reader."""


def _reader(text: str) -> tuple[int, _Reader | None]:
    head = text[:20_000].lstrip()
    if head.startswith("{"):
        return 1, _json
    for order, pattern, reader in _HEADS:
        if re.match(pattern, head):
            return order, reader
    if re.search(r"^Cluster - '", head, re.MULTILINE):
        return 4, assoc_of_dump
    if re.search(r"^- topology:", head, re.MULTILINE):
        return 5, _topology_yaml
    if re.match(r"NodeName=\S+ Arch=|NodeName=\S+ +CoresPerSocket=", head):
        return 1, nodes_of_text  # cut off within its first node
    if re.search(r"^\s*(?:SwitchName|BlockName)\s*=", head, re.MULTILINE | re.IGNORECASE):
        return 5, lambda text, name, dump: leaves_of_lines(parse(text), name, dump)
    if re.search(r"^\s*(?:NodeName=\S+\s.*)?\bName\s*=\s*gpu\b", head, re.MULTILINE | re.IGNORECASE):
        return 8, _gres_conf
    if re.search(r"^\s*(?:ClusterName|SlurmctldHost|NodeName|PartitionName)\s*=", head, re.MULTILINE | re.IGNORECASE):
        return 7, _slurm_conf
    return 9, None


def _json(text: str, name: str, dump: Dump) -> None:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
        said = f"is no JSON: {plain(str(getattr(error, 'msg', error)), 80)}"
        hint = "the file is cut off; make it again"
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(Place(name, line, column), said, hint))
        return
    meta = held.get("meta") if isinstance(held.get("meta"), dict) else {}
    slurm = meta.get("slurm") or meta.get("Slurm")
    if isinstance(slurm, dict):
        dump.release = dump.release or str(slurm.get("release") or "")
        if slurm.get("cluster"):
            dump.clusters.setdefault(str(slurm["cluster"]), Place(name))
    readers: dict[str, Callable[[Any, str, Dump], None]] = {
        "nodes": nodes_of_json,
        "partitions": queues_of_json,
        "associations": assoc_of_json,
        "qos": qos_of_json,
        "QOS": qos_of_json,
    }
    known = [key for key in readers if isinstance(held.get(key), list)]
    if not known:
        said = f"has none of {', '.join(readers)}"
        dump.findings.append(FINDINGS["OBSERVE-IGNORED"].at(Place(name), said, "clusterwright observe --how"))
    for key in known:
        readers[key](held[key], name, dump)


def _topology_yaml(text: str, name: str, dump: Dump) -> None:
    try:
        held = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = Place(name, mark.line + 1, mark.column + 1) if mark else Place(name)
        dump.findings.append(FINDINGS["OBSERVE-FILE"].at(place, "is no YAML", "copy the file again"))
        return
    leaves_of_yaml(held, name, dump)


def _slurm_conf(text: str, name: str, dump: Dump) -> None:
    """slurm.conf: what slurmctld itself told counts more."""
    lines = [line for line in parse(text) if line.pairs]
    for line in lines:
        if line.key.lower() == "clustername":
            dump.clusters.setdefault(line.value, Place(name, line.number, 1))
    dump.findings += list(nodes_of_conf(lines, name, dump, bool(dump.nodes)))
    default: dict[str, str] = {}
    for line in lines:
        place, key = Place(name, line.number, 1), line.key.lower()
        if key == "partitionname":
            pairs = {**default, **dict(line.pairs[1:])}
            if line.value == "DEFAULT":
                default = pairs
            nodes = pairs.pop("Nodes", "")
            add_queue(dump, line.value, ",".join(dump.nodes) if nodes.upper() == "ALL" else nodes, pairs, place)
        elif len(line.pairs) == 1:
            dump.config.setdefault(key, (line.key, line.value, place))


def _gres_conf(text: str, name: str, dump: Dump) -> None:
    """gres.conf: types of GPUs where slurm.conf counts them only."""
    for line in parse(text):
        if line.get("Name").lower() != "gpu" or not line.get("Type"):
            continue
        try:
            named = hosts(line.get("NodeName")) if line.get("NodeName") else ["*"]
        except ValueError as error:
            said = plain(str(error), 120)
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(Place(name, line.number, 1), said, "copy the file again"))
            continue
        dump.types.update(dict.fromkeys(named, line.get("Type")))


def _mixed(dump: Dump) -> Iterator[Any]:
    """What files say against each other."""
    if len(dump.clusters) > 1 and dump.setting("ClusterName") not in dump.clusters:
        first, *others = dump.clusters.items()
        for name, place in others:
            said = f"is of cluster '{plain(name)}', {first[1]} of '{plain(first[0])}'"
            yield FINDINGS["OBSERVE-MIXED"].at(place, said, "one dump for each cluster")
    ours = dump.setting("ClusterName")
    for name, place in dump.clusters.items():
        of_accounts = any(one.place.file == place.file for one in dump.accounts or ())
        if ours and name != ours and not of_accounts:
            said = f"is of cluster '{plain(name)}', {dump.config['clustername'][2]} of '{plain(ours)}'"
            yield FINDINGS["OBSERVE-MIXED"].at(place, said, "one dump for each cluster")
    if ours and dump.accounts and not any(one.cluster in ("", ours) for one in dump.accounts):
        place, other = dump.accounts[0].place, dump.accounts[0].cluster
        said = f"has accounts of cluster '{plain(other)}' and none of '{plain(ours)}'"
        yield FINDINGS["OBSERVE-MIXED"].at(place, said, "sacctmgr -P show assoc on the same site")
    if not dump.nodes:
        return
    for what, name, nodes, place in _members(dump):
        unknown = [node for node in nodes if node not in dump.nodes]
        if unknown:
            said = (
                f"{what} '{plain(name)}' has {len(unknown)} nodes that no file describes, such as {plain(unknown[0])}"
            )
            yield FINDINGS["OBSERVE-MIXED"].at(place, said, "make all files of the dump at one time, of one cluster")


def _members(dump: Dump) -> Iterator[tuple[str, str, list[str], Place]]:
    for queue in dump.queues.values():
        try:
            yield "partition", queue.name, hosts(queue.nodes), queue.place
        except ValueError as error:
            dump.findings.append(FINDINGS["OBSERVE-FILE"].at(queue.place, plain(str(error), 120), "make it again"))
    for leaf in dump.leaves.values():
        yield "leaf", leaf.name, list(leaf.nodes), leaf.place
