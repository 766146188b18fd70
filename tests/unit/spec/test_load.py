"""A spec is read into SI floats, with the place of every value, and what is left out has its default."""

from pathlib import Path

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.spec import Spec, load_spec, read_spec
from tests.unit.spec.writing import EXAMPLES, GOOD, ROOT, spec_with

BY_EXAMPLE = """\
version: 1
name: llm-70b
objective: {cost: 0.7, carbon: 0.3}
currency: USD
workloads:
  - name: pretrain
    train:
      model: llama-3-70b
      tokens: 1e12
      sequence: 8192
      global_batch: 4M tokens
      precision: bf16
      deadline: 14 d
compute:    {accelerators: [h100-sxm-80gb], gpus: 1024, server: auto, nodes_per_rack: auto}
fabric:     {technology: infiniband-ndr, topology: auto, oversubscription: "1:1"}
storage:    {parallel: lustre, object: s3, dataset: 12 TB, checkpoints_kept: 3}
scheduler:  {kind: slurm}
reliability: {availability: 99.9 %, spares: auto, redundancy: N+1}
sites:
  - {name: main, region: us-east, cooling: auto, rack_power: 100 kW, power: 10 MW, floor: 500 m2}
limits:     {budget: 60M USD, power: 10 MW, racks: 48}
finance:    {procurement: [buy, rent, colocate], years: 4, staff: auto}
tenants:    []
claims:
  - {path: facility.meter_power_w, value: 6-10 MW, who: proposal}
  - {path: "training[0].tflops_per_gpu", value: 2 TFLOPS}
"""


@pytest.fixture(scope="module")
def by_example() -> Spec:
    return read_spec(BY_EXAMPLE, "x.yaml")


def test_the_workload_of_the_example_is_read(by_example: Spec) -> None:
    (workload,) = by_example.workloads
    train = workload.train
    assert train is not None
    assert (workload.name, train.model, train.tokens, train.sequence) == ("pretrain", "llama-3-70b", 1e12, 8192)
    assert train.global_batch_sequences == 4e6 / 8192  # M is a million, not 2^20
    assert (train.precision, train.deadline_s, train.gpus, train.plan) == ("bf16", 14 * 86400.0, None, None)
    assert train.architecture.parameters == pytest.approx(70.55e9, rel=0.01)


def test_every_section_of_the_example_is_in_si_units(by_example: Spec) -> None:
    spec = by_example
    assert spec.objective == pytest.approx({"cost": 0.7, "carbon": 0.3})
    assert (spec.compute.accelerators, spec.compute.gpus, spec.compute.server) == (["h100-sxm-80gb"], 1024, None)
    assert (spec.fabric.technology, spec.fabric.topology, spec.fabric.oversubscription) == ("infiniband-ndr", None, 1.0)
    assert (spec.storage.dataset_bytes, spec.storage.checkpoints_kept) == (12e12, 3)
    assert spec.scheduler.kind == "slurm"
    assert (spec.reliability.availability, spec.reliability.spares) == (pytest.approx(0.999), None)
    site = spec.sites[0]
    assert (site.name, site.region, site.rack_power_w, site.power_w, site.floor_m2) == (
        "main",
        "us-east",
        1e5,
        1e7,
        500,
    )
    assert (spec.limits.budget_usd, spec.limits.power_w, spec.limits.racks) == (60e6, 10e6, 48)
    assert (spec.finance.procurement, spec.finance.years) == (["buy", "rent", "colocate"], 4.0)
    assert [(c.path, c.low, c.high, c.who) for c in spec.claims] == [
        ("facility.meter_power_w", 6e6, 10e6, "proposal"),
        ("training[0].tflops_per_gpu", 2.0, 2.0, ""),
    ]


def test_names_of_parts_become_the_catalogue_s_own(by_example: Spec) -> None:
    catalog = load_catalog()
    assert by_example.storage.parallel == catalog.get("storage", "lustre").name
    assert by_example.storage.object == catalog.get("storage", "s3").name


def test_places_are_those_in_the_file(by_example: Spec) -> None:
    assert str(by_example.place("workloads[0].train.tokens")) == "x.yaml:9:15"
    assert str(by_example.place("sites[0].power")) == "x.yaml:20:77"
    assert str(by_example.place("claims[1].value")) == "x.yaml:26:49"


def test_the_place_of_what_is_not_there_is_that_of_what_is_around_it(by_example: Spec) -> None:
    assert by_example.place("limits.floor") == by_example.place("limits")


def test_given_means_written_and_not_auto(by_example: Spec) -> None:
    assert by_example.given("limits.power")
    assert by_example.given("sites[0].name")
    assert not by_example.given("compute.server")  # auto
    assert not by_example.given("limits.floor")
    assert not by_example.given("sites[1].power")
    assert not by_example.given("workloads[0].train.plan.tp")


def test_version_name_and_a_workload_are_enough() -> None:
    spec = spec_with()
    assert (spec.objective, spec.currency, spec.fabric.oversubscription) == ({"cost": 1.0}, "USD", 1.0)
    assert [(s.name, s.region) for s in spec.sites] == [("main", "us-east")]
    assert (spec.storage.checkpoints_kept, spec.reliability.redundancy, spec.finance.years) == (3, "N+1", 4.0)
    assert (spec.finance.procurement, spec.claims, spec.compute.accelerators) == ([], [], None)


