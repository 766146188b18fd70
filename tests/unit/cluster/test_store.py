"""The cluster as a file: what is read equals what was written, equal inputs give equal bytes, bad files are named."""

import json
import math

import numpy as np
import pytest

from clusterwright.cluster import Cluster, Provenance, diff, from_spec, law, load, save
from clusterwright.cluster.store import FILE_NAME, FILE_SCHEMA, FINDINGS, dumps
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Finding
from clusterwright.source import Place


@law("facility.meter", formula="meter = IT x PUE", unit="W", source="definition of PUE", spread=0.0)
def meter_power(it_w, pue):
    """Power at the meter."""
    return it_w * pue


def small_cluster(pue=1.2):
    cluster = Cluster(head={"schema": "clusterwright/design/1", "name": "tiny", "verdict": "feasible"})
    frame = cluster.frame
    frame.give("compute.gpus", 8, from_spec("spec.yaml:4:9"), count=True)
    frame.give("facility.it_power_w", 1e6, Provenance("catalog", place="catalogue: x"), low=0.9e6, high=1.2e6)
    frame.give("facility.pue", pue, Provenance("default", note="typical"))
    frame.derive("facility.meter_power_w", meter_power, it_w="facility.it_power_w", pue="facility.pue")
    frame.choose("fabric.topology", "fat tree", Provenance("choice", note="small"))
    cluster.tables["sites"].add(
        name="main",
        region="us-east",
        nodes=1,
        power_limit_w=math.inf,
        pue=pue,
        energy_usd_per_kwh=0.08,
        carbon_g_per_kwh=math.nan,
        redundancy="N",
        cooling="air",
    )
    cluster.tables["sites"].explain("pue", Provenance("default", note="typical"))
    cluster.say(Finding("X-Y", "risk", "something", Place("spec.yaml", 3, 2), "do it"))
    cluster.say(Finding("X-Z", "info", "else", "facility.pue"))
    cluster.answers["considered"] = [{"name": "a", "gpus": np.int64(8), "cost": np.float64(3.5), "worst": math.inf}]
    return cluster


def test_what_is_read_equals_what_was_written(tmp_path):
    cluster = small_cluster()
    again = load(save(cluster, tmp_path))
    assert again.head == cluster.head
    assert again.totals() == cluster.totals()
    for path in cluster.frame:
        assert again.frame.figure(path).provenance == cluster.frame.figure(path).provenance
    assert again.frame.texts == dict(cluster.frame.texts)
    assert again.findings == cluster.findings
    assert again.tables["sites"].columns["name"] == ["main"]
    assert again.tables["sites"].provenance == cluster.tables["sites"].provenance


def test_unlimited_and_unknown_survive_the_file_though_json_knows_neither(tmp_path):
    again = load(save(small_cluster(), tmp_path))
    assert again.tables["sites"]["power_limit_w"] == [math.inf]
    assert math.isnan(again.tables["sites"]["carbon_g_per_kwh"][0])
    assert "NaN" not in (tmp_path / FILE_NAME).read_text()
    assert "Infinity" not in (tmp_path / FILE_NAME).read_text()


def test_the_interval_of_a_derived_figure_survives(tmp_path):
    again = load(save(small_cluster(), tmp_path))
    # meter = IT x 1.2: 1.08 MW, 1.2 MW and 1.44 MW from 0.9, 1.0 and 1.2 MW
    estimate = again.total("facility.meter_power_w")
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((1.08e6, 1.2e6, 1.44e6))


def test_equal_inputs_give_equal_bytes_also_after_a_round_trip(tmp_path):
    first = save(small_cluster(), tmp_path).read_bytes()
    second = save(small_cluster(), tmp_path).read_bytes()
    third = save(load(tmp_path), tmp_path).read_bytes()
    assert first == second == third


def test_a_run_folder_and_its_file_name_the_same_cluster(tmp_path):
    save(small_cluster(), tmp_path)
    assert dumps(load(tmp_path)) == dumps(load(tmp_path / FILE_NAME))


def test_nothing_but_the_file_is_left_in_the_folder(tmp_path):
    save(small_cluster(), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME]


def test_a_folder_that_is_not_there_is_an_error_of_the_world_with_exit_3(tmp_path):
    with pytest.raises(WorldError) as caught:
        save(small_cluster(), tmp_path / "missing")
    assert caught.value.findings[0].code == "CLUSTER-NOT-WRITABLE"
    assert caught.value.exit_code == 3


