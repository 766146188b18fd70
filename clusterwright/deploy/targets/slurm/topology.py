"""The topology of the compute fabric as Slurm reads it: a tree of scalable units, or blocks of NVLink domains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.names import hostlist
from clusterwright.deploy.targets.slurm.site import Here
from clusterwright.deploy.text import as_yaml, fill

__all__ = ["FABRIC", "blocks", "by_block", "plugin_lines", "topology_file", "tree"]

FABRIC = "fabric"
"""Name of the tree in topology.yaml."""
_RECONFIGURE = "systemctl restart slurmctld"


def tree(here: Here) -> list[tuple[str, str, str]]:
    """Switches from the leaves up: name, ``Nodes`` or ``Switches``, members as a host list.

    A leaf is a scalable unit: its nodes reach each other over one tier of leaf switches, rail by rail. Where releases
    know no blocks, NVLink domains are the leaves of a rack-scale system, since they matter more than the fabric's.
    """
    if here.domains and not here.dialect.topology_yaml:
        leaves = [(name, name, hosts) for name, hosts in here.domains]
    else:
        leaves = [(unit.name, _pod(here, unit.leaves), unit.hosts) for unit in here.units]
    made = [(name, "Nodes", hostlist(hosts)) for name, _, hosts in leaves]
    pods: dict[str, list[str]] = {}
    for name, pod, _ in leaves:
        pods.setdefault(pod, []).append(name)
    if 1 < len(pods) < len(leaves):
        made += [(f"{pod}-fabric", "Switches", hostlist(names)) for pod, names in pods.items()]
        made.append((f"{here.site.key}-fabric", "Switches", hostlist([f"{pod}-fabric" for pod in pods])))
    elif len(leaves) > 1:
        made.append((f"{here.site.key}-fabric", "Switches", hostlist([name for name, _, _ in leaves])))
    return made


def _pod(here: Here, leaves: tuple[str, ...]) -> str:
    """The part of a leaf's name that its pod gives: ``s1-p01`` of ``s1-p01-leaf-0001``."""
    return here.leaves[leaves[0]].group.rpartition("-")[0] if leaves and leaves[0] in here.leaves else here.site.key


def blocks(here: Here) -> tuple[list[int], list[tuple[str, tuple[str, ...]]]]:
    """Sizes of blocks and the blocks: NVLink domains of a rack-scale system, else scalable units.

    Base blocks can be put together by powers of two; sizes go on while two blocks of one are there.
    """
    found = here.domains or [(unit.name, unit.hosts) for unit in here.units]
    base = max((len(hosts) for _, hosts in found), default=1)
    sizes = [base]
    while sizes[-1] * 2 <= base * len(found) and len(sizes) < 5:
        sizes.append(sizes[-1] * 2)
    return sizes, found


def by_block(here: Here) -> bool:
    """Whether jobs are placed by blocks when they ask for nothing: on rack-scale systems, where the release can."""
    return bool(here.domains) and here.dialect.block_fits([len(hosts) for _, hosts in blocks(here)[1]])


def plugin_lines(here: Here) -> list[tuple[str, str, str]]:
    """Lines of slurm.conf; topology.yaml says the plug-in itself."""
    if not here.units and not here.domains:
        return []
    block = by_block(here)
    plugin = [] if here.dialect.topology_yaml else ["topology/block" if block else "topology/tree"]
    made = [("TopologyPlugin", name, "") for name in plugin]
    routing = here.dialect.lines("slurm.conf/topology") if not block else []
    words = here.dialect.words("TopologyParam") if not block else ""
    # Jobs that ask for no switches wait for none: a job may span units as soon as it has its nodes.
    return [*made, *routing, *([("TopologyParam", words, "")] if words else [])]


def topology_file(here: Here) -> Iterator[File]:
    """topology.yaml with both views from 25.05 on, topology.conf with one before."""
    if not here.units and not here.domains:
        return
    if here.dialect.topology_yaml:
        comment = (
            f"topology.yaml of cluster {here.cluster} for Slurm {here.dialect.release}; "
            "rendered by clusterwright, do not edit."
        )
        yield File(f"{here.folder}/topology.yaml", as_yaml(_documents(here), comment=comment), after=_RECONFIGURE)
        return
    lines = _block_lines(here) if by_block(here) else [f"SwitchName={n} {k}={v}" for n, k, v in tree(here)]
    text = fill("slurm/topology.conf.j2", here=here, lines=lines, block=by_block(here))
    yield File(f"{here.folder}/topology.conf", text, after=_RECONFIGURE)


def _block_lines(here: Here) -> list[str]:
    sizes, found = blocks(here)
    made = [f"BlockName={name} Nodes={hostlist(hosts)}" for name, hosts in found]
    if here.dialect.block_sizes:
        return [*made, f"BlockSizes={','.join(map(str, sizes))}"]
    return [*made, f"BlockLevels=0-{len(sizes) - 1}" if len(sizes) > 1 else "BlockLevels=0"]


def _documents(here: Here) -> list[dict[str, Any]]:
    block = by_block(here)
    key = {"Nodes": "nodes", "Switches": "children"}
    switches = [{"switch": name, key[kind]: members} for name, kind, members in tree(here)]
    sizes, found = blocks(here)
    made = {
        "topology": "nvlink" if here.domains else "units",
        "cluster_default": block,
        "block": {
            "block_sizes": sizes,
            "blocks": [{"block": name, "nodes": hostlist(hosts)} for name, hosts in found],
        },
    }
    whole = {"topology": FABRIC, "cluster_default": not block, "tree": {"switches": switches}}
    return [made, whole] if block else [whole, made]
