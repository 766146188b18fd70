"""The table of cost lines, and what is said about the money."""

import math
from pathlib import Path

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster
from clusterwright.domains import cost
from clusterwright.units import money_in
from tests.unit.domains.cost.bills import frame_of, spec_of, told


def codes(cluster: Cluster) -> set[str]:
    return {finding.code for finding in cluster.findings}


def message(cluster: Cluster, code: str) -> str:
    return next(finding.message for finding in cluster.findings if finding.code == code)


@pytest.mark.parametrize("way", cost.PROCUREMENTS)
def test_the_lines_of_a_way_sum_to_its_totals(way: str) -> None:
    cluster = told()
    rows = cluster.tables["money"].where(procurement=way)
    assert sum(row["total_usd"] for row in rows) == pytest.approx(cluster.value(f"cost.{way}_tco_usd"), rel=1e-12)
    opex = cluster.value(f"cost.{way}_opex_usd_per_year")
    assert sum(row["opex_usd_per_year"] for row in rows) == pytest.approx(opex, rel=1e-12)
    if way in ("buy", "colocate"):
        once = sum(row["capex_usd"] for row in rows)
        assert once == pytest.approx(cluster.value(f"cost.{way}_capex_usd"), rel=1e-12)
    else:
        assert all(row["capex_usd"] == 0 for row in rows)


def test_every_line_says_how_many_at_which_price_and_lies_in_its_range() -> None:
    table = told().tables["money"]
    for row in table.rows():
        assert row["quantity"], row["line"]
        assert row["low_usd"] <= row["total_usd"] <= row["high_usd"], row["line"]
    servers = table.where(line="servers", procurement="buy")[0]
    assert servers["quantity"] == "132 nodes x $300k"
    assert table.where(line="energy", procurement="buy")[0]["quantity"] == "12,272 MWh a year at $0.09/kWh"
    assert {"capex_usd", "total_usd", "lead_time_weeks"} <= set(table.provenance)


def test_quantities_are_shown_in_the_currency_that_is_asked_for() -> None:
    with money_in("EUR", 1.25):
        servers = told().tables["money"].where(line="servers", procurement="buy")[0]
    assert servers["quantity"] == "132 nodes x €240k"
    assert servers["capex_usd"] == 132 * 300e3


def test_ways_that_nobody_offers_have_no_lines() -> None:
    cluster = told({"cost.reserved_usd_per_gpu_h": 0})
    assert {row["procurement"] for row in cluster.tables["money"].rows()} == {"buy", "rent", "colocate"}


def test_lead_times_where_a_source_has_one() -> None:
    def weeks(cluster: Cluster, line: str) -> float:
        return float(cluster.tables["money"].where(line=line, procurement="buy")[0]["lead_time_weeks"])

    # servers 6 months; a building that is not there waits for its generators, 52 weeks
    assert weeks(told(), "servers") == pytest.approx(6 * 30.4375 / 7)
    assert weeks(told(), "building") == pytest.approx(52)
    assert math.isnan(weeks(told(), "switches"))
    # a rack-scale system takes 20 to 26 weeks
    assert weeks(told({"server.system_nodes": 18}), "servers") == pytest.approx(23)
    # a site with power stands; a small cluster moves into a room
    stands = spec_of(site="{name: main, region: us-east, power: 10 MW}")
    assert math.isnan(weeks(told(spec=stands), "building"))
    assert math.isnan(weeks(told({"facility.it_power_w": 0.2e6}), "building"))


def test_renting_for_one_run_is_cheaper_than_owning_for_it() -> None:
    # 14 d of 4 years is 0.96 %; 1,024 GPUs x 336 h x 3 $ = 1.03 M
    cluster = told()
    assert {"COST-BREAK-EVEN", "COST-RENT-CHEAPER"} <= codes(cluster)
    assert "fill 0.96 % of 4 years" in message(cluster, "COST-RENT-CHEAPER")
    assert "$1.03M" in message(cluster, "COST-RENT-CHEAPER")


def test_nobody_is_told_to_rent_who_rents_or_fills_the_cluster() -> None:
    assert "COST-RENT-CHEAPER" not in codes(told({"cost.buy": 0, "cost.rent": 1}))
    assert "COST-RENT-CHEAPER" not in codes(told({"training[0].time_to_train_s": 3.9 * 365.25 * 86400}))


def test_a_part_that_nobody_rents_out_is_said() -> None:
    cluster = told({"cost.rent_usd_per_gpu_h": 0})
    assert "COST-NO-RENTAL" in codes(cluster)
    assert not {"COST-BREAK-EVEN", "COST-RENT-CHEAPER"} & codes(cluster)


def test_missing_prices_are_said_with_what_was_used_instead() -> None:
    assert "COST-PRICE-MISSING" not in codes(told())
    cluster = told({"server.price_usd": 0, "fabric.switch_price_usd": 0})
    said = [f for f in cluster.findings if f.code == "COST-PRICE-MISSING"]
    assert {f.place for f in said} == {"cost.server_usd", "cost.switch_usd"}
    assert "$322k" in message(cluster, "COST-PRICE-MISSING")  # 8 x 35k x 1.15


def test_an_important_price_that_nobody_read_is_said() -> None:
    spec, cluster = spec_of(), Cluster(frame=frame_of())
    catalog = load_catalog()
    part = catalog.get("server", "hgx-b300")  # its price is an estimate
    cluster.frame.give_fact("server.price_usd", part.fact("purchase_price_usd"), "catalogue: server/hgx-b300")
    cost.size(cluster.frame, spec, catalog)
    names = {"compute.server": "hgx-b300", "compute.accelerator": "b300-sxm-288gb"}
    names |= {"fabric.technology": "infiniband-xdr", "storage.parallel.system": "ddn-ai400x2"}
    names |= {"storage.object.system": "s3-standard", "storage.block.system": "block-array"}
    for path, name in names.items():
        cluster.frame.choose(path, name, cluster.frame.figure("compute.gpus").provenance)
    cost.apply(cluster, spec, catalog)
    assert "servers" in message(cluster, "COST-PRICE-UNCHECKED")
    row = cluster.tables["money"].where(line="servers", procurement="buy")[0]
    assert row["source"].endswith("[estimate]")


def test_old_prices_are_counted_from_the_newest_of_the_catalogue() -> None:
    # HGX H100 of 2025-03, QM9700 of 2024-08; storage of 2026-11-30 is new
    said = message(told(), "COST-PRICE-STALE")
    assert said.startswith("older than 180 days: 2 of 4 purchase prices")
    assert "2024-08" in said


def test_a_fresh_quote_is_not_stale(tmp_path: Path) -> None:
    overlay = tmp_path / "quotes.yaml"
    quote = "{v: 280000 USD, source: mem, status: checked, date: 2026-11-15}"
    overlay.write_text(
        f"servers:\n  hgx-h100: {{purchase_price: {quote}}}\nswitches:\n  qm9700: {{purchase_price: {quote}}}\n"
    )
    cluster, spec, catalog = told(), spec_of(), load_catalog([overlay])
    cluster.findings.clear()
    cluster.tables["money"] = type(cluster.tables["money"]).empty("money")
    cost.apply(cluster, spec, catalog)
    assert "COST-PRICE-STALE" not in codes(cluster)


def test_licences_that_are_not_counted_are_said() -> None:
    assert "$4.61M a year" in message(told(), "COST-LICENCES")
