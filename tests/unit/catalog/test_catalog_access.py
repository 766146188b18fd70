"""The catalogue's face: names, aliases, suggestions, values, staleness."""

from __future__ import annotations

import sys
from datetime import date
from math import isnan

import pytest

from clusterwright.catalog import FINDINGS, KINDS, PartNotFound, load_catalog
from clusterwright.catalog.kinds import kind_of, suffix_of
from clusterwright.units import DIMENSIONS

CATALOG = load_catalog()
TODAY = date(2026, 11, 30)


@pytest.mark.parametrize("name", ["h100-sxm-80gb", "H100", "h100_sxm5", "H100 SXM5 80GB", "h100-sxm"])
def test_aliases_and_spelling_do_not_matter(name: str) -> None:
    assert CATALOG.get("accelerators", name).name == "h100-sxm-80gb"


def test_singular_of_a_kind_is_accepted() -> None:
    assert CATALOG.get("server", "dgx-h100") is CATALOG.get("servers", "dgx-h100")
    with pytest.raises(KeyError, match="no kind of part 'gpu'"):
        CATALOG.names("gpu")


def test_kinds() -> None:
    assert CATALOG.kinds() == list(KINDS)
    assert {"accelerators", "servers", "models", "planning"} <= set(CATALOG.kinds())


@pytest.mark.parametrize(
    ("kind", "wrong", "meant"),
    [
        ("accelerators", "h10", "h100-sxm-80gb"),
        ("accelerators", "h100-sxm-80", "h100-sxm-80gb"),
        ("accelerators", "mi300", "mi300x"),
        ("servers", "dgx-h1000", "dgx-h100"),
        ("fabrics", "infiniband-ndx", "infiniband-ndr"),
        ("models", "lama-3-70b", "llama-3-70b"),
        ("regions", "us-esat", "us-east"),
        ("planning", "pue_airs", "pue_air"),
        ("storage", "lustr", "ddn-ai400x2"),
    ],
)
def test_did_you_mean(kind: str, wrong: str, meant: str) -> None:
    with pytest.raises(PartNotFound) as caught:
        CATALOG.get(kind, wrong)
    assert meant in caught.value.suggestions
    assert caught.value.exit_code == 2
    finding = caught.value.findings[0]
    assert finding.code == "CATALOG-UNKNOWN-PART"
    assert finding.hint.startswith("did you mean '")
    assert wrong in finding.message


def test_nothing_close_says_how_to_list() -> None:
    with pytest.raises(PartNotFound) as caught:
        CATALOG.get("regions", "qqqqqqqq")
    assert caught.value.suggestions == ()
    assert "catalog list regions" in caught.value.findings[0].hint
    assert CATALOG.suggest("regions", "///") == []


def test_errors_name_part_and_field() -> None:
    part = CATALOG.get("accelerators", "l4")
    with pytest.raises(KeyError, match=r"accelerator 'l4' has no 'peak_fp4_flops'"):
        part["peak_fp4_flops"]
    with pytest.raises(KeyError, match=r"no field 'peak_bf61_flops'"):
        part["peak_bf61_flops"]
    with pytest.raises(KeyError, match=r"'vendor' is a text"):
        part["vendor"]
    with pytest.raises(KeyError, match=r"use group"):
        part.fact("rental_usd_per_h")


def test_get_and_contains() -> None:
    part = CATALOG.get("accelerators", "l4")
    assert part.get("peak_fp4_flops") is None
    assert part.get("peak_fp4_flops", 1.0) == 1.0
    assert "peak_bf16_flops" in part
    assert "peak_fp4_flops" not in part
    assert "nonsense" not in part
    assert part.get("nonsense", 2.0) == 2.0


def test_fact_carries_everything() -> None:
    fact = CATALOG.get("accelerators", "gaudi3").fact("peak_bf16_flops")
    assert (fact.value, fact.unit, fact.text) == (1677e12, "FLOP/s", "1677 TFLOPS")
    assert fact.status == "checked"
    assert fact.source.key == "mle"
    assert fact.date == fact.source.date == "2026-08-22"
    assert "1600 MHz" in fact.note
    assert [(o.value, o.source.key) for o in fact.others] == [(1835e12, "mls")]


def test_text_fact() -> None:
    part = CATALOG.get("servers", "dgx-h100")
    assert part.text("cooling") == "air"
    assert part.text("power_w") == "10.2 kW (9.2 kW to 10.2 kW)"
    assert isnan(part.fact("cooling").value)


