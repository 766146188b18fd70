"""What the verbs print: every part is there, columns line up, hostile names cannot move the cursor."""

import re

import pytest

from clusterwright.cluster import Cluster, Provenance
from clusterwright.report.tables import audit_table, compare_table, design_summary, text_table
from tests.unit.report.synthetic_cluster import worked_example


def test_a_feasible_design_says_verdict_margin_numbers_options_and_risks():
    text = design_summary(worked_example())
    assert text.startswith(
        "llm-70b: FEASIBLE\n  Deadline of pretrain: 12.9 d (12–14.3 d), at most 14 d allowed. 8% to spare."
    )
    assert "The pessimistic end of the 80 % interval breaks deadline of pretrain." in text
    assert re.search(r"Cost over 4 years +\$62.8M +\$53M–\$80M +purchase \$45.2M", text)
    assert re.search(
        r"✓ +1,024 h100-sxm-80gb +dgx-h100 +4 +infiniband-ndr +buy +12.9 d +\$62.8M +1.73 MW +best by cost", text
    )
    assert "holds; cost +27.4%" in text
    assert "1. Deadline of pretrain" in text and "-> reserve more GPUs" in text
    assert "✗ does not hold" in text
    assert "What would make it feasible" not in text


def test_an_infeasible_design_says_what_binds_and_the_way_out():
    text = design_summary(worked_example("infeasible"))
    assert text.startswith("llm-70b: INFEASIBLE\n  Deadline of pretrain: 12.9 d against 14 d.")
    assert "Way out with the fewest changes: deadline: 10 d -> 12.9 d." in text
    assert "What would make it feasible, fewest changes first" in text
    assert "✗  deadline of pretrain" in text


def test_no_line_is_wider_than_asked():
    wide = design_summary(worked_example(), width=125)
    assert max(map(len, wide.splitlines())) <= 125


def test_an_empty_cluster_prints_without_a_traceback():
    assert design_summary(Cluster()).startswith(": NO VERDICT")
    assert audit_table(Cluster()) == "The spec holds no claims."
    assert "verdict" in compare_table([Cluster(), Cluster()])


def test_claims_show_verdict_sums_and_contradictions():
    text = audit_table(worked_example())
    assert text.splitlines()[0] == "Claims: 1 holds, 1 does not hold, 1 cannot tell"
    assert "contradicts training[0].cluster_tflops" in text


def test_designs_side_by_side_show_the_change_against_the_first():
    first, second = worked_example(), worked_example()
    second.frame.give("cost.tco_usd", 69.08e6, Provenance("assumption"))  # 69.08 / 62.8 = 1.10
    second.frame.give("facility.pue", 1.298, Provenance("assumption"))  # 1.298 / 1.18 = 1.10
    text = compare_table([first, second])
    assert re.search(r"Cost of ownership +\$62.8M +\$69.1M \(\+10.0%\)", text)
    assert re.search(r"GPUs +1,024 +1,024 \(=\)", text)
    assert re.search(r"facility.pue +1.18 +1.3 +\+10.0%", text)


def test_columns_line_up_and_the_last_wraps():
    text = text_table(["a", "b", "why"], [["x", "1", "word " * 20], ["yy", "22", "short"]], right=(1,), width=50)
    lines = text.splitlines()
    assert lines[0] == "  a    b  why"
    assert lines[1].startswith("  x    1  word word")
    assert lines[2].startswith("          word")
    assert lines[-1] == "  yy  22  short"


@pytest.mark.parametrize("color", [False, True])
def test_a_hostile_name_cannot_write_control_characters(color):
    cluster = worked_example()
    cluster.head["name"] = "x\x1b[2Jevil\x07\r\nname"
    cluster.answers["considered"][0]["why"] = "\x1b]0;title\x07gone"
    cluster.answers["audit"]["claims"][0]["path"] = "\x1b[2Ja"
    text = design_summary(cluster, color=color)
    left = re.sub(r"\x1b\[\d*m", "", text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", left)
