"""What is paid once, line by line by hand; prices that nobody has; the published totals."""

import numpy as np
import pytest

from clusterwright.domains import cost
from tests.unit.domains.cost.bills import catalog, frame_of, sized, spec_of


def line(frame: object, name: str) -> float:
    return float(frame[f"cost.lines.{name}_usd"][0])  # type: ignore[index]  # a Frame


def test_the_equipment_of_the_worked_example() -> None:
    frame = sized()
    assert line(frame, "servers") == 132 * 300e3
    # 33 + 17 switches of 36k, and the storage and management networks
    assert line(frame, "switches") == 50 * 36e3 + 900e3 + 100e3
    assert line(frame, "cables") == 1056 * 1300 + 1056 * 1800
    # 2 x 350k parallel, rented objects, 1 x 90k block
    assert line(frame, "storage") == 2 * 350e3 + 90e3
    assert line(frame, "management") == pytest.approx(12 * np.sqrt(12e3 * 25e3), rel=0.1)


def test_racks_cooling_and_installation() -> None:
    frame = sized()
    assert line(frame, "racks") == pytest.approx(32 * catalog().planning("rack_purchase_usd").value)
    # 3 coolant units of 1.35 MW at 0.126 $/W, and 23 rear doors
    doors = 23 * catalog().planning("rear_door_usd").value
    assert line(frame, "cooling") == pytest.approx(3 * 1.35e6 * 0.126 + doors)
    # 32 racks x 50 h of a person who costs 200k for 1,760 h
    assert line(frame, "installation") == pytest.approx(32 * 50 * 200e3 / 1760)


@pytest.mark.parametrize("kind", [0, 2, 3])
def test_only_rear_door_cooling_needs_rear_doors(kind: int) -> None:
    assert sized({"sites[0].cooling_kind": kind})["cost.rear_doors"][0] == 0


def test_a_rack_scale_system_brings_its_racks() -> None:
    # 32 racks, 22 + 1 of them systems: 9 racks for network, storage and management are bought
    assert sized({"server.system_nodes": 18})["cost.racks_bought"][0] == 9
    assert sized()["cost.racks_bought"][0] == 32


def test_the_purchase_is_the_sum_of_its_lines() -> None:
    frame = sized()
    assert float(frame["cost.capex_usd"][0]) == pytest.approx(sum(line(frame, one) for one in cost.CAPEX), rel=1e-12)


def test_the_worked_example_costs_what_is_published() -> None:
    # a published sheet has 50.4 M for 128 such nodes: servers 39.7, switches 1.7, cables 2.6, and 6.4 M for facility
    # and operation; the band of servers of 230k to 375k around it is 38-60 M
    frame = sized({"server.price_usd": (270e3, 230e3, 375e3)})
    estimate = frame.estimate("cost.capex_usd")
    assert 38e6 < estimate.value < 60e6
    assert estimate.low < 44e6 < estimate.high
    sheet = sized({"server.price_usd": 310e3, "compute.spare_nodes": 0})
    assert line(sheet, "servers") == 39.68e6


def test_a_gb200_rack_costs_what_is_published() -> None:
    # rack 3.1-3.9 M, with everything around it 5 M: 8 racks of 18 trays of 4 GPUs
    part = catalog().get("server", "gb200-nvl72")
    fact = part.fact("purchase_price_usd")
    changes = {
        "compute.gpus": 576,
        "compute.nodes": 144,
        "compute.spare_nodes": 0,
        "server.gpus": 4,
        "server.system_nodes": 18,
        "server.price_usd": (fact.value, fact.low, fact.high),
        "fabric.all.node_leaf_cables": 576,
        "fabric.all.leaf_spine_cables": 576,
        "fabric.all.leaf_switches": 18,
        "fabric.all.spine_switches": 9,
    }
    frame = sized(changes)
    assert 3.0e6 <= line(frame, "servers") / 8 <= 3.9e6
    whole = frame.estimate("cost.capex_usd")
    assert whole.low / 8 < 5e6 < whole.high / 8


def test_chips_only() -> None:
    # price of a server / 8 / 1.15: what is published per accelerator is mostly the server divided by eight
    frame = sized()
    alone = float(frame["cost.server_usd"][0]) / 8 / 1.15
    assert frame["cost.accelerators_usd"][0] == pytest.approx(1024 * alone)


def test_a_range_of_prices_becomes_the_range_of_the_purchase() -> None:
    # only the servers are uncertain by much: 132 x 230k = 30.4 M to 132 x 375k = 49.5 M; spare parts (1 %) follow them,
    # and the small parts with ranges of their own add little, in squares
    frame = sized({"server.price_usd": (300e3, 230e3, 375e3)})
    estimate = frame.estimate("cost.capex_usd")
    assert estimate.value - estimate.low == pytest.approx(132 * 70e3, rel=0.02)
    assert estimate.high - estimate.value == pytest.approx(132 * 75e3, rel=0.02)


