"""Storage tiers against hand calculations."""

import numpy as np
import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster, Frame, Provenance
from clusterwright.domains import storage
from clusterwright.spec import Spec, read_spec

CATALOG = load_catalog()
HERE = Provenance("choice", note="given by the test")
TB, GB = 1e12, 1e9


def spec_of(section: str = "", sites: str = "{name: main}", years: float = 4) -> Spec:
    train = "{model: llama-3-70b, tokens: 1T tokens}"
    more = f"storage: {{{section}}}\n" if section else ""
    text = f"version: 1\nname: t\nworkloads:\n  - name: w\n    train: {train}\nsites: [{sites}]\n{more}"
    return read_spec(f"{text}finance: {{years: {years}}}\n", "spec.yaml")


def sized(
    spec: Spec, nodes: tuple[float, ...] = (128,), checkpoint: float | list[float] = 0.988 * TB, n: int = 1
) -> Frame:
    frame = Frame(n, intervals=n == 1)
    for path, value in {
        "compute.nodes": sum(nodes),
        "server.nvme_bytes": 30.72 * TB,
        "training[0].checkpoint_bytes": checkpoint,
        "training[0].tokens_per_s": 1e6,
        **{f"sites[{i}].nodes": count for i, count in enumerate(nodes)},
    }.items():
        frame.give(path, value, HERE)
    storage.size(frame, spec, CATALOG)
    return frame


def told(spec: Spec, frame: Frame) -> Cluster:
    cluster = Cluster(frame=frame)
    storage.apply(cluster, spec, CATALOG)
    return cluster


def test_two_appliances_serve_128_nodes() -> None:
    # guideline 'better' for 128 nodes: 160 GB/s read / 90 = 1.8, 80 GB/s write / 65 = 1.2;
    # the checkpoint in 30 s at 70 %: 0.988 TB / 21 s = 47 GB/s; capacity (12 + 3 x 0.988) x 1.5 = 22.4 of 300 TB
    frame = sized(spec_of("parallel: lustre, object: s3, dataset: 12 TB, checkpoints_kept: 3"))
    assert frame["storage.parallel.systems"][0] == 2
    assert frame["storage.parallel.wanted_bytes"][0] == pytest.approx((12 + 3 * 0.988) * 1.5 * TB)
    assert frame["storage.parallel.wanted_read_bytes_s"][0] == pytest.approx(160 * GB)
    assert frame["storage.parallel.wanted_write_bytes_s"][0] == pytest.approx(80 * GB)
    assert frame["storage.power_w"][0] == pytest.approx(2 * 2200 + 1000)
    assert frame["storage.units"][0] == 2 * 2 + 2


def test_a_checkpoint_takes_its_bytes_at_the_streaming_share_and_a_fixed_part() -> None:
    # 5 s + 0.988 TB / (2 x 65 GB/s x 0.7) = 15.9 s; read 5 s + 0.988 TB / (2 x 90 GB/s x 0.7) = 12.8 s
    frame = sized(spec_of("parallel: lustre"))
    assert frame["storage.checkpoint_write_s"][0] == pytest.approx(5 + 988 / 91)
    assert frame["storage.restart_read_s"][0] == pytest.approx(5 + 988 / 126)
    assert frame["training[0].checkpoint_write_s"][0] == frame["storage.checkpoint_write_s"][0]
    found = frame.estimate("storage.checkpoint_write_s")
    assert found.low < found.value < found.high


def test_the_published_checkpoint_of_bloom_lies_within_the_law() -> None:
    # BLOOM-176B: 2.3 TB in 40 s from 384 processes, 57.5 GB/s reached; a file system rated 82 GB/s at 70 % gives that
    times = storage.LAWS["storage.transfer_time"]
    found = times(np.array([0.0]), np.array([2.3 * TB]), np.array([57.5 / 0.7 * GB]), np.array([0.7]))
    assert found[0] == pytest.approx(40, rel=1e-3)


def test_a_large_checkpoint_on_few_nodes_sizes_the_writes() -> None:
    # 16 nodes: guideline 10 GB/s; 9.4 TB / (30 s x 0.7) = 448 GB/s / 65 = 6.9 -> 7
    frame = sized(spec_of("parallel: lustre"), nodes=(16,), checkpoint=9.4 * TB)
    assert frame["storage.parallel.systems"][0] == 7
    cluster = told(spec_of("parallel: lustre"), frame)
    assert "write rate (448 GB/s)" in cluster.tables["storage"].where(name="parallel")[0]["why"]


def test_the_dataset_follows_the_tokens_when_nobody_names_one() -> None:
    # 1e12 tokens x 4 B
    assert sized(spec_of())["storage.dataset_bytes"][0] == pytest.approx(4 * TB)
    # training reads 1e6 tokens/s x 4 B = 4 MB/s: nothing beside the guideline
    assert sized(spec_of())["storage.training_read_bytes_s"][0] == pytest.approx(4e6)


def test_the_object_store_holds_raw_data_and_the_archive() -> None:
    frame = sized(spec_of("object: s3, dataset: 12 TB"))
    assert frame["storage.object.wanted_bytes"][0] == pytest.approx((3 * 12 + 10 * 0.988) * TB)
    assert frame["storage.object.power_w"][0] == 0
    row = told(spec_of("object: s3, dataset: 12 TB"), frame).tables["storage"].where(name="object")[0]
    # 46 TB x 23 USD x 12
    assert row["usd_per_year"] == pytest.approx(46 * 23 * 12)