def test_the_default_region_is_one_of_the_catalogue() -> None:
    assert load_catalog().get("regions", spec_with().sites[0].region).name == "us-east"


def test_auto_empty_and_absent_mean_the_same() -> None:
    names = [name for name in Spec.model_fields if name not in ("version", "name", "workloads")]
    plain = spec_with().model_dump()
    assert spec_with("".join(f"{name}: auto\n" for name in names)).model_dump() == plain
    assert spec_with("".join(f"{name}:\n" for name in names)).model_dump() == plain
    assert spec_with("limits: {power: auto, racks: }\nfabric: {oversubscription: auto}\n").model_dump() == plain


def test_what_a_run_leaves_out_is_20_tokens_a_parameter_and_4m_tokens_a_batch() -> None:
    train = read_spec(GOOD.replace(", tokens: 1e12", "")).workloads[0].train
    assert train is not None
    assert train.tokens == 20 * train.architecture.parameters
    assert train.global_batch_sequences == 4e6 / 8192


def test_a_short_run_has_at_least_100_steps_when_no_batch_is_given() -> None:
    train = read_spec(GOOD.replace("1e12", "8192e3")).workloads[0].train
    assert train is not None
    assert train.global_batch_sequences == 10.0  # 8,192,000 tokens / 100 steps / 8,192 tokens a sequence


def test_a_model_can_be_given_by_its_dimensions() -> None:
    own = "{name: mine, layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn_hidden: 28672, vocab: 128256}"
    train = read_spec(GOOD.replace("llama-3-8b", own)).workloads[0].train
    assert train is not None
    assert (train.model, train.architecture.name) == ("mine", "mine")
    assert train.architecture.parameters == load_catalog().model("llama-3-70b").parameters


def test_one_word_stands_for_a_list_of_one() -> None:
    spec = spec_with("compute: {accelerators: H100-SXM-80GB}\nfinance: {procurement: rent}\n")
    assert (spec.compute.accelerators, spec.finance.procurement) == (["h100-sxm-80gb"], ["rent"])


def test_whole_numbers_may_be_floats_without_a_fraction_and_have_thousands_marked() -> None:
    for written in ("1024", "1.024e3", '"1,024"', "1_024", "0x400"):
        assert spec_with(f"compute: {{gpus: {written}}}\n").compute.gpus == 1024


def test_amounts_can_be_written_in_any_currency_of_the_catalogue() -> None:
    rate = load_catalog().currency("EUR").value
    assert spec_with("limits: {budget: 40M EUR}\n").limits.budget_usd == pytest.approx(40e6 * rate)
    assert spec_with("limits: {budget: €40M}\n").limits.budget_usd == pytest.approx(40e6 * rate)


def test_oversubscription_is_down_over_up() -> None:
    assert spec_with('fabric: {oversubscription: "3:2"}\n').fabric.oversubscription == 1.5
    assert spec_with("fabric: {oversubscription: 2:1}\n").fabric.oversubscription == 2.0  # YAML 1.2 has no base 60


def test_energy_and_carbon_are_per_joule() -> None:
    site = spec_with("sites: [{energy_price: $0.072/kWh, carbon: 360 g/kWh}]\n").sites[0]
    assert site.energy_usd_per_j == pytest.approx(2e-8)  # 0.072 USD / 3.6e6 J
    assert site.carbon_kg_per_j == pytest.approx(1e-7)  # 0.36 kg / 3.6e6 J


def test_text_and_tree_are_what_was_written() -> None:
    spec = spec_with("limits: {racks: 20}\n")
    assert (spec.text, spec.file) == (GOOD + "limits: {racks: 20}\n", "spec.yaml")
    assert spec.tree["limits"] == {"racks": 20}


def test_an_overlay_of_the_catalogue_adds_names(tmp_path: Path) -> None:
    overlay = tmp_path / "own.yaml"
    overlay.write_text(
        "regions:\n  basement:\n    source: us\n    country: US\n    electricity: 0.05 USD/kWh\n"
        "    grid_carbon: 20 g/kWh\n    capex: 8 USD/W\n    colocation: 120 USD/kW/month\n    date: '2026-01'\n"
        "    status: estimate\nsources:\n  us: {title: ourselves, date: '2026-01'}\n",
        "utf-8",
    )
    spec = read_spec(GOOD + "sites: [{region: basement}]\n", catalog=load_catalog([overlay]))
    assert spec.sites[0].region == "basement"


def test_a_spec_cannot_be_changed_after_it_was_read(by_example: Spec) -> None:
    with pytest.raises(ValueError, match="frozen"):
        by_example.limits.power_w = 1.0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_is_a_good_spec_named_as_its_file(path: Path) -> None:
    spec = load_spec(path)
    assert spec.name == path.stem
    assert path.read_text("utf-8").startswith("# ")


def test_the_examples_that_are_promised_are_there() -> None:
    promised = "llm-70b supercluster-555k enterprise-1024-a100 llama-405b-16k finetune-8 a100-64 mi300x-256 gb200-nvl72"
    assert {p.stem for p in EXAMPLES} >= {*promised.split(), "infeasible-15t"}


def test_the_supercluster_s_sites_hold_all_555_000_and_2_gw() -> None:
    spec = load_spec(ROOT / "examples" / "supercluster-555k.yaml")
    assert sum(site.gpus or 0 for site in spec.sites) == spec.compute.gpus == 555_000
    assert sum(site.power_w or 0.0 for site in spec.sites) == pytest.approx(2e9)