def edited(tmp_path, change):
    path = save(small_cluster(), tmp_path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def refused(path):
    with pytest.raises(InputError) as caught:
        load(path)
    (finding,) = caught.value.findings
    assert finding.code in FINDINGS
    assert finding.hint
    return finding


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path):
    assert refused(tmp_path / "nope").code == "CLUSTER-NOT-FOUND"
    assert "holds no cluster.json" in refused(tmp_path).message
    assert refused(tmp_path / "nope" / FILE_NAME).code == "CLUSTER-NOT-FOUND"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe\x00", b'{"schema": NaN}', b"[" * 100_000, b"\x00" * 10])
def test_what_is_not_json_is_refused_without_a_traceback(tmp_path, data):
    (tmp_path / FILE_NAME).write_bytes(data)
    assert refused(tmp_path).code == "CLUSTER-NOT-READABLE"


@pytest.mark.parametrize("text", ["[]", "1", "null", "{}", '{"schema": "clusterwright/cluster/99"}'])
def test_another_schema_is_refused_and_the_right_one_named(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    finding = refused(tmp_path)
    assert finding.code == "CLUSTER-SCHEMA"
    assert FILE_SCHEMA in finding.message


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("totals", lambda d: d.pop("totals")),
        ("totals.compute.gpus.value", lambda d: d["totals"]["compute.gpus"].update(value="many")),
        ("totals.compute.gpus", lambda d: d["totals"].update({"compute.gpus": 8})),
        ("provenance.facility.pue", lambda d: d["provenance"].pop("facility.pue")),
        ("provenance.facility.pue", lambda d: d["provenance"]["facility.pue"].update(kind="rumour")),
        ("provenance.facility.pue", lambda d: d["provenance"]["facility.pue"].update(evil=1)),
        ("tables.sites", lambda d: d["tables"]["sites"]["columns"].pop("pue")),
        ("tables.sites", lambda d: d["tables"]["sites"]["columns"]["pue"].append(1.3)),
        ("tables.sites.pue[0]", lambda d: d["tables"]["sites"]["columns"].update(pue=["x"])),
        ("tables.planets", lambda d: d["tables"].update(planets={"columns": {}})),
        ("findings[0]", lambda d: d["findings"][0].update(severity="awful")),
        ("texts.fabric.topology", lambda d: d["texts"].update({"fabric.topology": 3})),
        ("answers.pareto", lambda d: d["answers"].update(pareto=[1])),
        ("answers.plans", lambda d: d["answers"].update(plans=[1])),
        ("answers.constraints", lambda d: d["answers"].update(constraints="x")),
    ],
)
def test_a_damaged_part_is_named(tmp_path, where, change):
    finding = refused(edited(tmp_path, change))
    assert finding.code == "CLUSTER-DAMAGED"
    assert finding.message.startswith(where + ":")


def test_equal_clusters_do_not_differ():
    assert diff(small_cluster(), small_cluster()) == []


def test_a_changed_pue_shows_with_its_relative_change_wherever_it_acts():
    changes = {c.path: c for c in diff(small_cluster(1.2), small_cluster(1.5))}
    # 1.5 / 1.2 = 1.25, in the input, in what follows from it and in the table; nothing else moves
    assert set(changes) == {"facility.pue", "facility.meter_power_w", "sites[main].pue"}
    assert all(c.relative == pytest.approx(0.25) for c in changes.values())
    assert changes["sites[main].pue"].kind == "cell"
    # 1.08-1.44 MW and 1.35-1.80 MW overlap: the difference is within the error
    assert changes["facility.meter_power_w"].distinct is False
    assert changes["facility.pue"].distinct is True


def test_what_appears_or_goes_is_a_change_with_a_none():
    before, after = small_cluster(), small_cluster()
    after.frame.choose("fabric.topology", "dragonfly", Provenance("choice"))
    after.frame.give("compute.nodes", 1, Provenance("default"), count=True)
    research = {"name": "research", "share": 1.0, "quota_gpus": 8, "limit_gpus": 8, "priority": "low", "users": ""}
    after.tables["tenants"].add(**research)
    changes = {c.path: (c.kind, c.before, c.after) for c in diff(before, after)}
    assert changes["fabric.topology"] == ("text", "fat tree", "dragonfly")
    assert changes["compute.nodes"] == ("total", None, 1.0)
    assert changes["tenants[research]"] == ("row", None, research)
    assert {c.path: (c.after, c.before) for c in diff(after, before)} == {p: (b, a) for p, (_, b, a) in changes.items()}
