"""The link graph, against networkx and against what a fat tree must be."""

import random
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster, Pattern, bundled, cables, ends, link_graph, member
from clusterwright.domains import fabric
from tests.unit.domains.fabric.frames import frame, spec

SMALL = {"fabric__radix": 8.0, "server__nics": 2.0}
"""Switches of 8 ports and 2 links a node: 16 nodes fill two tiers of 4 x 2 leaves, 128 endpoints three."""
CASES = {
    "one switch": (4, 0, SMALL),
    "two tiers, full": (16, 0, SMALL),
    "two tiers, rest packed": (13, 2, SMALL),
    "three tiers, full": (64, 0, SMALL),
    "three tiers, last pod partial": (41, 1, SMALL),
    "oversubscribed": (20, 1, {**SMALL, "fabric__radix": 12.0, "fabric__oversubscription": 2.0}),
    "widened for spares": (256, 4, {}),
    "two planes": (24, 1, {**SMALL, "fabric__planes": 2.0, "server__nics": 4.0}),
    "as published": (128, 4, {}),
}


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def designed(catalog, nodes, spares, changed, asked=None):
    asked = asked or spec()
    made = frame(nodes, spares, **changed)
    fabric.size(made, asked, catalog)
    cluster = Cluster(frame=made)
    fabric.apply(cluster, asked, catalog)
    return cluster


def oracle(cluster, network="compute"):
    """The same network as a networkx multigraph made from the port map."""
    graph = nx.MultiGraph()
    for cable in cables(cluster, network):
        graph.add_edge(cable.source, cable.target, ports=(cable.source_port, cable.target_port))
    return graph


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("network", ["compute", "storage", "management"])
def test_no_port_is_used_twice_and_none_is_beyond_the_radix(catalog, case, network):
    cluster = designed(catalog, *CASES[case])
    used = Counter()
    for cable in cables(cluster, network):
        used[cable.source, cable.source_port] += 1
        used[cable.target, cable.target_port] += 1
    assert set(used.values()) == {1}
    ports = {
        member(row["name"], i): row["ports"] + 4 * (row["tier"] == "access")
        for row in cluster.tables["switches"].rows()
        for i in range(row["count"])
    }
    assert [name for (name, port), _ in used.items() if port > ports.get(name, 1000)] == []


@pytest.mark.parametrize("case", CASES)
def test_cables_and_switches_equal_the_totals_of_the_law(catalog, case):
    cluster = designed(catalog, *CASES[case])
    graph = oracle(cluster)
    kinds = ("node_leaf_cables", "leaf_spine_cables", "spine_core_cables")
    assert graph.number_of_edges() == sum(cluster.value(f"fabric.all.{kind}") for kind in kinds)
    switches = sum(cluster.value(f"fabric.all.{tier}_switches") for tier in ("leaf", "spine", "core"))
    nodes = cluster.value("sites[0].nodes") + cluster.value("sites[0].spare_nodes")
    assert graph.number_of_nodes() == switches + nodes
    assert sum(row["count"] for row in cluster.tables["links"].where(network="compute")) == graph.number_of_edges()


@pytest.mark.parametrize("case", CASES)
def test_every_endpoint_reaches_every_other_within_the_hops(catalog, case):
    cluster = designed(catalog, *CASES[case])
    made, graph = link_graph(cluster), oracle(cluster)
    assert nx.is_connected(graph)
    planes, tiers = cluster.value("fabric.planes"), cluster.value("sites[0].fabric.all.tiers")
    nodes = [i for i, name in enumerate(made.names) if name.startswith(("s1-compute", "s1-spare"))]
    distance = made.reach(nodes[0])
    assert (distance >= 0).all()
    if planes == 1:
        assert distance[nodes].max() <= 2 * tiers
    theirs = nx.single_source_shortest_path_length(graph, made.names[nodes[0]])
    assert {name: int(distance[i]) for i, name in enumerate(made.names)} == dict(theirs)


@pytest.mark.parametrize("case", CASES)
def test_degrees_equal_those_of_networkx_and_sum_to_twice_the_cables(catalog, case):
    cluster = designed(catalog, *CASES[case])
    made, graph = link_graph(cluster), oracle(cluster)
    assert {name: int(d) for name, d in zip(made.names, made.degree(), strict=True)} == dict(graph.degree())
    assert made.degree().sum() == 2 * graph.number_of_edges()
    assert made.bandwidth_bytes_s.sum() == pytest.approx(2 * graph.number_of_edges() * 50e9)


