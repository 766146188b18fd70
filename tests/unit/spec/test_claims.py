"""A claim is read as a range in the unit that the name of its path ends in."""

import math

import pytest

from clusterwright.spec import Claim
from tests.unit.spec.writing import only, spec_with, wrong_with

HOUR, DAY, YEAR = 3600.0, 86400.0, 365.25 * 86400.0


def claim(path: str, value: str) -> Claim:
    return spec_with(f"claims: [{{path: \"{path}\", value: '{value}'}}]\n").claims[0]


@pytest.mark.parametrize(
    ("path", "value", "low", "high"),
    [
        ("facility.meter_power_w", "6-10 MW", 6e6, 10e6),
        ("facility.rack_power_w", "50 to 100 kW", 50e3, 100e3),
        ("training[0].tflops_per_gpu", "2 TFLOPS", 2.0, 2.0),
        ("training[0].cluster_tflops", "16384 TFLOPS", 16384.0, 16384.0),
        ("training[0].cluster_tflops", "0.4 EFLOPS", 4e5, 4e5),  # 0.4e18 / 1e12
        ("training[0].time_to_train_s", "<= 14 d", 0.0, 14 * DAY),
        ("training[0].time_to_train_s", "2 weeks", 14 * DAY, 14 * DAY),
        ("training[0].step_time_s", "4-6 s", 4.0, 6.0),
        ("training[0].mfu", ">= 40 %", 0.4, 1.0),
        ("training[0].scaling_efficiency", "80-90 %", 0.8, 0.9),
        ("reliability.availability", "99.9 %", 0.999, 0.999),
        ("training[0].weights_bytes", "135-145 GB", 135e9, 145e9),
        ("training[0].tokens_per_s", "8e5 tokens/s", 8e5, 8e5),
        ("fabric.bisection_bandwidth_bytes_s", "400 Gb/s", 50e9, 50e9),  # 400 / 8
        ("facility.compute_racks", "16-32", 16.0, 32.0),
        ("facility.compute_racks", "16-32 racks", 16.0, 32.0),
        ("fabric.leaf_switches", "32 leaf switches", 32.0, 32.0),
        ("compute.nodes_per_rack", "4", 4.0, 4.0),
        ("compute.gpus", "1,024", 1024.0, 1024.0),
        ("facility.pue", "1.1-1.3", 1.1, 1.3),
        ("facility.floor_m2", ">= 500 m2", 500.0, math.inf),
        ("facility.energy_j_per_year", "12 GWh", 12e9 * HOUR, 12e9 * HOUR),
        ("facility.run_energy_j", "500 MWh", 500e6 * HOUR, 500e6 * HOUR),
        ("facility.energy_j_per_year", "12 GWh/year", 12e9 * HOUR, 12e9 * HOUR),
        ("facility.carbon_kg_run", "200 t", 200e3, 200e3),
        ("facility.water_m3_per_year", "20000 m3", 2e4, 2e4),
        ("cost.capex_usd", "40-55M USD", 40e6, 55e6),
        ("cost.capex_usd", "$18B", 18e9, 18e9),
        ("cost.usd_per_gpu_h", "2.5 USD/h", 2.5, 2.5),
        ("cost.opex_usd_per_year", "3M USD/year", 3e6, 3e6),
        ("reliability.mtti_s", "3 h", 3 * HOUR, 3 * HOUR),
    ],
)
def test_a_value_is_in_the_unit_of_the_path(path: str, value: str, low: float, high: float) -> None:
    read = claim(path, value)
    assert (read.low, read.high) == (pytest.approx(low), pytest.approx(high))
    assert (read.path, read.text, read.who) == (path, value, "")


def test_a_claim_about_a_count_may_be_a_bare_number() -> None:
    read = spec_with("claims: [{path: facility.racks, value: 24, who: the vendor}]\n").claims[0]
    assert (read.low, read.high, read.text, read.who) == (24.0, 24.0, "24", "the vendor")


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("facility.meter_power_w", "6", "SPEC-UNIT"),
        ("facility.meter_power_w", "6 kg", "SPEC-UNIT"),
        ("facility.meter_power_w", "10-6 MW", "SPEC-RANGE"),
        ("facility.meter_power_w", "-6 MW", "SPEC-RANGE"),
        ("facility.meter_power_w", "1e30 MW", "SPEC-RANGE"),
        ("facility.meter_power_w", "much", "SPEC-UNIT"),
        ("training[0].mfu", "140 %", "SPEC-RANGE"),
        ("training[0].time_to_train_s", "<= 14", "SPEC-UNIT"),
        ("facility.compute_racks", "16-32 kW", "SPEC-UNIT"),
        ("training.mfu", "40 %", "SPEC-TYPE"),
        ("facility", "40 %", "SPEC-TYPE"),
        ("facility..x", "40 %", "SPEC-TYPE"),
        ("facility.power w", "40 %", "SPEC-TYPE"),
    ],
)
def test_a_claim_that_cannot_be_understood(path: str, value: str, code: str) -> None:
    found, _, _, hint = only(wrong_with(f"claims: [{{path: \"{path}\", value: '{value}'}}]\n"))
    assert found == code
    assert hint


def test_a_wrong_value_is_placed_at_the_value_and_told_how_it_is_written() -> None:
    code, place, _, hint = only(wrong_with("claims:\n  - {path: facility.meter_power_w, value: 6}\n"))
    assert (code, place) == ("SPEC-UNIT", "spec.yaml:7:43")
    assert hint == "a claim about facility.meter_power_w is written like '6-10 MW'"


def test_a_path_that_starts_with_no_room_is_told_the_nearest() -> None:
    code, _, message, hint = only(wrong_with("claims: [{path: facilty.racks, value: 5}]\n"))
    assert (code, message) == ("SPEC-UNKNOWN-WORD", "'facilty.racks' is no figure of a design")
    assert hint.startswith("did you mean 'facility'?")


def test_a_path_without_an_index_is_told_the_first() -> None:
    assert only(wrong_with("claims: [{path: training.mfu, value: 40 %}]\n"))[3] == "write training[0].mfu"


@pytest.mark.parametrize("value", ["[1]", "{a: 1}", "true", ".nan", ".inf"])
def test_a_value_that_is_no_quantity(value: str) -> None:
    code = only(wrong_with(f"claims: [{{path: facility.racks, value: {value}}}]\n"))[0]
    assert code in ("SPEC-TYPE", "SPEC-RANGE")
