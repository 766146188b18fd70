"""What holds for every design, whatever is asked: nothing is lost, made up or left without a number."""

from __future__ import annotations

import json
import math
import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.cluster import Cluster, dumps
from clusterwright.design import design, design_document
from clusterwright.errors import InputError
from clusterwright.spec import Spec, read_spec

WANTED = 14
"""Designs that are checked; about a third of a second each."""
SITE_SUMS = {
    "compute.nodes": "nodes",
    "compute.gpus": "gpus",
    "compute.spare_nodes": "spare_nodes",
    "facility.racks": "racks",
    "facility.compute_racks": "compute_racks",
    "facility.it_power_w": "it_power_w",
    "facility.meter_power_w": "meter_power_w",
    "facility.floor_m2": "floor_m2",
}


def random_spec(draw: random.Random, catalog: Catalog) -> dict[str, Any]:
    """A spec that is legal in form; it may still contradict itself or ask for what nobody sells."""
    train: dict[str, Any] = {
        "model": draw.choice(catalog.names("model")),
        "tokens": f"{10 ** draw.uniform(9, 13):.3g}",
        "sequence": draw.choice([128, 2048, 8192, 131072]),
        "precision": draw.choice(["bf16", "bf16", "fp8", "fp16"]),
    }
    if draw.random() < 0.5:
        train["deadline"] = f"{10 ** draw.uniform(0, 3):.3g} d"
    spec: dict[str, Any] = {"version": 1, "name": "r", "workloads": [{"name": "w", "train": train}]}
    spec["objective"] = draw.choice(["cost", "time", "energy", "carbon", {"cost": 0.5, "time": 0.5}])
    if draw.random() < 0.7:
        spec["compute"] = {"accelerators": [draw.choice(catalog.names("accelerator"))]}
    if draw.random() < 0.7:
        spec.setdefault("compute", {})["gpus"] = draw.choice([8, 72, 576, 1000, 4096, 24576, 555_000])
    if draw.random() < 0.4:
        spec["fabric"] = {"oversubscription": draw.choice(["2:1", "4:1"])}
    if draw.random() < 0.5:
        regions = catalog.names("region")
        spec["sites"] = [{"name": f"s{i}", "region": draw.choice(regions)} for i in range(draw.choice([1, 2, 5]))]
    if draw.random() < 0.5:
        spec["reliability"] = {"spares": draw.choice([0, 1, 50]), "redundancy": draw.choice(["N", "N+1", "2N"])}
    if draw.random() < 0.4:
        spec["limits"] = {"power": f"{10 ** draw.uniform(-1, 2):.3g} MW", "racks": draw.choice([5, 50, 5000])}
    if draw.random() < 0.5:
        spec["finance"] = {"procurement": draw.choice(["buy", "rent", "reserved", "colocate"]), "years": 4}
    return spec


@pytest.fixture(scope="module")
def designs() -> list[tuple[Spec, Cluster]]:
    """Designs of random specs, the same in every run; a warning of NumPy in one is an error."""
    catalog, draw = load_catalog(), random.Random(20261201)
    made: list[tuple[Spec, Cluster]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        while len(made) < WANTED:
            try:
                spec = read_spec(yaml.safe_dump(random_spec(draw, catalog)), "r.yaml", (), catalog)
                made.append((spec, design(spec, catalog)))
            except InputError:
                continue
    return made


def test_every_figure_is_finite_and_lies_within_its_interval(designs: list[tuple[Spec, Cluster]]) -> None:
    for _, cluster in designs:
        for path in cluster.frame:
            found = cluster.total(path)
            assert all(map(math.isfinite, (found.value, found.low, found.high))), path
            room = 1e-9 * max(abs(found.value), abs(found.low), abs(found.high))
            assert found.low - room <= found.value <= found.high + room, path


def nulls(value: Any, path: str = "") -> Iterator[str]:
    if value is None:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from nulls(inner, f"{path}.{key}")


def test_the_document_has_numbers_where_numbers_are_due(designs: list[tuple[Spec, Cluster]]) -> None:
    for _, cluster in designs:
        document = json.loads(json.dumps(design_document(cluster), allow_nan=False))
        unknown = [p for p in nulls(document) if not p.startswith(".requested") and not p.endswith(".iops")]
        assert unknown == []
        dumps(cluster)


def test_sites_sum_to_the_whole(designs: list[tuple[Spec, Cluster]]) -> None:
    for spec, cluster in designs:
        for total, name in SITE_SUMS.items():
            summed = sum(cluster.value(f"sites[{i}].{name}") for i in range(len(spec.sites)))
            assert summed == pytest.approx(cluster.value(total)), total
        parts = [cluster.value(f"facility.{name}_power_w") for name in ("compute", "network", "storage", "management")]
        assert sum(parts) == pytest.approx(cluster.value("facility.it_power_w"))


def test_nodes_carry_the_gpus_racks_hold_the_nodes_and_switches_have_the_ports(
    designs: list[tuple[Spec, Cluster]],
) -> None:
    for _, cluster in designs:
        value = cluster.value
        assert value("compute.nodes") * value("server.gpus") >= value("compute.gpus")
        racks = value("facility.compute_racks") + value("facility.spare_racks")
        assert racks * value("compute.nodes_per_rack") >= value("compute.nodes") + value("compute.spare_nodes")
        if not value("fabric.fits"):
            continue
        down, up = value("fabric.node_leaf_cables"), value("fabric.leaf_spine_cables")
        top, radix = value("fabric.spine_core_cables"), value("fabric.radix")
        assert down + up <= value("fabric.leaf_switches") * radix
        assert up + top <= value("fabric.spine_switches") * radix
        assert top <= value("fabric.core_switches") * radix


def test_a_run_is_its_parts_and_fits_its_gpus(designs: list[tuple[Spec, Cluster]]) -> None:
    for spec, cluster in designs:
        for j in range(len(spec.workloads)):
            at, value = f"training[{j}]", cluster.value
            step = sum(value(path) for path in cluster.frame if path.startswith(f"{at}.step."))
            assert step == pytest.approx(value(f"{at}.step_time_s"))
            assert 0 <= value(f"{at}.mfu") <= 1
            assert 0 < value(f"{at}.ettr") <= 1
            if value(f"{at}.fits"):
                degrees = math.prod(value(f"{at}.{name}") for name in ("tp", "pp", "dp", "cp"))
                assert degrees <= value(f"{at}.gpus") <= value("compute.gpus")


def test_the_verdict_is_that_of_the_limits(designs: list[tuple[Spec, Cluster]]) -> None:
    for _, cluster in designs:
        holds = all(row["holds"] for row in cluster.answers["constraints"])
        assert holds == (cluster.verdict == "feasible")
        assert any(row["chosen"] for row in cluster.answers["considered"]) == holds


def test_more_gpus_than_switches_can_join_is_an_answer_at_once() -> None:
    catalog = load_catalog()
    text = (
        "version: 1\nname: t\nworkloads: [{name: w, train: {model: llama-3-8b}}]\n"
        "compute: {accelerators: [h100-sxm-80gb], gpus: 5000000}\n"
    )
    cluster = design(read_spec(text, "t.yaml", (), catalog), catalog)
    assert cluster.verdict == "infeasible"
    assert "FABRIC-TOO-LARGE" in {finding.code for finding in cluster.findings}
    assert len(cluster.tables["links"]) < 20_000
