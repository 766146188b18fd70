"""Figures are said so that people read them right: the unit once, shares as per cent, counts whole."""

import math

import pytest

from clusterwright.report.words import label, number, own_label, short, si, span


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("facility.meter_power_w", 1.7423e6, "1.74 MW"),
        ("training[0].mfu", 0.4123, "41.2%"),
        ("reliability.ettr", 1.0, "100.0%"),
        ("compute.gpus", 1024.0, "1,024"),
        ("training[0].tokens_per_s", 8.8e5, "880k tokens/s"),
        ("facility.run_energy_j", 1.8e12, "500 MWh"),  # 1.8e12 J / 3.6e9 J per MWh
        ("facility.carbon_kg_run", 185e3, "185 t"),
        ("facility.carbon_kg_run", 950.0, "950 kg"),
        ("facility.carbon_kg_per_year", 4.5e6, "4,500 t/year"),
        ("facility.energy_j_per_year", 4.4e13, "12.2 GWh/year"),  # 4.4e13 J / 3.6e12 J per GWh
        ("facility.water_m3_per_year", 1234.5, "1,230 m³/year"),
        ("facility.floor_m2", 148.0, "148 m²"),
        ("cost.tco_usd", 62.8e6, "$62.8M"),
        ("training[0].tflops_per_gpu", 424.0, "424 TFLOP/s"),
        ("training[0].cluster_tflops", 434_176.0, "434 PFLOP/s"),
        ("x", None, "unknown"),
        ("x_w", math.nan, "unknown"),
    ],
)
def test_a_value_is_said_with_its_unit(path, value, said):
    assert number(path, value) == said


@pytest.mark.parametrize(
    ("path", "low", "high", "said"),
    [
        ("x_power_w", 1.55e6, 1.91e6, "1.55–1.91 MW"),
        ("x_power_w", 900e3, 1.1e6, "900 kW–1.1 MW"),
        ("x_usd", 39e6, 58e6, "$39M–$58M"),
        ("cost.opex_usd_per_year", 3.6e6, 5.5e6, "$3.6M–$5.5M/year"),
        ("a.mfu", 0.38, 0.44, "38.0–44.0%"),
        ("x_usd", -9.1e6, -5.3e6, "-$9.1M to -$5.3M"),
        ("x_power_w", 1e6, 1e6, ""),
        ("x_power_w", None, 1e6, ""),
    ],
)
def test_an_interval_says_its_unit_once(path, low, high, said):
    assert span(path, low, high) == said


def test_the_si_value_carries_the_bare_unit():
    assert si("facility.meter_power_w", 1736960.0) == "1,736,960 W"
    assert si("training[0].step_time_s", 5.98) == "5.98 s"
    assert si("training[0].flop", 4.49e23) == "4.49e+23 FLOP"
    assert si("training[0].mfu", 0.41) == "0.41"


def test_known_figures_have_names_and_others_get_one_from_their_path():
    assert label("facility.it_power_w") == "IT power"
    assert label("training[3].mfu") == "MFU"
    assert label("server.price_usd") == "Server price"
    assert label("sites[1].cooling") == "Site 2 cooling"
    assert label("storage.parallel.system") == "Parallel system"
    assert own_label("training[0].memory.state_bytes") == "State"


def test_a_long_text_is_cut_with_an_ellipsis():
    assert short("abcdefgh", 5) == "abcd…"
    assert short("abc", 5) == "abc"
