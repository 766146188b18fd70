"""The shipped files: complete, sourced, dated, understood."""

from __future__ import annotations

import pytest

from clusterwright.catalog import KINDS, Catalog, Fact, load_catalog
from clusterwright.catalog.catalog import raw_part
from clusterwright.catalog.checks import check_part
from clusterwright.catalog.facts import STATUSES, TIERS, Context
from clusterwright.catalog.parts import first_day
from clusterwright.catalog.reading import DATA, read_data
from clusterwright.catalog.suggest import plain
from clusterwright.source import Place, read_yaml

LEAST = {
    "accelerators": 34,
    "servers": 40,
    "switches": 12,
    "nics": 10,
    "cables": 15,
    "fabrics": 8,
    "storage": 15,
    "regions": 30,
    "currencies": 15,
    "reliability": 30,
    "planning": 90,
    "models": 55,
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def all_facts(catalog: Catalog, kind: str) -> list[tuple[str, Fact]]:
    facts: list[tuple[str, Fact]] = []
    for part in catalog.parts(kind):
        for field in part.fields():
            if field.form == "group":
                facts += [(f"{part.name}.{field.path}.{k}", f) for k, f in part.group(field.key).items()]
            else:
                facts.append((f"{part.name}.{field.path}", part.fact(field.key)))
    return facts


@pytest.mark.parametrize("kind", KINDS)
def test_enough_parts(catalog: Catalog, kind: str) -> None:
    assert len(catalog.names(kind)) >= LEAST[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_file_agrees_with_the_table_of_kinds(catalog: Catalog, kind: str) -> None:
    context = Context(catalog.sources, {} if kind == "currencies" else catalog.currencies)
    lines = []
    for name, raw in read_data(kind).items():

        def where(path: tuple[str, ...], name: str = name) -> Place:
            return Place(f"{kind}.yaml {name}.{'.'.join(path)}")

        findings = check_part(KINDS[kind], name, raw_part(KINDS[kind], raw), context, where)
        lines += [f.line() for f in findings]
    assert lines == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_has_source_date_and_status(catalog: Catalog, kind: str) -> None:
    for path, fact in all_facts(catalog, kind):
        for each in (fact, *fact.others):
            assert each.source.key in catalog.sources, path
            assert each.status in STATUSES, path
            assert first_day(each.date) is not None, path
            if each.source.tier == "memory":
                assert each.status in ("memory", "estimate"), path


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_hold_their_value(catalog: Catalog, kind: str) -> None:
    for path, fact in all_facts(catalog, kind):
        if fact.unit:
            assert fact.low <= fact.value <= fact.high, path


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_aliases_are_unique_and_lower_case(kind: str) -> None:
    owner: dict[str, str] = {}
    for name, raw in read_data(kind).items():
        if kind not in ("currencies", "planning"):
            assert name == name.lower() and " " not in name and "_" not in name
        aliases = raw.get("aliases", []) if kind != "planning" else []
        for spelling in {plain(name), *map(plain, aliases)}:
            assert owner.setdefault(spelling, name) == name, spelling


@pytest.mark.parametrize("kind", KINDS)
def test_named_parts_exist(catalog: Catalog, kind: str) -> None:
    for part in catalog.parts(kind):
        for field in part.fields():
            if field.form == "part":
                assert catalog.has(field.refers, part.text(field.key)), f"{part.name}.{field.path}"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda p: p.stem)
def test_files_are_good_yaml_1_2(path) -> None:
    assert read_yaml(path).problems == []


def test_sources_are_complete_and_used(catalog: Catalog) -> None:
    used = {f.source.key for kind in KINDS for _, fact in all_facts(catalog, kind) for f in (fact, *fact.others)}
    for key, source in catalog.sources.items():
        assert source.title
        assert source.tier in TIERS
        assert first_day(source.date) is not None
        assert key in used, f"source '{key}' is not used"


RENTED_ONLY = ("tpu", "trainium", "inferentia", "a10g")


def test_every_accelerator_that_can_be_bought_has_a_server_to_buy(catalog: Catalog) -> None:
    bought = {
        catalog.get("accelerators", s.text("accelerator")).name
        for s in catalog.parts("servers")
        if s.text("procurement") == "buy"
    }
    for name in catalog.names("accelerators"):
        assert (name in bought) != name.startswith(RENTED_ONLY), name


def test_every_bought_server_can_be_placed_fed_and_paid(catalog: Catalog) -> None:
    needed = ("power_w", "units", "weight_kg", "cooling", "purchase_price_usd", "nics", "nic_rate_bytes_s")
    for server in catalog.parts("servers"):
        if server.text("procurement") == "buy":
            assert [k for k in needed if k not in server] == [], server.name
            assert server["power_w"] >= server["gpus"] * 0.9 * accelerator_tdp(catalog, server.text("accelerator"))


def accelerator_tdp(catalog: Catalog, name: str) -> float:
    return catalog.get("accelerators", name)["tdp_w"]


def test_dense_peaks_are_ordered(catalog: Catalog) -> None:
    """A sparse or a doubled figure would break the order of precisions."""
    for part in catalog.parts("accelerators"):
        order = [part.get(f"peak_{p}_flops", 0.0) for p in ("tf32", "bf16", "fp8", "fp4")]
        present = [x for x in order if x]
        assert present == sorted(present), part.name
        sixteen = part.get("peak_bf16_flops", 0.0) or part["peak_fp16_flops"]
        assert part.get("peak_fp8_flops", 0.0) <= 4.4 * sixteen, part.name
        assert part.get("achievable_bf16_flops", 0.0) < sixteen


EXACT = [
    ("servers", "dgx-h100", "power_w", 10_200.0),
    ("servers", "dgx-h100", "gpus", 8.0),
    ("servers", "dgx-h100", "units", 8.0),
    ("servers", "dgx-h100", "weight_kg", 130.45),
    ("servers", "dgx-h100", "nic_rate_bytes_s", 50e9),
    ("servers", "dgx-b200", "power_w", 14_300.0),
    ("servers", "gb200-nvl72", "system_nodes", 18.0),
    ("servers", "gb200-nvl72", "gpus", 4.0),
    ("servers", "gb300-nvl72", "power_w", 7_500.0),
    ("accelerators", "h100-sxm-80gb", "memory_bytes", 80e9),
    ("accelerators", "h100-sxm-80gb", "memory_bandwidth_bytes_s", 3.35e12),
    ("accelerators", "h100-sxm-80gb", "peak_bf16_flops", 989e12),
    ("accelerators", "h100-sxm-80gb", "peak_fp8_flops", 1979e12),
    ("accelerators", "h100-sxm-80gb", "tdp_w", 700.0),
    ("accelerators", "h100-sxm-80gb", "scaleup_bandwidth_bytes_s", 450e9),
    ("accelerators", "h100-sxm-80gb", "achievable_bf16_flops", 794.5e12),
    ("accelerators", "gb200-nvl72", "peak_bf16_flops", 2500e12),
    ("accelerators", "gb200-nvl72", "scaleup_domain", 72.0),
    ("accelerators", "mi300x", "peak_bf16_flops", 1307e12),
    ("accelerators", "trainium2", "peak_bf16_flops", 667e12),
    ("accelerators", "h800-sxm-80gb", "scaleup_bandwidth_bytes_s", 200e9),
    ("switches", "qm9700", "ports", 64.0),
    ("switches", "qm9700", "power_w", 1720.0),
    ("switches", "q3400-ra", "ports", 144.0),
    ("fabrics", "infiniband-ndr", "link_rate_bytes_s", 50e9),
    ("fabrics", "infiniband-ndr", "radix", 64.0),
    ("fabrics", "infiniband-ndr", "latency_s", 5e-6),
    ("cables", "smf-400-dr4", "transceiver_price_usd", 900.0),
    ("storage", "s3-standard", "rent_usd_per_tb_month", 23.0),
    ("regions", "india-mumbai", "capex_usd_per_w", 6.64),
    ("regions", "us-central", "electricity_usd_per_kwh", 0.0604),
    ("regions", "eu-north", "grid_carbon_g_per_kwh", 40.7),
    ("reliability", "llama-3-405b", "interruptions_per_1000_node_days", 3.79),
    ("reliability", "rsc-1", "interruptions_per_1000_node_days", 6.5),
    ("reliability", "gpu", "mttf_s", 50_000 * 3600.0),
]


@pytest.mark.parametrize(("kind", "name", "key", "value"), EXACT)
def test_values(catalog: Catalog, kind: str, name: str, key: str, value: float) -> None:
    assert catalog.get(kind, name)[key] == pytest.approx(value, rel=1e-9)


def test_states_of_india_by_carbon(catalog: Catalog) -> None:
    fact = catalog.get("regions", "india").fact("grid_carbon_g_per_kwh")
    assert fact.value == pytest.approx(713.4)
    assert [o.value for o in fact.others] == pytest.approx([648.0])


def test_us_states_are_converted_from_pounds(catalog: Catalog) -> None:
    assert catalog.get("regions", "us-texas")["grid_carbon_g_per_kwh"] == pytest.approx(771.2 * 0.45359237, rel=2e-3)


def test_a_whole_rack_of_trays_is_what_is_published(catalog: Catalog) -> None:
    tray = catalog.get("servers", "gb200-nvl72")
    nodes = tray["system_nodes"]
    assert nodes * tray["gpus"] == 72
    assert nodes * tray["power_w"] == pytest.approx(132e3, rel=1e-3)
    assert nodes * tray["weight_kg"] == pytest.approx(1360, rel=1e-3)
    assert nodes * tray["purchase_price_usd"] == pytest.approx(3.1e6, rel=1e-3)
    assert nodes * tray["units"] == pytest.approx(48, rel=1e-3)


def test_causes_of_llama_3_sum_to_its_interruptions(catalog: Catalog) -> None:
    run = catalog.get("reliability", "llama-3-405b")
    causes = run.group("causes")
    assert sum(f.value for f in causes.values()) == run["interruptions"] == 419
    days = run["nodes"] * run["period_s"] / 86400
    assert run["interruptions"] / days * 1000 == pytest.approx(run["interruptions_per_1000_node_days"], rel=1e-3)


def test_price_ranges_have_the_geometric_mean(catalog: Catalog) -> None:
    fact = catalog.get("servers", "dgx-h100").fact("purchase_price_usd")
    assert (fact.low, fact.high) == (270_000, 375_000)
    assert fact.value == pytest.approx((270_000 * 375_000) ** 0.5)


def test_euro_and_rupee_prices_are_turned_into_dollars(catalog: Catalog) -> None:
    assert catalog.get("regions", "germany")["electricity_usd_per_kwh"] == pytest.approx(0.19 * 1.1172)
    assert catalog.planning("indiaai_usd_per_h").value == pytest.approx(67 * 0.010531)


PLANNING = [
    ("checkpoint_bytes_per_parameter", 14, 12, 16),
    ("superpod_best_4su_read_bytes_s", 500e9, 500e9, 500e9),
    ("gpu_lead_time_s", 6 * 30.4375 * 86400, 3 * 30.4375 * 86400, 12 * 30.4375 * 86400),
    ("ups_usd_per_w", 0.35, 0.35, 0.35),
    ("staff_fte_per_mw", 3, 2, 5),
    ("rack_limit_air_w", 42e3, 30e3, 50e3),
    ("wue_evaporative_l_per_kwh", 1.8, 1.8, 1.8),
    ("pue_air", 1.25, 1.12, 1.56),
]


@pytest.mark.parametrize(("name", "value", "low", "high"), PLANNING)
def test_planning_values(catalog: Catalog, name: str, value: float, low: float, high: float) -> None:
    fact = catalog.planning(name)
    assert (fact.value, fact.low, fact.high) == pytest.approx((value, low, high))
