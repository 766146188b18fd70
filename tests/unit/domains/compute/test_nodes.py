"""Nodes from GPUs: whole servers, whole rack-scale systems, and a split over sites that sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.domains import compute
from clusterwright.domains.compute.nodes import nodes, site_gpus, site_nodes
from tests.unit.domains.designs import catalog, designed, frame_of, spec_of

TRAIN = "model: llama-3-8b, tokens: 1e9"


def _n(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_1024_gpus_in_servers_of_eight_are_128_nodes() -> None:
    assert nodes(_n(1024), _n(8), _n(1))[0] == 128


def test_a_server_more_for_one_gpu_more() -> None:
    assert nodes(_n(1025), _n(8), _n(1))[0] == 129


def test_rack_scale_systems_are_whole_racks() -> None:
    # 100 GPUs / (4 a node x 18 nodes a rack) = 1.39 racks: 2 racks are 36 nodes.
    assert nodes(_n(100), _n(4), _n(18))[0] == 36


def test_the_nodes_of_555_000_gpus_in_racks_of_72() -> None:
    # 555,000 / 72 = 7,708.3: 7,709 racks of 18 nodes.
    assert nodes(_n(555_000), _n(4), _n(18))[0] == 7709 * 18


def _split(total: float, system: float, shares: list[float]) -> list[float]:
    columns = [_n(s) for s in shares]
    return [
        float(site_nodes(_n(total), _n(system), columns[i], columns[:i], columns[i + 1 :])[0])
        for i in range(len(shares))
    ]


def test_three_equal_sites_share_128_nodes_43_43_42() -> None:
    # 128 / 3 = 42.67 each: 42 to all, the two left over to the first two.
    assert _split(128, 1, [1 / 3, 1 / 3, 1 / 3]) == [43, 43, 42]


def test_the_largest_remainder_gets_what_is_left() -> None:
    # 10 nodes at 0.45, 0.35, 0.2: 4.5, 3.5, 2.0 -> 4, 3, 2 and the last to the first of the equal remainders.
    assert _split(10, 1, [0.45, 0.35, 0.2]) == [5, 3, 2]


def test_a_rack_scale_system_does_not_span_sites() -> None:
    assert _split(54, 18, [0.5, 0.5]) == [36, 18]


@given(
    total=st.integers(1, 100_000),
    system=st.sampled_from([1, 18]),
    shares=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6),
)
def test_sites_always_sum_to_the_whole_in_whole_systems(total: int, system: int, shares: list[float]) -> None:
    held = _split(total * system, system, shares)
    assert sum(held) == total * system
    assert all(h % system == 0 and h >= 0 for h in held)


def test_gpus_of_the_sites_sum_to_those_asked_for() -> None:
    # 1,020 GPUs in 128 nodes: 86 nodes hold 688, the other 42 the remaining 332 of 336.
    assert site_gpus(_n(1020), _n(8), _n(86), [])[0] == 688
    assert site_gpus(_n(1020), _n(8), _n(42), [_n(86)])[0] == 332


def test_the_door_sizes_many_candidates_at_once() -> None:
    spec = spec_of(TRAIN, sites=("a", "b"))
    frame = frame_of(spec, ["dgx-h100", "gb200-nvl72"], [1000, 1000], shares=(0.75, 0.25))
    compute.size(frame, spec, catalog())
    assert list(frame["compute.nodes"]) == [125, 252]  # 1000/8; ceil(1000/72) = 14 racks x 18
    assert list(frame["sites[0].nodes"] + frame["sites[1].nodes"]) == [125, 252]
    assert list(frame["sites[0].nodes"]) == [94, 198]  # 93.75 -> 94; 10.5 racks -> 11 of 14
    assert list(frame["sites[0].gpus"] + frame["sites[1].gpus"]) == [1000, 1000]


def test_apply_fills_one_group_a_site_and_role_with_stable_names() -> None:
    cluster = designed(spec_of(TRAIN), "dgx-h100", 1024)
    rows = list(cluster.tables["nodes"].rows())
    assert [(r["name"], r["role"], r["count"], r["gpus"]) for r in rows] == [("s1-compute", "compute", 128, 8)]
    assert rows[0]["accelerator"] == "h100-sxm-80gb"
    assert rows[0]["power_w"] == pytest.approx(10200)
    assert set(cluster.tables["nodes"].provenance) == set(cluster.tables["nodes"].columns)


def test_rounding_up_to_whole_racks_is_said() -> None:
    cluster = designed(spec_of(TRAIN), "gb200-nvl72", 100)
    found = [f for f in cluster.findings if f.code == "COMPUTE-GPUS-ROUNDED"]
    assert len(found) == 1
    assert "36 nodes hold 144 GPUs, 44 more" in found[0].message
