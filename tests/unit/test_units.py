"""Quantities: what people write becomes the right SI float, and nothing is guessed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.units import DIMENSIONS, UnitError, human, human_as, money_in, parse, parse_range, unit_of


@pytest.mark.parametrize(
    ("text", "dimension", "si"),
    [
        ("400 Gb/s", "bandwidth", 50e9),  # 400e9 bit / 8
        ("3.35 TB/s", "bandwidth", 3.35e12),
        ("80 GB", "bytes", 80e9),
        ("2 TiB", "bytes", 2 * 1024**4),
        ("14 d", "time", 14 * 86400),
        ("90min", "time", 5400),
        ("10.2 kW", "power", 10200),
        ("$0.08/kWh", "energy_price", 0.08 / 3.6e6),
        ("60M USD", "money", 60e6),
        ("$1.2B", "money", 1.2e9),
        ("1,024", "count", 1024),
        ("1e12", "count", 1e12),
        ("99.9 %", "fraction", 0.999),
        ("0.999", "fraction", 0.999),
        ("989 TFLOPS", "flops", 989e12),
        ("184 USD/kW/month", "power_rent", 184 / 1e3 / (365.25 * 86400 / 12)),
        ("23 USD/TB/month", "capacity_rent", 23 / 1e12 / (365.25 * 86400 / 12)),
        ("369 g/kWh", "carbon", 0.369 / 3.6e6),
        ("1465.5 lb/MWh", "carbon", 1465.5 * 0.45359237 / 3.6e9),
        ("6.5 per 1000 node-days", "rate", 6.5e-3 / 86400),
        ("2.35 USD/h", "gpu_hour_price", 2.35 / 3600),
    ],
)
def test_quantities_become_si(text: str, dimension: str, si: float) -> None:
    assert parse(text, dimension) == pytest.approx(si, rel=1e-12)


@pytest.mark.parametrize("name", sorted(DIMENSIONS))
def test_every_dimension_understands_its_own_example(name: str) -> None:
    assert parse(DIMENSIONS[name].example, name) > 0


@pytest.mark.parametrize(
    ("text", "dimension", "said"),
    [
        (400, "bandwidth", "has no unit"),
        ("400", "bandwidth", "has no unit"),
        ("400 Gbps", "bandwidth", "is not a unit"),
        ("400 kW", "bandwidth", "is not a unit of bandwidth"),
        ("-5 kW", "power", "is negative"),
        ("1e400 W", "power", "not a finite number"),
        (math.nan, "count", "not a finite number"),
        ("1e30 W", "power", "beyond anything"),
        ("fast", "bandwidth", "is not a quantity"),
        (True, "count", "expected a quantity"),
        (None, "power", "expected a quantity"),
        ([1], "power", "expected a quantity"),
        ("120 %", "fraction", "more than the whole"),
        ("5 EUR", "money", "no exchange rate"),
    ],
)
def test_what_is_no_quantity_is_refused_with_a_reason(text: object, dimension: str, said: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(text, dimension)
    assert said in caught.value.message
    assert caught.value.hint


def test_bits_and_bytes_are_never_confused() -> None:
    assert parse("8 Gb/s", "bandwidth") == parse("1 GB/s", "bandwidth")
    with pytest.raises(UnitError) as caught:
        parse("8 Gbps", "bandwidth")
    assert "Gb/s" in caught.value.hint
    assert "GB/s" in caught.value.hint


def test_other_currencies_need_a_rate() -> None:
    assert parse("€5M", "money", {"EUR": 1.1}) == pytest.approx(5.5e6)
    assert parse("65 INR/h", "gpu_hour_price", {"INR": 0.012}) == pytest.approx(65 * 0.012 / 3600)


@pytest.mark.parametrize(
    ("text", "dimension", "low", "high"),
    [
        ("6-10 MW", "power", 6e6, 10e6),
        ("900 kW - 1.2 MW", "power", 9e5, 1.2e6),
        ("<= 14 d", "time", 0.0, 14 * 86400),
        (">= 80 %", "fraction", 0.8, math.inf),
        ("16-32", "count", 16, 32),
        ("2 TFLOPS", "flops", 2e12, 2e12),
    ],
)
def test_ranges(text: str, dimension: str, low: float, high: float) -> None:
    assert parse_range(text, dimension) == pytest.approx((low, high))


def test_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(UnitError, match="backwards"):
        parse_range("10-6 MW", "power")


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("facility.it_power_w", 1.434e6, "1.43 MW"),
        ("cost.capex_usd", 45.23e6, "$45.2M"),
        ("training[0].compute_time_s", 1.1e6, "12.7 d"),
        ("training[0].mfu", 0.4012, "40.1%"),
        ("storage.checkpoint_bytes", 9.8e11, "980 GB"),
        ("compute.gpus", 1024, "1,024"),
        ("training[0].tflops_per_gpu", 395.6, "396 TFLOP/s"),
        ("cost.usd_per_gpu_h", 1.5, "$1.5"),
        ("x_s", 0.2, "200 ms"),
        ("cost.usd", 0, "$0"),
    ],
)
def test_figures_read_well(key: str, value: float, text: str) -> None:
    assert human(key, value).startswith(text)


def test_unit_of_knows_the_longest_ending() -> None:
    assert unit_of("fabric.link_bandwidth_bytes_s") == "byte/s"
    assert unit_of("storage.checkpoint_bytes") == "byte"
    assert unit_of("cost.opex_usd_per_year") == "USD/year"
    assert unit_of("compute.gpus") == "1"
    assert unit_of("cost.cdu_usd_per_w") == "USD/W"
    assert unit_of("facility.energy_j_per_year") == "J/year"
    assert unit_of("sites[0].energy_usd_per_kwh") == "USD/kWh"


@given(st.floats(min_value=1e-6, max_value=1e15))
def test_human_text_stays_within_half_a_per_cent(value: float) -> None:
    text = human_as(value, "W")
    if 0.01 <= value < 1e11:
        assert parse(text, "power") == pytest.approx(value, rel=6e-3)
    assert text


@given(st.text(max_size=40), st.sampled_from(sorted(DIMENSIONS)))
def test_any_text_gives_a_number_or_a_unit_error(text: str, dimension: str) -> None:
    try:
        value = parse(text, dimension)
    except UnitError:
        return
    assert math.isfinite(value)
    assert value >= 0


def test_amounts_are_shown_in_another_currency_and_stay_usd_inside() -> None:
    with money_in("EUR", 1.25):
        assert human("cost.capex_usd", 50e6) == "€40M"
        assert human_as(1.0, "USD/GPU-h") == "€0.8/GPU-h"
    with money_in("CHF", 2.0):
        assert human("cost.capex_usd", 3e3) == "CHF 1.5k"
    assert human("cost.capex_usd", 50e6) == "$50M"


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("sites[0].cooling_kind", 2, "hybrid"),
        ("sites[0].cooling_kind", 0, "air"),
        ("sites[0].cooling_asked", -1, "left to the design"),
        ("training[0].recompute", 0, "none"),
        ("training[0].fits", 0, "no"),
    ],
)
def test_a_code_is_said_in_words(path: str, code: float, words: str) -> None:
    assert human(path, code) == words
