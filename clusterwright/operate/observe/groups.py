"""Groups of equal nodes: by GPUs, CPUs, memory, and the features that say what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.catalog import Catalog
from clusterwright.operate.observe.found import Dump, Gres, Node
from clusterwright.operate.observe.parts import telling

__all__ = ["SPARE", "Group", "SpareRule", "groups_of"]

SPARE = ("spare", "spares", "hot-spare", "hotspare", "hot_spare")
"""Features and partitions that mean it."""
_ALIKE = 0.03
"""Memory of equal nodes differs by what firmware and kernel take."""


@dataclass(frozen=True)
class SpareRule:
    """How spares are told: by ``feature`` or ``partition`` of one of the names; ``none``: there are none."""

    by: str = ""
    names: tuple[str, ...] = SPARE

    @classmethod
    def of(cls, text: str | None) -> SpareRule:
        """``feature=NAME``, ``partition=NAME`` or ``none``; None is the usual rule.

        Raises:
            ValueError: it is none of these.
        """
        if text is None:
            return cls()
        by, _, name = text.partition("=")
        if text == "none":
            return cls("none", ())
        if by not in ("feature", "partition") or not name:
            raise ValueError(f"'{text}' is not feature=NAME, partition=NAME or none")
        return cls(by, (name,))

    def why(self, node: Node) -> str:
        """How a node is told to be a spare; empty when it is none."""
        feature = next((one for one in node.features if one.lower() in self.names), "")
        if feature and self.by in ("", "feature"):
            return f"feature '{feature}'"
        if self.by in ("", "partition") and node.partitions:
            alone = all(one.lower() in self.names for one in node.partitions)
            named = [one for one in node.partitions if one.lower() in self.names]
            if alone or (named and self.by == "partition"):
                return f"partition '{named[0]}'"
        return ""


@dataclass(frozen=True)
class Group:
    """Equal nodes.

    Attributes:
        name: ``h100-8``, with a number where several would have it.
        gpu_type, gpus: of a node.
        sockets, cores, threads: processors of a node, cores and threads of all of them.
        memory_mib: the least of its nodes.
        features: that all its nodes have.
        nodes: that run jobs; spares: that wait for one to fail.
        spare_why: how they were told.
    """

    name: str
    gpu_type: str
    gpus: int
    sockets: int
    cores: int
    threads: int
    memory_mib: int
    features: tuple[str, ...]
    nodes: tuple[Node, ...]
    spares: tuple[Node, ...]
    spare_why: tuple[str, ...]

    @property
    def all_gpus(self) -> int:
        """GPUs of the group, spares left out."""
        return self.gpus * len(self.nodes)


Key = tuple[Gres, int, int, int, frozenset[str]]


def groups_of(dump: Dump, catalog: Catalog, rule: SpareRule) -> list[Group]:
    """Groups, the one with the most GPUs first."""
    told: dict[tuple[str, ...], frozenset[str]] = {}
    by_key: dict[Key, dict[int, list[Node]]] = {}
    for node in dump.nodes.values():
        if node.features not in told:
            told[node.features] = telling(catalog, node.features)
        gres = node.gres
        if len(gres) == 1 and not gres[0][0]:
            gres = ((dump.types.get(node.name, dump.types.get("*", "")), gres[0][1]),)
        key = (gres, node.cpus, node.sockets, node.cores, told[node.features])
        by_key.setdefault(key, {}).setdefault(node.memory_mib, []).append(node)
    made = [_group(key, members, rule) for key, by_memory in by_key.items() for members in _alike(by_memory)]
    made.sort(key=lambda one: (-one.all_gpus, -len(one.spares), one.name))
    return _named(made)


def _alike(by_memory: Mapping[int, list[Node]]) -> list[list[Node]]:
    made: list[list[Node]] = []
    least = 0
    for memory in sorted(by_memory):
        if made and memory <= least * (1 + _ALIKE):
            made[-1] += by_memory[memory]
        else:
            made.append(list(by_memory[memory]))
            least = memory
    return made


def _group(key: Key, members: Sequence[Node], rule: SpareRule) -> Group:
    gres, cpus, sockets, cores, _ = key
    whys = [(node, rule.why(node)) for node in members]
    common = set(members[0].features)
    for features in {node.features for node in members}:
        common &= set(features)
    kind = "+".join(name for name, _ in gres)
    gpus = sum(count for _, count in gres)
    return Group(
        name=f"{kind or 'gpu'}-{gpus}" if gpus else f"cpu-{cpus}",
        gpu_type=kind,
        gpus=gpus,
        sockets=sockets,
        cores=sockets * cores,
        threads=cpus,
        memory_mib=min(node.memory_mib for node in members),
        features=tuple(one for one in members[0].features if one in common),
        nodes=tuple(node for node, why in whys if not why),
        spares=tuple(node for node, why in whys if why),
        spare_why=tuple(sorted({why for _, why in whys if why})),
    )


def _named(groups: Sequence[Group]) -> list[Group]:
    from dataclasses import replace

    seen: dict[str, int] = {}
    made = []
    for one in groups:
        seen[one.name] = seen.get(one.name, 0) + 1
        made.append(replace(one, name=f"{one.name}-{seen[one.name]}") if seen[one.name] > 1 else one)
    return made