def test_a_missing_server_price_is_estimated_from_the_accelerators() -> None:
    # 8 x 35,000 x 1.15
    frame = sized({"server.price_usd": 0})
    assert frame["cost.server_usd"][0] == pytest.approx(8 * 35e3 * 1.15)
    assert frame["cost.priced"][0] == 0
    assert sized()["cost.priced"][0] == 1
    estimate = frame.estimate("cost.server_usd")
    assert estimate.high / estimate.low > 1.5


def test_a_missing_accelerator_price_is_estimated_from_its_peak() -> None:
    # 989 TFLOP/s x 25 $ = 24.7k (8 to 82 $: 7.9k to 81k); 8 of them x 1.15
    frame = sized({"server.price_usd": 0, "accelerator.price_usd": 0})
    assert frame["cost.accelerator_usd"][0] == pytest.approx(989 * 25)
    assert frame["cost.server_usd"][0] == pytest.approx(8 * 989 * 25 * 1.15)
    estimate = frame.estimate("cost.accelerator_usd")
    assert (estimate.low, estimate.high) == pytest.approx((989 * 8, 989 * 82))


def test_missing_switch_and_storage_prices_do_not_cost_zero() -> None:
    # 64 ports x 400 Gb/s x 1.5 $ = 38.4k; 375 TB x 700 $ = 262.5k
    frame = sized({"fabric.switch_price_usd": 0, "storage.parallel.price_usd": 0})
    assert frame["cost.switch_usd"][0] == pytest.approx(64 * 400 * 1.5)
    assert frame["cost.parallel_block_usd"][0] == pytest.approx(375 * 700)
    assert frame["cost.priced"][0] == 0


def test_a_rented_tier_has_its_price_in_the_rent() -> None:
    frame = sized()
    assert frame["cost.object_block_usd"][0] == 0
    assert frame["cost.priced"][0] == 1


def test_a_tier_that_is_not_there_needs_no_price() -> None:
    changes = {"storage.block.systems": 0, "storage.block.price_usd": 0}
    assert sized(changes)["cost.priced"][0] == 1


def test_the_classes_of_price_agree_with_the_catalogue_that_they_come_from() -> None:
    parts = catalog().parts("server")
    chips = {a.name: a for a in catalog().parts("accelerator")}
    over = []
    for part in parts:
        chip = chips[part.text("accelerator")]
        if part.get("purchase_price_usd") and chip.get("purchase_price_usd"):
            over.append(part["purchase_price_usd"] / (part["gpus"] * chip["purchase_price_usd"]))
    sold = [c for c in chips.values() if c.get("purchase_price_usd") and c.get("peak_bf16_flops")]
    each = [chip["purchase_price_usd"] / (chip["peak_bf16_flops"] / 1e12) for chip in sold]
    for values, name in ((over, "server_over_accelerators"), (each, "accelerator_price_per_tflops")):
        fact = catalog().planning(name)
        assert np.median(values) == pytest.approx(fact.value, rel=0.15)
        assert np.mean([fact.low <= v <= fact.high for v in values]) >= 0.8


def test_buildings_are_priced_by_watt_of_it_load() -> None:
    # 1.5 MW x 11.8 $/W (10.5 to 13.3, geometric mean) x 1.085 for density
    frame = sized()
    region = catalog().get("region", "us-east")["capex_usd_per_w"]
    assert frame["cost.building_usd"][0] == pytest.approx(1.5e6 * region * 1.085, rel=1e-3)
    double = sized(spec=spec_of("reliability: {redundancy: 2N}"))
    assert double["cost.building_usd"][0] / frame["cost.building_usd"][0] == pytest.approx(1.2)


def test_many_candidates_at_once_equal_one_at_a_time() -> None:
    prices, kinds = np.array([300e3, 0.0, 270e3]), np.array([0.0, 1.0, 2.0])
    changes = {"server.price_usd": prices, "sites[0].cooling_kind": kinds}
    many = sized(changes, n=3)
    for i in range(3):
        one = sized({"server.price_usd": prices[i], "sites[0].cooling_kind": kinds[i]})
        for path in one:
            assert many[path][i] == pytest.approx(one[path][0], rel=1e-12), path


def test_nothing_is_infinite_or_unknown_whatever_is_missing() -> None:
    silent = dict.fromkeys(("server.price_usd", "accelerator.price_usd", "cost.rent_usd_per_gpu_h"), 0)
    frame = sized(silent | {"cost.reserved_usd_per_gpu_h": 0})
    assert all(np.isfinite(frame[path]).all() for path in frame)
    assert set(frame) > set(frame_of())
