"""Every published fabric of the extract comes out of the law, and 'validate fabric' judges any such file."""

import csv
import json
from pathlib import Path

import pytest

from clusterwright.cli import main
from clusterwright.errors import InputError
from clusterwright.validation import validate_fabric

PUBLISHED = Path(__file__).parent / "data" / "fabric_counts.csv"
HEADER = (
    "id,name,nodes,gpus,nics_per_node,ports_per_nic,extra_endpoints,radix,tiers,planes,links_per_cable,"
    "leaf_switches,spine_switches,core_switches,node_leaf_cables,leaf_spine_cables,spine_core_cables"
)
GOOD = "A,four units,127,1016,8,1,4,64,2,1,1,32,16,0,1020,1024,0"


def written(tmp_path, *lines, header=HEADER):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def judged(tmp_path, *lines, header=HEADER):
    return validate_fabric(written(tmp_path, *lines, header=header))


def changed(**cells):
    row = dict(zip(HEADER.split(","), GOOD.split(","), strict=True)) | {k: str(v) for k, v in cells.items()}
    return ",".join(row.values())


def test_every_published_row_comes_out_exactly():
    report = validate_fabric(PUBLISHED)
    assert (report.differing, report.refused, report.flagged) == ([], [], [])
    assert len(report.exact) == report.rows == 12


def test_the_law_chooses_the_published_number_of_tiers(tmp_path):
    rows = list(csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines()))
    path = tmp_path / "open.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "tiers": ""} for row in rows)
    report = validate_fabric(path)
    assert report.differing == []
    assert [one["tiers"] for one in report.exact] == [int(row["tiers"]) for row in rows]


@pytest.mark.parametrize(
    ("nodes", "more", "expected"),
    [
        # 3 units: 24 leaves x 32 / 64 = 12 spines, the next divisor of 32 is 16
        (95, {"extra_endpoints": 4}, (24, 16, 0, 764, 768, 0)),
        # 1,024 nodes: 256 leaves = 8 pods x 32 spines; 8 x 32 / 64 = 4 cores for each of 32 spines
        (1024, {}, (256, 256, 128, 8192, 8192, 8192)),
        (2048, {}, (512, 512, 256, 16384, 16384, 16384)),
        # twin planes of 128-port switches: 2 groups of 64 x 8 rails x 2 planes
        (128, {"radix": 128, "ports_per_nic": 2, "planes": 2, "links_per_cable": 2}, (32, 16, 0, 1024, 1024, 0)),
        # 288 nodes / 72 = 4 groups: 32 leaves x 72 / 144 = 16, the next divisor of 72 is 18
        (288, {"radix": 144}, (32, 18, 0, 2304, 2304, 0)),
        (1296, {"radix": 144}, (144, 72, 0, 10368, 10368, 0)),
    ],
)
def test_designs_worked_out_by_hand(tmp_path, nodes, more, expected):
    counts = dict(zip(HEADER.split(",")[11:], expected, strict=True))
    row = changed(nodes=nodes, gpus=nodes * 8, tiers="", **{"extra_endpoints": 0, **more}, **counts)
    report = judged(tmp_path, row)
    assert len(report.exact) == 1, report.to_dict()


def test_a_wrong_count_differs_and_names_both_numbers(tmp_path):
    report = judged(tmp_path, changed(spine_switches=20))
    assert report.differing[0]["differences"] == [{"column": "spine_switches", "published": 20, "computed": 16}]
    assert not report.holds


