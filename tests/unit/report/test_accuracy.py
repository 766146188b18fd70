"""Pictures and page of a validation say what its document says, for many runs, one, and none."""

import re
from typing import Any

import pytest

from clusterwright.report import accuracy_html, accuracy_images, plan_words
from clusterwright.report.charts import coverage, scatter
from clusterwright.report.page import NARROW_PX, WIDE_PX

POINTS = [{"x_s": x, "y_s": y, "group": g} for x, y, g in ((1.0, 1.1, "a"), (10.0, 9.0, "b"), (100.0, 130.0, "b"))]
HELD = [{"nominal": 0.5, "coverage": 0.41}, {"nominal": 0.8, "coverage": 0.83}]
FIGURES = {"mape": 0.111, "median": 0.1, "p90": 0.2, "bias": -0.05, "coverage80": 0.75, "counted": 3}


def texts(svg: str) -> list[str]:
    return [re.sub(r"<[^>]+>", " ", found).strip() for found in re.findall(r"<text[^>]*>(.*?)</text>", svg)]


def document(runs: int = 3) -> dict[str, Any]:
    rule = {"rows": 3, "mape": 0.3, "by_kind": {"dense": {"mape": 0.3}}}
    predictions = [
        {
            "counted": True,
            "line": i,
            "family": p["group"],
            "measured_step_s": p["x_s"],
            "error": p["y_s"] / p["x_s"] - 1,
        }
        | {"error": p["y_s"] / p["x_s"] - 1.0, "step_time_s": {"value": p["y_s"]}}
        for i, p in enumerate(POINTS[:runs])
    ]
    figures = FIGURES | {"counted": runs}
    group = {
        "family": "b",
        "model": "m<1>",
        "gpu": "H100",
        "gpu_count": 8.0,
        "plans": 3,
        "regret": 0.012,
        "limit": 0.03,
    }
    plan = {"tp": 2.0, "pp": 1.0, "cp": 1.0, "ep": 1.0, "dp": 4.0, "interleave": 1.0, "micro_batch": 2.0}
    group |= {
        "chosen": {"plan": plan},
        "best": {"plan": {**plan, "tp": 4.0, "dp": 2.0}},
        "spearman": 0.5,
        "limit": 0.03,
    }
    return figures | {
        "rows": 4, "run": runs, "refused": 0, "no_target": 1, "fitted": 0,
        "by_kind": {"dense": figures}, "by_family": {"b": figures | {"baselines": {"six_nd_at_40_percent": rule}}},
        "baselines": {"six_nd_at_40_percent": rule}, "families_won": {"law": 1, "six_nd_at_40_percent": 0},
        "interval": HELD if runs else [{"nominal": 0.8, "coverage": None}],
        "planner": {"by_group": [group] if runs else []}, "predictions": predictions,
        "memory": {"rows": 0, "mape": None, "happened": 3, "false_misfits": 0}
        | {"out_of_memory": {"rows": 2, "false_fits": 1}},
    }  # fmt: skip


@pytest.mark.parametrize("width", [WIDE_PX, NARROW_PX], ids=["desk", "phone"])
def test_the_scatter_plot_shows_every_run_once_and_every_group_in_the_legend(width: int) -> None:
    drawn = scatter({"points": POINTS}, width)
    assert len(re.findall(r'aria-roledescription="point"', drawn)) == 3
    assert {"a", "b", "measured step time, s", "predicted step time, s"} <= set(texts(drawn))


def test_the_coverage_chart_says_how_many_runs_each_interval_holds() -> None:
    said = texts(coverage({"points": HELD}, WIDE_PX))
    assert {"41", "83", "runs inside, %"} <= set(said)


def test_the_page_holds_the_figures_and_escapes_names() -> None:
    page = accuracy_html(document())
    for text in ("11 %", "30 %", "1.2 %", "0.50", "tp 2 x dp 4, micro-batch 2", "tp 4 x dp 2, micro-batch 2"):
        assert text in page, text
    assert "m&lt;1&gt;" in page and "m<1>" not in page
    # 1.1 / 1 and 9 / 10 lie within 20 %, 130 / 100 does not.
    assert "3 runs, 2 of them within 20 %" in page
    assert "Intervals of 50 % hold 41 %; 80 % hold 83 %" in page


def test_a_file_without_a_run_to_compare_has_a_page_too() -> None:
    page = accuracy_html(document(0))
    assert "0 runs" in page
    assert "of them said to fit" in page


def test_the_images_stand_on_white_and_are_small() -> None:
    images = accuracy_images(document())
    assert list(images) == ["training-scatter.svg", "training-intervals.svg"]
    for drawn in images.values():
        assert '<rect width="100%" height="100%" fill="#fefefe"/>' in drawn
        assert not re.search(r"\d\.\d\d", drawn), "tenths of a pixel are enough"


def test_a_plan_of_one_gpu_is_said() -> None:
    plan = dict.fromkeys(("tp", "pp", "cp", "ep", "dp", "interleave"), 1.0) | {"micro_batch": 4.0}
    assert plan_words(plan) == "one GPU, micro-batch 4"
