"""The link graph: bundles of cables expanded to single ones, and who is joined to whom.

A row of the table ``links`` is a bundle: many cables between two groups, and the ``pattern`` by which single cables
follow. Patterns are text, so that a saved cluster holds all that a port map needs: a word and ``key=value`` pairs.
Everything counts from 0 inside; names and ports that people read count from 1.

``rail of= start= rails= group= full= shy= rest= over= links= first= base=``
    Nodes to leaves. Nodes ``start + i`` of the site fill ``full`` rail groups of ``group`` nodes, the last ``shy`` of
    which have one node less; link *l* of a node's ``links`` in this plane is rail ``l // (links / rails)``, and rail
    *j* ends at leaf *j* of the group. The ``rest`` nodes after them share ``over`` leaves, rails dealt evenly over
    them. ``base`` is the number of the target group's first leaf, ``first`` the node's port of link 0.
``clos of= each= offset=``
    Every source to every target with ``each`` cables; the source's ports start at ``offset``.
``core of= each= group= pod= offset=``
    Spine *j* of pod ``pod`` to the ``group`` cores of group *j*, ``each`` cables to each.
``spread of= links= start= total= base= first= offset=``
    ``links`` cables of each source dealt round to ``total`` targets, from number ``start`` on; the target's ports start
    at ``offset``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster.cluster import Cluster

__all__ = ["Cable", "Ends", "Graph", "Pattern", "bundled", "cables", "ends", "link_graph", "member"]

Ints = NDArray[np.int64]


def member(group: str, index: int) -> str:
    """The name of one member of a group, ``index`` from 0: ``s1-p01-leaf-0001``."""
    return f"{group}-{index + 1:04d}"


class Cable(NamedTuple):
    """One cable: the two things it joins, the port at each (from 1), and the bundle it belongs to."""

    source: str
    source_port: int
    target: str
    target_port: int
    bundle: str


@dataclass(frozen=True)
class Ends:
    """Both ends of all cables of a bundle: members of the groups and their ports, from 0, shape (cables,) each."""

    source: Ints
    source_port: Ints
    target: Ints
    target_port: Ints


@dataclass(frozen=True)
class Pattern:
    """How single cables of a bundle follow: a word and its numbers."""

    kind: str
    numbers: Mapping[str, int]

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"{key}={value}" for key, value in self.numbers.items())])

    def __getitem__(self, key: str) -> int:
        return self.numbers[key]

    @classmethod
    def read(cls, text: str) -> Pattern:
        """From its text.

        Raises:
            ValueError: the text is no pattern.
        """
        kind, *pairs = text.split()
        if kind not in _KINDS:
            raise ValueError(f"'{kind}' is no pattern of cables; there are {', '.join(_KINDS)}")
        return cls(kind, {key: int(value) for key, _, value in (pair.partition("=") for pair in pairs)})


def ends(pattern: Pattern, targets: int) -> Ends:
    """All cables of a bundle.

    Args:
        pattern: of the bundle.
        targets: members of the target group.
    """
    return _KINDS[pattern.kind](pattern, targets)


def _grid(*sizes: int) -> tuple[Ints, ...]:
    """Index arrays over all combinations, the last running fastest, flat."""
    return tuple(part.ravel() for part in np.indices(sizes, dtype=np.int64))


def _rail(p: Pattern, targets: int) -> Ends:
    node, link = _grid(p["of"], p["links"])
    each = p["links"] // p["rails"]
    rail, slot = link // each, link % each
    position = p["start"] + node
    cut, less = (p["full"] - p["shy"]) * p["group"], max(p["group"] - 1, 1)
    shy = position >= cut
    group = np.where(shy, p["full"] - p["shy"] + (position - cut) // less, position // p["group"])
    within = np.where(shy, (position - cut) % less, position % p["group"])
    leaf = group * p["rails"] + rail
    port = within * each + slot
    after = position - cut - p["shy"] * less
    rest = after >= 0
    if rest.any():
        shared = rail * p["over"] // p["rails"]
        leaf = np.where(rest, p["full"] * p["rails"] + shared, leaf)
        above = rail - -(-shared * p["rails"] // p["over"])
        port = np.where(rest, (above * p["rest"] + after) * each + slot, port)
    here = (leaf >= p["base"]) & (leaf < p["base"] + targets)
    return Ends(node[here], p["first"] + link[here], leaf[here] - p["base"], port[here])


def _clos(p: Pattern, targets: int) -> Ends:
    source, target, strand = _grid(p["of"], targets, p["each"])
    return Ends(source, p["offset"] + target * p["each"] + strand, target, source * p["each"] + strand)


def _core(p: Pattern, targets: int) -> Ends:
    spine, place, strand = _grid(p["of"], p["group"], p["each"])
    up = p["offset"] + place * p["each"] + strand
    return Ends(spine, up, spine * p["group"] + place, p["pod"] * p["each"] + strand)


def _spread(p: Pattern, targets: int) -> Ends:
    source, link = _grid(p["of"], p["links"])
    number = p["start"] + source * p["links"] + link
    target = number % p["total"]
    here = (target >= p["base"]) & (target < p["base"] + targets)
    port = p["offset"] + number // p["total"]
    return Ends(source[here], p["first"] + link[here], target[here] - p["base"], port[here])


_KINDS = {"rail": _rail, "clos": _clos, "core": _core, "spread": _spread}


def bundled(pattern: Pattern, targets: int) -> int:
    """How many cables :func:`ends` lists, counted without listing them: a network has many bundles of one source."""
    return _SIZES[pattern.kind](pattern, targets)


def _count_rail(p: Pattern, targets: int) -> int:
    each, end, large = p["links"] // p["rails"], p["start"] + p["of"], p["full"] - p["shy"]

    def first(group: Ints) -> Ints:
        """Position of the first node of a group."""
        return np.asarray(group * p["group"] - np.clip(group - large, 0, None), dtype=np.int64)

    leaf = np.arange(p["base"], p["base"] + targets, dtype=np.int64)
    group = leaf // p["rails"]
    nodes = np.minimum(first(group + 1), end) - np.maximum(first(group), p["start"])
    after = np.clip(leaf - p["full"] * p["rails"], 0, p["over"])
    packed = -(-np.minimum(after + 1, p["over"]) * p["rails"] // p["over"]) - -(-after * p["rails"] // p["over"])
    rest = end - max(p["start"], p["full"] * p["group"] - p["shy"])
    whole = leaf < p["full"] * p["rails"]
    return int(np.sum(np.where(whole, np.clip(nodes, 0, None), packed * max(rest, 0))) * each)


def _count_spread(p: Pattern, targets: int) -> int:
    def below(number: int) -> int:
        rounds, left = divmod(number, p["total"])
        return rounds * targets + min(max(left - p["base"], 0), targets)

    return below(p["start"] + p["of"] * p["links"]) - below(p["start"])


_SIZES: dict[str, Callable[[Pattern, int], int]] = {
    "rail": _count_rail,
    "clos": lambda p, targets: p["of"] * targets * p["each"],
    "core": lambda p, _: p["of"] * p["group"] * p["each"],
    "spread": _count_spread,
}


def cables(cluster: Cluster, network: str = "compute", site: str | None = None) -> Iterator[Cable]:
    """The port map of a network: every single cable.

    Args:
        cluster: with tables ``switches`` and ``links`` filled.
        network: compute, storage or management.
        site: name; all sites when left out.
    """
    for row, found in _bundles(cluster, network, site):
        for a, i, b, j in zip(found.source, found.source_port, found.target, found.target_port, strict=True):
            source, target = member(row["source"], int(a)), member(row["target"], int(b))
            yield Cable(source, int(i) + 1, target, int(j) + 1, row["name"])


def _bundles(cluster: Cluster, network: str, site: str | None) -> Iterator[tuple[dict[str, Any], Ends]]:
    sizes = {row["name"]: int(row["count"]) for row in cluster.tables["switches"].rows()}
    for row in cluster.tables["links"].rows():
        if row["network"] == network and site in (None, row["site"]):
            yield row, ends(Pattern.read(row["pattern"]), sizes[row["target"]])


@dataclass(frozen=True)
class Graph:
    """Compressed sparse rows over things (nodes and switches), both directions of every pair that is joined.

    Attributes:
        names: of the things, shape (things,).
        start: where the neighbours of a thing start in ``neighbour``, shape (things + 1,).
        neighbour: shape (pairs,).
        cables: how many join the two, shape (pairs,).
        bandwidth_bytes_s: of these together, one direction, shape (pairs,).
    """

    names: list[str]
    start: Ints
    neighbour: Ints
    cables: Ints
    bandwidth_bytes_s: NDArray[np.float64]

    def degree(self) -> Ints:
        """Cables at each thing, shape (things,)."""
        return np.add.reduceat(np.append(self.cables, 0), self.start[:-1]) * (np.diff(self.start) > 0)

    def reach(self, origin: int) -> Ints:
        """Links on the shortest path from one thing to each, -1 where there is none, shape (things,)."""
        distance = np.full(len(self.names), -1, dtype=np.int64)
        distance[origin], front, step = 0, np.array([origin], dtype=np.int64), 0
        while front.size:
            step += 1
            near = np.unique(np.concatenate([self.neighbour[self.start[i] : self.start[i + 1]] for i in front]))
            front = near[distance[near] < 0]
            distance[front] = step
        return distance


def link_graph(cluster: Cluster, network: str = "compute", site: str | None = None) -> Graph:
    """Build the graph of a network from its bundles.

    Args:
        cluster: with tables ``switches`` and ``links`` filled.
        network: compute, storage or management.
        site: name; all sites when left out.
    """
    offsets: dict[str, int] = {}
    names: list[str] = []
    sizes = {row["name"]: int(row["count"]) for row in cluster.tables["switches"].rows()}
    pairs: list[tuple[Ints, Ints, float]] = []
    for row, found in _bundles(cluster, network, site):
        for group, many in ((row["source"], Pattern.read(row["pattern"])["of"]), (row["target"], sizes[row["target"]])):
            if group not in offsets:
                offsets[group] = len(names)
                names += [member(group, i) for i in range(many)]
        a, b = found.source + offsets[row["source"]], found.target + offsets[row["target"]]
        pairs.append((a, b, float(row["bandwidth_bytes_s"])))
    return _compress(names, pairs)


def _compress(names: list[str], pairs: list[tuple[Ints, Ints, float]]) -> Graph:
    none = np.zeros(0, dtype=np.int64)
    one = np.concatenate([none, *(a for a, _, _ in pairs)])
    other = np.concatenate([none, *(b for _, b, _ in pairs)])
    rate = np.concatenate([np.zeros(0), *(np.full(len(a), bandwidth) for a, _, bandwidth in pairs)])
    many = max(len(names), 1)
    key = np.concatenate([one * many + other, other * many + one])
    unique, place = np.unique(key, return_inverse=True)
    counted = np.bincount(place, minlength=len(unique)).astype(np.int64)
    weights = np.concatenate([rate, rate])
    summed = np.bincount(place, weights=weights, minlength=len(unique)).astype(np.float64)
    start = np.searchsorted(unique // many, np.arange(len(names) + 1))
    return Graph(names, start.astype(np.int64), unique % many, counted, summed)
