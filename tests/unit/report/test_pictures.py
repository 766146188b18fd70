"""Drawings and charts show what the figures say: counts, shares and scales, from 8 GPUs to 555,000."""

import re

import pytest

from clusterwright.report import drawings
from clusterwright.report.build import report
from clusterwright.report.charts import axis_unit, pareto, tornado, waterfall
from clusterwright.report.page import NARROW_PX, WIDE_PX, svg_of
from clusterwright.report.svg import Canvas
from tests.unit.report.synthetic_cluster import DAY, LAWS, worked_example

WIDTHS = pytest.mark.parametrize("width", [WIDE_PX, NARROW_PX], ids=["desk", "phone"])


def pictures(cluster, kind):
    sections = report(cluster, LAWS).sections
    return [part for section in sections for part in section.parts if getattr(part, "kind", "") == kind]


def texts(svg):
    return [re.sub(r"<[^>]+>", " ", found).strip() for found in re.findall(r"<text[^>]*>(.*?)</text>", svg)]


@pytest.mark.parametrize(
    ("path", "top", "unit"),
    [
        ("x_s", 14 * DAY, (DAY, "days")),
        ("x_s", 5.98, (1.0, "s")),
        ("x_s", 0.4, (1e-3, "ms")),
        ("x_s", 3 * 365.25 * DAY, (365.25 * DAY, "years")),
        ("x_usd", 62.8e6, (1e6, "million USD")),
        ("x_usd", 3.1e9, (1e9, "billion USD")),
        ("x_w", 1.7e6, (1e6, "MW")),
        ("x_bytes", 80e9, (1e9, "GB")),
        ("x", 3.0, (1.0, "")),
    ],
)
def test_an_axis_is_in_the_unit_that_people_would_use(path, top, unit):
    assert axis_unit(path, top) == unit


@WIDTHS
def test_a_waterfall_names_every_part_and_the_total(width):
    (step, _) = pictures(worked_example(), "waterfall")
    said = texts(waterfall(step.data, width))
    assert "4.1 s" in said and "520 ms" in said and "5.98 s" in said
    assert "Attention" in said and "Step" in said
    assert "Context parallel" not in said  # nothing to show for a part of 0 s


def test_the_parts_of_a_waterfall_end_where_the_total_does():
    (step, _) = pictures(worked_example(), "waterfall")
    # 4.1 + 0.52 + 0.33 + 0.41 + 0.29 + 0.04 + 0.13 + 0.05 + 0.11 = 5.98
    assert sum(bar["value"] for bar in step.data["bars"]) == pytest.approx(step.data["total"])
    # matmul, attention and memory-bound kernels: 4.95 of 5.98 s
    assert "83% of it is computing" in step.alt


def test_the_cost_waterfall_adds_up_the_chosen_procurement_only():
    (_, cost) = pictures(worked_example(), "waterfall")
    # 39.6 + 1.7 + 1.9 + 2.0 + 4 x (1.35 + 1.0 + 2.05) = 62.8
    assert cost.data["total"] == pytest.approx(62.8e6)
    assert [bar["label"] for bar in cost.data["bars"]][:2] == ["servers", "support"]


@WIDTHS
def test_the_roofline_tells_kernels_bound_by_memory_apart(width):
    (roof,) = pictures(worked_example(), "roofline")
    # 2 FLOP a byte at 3.35 TB/s are 6.7 TFLOP/s, far below 794; 1,575 are above the bend
    assert "2 kernels, 1 of them bound by memory" in roof.alt
    assert "FLOP per byte of memory traffic" in texts(svg_of(roof, width))


@WIDTHS
def test_the_pareto_front_marks_the_chosen_option(width):
    (front,) = pictures(worked_example(), "pareto")
    svg = pareto(front.data, width)
    assert "chosen" in texts(svg)
    assert "80 options" in front.alt


