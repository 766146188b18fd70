"""What the files of a dump hold, whatever they were written by; each thing with its file and line."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from clusterwright.findings import Finding
from clusterwright.source import Place

__all__ = ["Account", "Dump", "Gres", "Leaf", "Node", "Queue", "gpus_of"]

Gres = tuple[tuple[str, int], ...]
"""Types and numbers of the GPUs of a node."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Attributes:
        gres: types and numbers of its GPUs; the type is empty where the site names none.
        memory_mib: that slurmctld counts with.
        partitions: that it is in; None where the file does not say.
    """

    name: str
    gres: Gres
    cpus: int
    sockets: int
    cores: int
    threads: int
    memory_mib: int
    features: tuple[str, ...]
    partitions: tuple[str, ...] | None
    place: Place


@dataclass(frozen=True)
class Queue:
    """A partition: its keys as slurm.conf writes them, and the host list of its nodes."""

    name: str
    nodes: str
    pairs: tuple[tuple[str, str], ...]
    place: Place

    def get(self, key: str, otherwise: str = "") -> str:
        """The value of a key."""
        return next((v for k, v in self.pairs if k.lower() == key.lower()), otherwise)


@dataclass(frozen=True)
class Account:
    """An account, or a user in one: keys as sacctmgr names them."""

    cluster: str
    name: str
    user: str
    parent: str
    share: str
    gpus: int
    qos: tuple[str, ...]
    default_qos: str
    place: Place


@dataclass(frozen=True)
class Leaf:
    """Nodes below one leaf of the topology."""

    name: str
    nodes: tuple[str, ...]
    place: Place


@dataclass
class Dump:
    """All of it.

    Attributes:
        nodes: by name.
        clusters: name -> where it was read.
        config: of 'scontrol show config' or slurm.conf, by keys in small letters: key as written, value, place.
        qos: name -> words as sacctmgr's, and the place; None when no file told.
        accounts: None when no file told.
        leaves: by name.
        types: node -> type of its GPUs in gres.conf; ``*`` for all nodes.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    clusters: dict[str, Place] = field(default_factory=dict)
    config: dict[str, tuple[str, str, Place]] = field(default_factory=dict)
    qos: dict[str, tuple[dict[str, str], Place]] | None = None
    accounts: list[Account] | None = None
    leaves: dict[str, Leaf] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    release: str = ""
    findings: list[Finding] = field(default_factory=list)

    def setting(self, key: str) -> str:
        """A value of the configuration; empty without."""
        return self.config.get(key.lower(), ("", "", Place("")))[1]


@lru_cache(maxsize=4096)
def gpus_of(text: str) -> Gres:
    """GPUs of ``gpu:h100:8(S:0-1),nvme:1``: ``(("h100", 8),)``.

    Raises:
        ValueError: a count is no number.
    """
    made: dict[str, int] = {}
    depth, plain = 0, ""
    for character in text:
        depth += character == "("
        plain += character if not depth else ""
        depth -= character == ")"
    for one in plain.split(","):
        words = one.split(":")
        if words[0] != "gpu":
            continue
        kind, count = (words[1], words[2]) if len(words) > 2 else ("", words[1]) if len(words) == 2 else ("", "1")
        if not count.isdigit() and len(words) == 2:
            kind, count = count, "1"
        if not count.isdigit():
            raise ValueError(f"Gres={text[:60]} is no number of GPUs")
        made[kind] = made.get(kind, 0) + int(count)
    return tuple(sorted((kind, count) for kind, count in made.items() if count))
