"""Every example runs as a stranger would run it, and gives what was recorded for it."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from clusterwright.cli import program
from clusterwright.cluster import Cluster, Frame, load
from clusterwright.domains import all_laws
from tests.golden.figures import EXAMPLES, FOLDER, designed, golden

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
VERDICTS = {name: "infeasible" if name.startswith("infeasible") else "feasible" for name in NAMES}
SMALL = "a100-64"


@pytest.fixture(scope="module")
def clusters() -> dict[str, Cluster]:
    return {name: designed(EXAMPLES / f"{name}.yaml") for name in NAMES}


def test_the_examples_are_those_that_were_promised() -> None:
    assert set(NAMES) >= {
        "llm-70b",
        "supercluster-555k",
        "enterprise-1024-a100",
        "llama-405b-16k",
        "finetune-8",
        "a100-64",
        "mi300x-256",
        "gb200-nvl72",
        "infeasible-15t",
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_example_gives_the_design_that_was_recorded(name: str, clusters: dict[str, Cluster]) -> None:
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert golden(clusters[name]) == recorded, "say: python -m tests.golden.figures, and explain the change"


@pytest.mark.parametrize("name", NAMES)
def test_the_verb_ends_with_the_verdict_and_writes_the_run(name: str, tmp_path: Path) -> None:
    out = tmp_path / name
    result = CliRunner().invoke(program, ["design", str(EXAMPLES / f"{name}.yaml"), "--out", str(out)])
    assert result.exit_code == (0 if VERDICTS[name] == "feasible" else 1), result.output
    assert VERDICTS[name].upper() in result.stdout
    assert sorted(p.name for p in out.iterdir()) == ["cluster.json", "design.json", "manifest.json", "spec.yaml"]
    assert json.loads((out / "design.json").read_text(encoding="utf-8"))["verdict"] == VERDICTS[name]
    assert load(out).verdict == VERDICTS[name]


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        CliRunner().invoke(program, ["design", str(EXAMPLES / f"{SMALL}.yaml"), "--out", str(tmp_path / folder)])
    for name in ("cluster.json", "design.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_every_figure_of_a_law_is_what_the_law_makes_of_its_inputs(clusters: dict[str, Cluster]) -> None:
    laws = all_laws()
    checked = 0
    for name, cluster in clusters.items():
        for path in cluster.frame:
            origin = cluster.frame.figure(path).provenance
            if origin.kind != "law" or not origin.inputs or not _complete(origin.inputs, cluster.frame):
                continue
            law = laws[origin.law]
            if origin.inputs.keys() - inspect.signature(law.function).parameters.keys():
                # work and traffic of a step come from the training kernel, which works all of them out at once
                assert path.startswith("training["), path
                continue
            made = law(**{key: _values(ref, cluster.frame) for key, ref in origin.inputs.items()})
            np.testing.assert_allclose(cluster.frame[path], np.broadcast_to(made, (1,)), err_msg=f"{name} {path}")
            checked += 1
    assert checked > 1000


def _complete(inputs: dict, frame: Frame) -> bool:
    refs = [ref for value in inputs.values() for ref in ([value] if isinstance(value, str) else value)]
    return all(ref in frame and ref not in frame.texts for ref in refs)


def _values(ref: object, frame: Frame) -> object:
    return frame[ref] if isinstance(ref, str) else [frame[one] for one in ref]


def test_the_winner_worked_out_in_full_equals_the_option_that_was_weighed(clusters: dict[str, Cluster]) -> None:
    for name, cluster in clusters.items():
        row = cluster.answers["considered"][0]
        assert row["tco_usd"] == pytest.approx(cluster.value("cost.tco_usd"), rel=1e-9), name
        assert row["meter_power_w"] == pytest.approx(cluster.value("facility.meter_power_w"), rel=1e-9), name
        last = max(cluster.value(f"training[{j}].finish_s") for j in range(len(cluster.tables["workloads"])))
        assert row["time_to_train_s"] == pytest.approx(last, rel=1e-9), name


def test_the_money_lines_sum_to_the_cost_of_ownership(clusters: dict[str, Cluster]) -> None:
    for name, cluster in clusters.items():
        way = cluster.frame.text("cost.procurement")
        lines = cluster.tables["money"].where(procurement=way)
        assert sum(r["total_usd"] for r in lines) == pytest.approx(cluster.value("cost.tco_usd"), rel=1e-9), name


def test_switches_and_cables_of_the_tables_are_those_of_the_totals(clusters: dict[str, Cluster]) -> None:
    for name, cluster in clusters.items():
        for tier in ("leaf", "spine", "core"):
            rows = cluster.tables["switches"].where(network="compute", tier=tier)
            assert sum(r["count"] for r in rows) == cluster.value(f"fabric.all.{tier}_switches"), (name, tier)
        cables = sum(r["count"] for r in cluster.tables["links"].where(network="compute"))
        kinds = ("node_leaf_cables", "leaf_spine_cables", "spine_core_cables")
        assert cables == sum(cluster.value(f"fabric.all.{kind}") for kind in kinds), name


def test_racks_hold_every_node(clusters: dict[str, Cluster]) -> None:
    for name, cluster in clusters.items():
        racks = cluster.tables["racks"].rows()
        held = sum(r["nodes"] * r["count"] for r in racks if r["kind"] == "compute")
        needed = cluster.value("compute.nodes") + cluster.value("compute.spare_nodes")
        assert needed <= held <= needed + 20 * len(cluster.tables["sites"]), name


def test_an_infeasible_spec_says_what_binds_and_the_cheapest_way_out(clusters: dict[str, Cluster]) -> None:
    cluster = clusters["infeasible-15t"]
    first = cluster.worst_first()[0]
    assert first.code == "DESIGN-INFEASIBLE"
    assert "deadline" in first.message
    assert "workloads[0].train.deadline" in first.hint
    costs = [row["cost_usd"] for row in cluster.answers["relaxations"]]
    assert costs
    assert all(cost > 0 for cost in costs)


def test_the_relaxed_spec_is_feasible(tmp_path: Path) -> None:
    spec = str(EXAMPLES / "infeasible-15t.yaml")
    args = ["design", spec, "--no-out", "--json", "--set", "workloads[0].train.deadline=200 d"]
    result = CliRunner().invoke(program, args)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["verdict"] == "feasible"
