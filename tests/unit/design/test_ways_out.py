"""Every way out of an infeasible spec is a whole recipe: laid over the spec by ``--set`` it makes it feasible."""

from __future__ import annotations

import pytest

from clusterwright.catalog import Catalog
from clusterwright.design import design
from clusterwright.spec import read_spec

TEXT = """
version: 1
name: t
workloads: [{{name: run, train: {{model: llama-3-70b, tokens: 1e12{run}}}}}]
compute: {{accelerators: [h100-sxm-80gb]{compute}}}
{rest}
"""

SPECS = {
    "budget": {"rest": "limits: {budget: 1M USD}\nfinance: {procurement: buy}"},
    "power": {"rest": "limits: {power: 100 kW}\nfinance: {procurement: buy}"},
    "rack power": {"rest": "limits: {rack_power: 5 kW}\nfinance: {procurement: buy}"},
    "racks": {"rest": "limits: {racks: 3}\nfinance: {procurement: buy}"},
    "rack weight": {"rest": "limits: {rack_weight: 100 kg}\nfinance: {procurement: buy}"},
    "floor": {"rest": "limits: {floor: 5 m2}\nfinance: {procurement: buy}"},
    "deadline": {"run": ", deadline: 3 d"},
    "deadline, rented": {"run": ", deadline: 3 d", "rest": "finance: {procurement: rent}"},
    "deadline, free count": {
        "run": ", deadline: 3 d",
        "compute": "",
        "rest": "limits: {power: 1 MW}\nfinance: {procurement: buy}",
    },
    "named link and server": {
        "run": ", deadline: 3 d",
        "compute": ", server: dgx-h100, gpus: 1024",
        "rest": "fabric: {technology: infiniband-ndr}",
    },
    "years": {"compute": ", gpus: 8", "rest": "finance: {years: 1}"},
    "years, rented within a budget": {
        "compute": ", gpus: 8",
        "rest": "finance: {years: 1, procurement: rent}\nlimits: {budget: 400k USD}",
    },
    "sites": {
        "rest": "sites: [{name: a, power: 100 kW, floor: 5 m2}, {name: b, power: 90 kW}]\nfinance: {procurement: buy}"
    },
    "one accelerator": {"run": ", deadline: 14 d, gpus: 1, global_batch: 512 sequences"},
    "a plan that memory forbids": {"run": ", plan: {tp: 1, pp: 1}, global_batch: 512 sequences"},
    "a plan that no server holds": {"run": ", plan: {tp: 32}, global_batch: 512 sequences"},
    "everything": {
        "run": ", deadline: 3 d",
        "rest": "limits: {budget: 1M USD, power: 100 kW, rack_power: 5 kW, racks: 3, rack_weight: 100 kg, "
        "floor: 5 m2}\nfinance: {procurement: [buy, colocate]}",
    },
}


@pytest.mark.parametrize("name", SPECS)
def test_a_way_out_applied_makes_the_spec_feasible(name: str, catalog: Catalog) -> None:
    parts = {"run": "", "compute": ", gpus: 1024", "rest": ""} | SPECS[name]
    text = TEXT.format(**parts)
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert cluster.verdict == "infeasible"
    ways = cluster.answers["relaxations"]
    assert ways
    for way in (*ways[:2], *ways[2:][-1:]):  # the first, the last; each costs half a second
        assert len(way["set"]) == len(way["change"]) >= way["steps"]
        after = design(read_spec(text, "t.yaml", way["set"], catalog), catalog)
        assert after.verdict == "feasible", f"{way['set']}: {after.answers['constraints'][0]['text']}"


def test_what_takes_centuries_is_no_way_out(catalog: Catalog) -> None:
    text = TEXT.format(run=", deadline: 1 d", compute=", gpus: 8", rest="").replace("1e12", "1e15")
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert all(way["change"].get("workloads[0].train.deadline", 0.0) < 3.2e9 for way in cluster.answers["relaxations"])


def test_what_does_not_fit_binds_before_a_deadline_and_says_the_memory(catalog: Catalog) -> None:
    text = TEXT.format(run=", deadline: 14 d, gpus: 1", compute=", gpus: 1024", rest="")
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    first = cluster.answers["constraints"][0]
    assert (first["path"], first["binding"]) == ("training[0].fits", True)
    assert first["text"].startswith("needs ")
    assert "has 80 GB" in first["text"]


def test_a_plan_that_cannot_be_is_said_with_the_nearest_that_can(catalog: Catalog) -> None:
    text = TEXT.format(run=", plan: {tp: 32}", compute=", gpus: 1024", rest="")
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    first = cluster.answers["constraints"][0]
    assert first["path"] == "training[0].fits"
    assert "tp 32 is no legal plan of this model on 1,024 GPUs; nearest: tp 8" in first["text"]


def test_time_on_1184_gpus_is_no_longer_than_on_1024(catalog: Catalog) -> None:
    def step(gpus: int) -> tuple[float, list[str]]:
        text = TEXT.format(run=", global_batch: 4M tokens", compute=f", gpus: {gpus}", rest="")
        cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
        return cluster.value("training[0].compute_time_s"), [f.code for f in cluster.findings]

    less, more = step(1024), step(1184)
    assert more[0] <= less[0]
    assert "TRAINING-GPUS-IDLE" in more[1]
    assert "TRAINING-GPUS-IDLE" not in less[1]


def test_a_design_offloads_only_where_nothing_that_was_asked_fits(catalog: Catalog) -> None:
    def offload(gpus: int) -> str:
        text = TEXT.format(run=", global_batch: 64 sequences", compute=f", gpus: {gpus}", rest="").replace(
            "1e12", "1e9"
        )
        return design(read_spec(text, "t.yaml", (), catalog), catalog).frame.text("training[0].offload")

    assert (offload(8), offload(64)) == ("optimizer", "none")
