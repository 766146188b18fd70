"""Any number opens down to its sources; a wrong name gets a suggestion."""

import pytest

from clusterwright.report.explanation import explain, find, suggest
from clusterwright.report.telling import explanation_data, explanation_text, list_text
from tests.unit.report.synthetic_cluster import LAWS, worked_example


@pytest.fixture(scope="module")
def cluster():
    return worked_example()


def test_a_computed_figure_names_its_law_and_its_inputs(cluster):
    one = explain(cluster, "facility.meter_power_w", 2, LAWS)
    # 1.33 MW + 70 kW + 60 kW + 12 kW = 1.472 MW of IT; x 1.18 = 1.737 MW
    assert one.value == pytest.approx(1.472e6 * 1.18)
    assert one.law.formula == "P_meter = P_IT x PUE"
    assert one.law.doc == "Power drawn at the meter."
    assert {name: [i.path for i in several] for name, several in one.inputs.items()} == {
        "it_power_w": ["facility.it_power_w"],
        "pue": ["facility.pue"],
    }
    (it_power,) = one.inputs["it_power_w"]
    assert len(it_power.inputs["parts_w"]) == 4


def test_the_depth_bounds_the_tree(cluster):
    flat = explain(cluster, "facility.meter_power_w", 0, LAWS)
    assert flat.inputs == {} and flat.cut
    one = explain(cluster, "facility.meter_power_w", 1, LAWS)
    assert one.inputs["it_power_w"][0].cut


def test_a_fact_of_the_catalogue_shows_source_date_and_status(cluster):
    text = explanation_text(explain(cluster, "server.price_usd", 1, LAWS))
    assert "server/dgx-h100 purchase_price_usd" in text
    assert "press (2024)" in text
    assert "estimate" in text


def test_a_wish_shows_the_line_of_the_spec(cluster):
    assert "examples/llm-70b.yaml:15:33" in explanation_text(explain(cluster, "compute.gpus", 1, LAWS))


def test_a_choice_shows_the_options_weighed_with_the_chosen_one_ticked(cluster):
    text = explanation_text(explain(cluster, "compute.accelerator", 1, LAWS))
    assert "✓ 1,024 x h100 in dgx-h100, 4 a rack, buy: best by cost" in text
    assert "1,024 x a100: breaks deadline: 38 d against 14 d" in text


def test_the_plan_shows_the_plans_weighed(cluster):
    options = explain(cluster, "training[0].tp", 1, LAWS).options
    assert [o.name for o in options] == ["tp 4 pp 4 dp 64 cp 1 ep 1", "tp 8 pp 1 dp 128 cp 1 ep 1"]


def test_a_column_and_a_cell_of_a_table_open_too(cluster):
    assert explain(cluster, "racks.power_w", 1, LAWS).text == "41 kW, 12 kW, 15 kW, 9 kW"
    cell = explain(cluster, "racks[main-c001].power_w", 1, LAWS)
    assert (cell.kind, cell.text, cell.unit) == ("cell", "41 kW", "W")


def test_a_prefix_and_a_pattern_list_what_they_name(cluster):
    assert find(cluster, "facility.pue") == ["facility.pue"]
    assert "fabric.leaf_switches" in find(cluster, "fabric")
    assert "fabric.topology" in find(cluster, "fabric.")
    assert "training[0].step.tp_s" in find(cluster, "training[0].step")
    assert find(cluster, "training[0].step.pp*") == ["training[0].step.pp_bubble_s", "training[0].step.pp_s"]
    assert find(cluster, "racks[main-c001].power_w") == ["racks[main-c001].power_w"]
    assert find(cluster, "racks[nowhere].power_w") == []
    assert find(cluster, "fab") == []


def test_a_wrong_name_gets_near_ones(cluster):
    assert suggest(cluster, "facility.meter_powr_w")[0] == "facility.meter_power_w"
    assert "training[0].mfu" in suggest(cluster, "mfu")
    with pytest.raises(KeyError):
        explain(cluster, "facility.meter_powr_w", 1, LAWS)
    with pytest.raises(KeyError):
        explain(cluster, "racks[nowhere].power_w", 1, LAWS)


def test_the_data_form_nests_inputs_and_holds_no_prose(cluster):
    data = explanation_data(explain(cluster, "training[0].mfu", 1, LAWS))
    assert data["unit"] == "1"
    assert data["low"] < data["value"] < data["high"]
    assert data["law"]["spread"] == 0.08
    assert [i["path"] for i in data["inputs"]["peak_flops"]] == ["training[0].peak_flops"]


def test_a_law_that_this_version_lacks_is_said_not_hidden(cluster):
    text = explanation_text(explain(cluster, "facility.meter_power_w", 1, {}))
    assert "which this version does not have" in text


def test_a_list_has_one_line_a_figure(cluster):
    ones = [explain(cluster, path, 0, LAWS) for path in find(cluster, "facility")]
    lines = list_text(ones).splitlines()
    assert len(lines) == len(ones)
    assert any("1.74 MW" in line and "facility.meter_power" in line for line in lines)


def test_colours_come_only_when_asked_for(cluster):
    one = explain(cluster, "facility.meter_power_w", 2, LAWS)
    assert "\x1b[" not in explanation_text(one)
    assert "\x1b[" in explanation_text(one, color=True)