def test_a_row_that_contradicts_itself_is_flagged_with_the_arithmetic(tmp_path):
    report = judged(
        tmp_path,
        changed(node_leaf_cables=1000),
        changed(leaf_spine_cables=1000),
        changed(gpus=1000),
        changed(spine_switches=12),
    )
    said = [one["contradictions"] for one in report.flagged]
    assert said == [
        ["127 nodes x 8 NICs + 4 more make 1020 node-leaf cables, 1000 are printed"],
        ["32 leaf switches x 32 ports upwards make 1024 cables, 1000 are printed"],
        ["1000 GPUs are no whole number for each of 127 nodes"],
        ["12 spine switches have 768 ports for 1024 links"],
    ]
    assert report.differing == []


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"nodes": ""}, "'nodes' is missing"),
        ({"nodes": "many"}, "nodes 'many' is not a number"),
        ({"nodes": "-4"}, "nodes '-4' is not a whole number from 1 to 1e+09"),
        ({"nodes": "0"}, "nodes '0' is not a whole number from 1 to 1e+09"),
        ({"nodes": "1.5"}, "nodes '1.5' is not a whole number from 1 to 1e+09"),
        ({"radix": "nan"}, "radix 'nan' is not a whole number from 1 to 100000"),
        ({"radix": "inf"}, "radix 'inf' is not a whole number from 1 to 100000"),
        ({"radix": "1"}, "a switch with one port joins nothing"),
        ({"leaf_switches": "?"}, "leaf_switches '?' is not a number"),
        ({"tiers": "4"}, "tiers '4' is not a whole number from 1 to 3"),
        ({"planes": "3"}, "8 links of a node cannot be shared evenly by 3 planes"),
        ({"nodes": "300", "gpus": "2400"}, "300 nodes do not fit 2 tiers of switches with 64 ports"),
        (
            {"nodes": "9000", "gpus": "72000", "tiers": ""},
            "9000 nodes do not fit three tiers of switches with 64 ports",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_reason(tmp_path, cells, reason):
    report = judged(tmp_path, changed(**cells))
    assert [one["reason"] for one in report.refused] == [reason]


def test_missing_columns_are_defaults_or_refusals(tmp_path):
    short = "nodes,nics_per_node,radix,leaf_switches"
    assert len(judged(tmp_path, "128,8,64,32", header=short).exact) == 1
    assert (
        "'radix' is missing"
        in judged(tmp_path, "128,8,32", header="nodes,nics_per_node,leaf_switches").refused[0]["reason"]
    )
    assert "prints none of" in judged(tmp_path, "128,8,64", header="nodes,nics_per_node,radix").refused[0]["reason"]


def test_a_ragged_row_is_refused_and_the_others_are_judged(tmp_path):
    report = judged(tmp_path, GOOD + ",7,8", GOOD)
    assert "more cells than the header" in report.refused[0]["reason"]
    assert len(report.exact) == 1


def test_rails_that_are_not_joined_are_one_tier(tmp_path):
    row = changed(
        nodes=64,
        gpus=512,
        extra_endpoints=0,
        tiers=1,
        leaf_switches=8,
        spine_switches=0,
        node_leaf_cables=512,
        leaf_spine_cables=0,
    )
    assert len(judged(tmp_path, row).exact) == 1


@pytest.mark.parametrize("content", [b"", b"\0\1", b"a,b\n1,2\n", b"nodes\xff\n1\n"])
def test_a_file_that_is_no_such_csv_is_bad_input(tmp_path, content):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError):
        validate_fabric(path)


def test_the_verb_prints_json_and_its_exit_code_says_whether_a_row_differs(tmp_path, capsys):
    assert main(["validate", "fabric", "--data", str(PUBLISHED), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "schema": "clusterwright/validate-fabric/1",
        "rows": 12,
        "exact": 12,
        "differing": [],
        "refused": [],
        "flagged": [],
    }
    assert main(["validate", "fabric", "--data", str(written(tmp_path, changed(spine_switches=20))), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["differing"][0]["id"] == "A"


def test_a_missing_file_is_exit_2_with_a_hint_and_nothing_on_stdout(tmp_path, capsys):
    assert main(["validate", "fabric", "--data", str(tmp_path / "none.csv"), "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "VALIDATION-DATA does not exist" in said.err


def test_the_table_says_why_each_row_did_not_come_out(tmp_path, capsys):
    path = written(tmp_path, GOOD, changed(spine_switches=20), changed(nodes=""))
    assert main(["validate", "fabric", "--data", str(path)]) == 1
    out = capsys.readouterr().out
    assert "spine_switches 20 printed, 16 computed" in out
    assert "3 rows: 1 exact, 1 differing, 1 refused, 0 flagged" in out
