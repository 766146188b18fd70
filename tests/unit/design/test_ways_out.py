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
    "sites": {
        "rest": "sites: [{name: a, power: 100 kW, floor: 5 m2}, {name: b, power: 90 kW}]\nfinance: {procurement: buy}"
    },
    "everything": {
        "run": ", deadline: 3 d",
        "rest": "limits: {budget: 1M USD, power: 100 kW, rack_power: 5 kW, racks: 3, rack_weight: 100 kg, "
        "floor: 5 m2}\nfinance: {procurement: [buy, colocate]}",
    },
}


@pytest.mark.parametrize("name", SPECS)
def test_every_way_out_applied_makes_the_spec_feasible(name: str, catalog: Catalog) -> None:
    parts = {"run": "", "compute": ", gpus: 1024", "rest": ""} | SPECS[name]
    text = TEXT.format(**parts)
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert cluster.verdict == "infeasible"
    ways = cluster.answers["relaxations"]
    assert ways
    for way in ways:
        assert len(way["set"]) == len(way["change"]) >= way["steps"]
        after = design(read_spec(text, "t.yaml", way["set"], catalog), catalog)
        assert after.verdict == "feasible", f"{way['set']}: {after.answers['constraints'][0]['text']}"


def test_what_takes_centuries_is_no_way_out(catalog: Catalog) -> None:
    text = TEXT.format(run=", deadline: 1 d", compute=", gpus: 8", rest="").replace("1e12", "1e15")
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert all(way["change"].get("workloads[0].train.deadline", 0.0) < 3.2e9 for way in cluster.answers["relaxations"])