@pytest.mark.parametrize(("dataset", "system"), [("12 TB", "s3-standard"), ("3 PB", "ceph-object")])
def test_objects_are_rented_when_few_and_owned_when_many(dataset: str, system: str) -> None:
    # 46 TB x 23 USD x 48 months = 51k USD against six servers of 38.7k; 9 PB x 23 x 48 = 9.9M against 11 servers
    spec = spec_of(f"dataset: {dataset}")
    frame = sized(spec)
    assert frame.text("storage.object.system") == system
    rows = told(spec, frame).answers["storage_options"]
    assert [r["name"] for r in rows if r["chosen"] and r["tier"] == "object"] == [system]


def test_the_cheapest_parallel_system_is_taken_and_the_others_are_shown() -> None:
    spec = spec_of()
    cluster = told(spec, sized(spec))
    rows = [r for r in cluster.answers["storage_options"] if r["tier"] == "parallel"]
    priced = [r["price_usd"] for r in rows if r["price_usd"] is not None]
    assert next(r for r in rows if r["chosen"])["price_usd"] == min(priced)
    assert len(rows) >= 6
    assert all(r["why"] for r in rows)
    assert all(r["read_bytes_s"] >= 160 * GB and r["write_bytes_s"] >= 80 * GB for r in rows)


def test_a_single_node_keeps_its_data_itself() -> None:
    spec = spec_of("dataset: 200 GB")
    frame = sized(spec, nodes=(1,), checkpoint=112 * GB)
    assert frame["storage.parallel.systems"][0] == frame["storage.block.systems"][0] == 0
    assert frame["storage.units"][0] == 0
    # 5 s + 112 GB / (8 drives x 4 GB/s x 0.7)
    assert frame["storage.checkpoint_write_s"][0] == pytest.approx(5 + 112 / 22.4)
    cluster = told(spec, frame)
    assert {f.code for f in cluster.findings} == {"STORAGE-IN-NODES"}
    assert cluster.tables["storage"]["name"] == ["nvme", "object"]


def test_data_that_a_single_node_cannot_hold_is_a_warning() -> None:
    spec = spec_of("dataset: 200 TB")
    assert "STORAGE-NODES-FULL" in {f.code for f in told(spec, sized(spec, nodes=(1,))).findings}


def test_a_named_system_stands_beside_a_single_node_too() -> None:
    assert sized(spec_of("parallel: lustre"), nodes=(1,))["storage.parallel.systems"][0] == 1


def test_a_system_has_at_least_its_fewest_blocks() -> None:
    assert sized(spec_of("parallel: weka"), nodes=(4,))["storage.parallel.systems"][0] == 8


def test_every_site_holds_the_data_and_serves_its_own_nodes() -> None:
    # 128 nodes want 160 GB/s, 64 nodes 80 GB/s, each more than the checkpoint asks for; the third site has none
    sites = "{name: a}, {name: b}, {name: c}"
    frame = sized(spec_of("parallel: lustre, dataset: 12 TB", sites), nodes=(128, 64, 0))
    assert [frame[f"sites[{i}].storage.parallel.systems"][0] for i in range(3)] == [2, 1, 0]
    assert frame["storage.parallel.systems"][0] == 3
    assert frame["sites[2].storage.power_w"][0] == 0
    # a job at the larger site writes with that site's two appliances
    assert frame["storage.job_write_bytes_s"][0] == pytest.approx(130 * GB)
    assert frame["storage.power_w"][0] == sum(frame[f"sites[{i}].storage.power_w"][0] for i in range(3))


def test_a_slow_checkpoint_is_said() -> None:
    spec = spec_of("parallel: fsx-lustre-125, dataset: 12 TB")
    frame = sized(spec, nodes=(8,), checkpoint=0.988 * TB)
    assert frame["storage.checkpoint_write_s"][0] <= 36  # what is asked for is rented, so it is reached
    frame.give("storage.checkpoint_write_s", 300.0, HERE)
    assert "STORAGE-CHECKPOINT-SLOW" in {f.code for f in told(spec, frame).findings}


def test_copies_on_local_drives_are_held_against_their_size() -> None:
    # 2 x 0.988 TB over 128 nodes of 30.72 TB
    frame = sized(spec_of())
    assert frame["storage.nvme.checkpoint_fraction"][0] == pytest.approx(2 * 0.988 / 128 / 30.72)


def test_candidates_are_judged_in_one_pass_as_singly() -> None:
    spec = spec_of("dataset: 12 TB")
    sizes = [0.1 * TB, 1.0 * TB, 30 * TB, 300 * TB]
    many = sized(spec, checkpoint=sizes, n=4)
    for i, size in enumerate(sizes):
        one = sized(spec, checkpoint=size)
        for path in one:
            assert many[path][i] == pytest.approx(one[path][0]), path


def test_every_figure_and_column_says_where_it_comes_from() -> None:
    spec = spec_of("parallel: lustre")
    cluster = told(spec, sized(spec))
    for path in cluster.frame:
        origin = cluster.frame.figure(path).provenance
        assert origin.kind != "law" or origin.law in storage.LAWS, path
    table = cluster.tables["storage"]
    assert set(table.columns) == set(table.provenance)
