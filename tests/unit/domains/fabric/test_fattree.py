"""The fat tree law, against counts worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.cluster import Pattern, ends
from clusterwright.domains import fabric
from clusterwright.domains.fabric import fattree

COUNTS = ("leaf_switches", "spine_switches", "core_switches", "leaf_spine_cables", "spine_core_cables")


def counted(nodes, nics=8, radix=64, **more):
    made = fabric.fat_tree(
        nodes=np.array([float(nodes)]), nics=np.array([float(nics)]), radix=np.array([float(radix)]), **more
    )
    return {key: int(value[0]) for key, value in made.items()}


def test_the_worked_example_has_32_leaf_and_16_spine_switches():
    # 128 nodes / 32 a rail group = 4 groups x 8 rails = 32 leaves; 32 x 32 uplinks / 64 ports = 16, which divides 32
    made = counted(128)
    assert [made[key] for key in COUNTS] == [32, 16, 0, 1024, 0]
    assert made["node_leaf_cables"] == 128 * 8


def test_spines_are_a_divisor_of_the_uplinks_even_where_fewer_have_the_ports():
    # 576 nodes / 72 = 8 groups x 8 rails = 64 leaves x 72 uplinks / 144 ports = 32; the next divisor of 72 is 36
    assert counted(576, radix=144)["spine_switches"] == 36
    # 3 groups: 24 leaves x 32 / 64 = 12; the next divisor of 32 is 16
    assert counted(96)["spine_switches"] == 16


def test_uplinks_are_provisioned_for_a_full_leaf_when_the_group_is_not_full():
    # 31 nodes leave one port a leaf free, and each of 8 leaves has 32 uplinks all the same
    assert counted(31)["leaf_spine_cables"] == 8 * 32


def test_nodes_beyond_full_groups_share_leaves_by_rails():
    # 4 nodes x 8 rails = 32 ports: one leaf takes all rails of the four
    assert counted(132)["leaf_switches"] == 32 + 1
    # 5 nodes: floor(32 / 5) = 6 rails a leaf, ceil(8 / 6) = 2 leaves
    assert counted(133)["leaf_switches"] == 32 + 2
    # 17 nodes: one rail a leaf
    assert counted(145)["leaf_switches"] == 32 + 8


def test_one_switch_does_while_it_has_ports_for_all():
    assert [counted(8)[key] for key in COUNTS] == [1, 0, 0, 0, 0]
    assert counted(9)["tiers"] == 2


def test_a_third_tier_starts_when_a_spine_has_no_port_for_another_leaf():
    # 256 nodes = 64 leaves = all ports of a spine; 257 need pods
    assert counted(256)["tiers"] == 2
    assert counted(257)["tiers"] == 3


def test_cores_follow_from_the_pods():
    # 320 leaves = 10 pods of 32; spine k of 10 pods x 32 uplinks / 64 ports = 5 cores, the next divisor of 32 is 8
    made = counted(1280)
    assert made["spine_switches"] == 10 * 32
    assert made["core_switches"] == 32 * 8
    assert made["spine_core_cables"] == 320 * 32


def test_pods_are_equal_because_leaves_are_added_until_the_pods_divide_them():
    # 132 nodes of 8 rails on 40-port switches: 6 groups of 20 and 12 more = 56 leaves, 3 pods of at most 20 -> 57
    made = counted(132, radix=40)
    assert (made["tiers"], made["leaf_switches"], made["spine_switches"]) == (3, 57, 60)
    # 57 leaves are 7 groups of 8 and one leaf of 20 / 8 = 2 whole nodes; 130 nodes in 7 groups: 4 x 19, 3 x 18
    assert fattree.layout(132, 57, 8, 1, 20) == (19, 7, 3, 2, 1)


def test_equal_pods_leave_the_published_layout_alone():
    # full groups first, 4 of 132 nodes on a leaf of their own: as the references build it
    assert fattree.layout(132, 33, 8, 1, 32) == (32, 4, 0, 4, 1)


@settings(max_examples=300, deadline=None)
@given(
    nodes=st.integers(20, 6000),
    rails=st.sampled_from([1, 2, 4, 8]),
    per_rail=st.sampled_from([1, 2]),
    radix=st.sampled_from([32, 40, 64, 128]),
)
def test_every_leaf_of_three_tiers_has_nodes_and_a_port_for_each(nodes, rails, per_rail, radix):
    down, many = radix // 2, [np.array([float(v)]) for v in (nodes, rails * per_rail, rails, 0, radix, radix // 2)]
    leaves = int(fattree.leaf_switches(*many)[0])
    pods = -(-leaves // down)
    if leaves <= radix or pods > radix:
        return
    assert leaves % pods == 0
    dealt = fattree.layout(nodes, leaves, rails, per_rail, down)
    numbers = {"of": nodes, "start": 0, "rails": rails, **dealt._asdict(), "links": rails * per_rail}
    found = ends(Pattern("rail", {**numbers, "first": 0, "base": 0}), leaves)
    assert len(found.source) == nodes * rails * per_rail
    assert len(set(found.target.tolist())) == leaves
    assert found.target_port.max() < down
    assert len({*zip(found.target.tolist(), found.target_port.tolist(), strict=True)}) == len(found.source)


def test_a_tree_of_three_tiers_holds_a_quarter_of_the_radix_cubed():
    # 64^3 / 4 = 65,536 endpoints = 8,192 nodes of 8
    assert counted(8192)["fits"] == 1
    assert counted(8193)["fits"] == 0


def test_oversubscription_splits_the_ports_of_a_leaf():
    # 2:1 of 64: 21 up, 42 down; 84 nodes = 2 groups of 42 = 16 leaves; 16 x 21 / 64 = 5.25, next divisor of 21 is 7
    made = counted(84, oversubscription=2.0)
    assert [made[key] for key in COUNTS] == [16, 7, 0, 16 * 21, 0]


def test_a_rack_of_72_gpus_has_four_rails():
    # 18 nodes x 4 cards = 72 endpoints > 64; one group of up to 32 nodes, floor(32 / 18) = 1 rail a leaf: 4 leaves
    assert counted(18, nics=4)["leaf_switches"] == 4
    # 144 nodes = 4 groups of 32 and 16 left over, which put two rails on a leaf: 4 x 4 + 2
    assert counted(144, nics=4)["leaf_switches"] == 18


def test_top_of_rack_leaves_take_whole_nodes():
    # rails = 1: a leaf of 32 down ports takes 4 nodes of 8 links: 10 nodes need 3
    one = np.array([1.0])
    assert fattree.leaf_switches(10 * one, 8 * one, one, 0.0, 64 * one, 32 * one)[0] == 3


def test_more_endpoints_than_free_ports_take_leaves_of_their_own():
    # 32 full nodes and 4 fabric managers: one leaf more; 31 nodes leave 8 free ports for them
    assert counted(32, extra_endpoints=4.0)["leaf_switches"] == 9
    assert counted(31, extra_endpoints=4.0)["leaf_switches"] == 8


@pytest.mark.parametrize(
    ("number", "least", "answer"), [(32, 12, 16), (72, 32, 36), (31, 2, 31), (32, 0, 1), (6, 7, 6)]
)
def test_smallest_divisor(number, least, answer):
    assert fattree.smallest_divisor(np.array([number]), np.array([least]))[0] == answer


@settings(max_examples=200, deadline=None)
@given(
    nodes=st.integers(1, 4000),
    nics=st.sampled_from([1, 2, 4, 8]),
    radix=st.sampled_from([32, 40, 64, 128, 144]),
    ratio=st.sampled_from([1.0, 1.5, 2.0, 3.0]),
)
def test_no_switch_has_more_links_than_ports(nodes, nics, radix, ratio):
    made = counted(nodes, nics, radix, oversubscription=ratio)
    if not made["fits"]:
        return
    up, core = made["leaf_spine_cables"], made["spine_core_cables"]
    assert made["node_leaf_cables"] + up <= made["leaf_switches"] * radix
    assert up + core <= made["spine_switches"] * radix
    assert core <= made["core_switches"] * radix
    if made["tiers"] >= 2:
        assert made["node_leaf_cables"] <= ratio * up + 1e-9


@settings(max_examples=100, deadline=None)
@given(nodes=st.integers(1, 8000), more=st.integers(1, 20))
def test_more_nodes_never_need_fewer_switches(nodes, more):
    few, many = counted(nodes), counted(nodes + more)
    assert all(few[key] <= many[key] for key in COUNTS)


def test_candidates_are_weighed_element_by_element():
    nodes = np.array([8.0, 128.0, 512.0, 9000.0])
    together = fabric.fat_tree(nodes=nodes, nics=np.full(4, 8.0), radix=np.full(4, 64.0))
    for i, one in enumerate(nodes):
        assert {key: int(value[i]) for key, value in together.items()} == counted(one)
