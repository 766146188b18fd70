"""Switch groups and cable bundles of every network, with names from their position.

``s1-p02-leaf`` are the leaves of pod 2 of site 1, ``s1-core`` its cores, ``s1-storage-leaf`` and
``s1-management-access`` those of the side networks; with several planes a letter follows the site: ``s1b-p02-leaf``.
Single cables follow from each bundle's pattern, see :mod:`clusterwright.cluster.graph`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Pattern, Provenance, bundled
from clusterwright.domains.fabric.fattree import layout
from clusterwright.domains.fabric.parts import Parts, parts_of
from clusterwright.spec import Spec

__all__ = ["fill"]

FIBRE_S_PER_M = 4.5e-9
"""Delay of light in fibre (NVIDIA 800G optics manual)."""
_SWITCHES = ("leaf_switches", "spine_switches", "core_switches")
_TRUNKS = ("leaf_spine_cables", "spine_core_cables")


@dataclass
class _Tree:
    """The numbers of one plane of one tree."""

    site: str
    prefix: str
    parts: Parts
    leaves: int
    spines: int
    cores: int
    tiers: int
    up: int
    down: int
    working: dict[str, float] = field(default_factory=dict)
    """What of each count the requested nodes need; the rest is said to be for spares."""

    def pods(self) -> list[tuple[str, int, int, int]]:
        """Name, first leaf, leaves and spines of each pod."""
        if self.tiers < 3:
            name = f"{self.prefix}-p01" if self.parts.network == "compute" else self.prefix
            return [(name, 0, self.leaves, self.spines)]
        many = -(-self.leaves // (self.parts.ports // 2))
        size, each = self.leaves // many, self.spines // many
        return [(f"{self.prefix}-p{k + 1:02d}", k * size, size, each) for k in range(many)]


def fill(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the tables ``switches`` and ``links`` for all sites and explain their columns."""
    compute, storage, management = parts_of(cluster, catalog)
    for i, site in enumerate(spec.sites):
        planes = max(int(cluster.value("fabric.planes")), 1)
        for plane in range(planes):
            _compute(cluster, i, site.name, compute, plane, planes)
        access, endpoints = _storage(cluster, i, site.name, storage)
        _management(cluster, i, site.name, management, replace(storage, network="management"), access, endpoints)
    _explain(cluster)


# --- networks ---