def test_a_far_away_option_does_not_press_the_others_together():
    (front,) = pictures(worked_example(), "pareto")
    far = {"name": "far", "x": 4000 * DAY, "y": 9e7, "dominated": True, "chosen": False, "feasible": False}
    svg = pareto({"points": [*front.data["points"], far]}, WIDE_PX)
    assert svg.count("<path") == pareto(front.data, WIDE_PX).count("<path")


@WIDTHS
def test_a_tornado_says_both_ends_of_each_swing(width):
    time, cost = pictures(worked_example(), "tornado")
    assert {"11.5 d", "14.5 d"} <= set(texts(tornado(time.data, width)))
    assert {"$56M", "$76M"} <= set(texts(tornado(cost.data, width)))


@WIDTHS
def test_the_fabric_tells_working_and_spare_parts_apart(width):
    (fabric,) = pictures(worked_example(), "fabric")
    said = " ".join(texts(drawings.fabric(fabric.data, width)))
    for words in ("128 (+4) nodes", "32 (+8) leaf switches", "16 spine switches", "1,024 (+256) cables × 400 Gb/s"):
        assert words in said


@WIDTHS
@pytest.mark.parametrize("scale", [1, 540])
def test_a_drawing_of_555000_gpus_is_as_large_as_one_of_1024(width, scale):
    cluster = worked_example()
    small = {kind: len(svg_of(pictures(cluster, kind)[0], width)) for kind in ("fabric", "floor", "elevation")}
    for table in ("racks", "nodes", "switches", "links"):
        cluster.tables[table].columns["count"] = [count * scale for count in cluster.tables[table]["count"]]
    large = {kind: len(svg_of(pictures(cluster, kind)[0], width)) for kind in ("fabric", "floor", "elevation")}
    assert large["fabric"] < 1.2 * small["fabric"] + 500
    assert large["elevation"] < 1.2 * small["elevation"] + 500
    assert large["floor"] < 60_000
    if scale > 1:
        # 41 x 540 = 22,140 racks in at most 420 squares: 53 racks a square
        assert "one square is 53 racks; aisles not to scale" in texts(svg_of(pictures(cluster, "floor")[0], width))


def test_the_bands_of_the_power_drawing_are_as_high_as_their_watts():
    (power,) = pictures(worked_example(), "sankey")
    svg = drawings.sankey(power.data, WIDE_PX)
    ends = [float(h) for h in re.findall(r'width="8\.0" height="([\d.]+)"', svg)]
    # the parts (the first five) together are as high as the meter (the last), which is 250 px
    assert sum(ends[:-1]) == pytest.approx(ends[-1], abs=2.0)
    assert ends[-1] == 250.0
    # compute is 1.33 of 1.737 MW: 76.6 %
    assert "1.33 MW · 76.6%" in texts(svg)


def test_the_memory_bar_shows_its_parts_when_the_law_adds_them_up():
    from clusterwright.cluster import Provenance

    cluster = worked_example()
    for name, value in {"state": 30e9, "activations": 16e9, "reserve": 6e9}.items():
        cluster.frame.give(f"training[0].memory.{name}_bytes", value, Provenance("assumption"))
    inputs = {name: f"training[0].memory.{name}_bytes" for name in ("state", "activations", "reserve")}
    cluster.frame.give("training[0].memory_bytes", 52e9, Provenance("law", law="training.memory", inputs=inputs))
    (memory,) = pictures(cluster, "memory")
    said = texts(drawings.memory(memory.data, WIDE_PX))
    assert "52 GB of 80 GB (65%)" in said
    assert {"State 30 GB", "Activations 16 GB", "Reserve 6 GB"} <= set(said)


def test_text_of_a_drawing_is_escaped_and_cut():
    canvas = Canvas(200)
    canvas.text(0, 10, "<b>&", most=0)
    canvas.text(0, 30, "a very long label that cannot fit", most=60)
    canvas.titled(0, 50, "title", "a detail that is much too long for two hundred pixels")
    svg = canvas.render()
    assert "&lt;b&gt;&amp;" in svg
    assert svg.count("…") == 2
