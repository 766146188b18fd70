"""The fabric's door: what requested nodes, spares and sites need, and what is said about it."""

import numpy as np
import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster
from clusterwright.domains import fabric
from tests.unit.domains.fabric.frames import frame, spec

COUNTS = ("leaf_switches", "spine_switches", "core_switches")
TRUNKS = ("leaf_spine_cables", "spine_core_cables")


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def sized(catalog, *args, asked=None, **more):
    made = frame(*args, **more)
    fabric.size(made, asked or spec(), catalog)
    return made


def designed(catalog, *args, asked=None, **more):
    asked = asked or spec()
    cluster = Cluster(frame=sized(catalog, *args, asked=asked, **more))
    fabric.apply(cluster, asked, catalog)
    return cluster


def counts(made, prefix="fabric."):
    return [int(made[prefix + key][0]) for key in (*COUNTS, "node_leaf_cables", *TRUNKS)]


def test_requested_nodes_and_spares_are_counted_apart(catalog):
    # four spares of 8 rails are 32 ports: one leaf more, which has no port on 16 full spines; the next divisor is 32
    made = sized(catalog, 128, 4)
    assert counts(made) == [32, 16, 0, 1024, 1024, 0]
    assert counts(made, "fabric.spares.") == [1, 16, 0, 32, 32, 0]
    assert counts(made, "fabric.all.") == [33, 32, 0, 1056, 1056, 0]


def test_spares_that_find_free_ports_cost_cables_only(catalog):
    assert counts(sized(catalog, 126, 2), "fabric.spares.") == [0, 0, 0, 16, 0, 0]


def test_leaves_are_widened_rather_than_a_tier_added_for_spares(catalog):
    # 260 x 8 / 64 leaves = 33 ports; 31 are left, and 64 x 31 / 64 = 31 spines; 31 of 32 uplinks keep 97 %
    made = sized(catalog, 256, 4)
    assert counts(made, "fabric.all.") == [64, 31, 0, 2080, 64 * 31, 0]
    assert counts(made, "fabric.spares.") == [0, 0, 0, 32, 0, 0]
    # strict: 65 leaves, 66 in 3 equal pods x 32 spines, 32 x 2 cores: 66 + 96 + 64 = 226
    said = {f.code: f.message for f in designed(catalog, 256, 4).findings}
    assert "95 switches in all; a strict 1:1 would take 226, and 96 without the spares" in said["FABRIC-SPARES-WIDEN"]


def test_a_pinned_ratio_is_kept_strictly_and_costs_a_tier(catalog):
    made = sized(catalog, 256, 4, asked=spec(pinned=True))
    assert made["sites[0].fabric.all.tiers"][0] == 3
    # 65 leaves, 66 in 3 equal pods x 32 spines
    assert counts(made, "fabric.all.")[:2] == [66, 96]


def test_one_server_and_one_rack_scale_system_need_no_compute_network(catalog):
    assert counts(sized(catalog, 1, 1)) == [0] * 6
    rack = {"server__system_nodes": 18.0, "server__nics": 4.0, "compute__nodes_per_rack": 18.0}
    assert counts(sized(catalog, 18, 0, **rack)) == [0] * 6
    assert counts(sized(catalog, 36, 0, **rack))[0] > 0


def test_sites_are_separate_fabrics_and_sum_up(catalog):
    made = sized(catalog, [64.0, 32.0], [0.0, 0.0], asked=spec(2))
    assert made["sites[0].fabric.leaf_switches"][0] == 16
    assert made["sites[1].fabric.leaf_switches"][0] == 8
    assert made["fabric.leaf_switches"][0] == 24
    # no site can exchange more than the larger: 512 endpoints / 2 x 50 GB/s
    assert made["fabric.bisection_bandwidth_bytes_s"][0] == 256 * 50e9


def test_bisection_of_a_full_tree_is_half_of_all_links(catalog):
    assert sized(catalog, 128)["fabric.bisection_bandwidth_bytes_s"][0] == 512 * 50e9


def test_power_counts_switches_with_optics_and_the_nodes_end_of_each_cable(catalog):
    made = sized(catalog, 128)
    storage = sum(made[f"fabric.storage.{key}"][0] for key in COUNTS)
    hand = 48 * 1720 + 1024 * 8 + storage * 1700 + made["fabric.storage.node_leaf_cables"][0] * 8
    hand += made["fabric.management.switches"][0] * 135
    assert made["fabric.power_w"][0] == pytest.approx(hand)