@pytest.mark.parametrize("case", ["one switch", "two tiers, full", "three tiers, full", "oversubscribed half"])
def test_bisection_by_maximum_flow_equals_the_law(catalog, case):
    # oversubscribed half: radix 12 at 2:1 has 4 up and 8 down; 16 nodes = 2 groups x 2 rails = 4 leaves x 4 uplinks
    half = (16, 0, {**SMALL, "fabric__radix": 12.0, "fabric__oversubscription": 2.0})
    nodes, spares, changed = CASES.get(case, half)
    cluster = designed(catalog, nodes, spares, changed)
    flow = nx.Graph()
    for a, b in oracle(cluster).edges():
        more = flow.edges[a, b]["capacity"] if flow.has_edge(a, b) else 0
        flow.add_edge(a, b, capacity=more + 1)
    for i in range(nodes):
        flow.add_edge("left" if i < nodes // 2 else "right", member("s1-compute", i), capacity=10**6)
    crossing = nx.maximum_flow_value(flow, "left", "right")
    assert crossing * 50e9 == cluster.value("fabric.bisection_bandwidth_bytes_s")


@pytest.mark.parametrize("case", ["two tiers, full", "as published", "widened for spares"])
def test_each_leaf_has_equally_many_cables_to_each_spine(catalog, case):
    cluster = designed(catalog, *CASES[case])
    between = Counter(
        (c.source, c.target) for c in cables(cluster) if c.source.startswith("s1-p01-leaf") and "spine" in c.target
    )
    assert len(set(between.values())) == 1


def test_equal_local_ranks_of_a_rail_group_meet_in_one_leaf(catalog):
    cluster = designed(catalog, *CASES["as published"])
    leaf = {(c.source, c.source_port): c.target for c in cables(cluster) if c.source.startswith("s1-compute")}
    for rail in range(1, 9):
        assert len({leaf[member("s1-compute", i), rail] for i in range(32)}) == 1
    assert leaf["s1-compute-0001", 1] != leaf["s1-compute-0033", 1]


def test_the_two_storage_links_of_a_node_end_at_two_leaves(catalog):
    cluster = designed(catalog, *CASES["as published"])
    ends_of = {}
    for cable in cables(cluster, "storage"):
        if cable.source.startswith("s1-compute"):
            ends_of.setdefault(cable.source, set()).add(cable.target)
    assert {len(leaves) for leaves in ends_of.values()} == {2}


def test_sites_are_islands(catalog):
    asked = spec(2)
    cluster = designed(catalog, [8.0, 12.0], [0.0, 0.0], SMALL, asked)
    graph = oracle(cluster)
    assert nx.number_connected_components(graph) == 2
    assert {c.source[:2] for c in cables(cluster, site="site2")} == {"s2"}


def test_a_pattern_is_the_same_after_writing_and_reading():
    pattern = Pattern("clos", {"of": 4, "each": 2, "offset": 8})
    again = Pattern.read(str(pattern))
    assert again == pattern
    found = ends(again, 3)
    # 4 sources x 3 targets x 2 cables; ports 8..13 of each source, 0..7 of each target
    assert len(found.source) == 24
    assert sorted(set(found.source_port.tolist())) == list(range(8, 14))
    assert sorted(set(found.target_port.tolist())) == list(range(8))


def test_an_unknown_pattern_is_refused_by_name():
    with pytest.raises(ValueError, match="'torus' is no pattern"):
        Pattern.read("torus of=4")


def test_an_empty_network_is_an_empty_graph():
    made = link_graph(Cluster())
    assert made.names == []
    assert made.neighbour.size == 0
    assert np.array_equal(made.start, [0])


@pytest.mark.parametrize("seed", range(40))
def test_bundles_are_counted_without_listing_their_cables(seed: int) -> None:
    draw = random.Random(seed)
    rails, each, group = draw.choice([1, 2, 4, 8]), draw.choice([1, 2, 3]), draw.randint(1, 9)
    everyone, start, base = draw.randint(1, 60), draw.randint(0, 20), draw.randint(0, 30)
    full = everyone // group
    numbers = {"of": everyone, "start": start, "rails": rails, "group": group, "full": full, "rest": everyone % group}
    numbers |= {"shy": 0, "over": draw.randint(1, rails), "links": rails * each, "first": 0, "base": base}
    if seed % 2 and group > 1:
        # half of the draws: the last groups have a node less, which the rest gains
        numbers["shy"] = draw.randint(0, full)
        numbers["rest"] += numbers["shy"]
    spread = {"of": everyone, "links": each, "start": start, "total": base + 7, "base": base, "first": 0, "offset": 0}
    clos = {"of": draw.randint(1, 9), "each": each, "offset": 0}
    core = {"of": draw.randint(1, 9), "each": each, "group": group, "pod": 0, "offset": 0}
    for kind, of in (("rail", numbers), ("spread", spread), ("clos", clos), ("core", core)):
        pattern, targets = Pattern(kind, of), draw.randint(1, 7)
        assert bundled(pattern, targets) == len(ends(pattern, targets).source), str(pattern)
