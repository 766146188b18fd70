"""Sites and runs that ask for a number of accelerators get it; what is left is shared by the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.design import design
from clusterwright.design.candidates import enumerate_candidates
from clusterwright.errors import InputError
from clusterwright.spec import read_spec

H100 = "compute: {accelerators: [h100-sxm-80gb]}"
H100_1024 = "compute: {accelerators: [h100-sxm-80gb], gpus: 1024}"


@pytest.mark.parametrize(
    ("compute", "sites", "gpus"),
    [
        (H100, "[{name: a, gpus: 512}, {name: b, gpus: 512}, {name: c, gpus: 8}]", [512, 512, 8]),
        (H100, "[{name: a, gpus: 1000}]", [1000]),
        (H100_1024, "[{name: a, gpus: 1000}, {name: b}, {name: c, gpus: 16}]", [1000, 8, 16]),
        # 1,024 less 24 leaves 1,000 GPUs or 125 nodes for 9:1 MW: 112.5 and 12.5, of which the first is rounded up
        (H100_1024, "[{name: a, power: 9 MW}, {name: b, power: 1 MW}, {name: c, gpus: 24}]", [904, 96, 24]),
        (H100_1024, "[{name: a}, {name: b}]", [512, 512]),
    ],
)
def test_sites_get_what_they_ask_for(compute: str, sites: str, gpus: list[int], catalog: Catalog) -> None:
    text = f"version: 1\nname: t\nworkloads: [{{name: w, train: {{model: llama-3-8b}}}}]\n{compute}\nsites: {sites}\n"
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert [cluster.value(f"sites[{i}].gpus") for i in range(len(gpus))] == gpus
    assert cluster.value("compute.gpus") == sum(gpus)


def test_a_free_count_is_at_least_what_one_site_asks_for(catalog: Catalog) -> None:
    run = "workloads: [{name: w, train: {model: llama-3-8b}}]"
    text = f"version: 1\nname: t\n{run}\nsites: [{{name: a, gpus: 1000}}, {{name: b}}]\n"
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert cluster.value("sites[0].gpus") == 1000
    assert cluster.value("sites[1].gpus") >= 8


def test_a_free_count_is_at_least_what_a_run_asks_for(catalog: Catalog) -> None:
    text = "version: 1\nname: t\nworkloads: [{name: w, train: {model: llama-3-8b, gpus: 512}}]\n"
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert cluster.value("training[0].gpus") == 512
    assert cluster.value("compute.gpus") >= 512


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("fabric: {technology: efa}", "switches of efa are not sold"),
        ("compute: {server: aws-trn1.32xlarge}", "does not know power_w, units, cooling of aws-trn1.32xlarge"),
        (
            "compute: {server: aws-p5.48xlarge}\nfabric: {technology: infiniband-ndr}",
            "AWS joins aws-p5.48xlarge by efa-100g; infiniband-ndr cannot be had there",
        ),
        (
            "compute: {server: aws-p5.48xlarge}\nfinance: {procurement: [buy]}",
            "aws-p5.48xlarge is an instance of AWS, which can only be rented, not buy",
        ),
        (
            "compute: {accelerators: [v100-sxm-32gb]}",
            "no complete server to buy with v100-sxm-32gb that computes in bf16",
        ),
    ],
)
def test_why_there_is_nothing_to_weigh_is_said(rest: str, said: str, catalog: Catalog) -> None:
    text = f"version: 1\nname: t\nworkloads: [{{name: w, train: {{model: llama-3-8b}}}}]\n{rest}\n"
    with pytest.raises(InputError, match=f"DESIGN-NO-OPTION.*{said}"):
        design(read_spec(text, "t.yaml", (), catalog), catalog)


def test_fp16_runs_at_the_bf16_rate_where_only_that_is_published(catalog: Catalog) -> None:
    text = (
        "version: 1\nname: t\nworkloads: [{name: w, train: {model: llama-3-8b, precision: fp16}}]\n"
        "compute: {accelerators: [b200-sxm-180gb], gpus: 64}\n"
    )
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert cluster.value("training[0].peak_flops") == catalog.get("accelerator", "b200-sxm-180gb")["peak_bf16_flops"]


@pytest.mark.parametrize("value", ["power: 0 W", "units: 0", "nics: 0"])
def test_a_server_of_nothing_is_not_weighed(value: str, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(f"date: 2026-11-15\nservers:\n  hgx-h100:\n    {value}\n")
    catalog = load_catalog([own])
    text = f"version: 1\nname: t\nworkloads: [{{name: w, train: {{model: llama-3-8b}}}}]\n{H100}\n"
    options = enumerate_candidates(read_spec(text, "t.yaml", (), catalog), catalog)
    assert {option.server for option in options if not option.lifts} == {"dgx-h100"}


def test_a_part_of_ones_own_without_year_and_cooling_ends_in_words(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "date: 2026-11-15\naccelerators:\n  mine:\n    {vendor: me, memory: 96 GB, memory_bandwidth: 4 TB/s, "
        "tdp: 800 W, peak: {bf16: 1200 TFLOPS}, scaleup_domain: 8}\nservers:\n  mine-8:\n    "
        "{procurement: buy, "
        "accelerator: mine, gpus: 8, power: 8 kW, units: 8, nics: 8, nic_rate: 400 Gb/s}\n"
    )
    catalog = load_catalog([own])
    text = "version: 1\nname: t\nworkloads: [{name: w, train: {model: llama-3-8b}}]\ncompute: {accelerators: [mine]}\n"
    with pytest.raises(InputError, match="does not know cooling of mine-8"):
        design(read_spec(text, "t.yaml", (), catalog), catalog)
