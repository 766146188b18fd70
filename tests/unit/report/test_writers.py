"""HTML, Markdown and JSON say the same, from one object; what is missing is said; hostile names are harmless."""

import json
import re
from itertools import pairwise

import pytest

from clusterwright.cluster import Cluster, Provenance
from clusterwright.findings import Finding
from clusterwright.report.build import SECTIONS, report
from clusterwright.report.page import html
from clusterwright.report.theme import DARK
from clusterwright.report.writers import as_json, markdown
from tests.unit.report.synthetic_cluster import LAWS, worked_example

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">"\'`|]()&'


@pytest.fixture(scope="module")
def model():
    return report(worked_example(), LAWS)


@pytest.fixture(scope="module")
def page(model):
    return html(model)


def test_every_section_has_content_for_a_full_design(model):
    assert {section.key: section.missing for section in model.sections if section.missing} == {}
    assert len(model.sections) == len(SECTIONS)
    assert len({section.key for section in model.sections}) == len(SECTIONS)


def test_the_first_screen_has_the_four_numbers_with_their_intervals(model):
    assert [(k.path, k.text, k.span) for k in model.key] == [
        ("training[0].time_to_train_s", "12.9 d", "12–14.3 d"),
        ("cost.tco_usd", "$62.8M", "$53M–$80M"),
        ("facility.meter_power_w", "1.74 MW", "1.56–1.87 MW"),
        ("compute.gpus", "1,024", ""),
    ]
    assert model.verdict.sentence == "Deadline of pretrain: 12.9 d (12–14.3 d), at most 14 d allowed. 8% to spare"
    assert [risk.severity for risk in model.risks] == ["risk"] * 3


def test_a_rented_cluster_shows_the_rent_instead_of_the_purchase():
    cluster = worked_example()
    cluster.frame.choose("cost.procurement", "rent", Provenance("choice"))
    assert report(cluster, LAWS).key[1].path == "cost.rent_usd"


def test_the_page_needs_no_network_and_runs_no_script(page):
    assert "<script" not in page
    assert not re.search(r'(?:src|data|action)\s*=\s*["\'](?!#)', page.replace("data-", ""))
    assert not re.search(r"<link|@import|url\((?!#)|<img|<iframe", page)
    assert set(re.findall(r'href="([^"]*)"', page)) == {
        h for h in re.findall(r'href="([^"]*)"', page) if h.startswith("#")
    }
    assert "default-src 'none'" in page


def test_every_link_leads_somewhere_and_no_identifier_is_used_twice(page):
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    missing = set(re.findall(r'href="#([^"]+)"', page)) - set(ids) - {"_"}
    assert missing == set()


def test_every_picture_has_words_and_every_table_a_caption(page):
    drawings = re.findall(r"<svg [^>]*>", page)
    assert drawings
    assert all('role="img"' in svg and re.search(r'aria-label="[^"]{20,}"', svg) for svg in drawings)
    assert page.count("<table") == page.count("<caption")


def test_there_is_one_first_heading_and_no_level_is_skipped(page):
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_every_figure_has_a_panel_with_its_law(page, model):
    assert page.count('<article class="fig"') == len(model.figures)
    assert "P_meter = P_IT x PUE" in page
    assert "The Green Grid, WP#49 (2012)" in page


def test_every_colour_of_a_drawing_has_a_dark_twin(page):
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{6})"', page))
    assert used - set(DARK) == set()


def test_markdown_and_json_hold_the_same_numbers(model):
    text, data = markdown(model), json.loads(as_json(model))
    assert data["schema"] == "clusterwright/report/1"
    assert [k["text"] for k in data["key"]] == [k.text for k in model.key]
    for one in model.key:
        assert f"**{one.text}**" in text
    assert [section["key"] for section in data["sections"]] == [section.key for section in model.sections]
    assert data["figures"]["facility.meter_power_w"]["value"] == pytest.approx(1.472e6 * 1.18)
    for section in model.sections:
        assert f"## {section.title}" in text


def test_every_markdown_table_has_rows_of_equal_width(model):
    widths = None
    for line in markdown(model).splitlines():
        if not line.startswith("|"):
            widths = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        widths = widths or cells
        assert cells == widths, line


def test_equal_clusters_give_equal_bytes(model, page):
    again = report(worked_example(), LAWS)
    assert html(again) == page
    assert markdown(again) == markdown(model)
    assert as_json(again) == as_json(model)


def test_an_empty_cluster_says_what_is_missing():
    model = report(Cluster(), LAWS)
    assert all(section.missing for section in model.sections)
    page = html(model)
    assert "The design holds no racks." in page
    assert "The design holds no racks." in markdown(model)
    json.loads(as_json(model))


@pytest.mark.parametrize("key", ["considered", "pareto", "sensitivity", "constraints", "audit", "plans", "requested"])
def test_a_missing_answer_leaves_its_section_out_and_breaks_nothing(key, page):
    cluster = worked_example()
    del cluster.answers[key]
    without = html(report(cluster, LAWS))
    assert len(without) < len(page)
    assert "feasible" in without


def test_hostile_names_are_harmless_in_every_form():
    cluster = worked_example()
    cluster.head["name"] = HOSTILE
    cluster.frame.choose("fabric.topology", HOSTILE, Provenance("choice", note=HOSTILE))
    cluster.frame.give(f"facility.{HOSTILE}", 1.0, Provenance("assumption", note=HOSTILE))
    for table in cluster.tables.values():
        for column, values in table.columns.items():
            if (
                values
                and isinstance(values[0], str)
                and column not in ("kind", "procurement", "role", "tier", "network")
            ):
                values[0] = HOSTILE
    for answer in ("considered", "constraints", "redundancy", "fabric_options"):
        cluster.answers[answer][0]["why"] = HOSTILE
        cluster.answers[answer][0]["name"] = HOSTILE
    for row in cluster.answers["sensitivity"]:
        row["input"] = HOSTILE
    model = report(cluster, LAWS)
    page = html(model)
    assert "<script" not in page and "<img" not in page and 'onerror="' not in page
    text = markdown(model)
    assert "<script" not in text.replace("\\<script", "")
    json.loads(as_json(model))


def test_the_risks_do_not_repeat_the_verdict():
    cluster = worked_example("infeasible")
    cluster.say(
        Finding("DESIGN-INFEASIBLE", "error", "no option holds every limit", "examples/llm-70b.yaml:14:17"),
        Finding("DESIGN-LIMIT-BROKEN", "error", "deadline of pretrain: 12.9 d", "training[0].finish_s"),
        Finding("STORAGE-X", "error", "something else", "storage.power_w"),
    )
    codes = [risk.code for risk in report(cluster, LAWS).risks]
    assert codes == ["STORAGE-X", "DESIGN-LIMIT-CLOSE", "DESIGN-SUPPLY"]


def test_an_infeasible_design_leads_with_what_binds_and_the_way_out():
    page = html(report(worked_example("infeasible"), LAWS))
    assert 'class="verdict no"' in page
    assert "Way out with the fewest changes: deadline: 10 d -&gt; 12.9 d." in page
    assert "What would make it feasible, fewest changes first" in page