def _compute(cluster: Cluster, i: int, site: str, parts: Parts, plane: int, planes: int) -> None:
    own = f"sites[{i}].fabric"
    count = {name: int(cluster.value(f"{own}.all.{name}")) // planes for name in _SWITCHES}
    if not count["leaf_switches"] or not cluster.value(f"{own}.fits"):
        return  # nothing to join, or more than can be joined, which is a finding
    prefix = f"s{i + 1}" + (chr(ord("a") + plane) if planes > 1 else "")
    working = {name: cluster.value(f"{own}.{name}") / planes for name in (*_SWITCHES, *_TRUNKS)}
    tree = _Tree(
        site,
        prefix,
        parts,
        count["leaf_switches"],
        count["spine_switches"],
        count["core_switches"],
        int(cluster.value(f"{own}.all.tiers")),
        int(cluster.value(f"{own}.all.up_ports")),
        int(cluster.value(f"{own}.all.down_ports")),
        working,
    )
    _switches(cluster, tree)
    _rails(cluster, i, tree, plane, planes)
    _trunks(cluster, tree)


def _rails(cluster: Cluster, i: int, tree: _Tree, plane: int, planes: int) -> None:
    """Nodes to leaves: the requested nodes first, the spares after them."""
    everyone = int(cluster.value(f"sites[{i}].fabric.all.nodes"))
    links = int(cluster.value("fabric.links_per_node")) // planes
    rails = int(cluster.value("fabric.rails")) if tree.tiers > 1 else 1
    per_rail = max(links // rails, 1)
    dealt = layout(everyone, tree.leaves, rails, per_rail, tree.down if tree.tiers > 1 else everyone * per_rail)
    start = 0
    for role in ("compute", "spare"):
        many = int(cluster.value(f"sites[{i}].{'nodes' if role == 'compute' else 'spare_nodes'}"))
        for name, base, leaves, _ in tree.pods() if many else []:
            numbers = {"of": many, "start": start, "rails": rails, **dealt._asdict()}
            numbers |= {"links": links, "first": plane * links, "base": base}
            pattern = Pattern("rail", numbers)
            found = bundled(pattern, leaves)
            if found:
                source, spare = f"s{i + 1}-{role}", found if role == "spare" else 0
                _bundle(cluster, tree.parts, tree.site, source, f"{name}-leaf", pattern, found, spare, long=False)
        start += many


def _storage(cluster: Cluster, i: int, site: str, parts: Parts) -> tuple[_Tree, int]:
    """The storage network; returns its tree and how many of its leaf ports are taken so far."""
    own, prefix = f"sites[{i}].fabric.storage", f"s{i + 1}-storage"
    leaves, spines, cores, tier_count = (int(cluster.value(f"{own}.{name}")) for name in (*_SWITCHES, "tiers"))
    up, down = (int(cluster.value(f"fabric.storage.{name}")) for name in ("up_ports", "down_ports"))
    tree = _Tree(site, prefix, parts, leaves, spines, cores, tier_count, up, down)
    if not tree.leaves:
        return tree, 0
    _switches(cluster, tree)
    links = int(cluster.value("fabric.storage.links_per_node"))
    start = 0
    servers = _servers(cluster, i)
    service = int(cluster.value(f"{own}.service_links"))
    each_server = service // max(sum(many for _, many in servers), 1)
    for source, many, each in (
        (f"s{i + 1}-compute", int(cluster.value(f"sites[{i}].nodes")), links),
        (f"s{i + 1}-spare", int(cluster.value(f"sites[{i}].spare_nodes")), links),
        *((name, many, each_server) for name, many in servers),
        (f"s{i + 1}-storage-port", int(cluster.value(f"{own}.device_links")) - service, 1),
    ):
        start = _spread(cluster, tree, source, many, each, start, first=0)
    _trunks(cluster, tree)
    return tree, start


def _servers(cluster: Cluster, i: int) -> list[tuple[str, int]]:
    """Groups of servers beside compute of a site and how many are in each, named as in the table of nodes."""
    own, end = f"sites[{i}].scheduling.", "_nodes"
    roles = [path[len(own) : -len(end)] for path in cluster.frame if path.startswith(own) and path.endswith(end)]
    return [(f"s{i + 1}-{role}", int(cluster.value(f"{own}{role}{end}"))) for role in roles]


def _management(cluster: Cluster, i: int, site: str, parts: Parts, uplink: Parts, storage: _Tree, taken: int) -> None:
    """The management network: everything with a port of its own, dealt round to the access switches."""
    access = int(cluster.value(f"sites[{i}].fabric.management.switches"))
    tree = _Tree(site, f"s{i + 1}-management", parts, access, 0, 0, 1, 0, parts.ports)
    here = [row for row in cluster.tables["switches"].where(site=site) if row["network"] != "management"]
    _switches(cluster, tree, tier="access")
    nodes = int(cluster.value(f"sites[{i}].fabric.storage.nodes"))
    racks = -(-nodes // int(cluster.value("compute.nodes_per_rack")))
    sources = [
        (f"s{i + 1}-compute", int(cluster.value(f"sites[{i}].nodes")), 2),
        (f"s{i + 1}-spare", int(cluster.value(f"sites[{i}].spare_nodes")), 2),
        *((name, many, 2) for name, many in _servers(cluster, i)),
        *((row["name"], int(row["count"]), 1) for row in here),
        (f"s{i + 1}-power-strip", 2 * racks, 1),
    ]
    start = 0
    for source, many, each in sources:
        start = _spread(cluster, tree, source, many, each, start, first=0, tier="access")
    if storage.leaves:
        leaves = replace(storage, parts=uplink)
        _spread(cluster, leaves, f"{tree.prefix}-access", access, 2, taken, first=parts.ports)


# --- rows ---


class _Share:
    """Deals out what the requested nodes need over groups in order; the rest of each group is for spares."""

    def __init__(self, working: float) -> None:
        self.left = working

    def spare(self, count: int) -> int:
        """How many of the next ``count`` only spares and growth need."""
        taken = min(self.left, count)
        self.left -= taken
        return int(count - taken)


def _switches(cluster: Cluster, tree: _Tree, tier: str = "leaf") -> None:
    left = {name: _Share(tree.working.get(name, float("inf"))) for name in _SWITCHES}
    groups = []
    for name, _, leaves, spines in tree.pods():
        groups.append((f"{name}-{tier}", tier, leaves, "leaf_switches"))
        groups.append((f"{name}-spine", "spine", spines, "spine_switches"))
    groups.append((f"{tree.prefix}-core", "core", tree.cores, "core_switches"))
    for name, kind, count, key in groups:
        if count:
            cluster.tables["switches"].add(
                name=name,
                site=tree.site,
                network=tree.parts.network,
                tier=kind,
                model=tree.parts.switch,
                ports=tree.parts.ports,
                port_bandwidth_bytes_s=tree.parts.rate_bytes_s,
                power_w=tree.parts.switch_power_w,
                units=tree.parts.switch_units,
                count=count,
                spare_count=left[key].spare(count),
            )


def _trunks(cluster: Cluster, tree: _Tree) -> None:
    """Leaves to spines in each pod, spines to cores."""
    left = {name: _Share(tree.working.get(name, float("inf"))) for name in _TRUNKS}
    half = tree.parts.ports // 2
    group = tree.cores // max(tree.up, 1)
    for pod, (name, _, leaves, spines) in enumerate(tree.pods()):
        if not spines:
            continue
        clos = Pattern("clos", {"of": leaves, "each": tree.up // spines, "offset": tree.down})
        count = leaves * tree.up
        spare = left["leaf_spine_cables"].spare(count)
        _bundle(cluster, tree.parts, tree.site, f"{name}-leaf", f"{name}-spine", clos, count, spare)
        if tree.cores:
            numbers = {"of": spines, "each": half // group, "group": group, "pod": pod, "offset": half}
            spare = left["spine_core_cables"].spare(spines * half)
            core, pattern = f"{tree.prefix}-core", Pattern("core", numbers)
            _bundle(cluster, tree.parts, tree.site, f"{name}-spine", core, pattern, spines * half, spare)


def _spread(
    cluster: Cluster, tree: _Tree, source: str, many: int, each: int, start: int, *, first: int, tier: str = "leaf"
) -> int:
    """Deal ``each`` cables of ``many`` sources round to the leaves; returns where the next ones start."""
    for name, base, leaves, _ in tree.pods() if many and tree.leaves else []:
        numbers = {"of": many, "links": each, "start": start, "total": tree.leaves, "base": base, "first": first}
        pattern = Pattern("spread", {**numbers, "offset": 0})
        found = bundled(pattern, leaves)
        spare = found if source.endswith("-spare") else 0
        if found:
            _bundle(cluster, tree.parts, tree.site, source, f"{name}-{tier}", pattern, found, spare, long=False)
    return start + many * each


def _bundle(
    cluster: Cluster,
    parts: Parts,
    site: str,
    source: str,
    target: str,
    pattern: Pattern,
    count: int,
    spare: int,
    *,
    long: bool = True,
) -> None:
    length = parts.long_m if long else parts.cable_m
    row: dict[str, Any] = {
        "name": f"{source}--{target}" + ("" if parts.network == "compute" else f"--{parts.network}"),
        "site": site,
        "network": parts.network,
        "source": source,
        "target": target,
        "pattern": str(pattern),
        "bandwidth_bytes_s": parts.rate_bytes_s,
        "latency_s": parts.port_latency_s + length * FIBRE_S_PER_M,
        "length_m": length,
        "medium": parts.long if long else parts.cable,
        "power_w": parts.long_power_w if long else parts.cable_power_w,
        "price_usd": parts.long_price_usd if long else parts.cable_price_usd,
        "count": count,
        "spare_count": spare,
    }
    cluster.tables["links"].add(**row)


def _explain(cluster: Cluster) -> None:
    """Provenance of the columns of both tables."""
    position = Provenance("choice", note="names from position: site, plane, pod, tier")
    part = Provenance("catalog", place="catalogue: the switch and the cables of the link technology chosen")
    wired = Provenance("law", law="fabric.leaf_switches", inputs={"nodes": "fabric.largest_site_nodes"})
    for table, named, bought, counted in (
        ("switches", "name site network tier", "model ports port_bandwidth_bytes_s power_w units", "count spare_count"),
        (
            "links",
            "name site network source target pattern",
            "bandwidth_bytes_s medium power_w price_usd",
            "count spare_count",
        ),
    ):
        for columns, origin in ((named, position), (bought, part), (counted, wired)):
            for column in columns.split():
                cluster.tables[table].explain(column, origin)
    length = Provenance("law", law="fabric.cable_length", inputs={"nodes": "fabric.largest_site_nodes"})
    cluster.tables["links"].explain("length_m", length)
    delay = Provenance("assumption", note="latency of the switch port and 4.5 ns for each metre of fibre")
    cluster.tables["links"].explain("latency_s", delay)