def test_keys_follow_the_table() -> None:
    keys = CATALOG.get("fabrics", "infiniband-ndr").keys()
    assert keys[0] == "protocol"
    assert {"switch", "nic", "link_rate_bytes_s", "latency_s"} <= set(keys)


def test_rentals_are_per_gpu_and_sorted() -> None:
    rentals = CATALOG.get("accelerators", "h100").rentals()
    assert [r.usd_per_gpu_h for r in rentals] == sorted(r.usd_per_gpu_h for r in rentals)
    by_name = {r.name: r for r in rentals}
    assert by_name["aws-p5"].usd_per_gpu_h == pytest.approx(6.88)
    assert by_name["aws-p5"].date == "2026-09-06"
    assert by_name["nebius-spot"].kind == "spot"
    assert {r.kind for r in rentals} == {"on-demand", "reserved", "block", "spot", "index"}


def test_rentals_of_an_instance_are_divided_by_its_gpus() -> None:
    offers = {r.name: r.usd_per_gpu_h for r in CATALOG.get("servers", "aws-p5.48xlarge").rentals()}
    assert offers["on-demand"] == pytest.approx(6.88)
    assert CATALOG.get("switches", "qm9700").rentals() == []


def test_rental_ranges() -> None:
    offers = {r.name: r for r in CATALOG.get("accelerators", "b200").rentals()}
    offer = offers["specialised-clouds"]
    assert (offer.low, offer.high) == (4.5, 6.0)
    assert offer.low < offer.usd_per_gpu_h < offer.high


def test_currency() -> None:
    assert CATALOG.currency("EUR").value == pytest.approx(1.1172)
    assert CATALOG.currency("usd").value == 1.0
    assert CATALOG.currencies["INR"] == pytest.approx(0.010531)
    with pytest.raises(PartNotFound):
        CATALOG.currency("XXX")


def test_stale_prices_are_told_oldest_first() -> None:
    stale = CATALOG.stale(today=TODAY)
    ages = [s.age_days for s in stale]
    assert ages == sorted(ages, reverse=True)
    assert min(ages) > 180
    names = {(s.kind, s.part, s.key) for s in stale}
    assert ("accelerators", "h100-sxm-80gb", "rental.aws-p5-2023") in names
    assert ("accelerators", "h100-sxm-80gb", "rental.aws-p5") not in names
    assert ("switches", "qm9700", "purchase_price_usd") in names
    assert ("planning", "h100_cluster_128_nodes_usd", "value") in names
    assert not any(s.key in ("tdp_w", "memory_bytes") for s in stale)


def test_how_old_is_stale_can_be_said() -> None:
    assert len(CATALOG.stale(today=TODAY, max_age_days=3650)) < len(CATALOG.stale(today=TODAY, max_age_days=30))
    assert CATALOG.stale(today=date(2000, 1, 1)) == []
    any_value = CATALOG.stale("any", today=date(2040, 1, 1))
    assert any(s.key == "tdp_w" for s in any_value)


def test_suffixes_name_known_dimensions() -> None:
    for kind in KINDS.values():
        for field in kind.fields:
            assert field.suffix.dimension in DIMENSIONS
            assert field.doc
    assert suffix_of("iops").dimension == "iops"
    assert suffix_of("gpus").dimension == "count"
    assert kind_of("fabric").name == "fabrics"


def test_every_code_is_documented() -> None:
    for code, documented in FINDINGS.items():
        assert code.startswith("CATALOG-")
        assert documented.title
        assert documented.meaning


def test_catalogue_needs_no_heavy_library() -> None:
    import subprocess

    probe = "import sys, clusterwright.catalog as c; c.load_catalog().get('models', 'llama-3-70b'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split()
    assert {"numpy", "pydantic", "mlsysim", "pint", "rich", "click"}.isdisjoint(loaded)


def test_one_more_part_stands_beside_the_others_and_changes_nothing_before() -> None:
    before = load_catalog()
    marked = {"source": "mem", "status": "estimate", "date": "2025-01"}
    values = {"procurement": "buy", "accelerator": "h100-sxm-80gb", "gpus": 4}
    wider = before.including("server", "mine", {key: {"v": value, **marked} for key, value in values.items()})
    assert wider.get("server", "mine")["gpus"] == 4
    assert wider.get("server", "dgx-h100")["gpus"] == before.get("server", "dgx-h100")["gpus"]
    assert not before.has("server", "mine")
