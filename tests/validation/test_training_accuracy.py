"""The step-time law against published runs, families left out in turn: as good as docs/reference/accuracy.md says."""

from typing import Any

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.domains.training import CALIBRATION
from clusterwright.validation import PUBLISHED, validate_training


@pytest.fixture(scope="module")
def report() -> Any:
    return validate_training(PUBLISHED, load_catalog())


@pytest.fixture(scope="module")
def document(report: Any) -> dict[str, Any]:
    return report.to_dict()


def test_every_row_is_accounted_for(document: dict[str, Any]) -> None:
    assert document["rows"] == 389
    assert document["run"] + document["refused"] + document["no_target"] == 389
    assert document["refused"] < 0.03 * 389
    assert len(document["predictions"]) == 389


def test_dense_runs_of_unseen_families(document: dict[str, Any]) -> None:
    dense = document["by_kind"]["dense"]
    assert dense["mape"] <= 0.10
    assert dense["p90"] <= 0.20
    assert abs(dense["bias"]) <= 0.04


def test_mixtures_of_unseen_families(document: dict[str, Any]) -> None:
    moe = document["by_kind"]["moe"]
    assert moe["mape"] <= 0.15
    assert moe["p90"] <= 0.35


def test_the_interval_covers_four_in_five(document: dict[str, Any]) -> None:
    for kind in ("dense", "moe"):
        assert 0.75 <= document["by_kind"][kind]["coverage80"] <= 0.85
    assert 0.75 <= document["coverage80"] <= 0.85


def test_better_than_both_rules_of_thumb_for_every_kind_and_family(document: dict[str, Any]) -> None:
    for baseline in document["baselines"].values():
        for kind in ("dense", "moe"):
            assert document["by_kind"][kind]["mape"] < 0.6 * baseline["by_kind"][kind]["mape"]
        worse = [f for f, e in baseline["by_family"].items() if e["mape"] <= document["by_family"][f]["mape"]]
        assert not worse, worse


def test_accelerators_known_only_from_their_data_sheet() -> None:
    limits = {"dense": 0.15, "moe": 0.20}
    for gpu, kinds in CALIBRATION.facts["gpu_left_out"].items():
        for kind, figures in kinds.items():
            assert figures["mape"] <= limits[kind], (gpu, kind)


def test_the_scaling_of_405b_from_512_to_8192_gpus(report: Any) -> None:
    error = {
        p.case.row.number("gpu_count"): p.error
        for p in report.predicted
        if p.case.row.family == "mlperf-5.0" and p.case.row.counted
    }
    assert (1 + error[8192.0]) / (1 + error[512.0]) - 1 == pytest.approx(0.0, abs=0.05)


def test_memory_and_runs_that_happened(document: dict[str, Any]) -> None:
    memory = document["memory"]
    assert memory["rows"] == 29
    # The BLOOM prototypes among them contradict each other (60.5 GB at micro-batch 2, 52.2 GB at 4).
    assert memory["mape"] <= 0.05
    assert memory["false_misfits"] == 0


def test_runs_that_were_never_fitted_come_out_too(report: Any) -> None:
    """NeMo's long-context study, 4 to 1,024 H100, 4k to 1M tokens; micro-batch and recomputation are not published."""
    study = [abs(p.error) for p in report.predicted if p.case.row.family == "nemo"]
    assert len(study) == 9
    assert sum(study) / 9 <= 0.10
