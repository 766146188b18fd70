"""Owning against renting, by hand."""

import numpy as np
import pytest

from clusterwright.domains.cost import LAWS
from tests.unit.domains.cost.bills import sized, spec_of

HOURS = 8766.0


def value(frame: object, name: str) -> float:
    return float(frame[f"cost.{name}"][0])  # type: ignore[index]  # a Frame


def test_resale_halves_geometrically() -> None:
    # 30 % after 3 years; after 6 years 30 % of 30 %
    frame = sized(spec=spec_of(years=6))
    assert value(frame, "residual_usd") == pytest.approx(132 * 300e3 * 0.3**2)


def test_cost_of_owning() -> None:
    frame = sized()
    expected = value(frame, "capex_usd") + 4 * value(frame, "buy_opex_usd_per_year") - value(frame, "residual_usd")
    assert value(frame, "buy_tco_usd") == pytest.approx(expected)
    assert value(frame, "tco_usd") == value(frame, "buy_tco_usd")
    assert value(frame, "colocate_capex_usd") == value(frame, "capex_usd")


@pytest.mark.parametrize("way", ["buy", "rent", "reserved", "colocate"])
def test_the_way_that_was_chosen_gives_the_total(way: str) -> None:
    hot = {f"cost.{one}": float(one == way) for one in ("buy", "rent", "reserved", "colocate")}
    frame = sized(hot)
    assert value(frame, "tco_usd") == value(frame, f"{way}_tco_usd")
    assert value(frame, "opex_usd_per_year") == value(frame, f"{way}_opex_usd_per_year")


def test_rent_of_the_run() -> None:
    # 1,024 GPUs x 14 d x 24 h x 3 $ = 1.03 M
    assert value(sized(), "rent_usd") == pytest.approx(1024 * 14 * 24 * 3)
    assert value(sized(), "reserved_usd") == pytest.approx(1024 * 14 * 24 * 2)


def test_rent_of_the_run_over_the_published_prices() -> None:
    # 1.7 to 12.29 $/h: 0.58 M to 4.23 M
    frame = sized({"cost.rent_usd_per_gpu_h": (2.95, 1.7, 12.29)})
    estimate = frame.estimate("cost.rent_usd")
    assert (estimate.low, estimate.high) == pytest.approx((1024 * 336 * 1.7, 1024 * 336 * 12.29))
    assert 0.57e6 < estimate.low < 0.6e6
    assert estimate.high < 4.5e6


def test_a_unit_of_rented_work() -> None:
    # 1.03 M $ for 449 ZFLOP
    assert value(sized(), "rent_usd_per_zflop") == pytest.approx(1024 * 336 * 3 / 449)


def test_an_owned_gpu_hour() -> None:
    frame = sized()
    able = value(frame, "tco_usd") / (1024 * 4 * HOURS * 0.99)
    assert value(frame, "usd_per_gpu_h") == pytest.approx(able)
    # GPUs work 80 % of the year
    assert value(frame, "used_usd_per_gpu_h") == pytest.approx(able / 0.8)
    # 400 TFLOP/s x 0.98 x 3,600 s = 1.411 ZFLOP a GPU-hour / 1,000
    assert value(frame, "usd_per_zflop") == pytest.approx(able / 0.8 / (400e12 * 0.98 * 3600 / 1e21))


def test_break_even_time() -> None:
    frame = sized()
    saved = value(frame, "rent_opex_usd_per_year") - value(frame, "buy_opex_usd_per_year")
    assert value(frame, "breakeven_s") == pytest.approx(value(frame, "capex_usd") / saved * 365.25 * 86400)
    # renting for all that time and owning for it then cost the same, resale left out
    years = value(frame, "breakeven_s") / (365.25 * 86400)
    owning = value(frame, "capex_usd") + years * value(frame, "buy_opex_usd_per_year")
    assert owning == pytest.approx(years * value(frame, "rent_opex_usd_per_year"))


def test_at_the_break_even_utilisation_both_ways_cost_the_same() -> None:
    frame = sized()
    share = value(frame, "breakeven_utilisation")
    beside = sum(value(frame, f"lines.{line}_usd_per_year") for line in ("cloud_storage", "egress", "platform_staff"))
    renting = 4 * (share * value(frame, "lines.gpu_rent_usd_per_year") + beside)
    assert 0 < share < 1
    assert renting == pytest.approx(value(frame, "buy_tco_usd"))


def test_owning_is_what_was_chosen_of_buying_and_colocating() -> None:
    frame = sized({"cost.buy": 0, "cost.colocate": 1})
    assert value(frame, "own_tco_usd") == value(frame, "colocate_tco_usd")
    assert value(sized({"cost.buy": 0, "cost.rent": 1}), "own_tco_usd") == value(sized(), "buy_tco_usd")


def test_cheap_rent_is_never_beaten() -> None:
    frame = sized({"cost.rent_usd_per_gpu_h": 0.2})
    assert value(frame, "breakeven_s") == 1e12
    assert value(frame, "breakeven_utilisation") > 1


def test_the_share_of_the_cluster_that_the_runs_fill() -> None:
    # half of the GPUs for 14 d, of 4 years
    frame = sized({"training[0].gpus": 512})
    assert value(frame, "runs_share") == pytest.approx(0.5 * 14 / (4 * 365.25))


def test_a_part_that_nobody_rents_out() -> None:
    frame = sized({"cost.rent_usd_per_gpu_h": 0, "cost.reserved_usd_per_gpu_h": 0, "cost.buy": 0, "cost.rent": 1})
    for name in ("rentable", "reservable", "procurable", "rent_usd", "rent_tco_usd", "reserved_tco_usd"):
        assert value(frame, name) == 0, name
    assert value(frame, "breakeven_s") == 1e12
    assert value(frame, "breakeven_utilisation") == 1e3


@pytest.mark.parametrize(
    ("way", "missing"), [("rent", "cost.rent_usd_per_gpu_h"), ("reserved", "cost.reserved_usd_per_gpu_h")]
)
def test_what_is_rented_needs_an_offer(way: str, missing: str) -> None:
    hot = {"cost.buy": 0, f"cost.{way}": 1}
    assert value(sized(hot), "procurable") == 1
    assert value(sized(hot | {missing: 0}), "procurable") == 0
    assert value(sized({missing: 0}), "procurable") == 1


def test_every_law_takes_whole_columns() -> None:
    # a law of single numbers, such as one with 'if', fails on arrays
    frame = sized({"server.price_usd": np.array([0.0, 1e5]), "cost.rent_usd_per_gpu_h": np.array([0.0, 3.0])}, n=2)
    made = {frame.figure(path).provenance.law for path in frame if frame.figure(path).provenance.kind == "law"}
    assert made == set(LAWS)
