"""A provider's instances: its network, its price, and nothing of ours to cable."""

from __future__ import annotations

import pytest

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.design import design
from clusterwright.spec import read_spec

RUN = "version: 1\nname: t\nworkloads: [{name: w, train: {model: llama-3-8b, tokens: 1e11}}]\n"


def designed(catalog: Catalog, server: str, rest: str = "") -> Cluster:
    text = f"{RUN}compute: {{server: {server}, gpus: 128}}\nfinance: {{procurement: [rent]}}\n{rest}"
    return design(read_spec(text, "t.yaml", (), catalog), catalog)


@pytest.mark.parametrize(
    ("server", "technology", "adapters", "gbit_s"),
    [
        # Amazon EC2 User Guide, accelerated computing: p4d 4 x 100, p5 32 x 100, p5en 16 x 200, p6-b200 8 x 400 Gb/s
        ("aws-p4d.24xlarge", "efa-100g", 4, 100),
        ("aws-p5.48xlarge", "efa-100g", 32, 100),
        ("aws-p5en.48xlarge", "efa-200g", 16, 200),
        ("aws-p6-b200.48xlarge", "efa", 8, 400),
        ("azure-nd96isr-h100-v5", "infiniband-ndr", 8, 400),
    ],
)
def test_the_network_is_the_provider_s(
    server: str, technology: str, adapters: int, gbit_s: float, catalog: Catalog
) -> None:
    made = designed(catalog, server)
    assert made.frame.text("fabric.technology") == technology
    assert (made.value("server.nics"), made.value("fabric.link_bandwidth_bytes_s") * 8e-9) == (adapters, gbit_s)


def test_no_switch_or_cable_of_ours_is_counted_in_the_compute_network(catalog: Catalog) -> None:
    made = designed(catalog, "aws-p5.48xlarge")
    assert [row["name"] for row in made.tables["switches"].rows() if row["network"] == "compute"] == []
    assert made.value("fabric.leaf_switches") == made.value("fabric.all.node_leaf_cables") == 0
    said = {finding.code for finding in made.findings}
    assert "FABRIC-PROVIDED" in said
    assert not said & {"FABRIC-NOT-NEEDED", "FABRIC-SINGLE-SWITCH"}


def test_the_rent_is_the_provider_s_price(catalog: Catalog) -> None:
    """p5.48xlarge on demand: 55.04 USD an hour for 8 GPUs."""
    assert designed(catalog, "aws-p5.48xlarge").value("cost.rent_usd_per_gpu_h") == pytest.approx(55.04 / 8)


def test_any_efa_that_is_written_stands_for_that_of_the_instance(catalog: Catalog) -> None:
    made = designed(catalog, "aws-p5.48xlarge", "fabric: {technology: efa}\n")
    assert made.frame.text("fabric.technology") == "efa-100g"


def test_it_computes_as_fast_as_a_bought_server_with_the_same_rate_a_node(catalog: Catalog) -> None:
    """32 x 100 Gb/s are 8 x 400 Gb/s: the step differs by latency and efficiency of EFA only, less than a tenth."""
    text = f"{RUN}compute: {{server: dgx-h100, gpus: 128}}\nfabric: {{technology: infiniband-ndr}}\n"
    bought = design(read_spec(text, "t.yaml", (), catalog), catalog).value("training[0].step_time_s")
    assert designed(catalog, "aws-p5.48xlarge").value("training[0].step_time_s") == pytest.approx(bought, rel=0.1)
