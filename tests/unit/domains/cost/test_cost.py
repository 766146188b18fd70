"""Money by hand: every law on numbers that fit on a napkin, and the sums of a whole design."""

import numpy as np
import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster
from clusterwright.design import design
from clusterwright.domains.cost import CAPEX, LAWS, OPEX, PROCUREMENTS
from clusterwright.spec import read_spec

HOUR, YEAR = 3600.0, 365.25 * 86400.0


def a(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def law(name: str, *inputs: object) -> np.ndarray:
    """A law of the room on bare arrays."""
    return np.asarray(LAWS[f"cost.{name}"](*inputs))


def test_things_counted_in_several_places_are_priced_once() -> None:
    assert law("goods", [a(128), a(5)], a(267e3))[0] == pytest.approx(133 * 267e3)


def test_the_energy_bill_of_a_year() -> None:
    # 1 MW x 8,766 h x 0.08 USD/kWh = 701,280 USD
    assert law("energy", [a(1e6)], [a(0.08)])[0] == pytest.approx(701_280)


def test_the_rent_of_a_run() -> None:
    # 1,024 GPUs x 336 h x 2.35 USD = 808,550 USD; two runs add
    run = law("rent", [a(1024)], [a(336 * HOUR)], a(2.35))[0]
    assert run == pytest.approx(808_550, rel=1e-4)
    assert law("rent", [a(1024), a(1024)], [a(336 * HOUR)] * 2, a(2.35))[0] == pytest.approx(2 * run)


def test_what_servers_fetch_after_three_and_six_years() -> None:
    assert law("residual", a(100.0), a(0.3), a(3.0))[0] == pytest.approx(30.0)
    assert law("residual", a(100.0), a(0.3), a(6.0))[0] == pytest.approx(9.0)


def test_cost_of_ownership() -> None:
    assert law("tco", a(40e6), a(5e6), a(4.0), a(7e6))[0] == pytest.approx(53e6)


def test_break_even_is_where_the_sums_meet() -> None:
    # 40M / (30M - 5M a year) = 1.6 years; never when rent costs less than running
    assert law("break_even", a(40e6), a(5e6), a(30e6))[0] / YEAR == pytest.approx(1.6)
    assert law("break_even", a(40e6), a(5e6), a(4e6))[0] >= 1e12


def test_cost_of_a_gpu_hour_and_of_useful_work() -> None:
    # 58.4M / (1,024 x 4 x 8,766 h) = 1.6265 USD/h
    hour = law("usd_per_gpu_h", a(58.4e6), a(1024), a(4), a(1.0))
    assert hour[0] == pytest.approx(1.6265, rel=1e-4)
    # 424 TFLOP/s x 3,600 s = 1.526e18 FLOP an hour: 1.6265 / 1.526e-3 = 1,066 USD per 1e21
    assert law("usd_per_zflop", hour, a(424.0), a(1.0))[0] == pytest.approx(1065.6, rel=1e-3)


def test_what_has_no_price_cannot_be_had() -> None:
    server, rented, reserved = a(1, 0, 1, 1), a(0, 0, 1, 1), a(0, 0, 0, 1)
    can = law("procurable", server, a(2, 2, 0, 0), a(0, 0, 0, 3), rented, reserved)
    assert can.tolist() == [1, 0, 0, 0]  # bought, no price, rented without offer, rented and reserved: rent decides


def test_one_way_of_procurement_is_picked() -> None:
    hot = [a(1, 0), a(0, 1)]
    assert law("by_procurement", hot, [a(5, 6), a(7, 8)]).tolist() == [5, 8]


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    text = """
version: 1
name: t
workloads: [{name: w, train: {model: llama-3-70b, tokens: 1e12, sequence: 8192, global_batch: 512 sequences}}]
compute: {accelerators: [h100-sxm-80gb], server: dgx-h100, gpus: 1024, nodes_per_rack: 4}
fabric: {technology: infiniband-ndr}
finance: {procurement: [buy, rent, reserved, colocate], years: 4}
sites: [{name: main, region: us-east}]
"""
    catalog = load_catalog()
    return design(read_spec(text, "t.yaml", (), catalog), catalog)


def test_purchase_agrees_with_a_published_cluster_of_128_nodes(cluster: Cluster) -> None:
    # Published, August 2024: servers 39.68M, 48 switches 1.73M, cables and optics 2.62M = 44.0M for the IT
    assert cluster.value("cost.lines.servers_usd") == pytest.approx(39.68e6, rel=0.15)
    assert cluster.value("cost.lines.cables_usd") == pytest.approx(2.62e6, rel=0.35)
    assert cluster.total("cost.capex_usd").low < 44.0e6 + 6.4e6 < cluster.total("cost.capex_usd").high * 1.05


def test_the_lines_sum_to_the_totals(cluster: Cluster) -> None:
    value = cluster.value
    assert sum(value(f"cost.lines.{line}_usd") for line in CAPEX) == pytest.approx(value("cost.capex_usd"))
    for way in PROCUREMENTS:
        yearly = sum(value(f"cost.lines.{line}_usd_per_year") for line in OPEX[way])
        assert yearly == pytest.approx(value(f"cost.{way}_opex_usd_per_year")), way
        owned = way in ("buy", "colocate")
        expected = 4 * yearly + (value("cost.capex_usd") - value("cost.residual_usd") if owned else 0.0)
        assert expected == pytest.approx(value(f"cost.{way}_tco_usd")), way


def test_the_table_of_money_sums_for_every_way(cluster: Cluster) -> None:
    for way in PROCUREMENTS:
        rows = cluster.tables["money"].where(procurement=way)
        assert sum(r["total_usd"] for r in rows) == pytest.approx(cluster.value(f"cost.{way}_tco_usd")), way
        assert all(r["low_usd"] <= r["total_usd"] <= r["high_usd"] for r in rows)
        assert all(r["source"] for r in rows if r["line"] != "resale"), way


def test_rent_carries_the_range_of_the_published_offers(cluster: Cluster) -> None:
    rent = cluster.total("cost.rent_usd")
    hours = cluster.value("training[0].gpus") * cluster.value("training[0].time_to_train_s") / HOUR
    assert rent.value == pytest.approx(hours * cluster.value("cost.rent_usd_per_gpu_h"))
    assert 0.6e6 < rent.value < 4.5e6
    assert rent.low < rent.value < rent.high


def test_a_longer_life_costs_more_in_all_and_less_an_hour() -> None:
    catalog = load_catalog()
    costs = []
    for years in (3, 6):
        text = (
            "version: 1\nname: t\nworkloads: [{name: w, train: {model: llama-3-8b, tokens: 1e11}}]\n"
            f"compute: {{accelerators: [h100-sxm-80gb], gpus: 64}}\nfinance: {{procurement: [buy], years: {years}}}\n"
        )
        made = design(read_spec(text, "t.yaml", (), catalog), catalog)
        costs.append((made.value("cost.tco_usd"), made.value("cost.usd_per_gpu_h")))
    assert costs[1][0] > costs[0][0]
    assert costs[1][1] < costs[0][1]