def test_management_has_a_port_for_everything(catalog):
    # (128 nodes + 8 servers) x 2 + 48 + storage switches + 16 racks x 2 power strips, 48 to an access switch
    made = sized(catalog, 128)
    ports = 256 + 16 + 48 + sum(made[f"fabric.storage.{key}"][0] for key in COUNTS) + 32
    assert made["fabric.management.switches"][0] == np.ceil(ports / 48)
    assert made["fabric.management.cables"][0] == ports + 2 * np.ceil(ports / 48)


def test_storage_leaves_keep_40_gb_s_for_a_node(catalog):
    # two links of 50 GB/s for 40 GB/s asked: 2.5:1, of 64 ports 18 up and 45 down; a node gets 100 x 18/45 = 40
    made = sized(catalog, 128)
    assert (made["fabric.storage.up_ports"][0], made["fabric.storage.down_ports"][0]) == (18, 45)


def test_lengths_follow_from_rows_of_racks(catalog):
    # 16 racks of 0.6 m: 2 x 2.5 m + 9.6 m / 4
    assert sized(catalog, 128)["fabric.cable_length_m"][0] == pytest.approx(5.0 + 9.6 / 4)
    made = sized(catalog, 128)
    assert made["fabric.cable_price_usd"][0] == pytest.approx(2 * 650 + 2.5 * 7.4)


def test_too_many_nodes_are_an_answer_and_not_an_error(catalog):
    cluster = designed(catalog, 9000)
    assert cluster.value("fabric.fits") == 0
    assert "FABRIC-TOO-LARGE" in {f.code for f in cluster.findings}
    assert all(np.isfinite(cluster.frame[path]).all() for path in cluster.frame)


def test_thousands_of_candidates_equal_one_at_a_time(catalog):
    nodes, spares = np.array([1.0, 8, 100, 128, 256, 700, 9000]), np.array([0.0, 1, 2, 4, 4, 3, 0])
    many = sized(catalog, nodes, spares, n=7, intervals=False)
    for i in range(7):
        one = sized(catalog, nodes[i], spares[i])
        for path in one:
            assert many[path][i] == pytest.approx(one[path][0]), path


def test_the_finding_on_spares_has_the_arithmetic_of_both_places(catalog):
    said = next(f for f in designed(catalog, 128, 4).findings if f.code == "FABRIC-SPARES-BEYOND")
    assert "+17 switches (leaf +1, spine +16)" in said.message
    assert "124 nodes (96.9%)" in said.message
    # 33 down, 30 up: 32 x 30 / 64 = 15 spines, which divides 30
    assert "33 down and 30 up ports would take them with 47 instead of 65 switches" in said.hint


def test_topologies_are_weighed_by_counts(catalog):
    cluster = designed(catalog, 128)
    rows = {row["name"]: row for row in cluster.answers["fabric_options"]}
    assert [row["name"] for row in rows.values() if row["chosen"]] == ["rail-optimised fat tree"]
    assert rows["rail-optimised fat tree"]["switches"] == 48
    # 1,024 endpoints / 16 a switch = 64 = 2 groups of 32; 2 x 496 local cables, 512 global ones
    assert rows["dragonfly"]["switches"] == 64
    assert rows["dragonfly"]["cables"] == 1024 + 2 * 496 + 512
    # 32 switches with 32 nodes and 31 neighbours each
    assert rows["full mesh of switches"]["cables"] == 1024 + 32 * 31 // 2
    assert rows["rails that are not joined"]["verdict"] == "impossible"


def test_top_of_rack_can_be_asked_for(catalog):
    cluster = designed(catalog, 128, asked=spec(topology="fat-tree"))
    assert cluster.value("fabric.rails") == 1
    assert cluster.frame.text("fabric.topology") == "fat tree, top-of-rack leaves, 2 tiers, 1:1"


def test_every_figure_explains_itself(catalog):
    cluster = designed(catalog, 512, 4)
    laws = set(fabric.LAWS)
    for path in cluster.frame:
        origin = cluster.frame.figure(path).provenance
        assert origin.kind != "law" or origin.law in laws, path
    for name in ("switches", "links"):
        assert set(cluster.tables[name].provenance) == set(cluster.tables[name].columns)
