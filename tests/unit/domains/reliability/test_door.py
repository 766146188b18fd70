"""The reliability door on the worked example and beyond: figures, tables, answers, findings."""

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster, Frame, Provenance
from clusterwright.domains import reliability
from clusterwright.spec import Spec, read_spec

CATALOG = load_catalog()
HERE = Provenance("choice", note="given by the test")
DAY = 86400.0


def spec_of(section: str = "availability: 99.9 %", sites: str = "{name: main}") -> Spec:
    train = "{model: llama-3-70b, tokens: 1T tokens}"
    text = f"version: 1\nname: t\nworkloads:\n  - name: w\n    train: {train}\nsites: [{sites}]\n"
    return read_spec(f"{text}reliability: {{{section}}}\n", "spec.yaml")


def designed(
    spec: Spec, nodes: tuple[float, ...] = (128,), system_nodes: float = 1.0, write_s: float = 15.9
) -> Cluster:
    frame = Frame(1)
    counts = {f"sites[{i}].nodes": count for i, count in enumerate(nodes)}
    shares = {f"sites[{i}].share": count / sum(nodes) for i, count in enumerate(nodes)}
    given = {
        "compute.nodes": sum(nodes),
        "compute.gpus": 8 * sum(nodes),
        "server.gpus": 8,
        "server.nics": 8,
        "server.system_nodes": system_nodes,
        "training[0].gpus": 8 * max(nodes),
        "training[0].compute_time_s": 12 * DAY,
        **{f"{at}.checkpoint_write_s": write_s for at in ("training[0]", "storage")},
        **{f"{at}.restart_read_s": 12.8 for at in ("training[0]", "storage")},
        "storage.fixed_s": 5,
        "fabric.all.leaf_switches": 34,
        "fabric.all.node_leaf_cables": 1064,
        "facility.ups_modules": 3,
        "scheduling.scheduler_nodes": 3,
        **counts,
        **shares,
    }
    for path, value in given.items():
        frame.give(path, float(value), HERE)
    frame.choose("compute.server", "dgx-h100", HERE)
    reliability.size_spares(frame, spec, CATALOG)
    reliability.size(frame, spec, CATALOG)
    cluster = Cluster(frame=frame)
    reliability.apply(cluster, spec, CATALOG)
    return cluster


@pytest.fixture(scope="module")
def example() -> Cluster:
    """128 nodes, 99.9 %, 12 days of computing, 15.9 s a checkpoint."""
    return designed(spec_of())


def codes(cluster: Cluster) -> set[str]:
    return {finding.code for finding in cluster.findings}


def test_node_availability_from_published_rates_and_repairs(example: Cluster) -> None:
    # 3.79 per 1000 node-days: MTTF 263.9 d; repair 0.415 x 4 d + 0.585 x 20 min = 40.0 h; 263.9 / (263.9 + 1.668)
    assert example.value("reliability.mean_repair_s") == pytest.approx((0.415 * 96 + 0.585 / 3) * 3600)
    assert example.value("reliability.node_availability") == pytest.approx(263.85 / (263.85 + 1.668), abs=1e-5)


def test_five_spares_for_three_nines(example: Cluster) -> None:
    assert example.value("compute.spare_nodes") == 5
    assert example.value("reliability.job_availability") >= 0.999


def test_the_range_of_spares_is_said(example: Cluster) -> None:
    said = next(f.message for f in example.findings if f.code == "RELIABILITY-SPARES-RANGE")
    low, high = (int(part.split(" at ")[0]) for part in said.split("; ")[1].split(", "))
    assert said.startswith("5 spare nodes")
    assert 1 <= low < 5 < high
    assert "RELIABILITY-SPARES-RANGE" not in codes(designed(spec_of("spares: 4")))


def test_interruptions_interval_and_wall_clock(example: Cluster) -> None:
    # MTTI 1000 / (128 x 3.79) d = 2.061 d = 178,100 s; Young sqrt(2 x 15.9 x 178,100) = 2,380 s, Daly about C less
    assert example.value("training[0].mtti_s") == pytest.approx(2.0614 * DAY, rel=1e-3)
    assert example.value("training[0].young_interval_s") == pytest.approx(2380, abs=2)
    assert example.value("training[0].checkpoint_interval_s") == pytest.approx(2369, abs=3)
    # restart 450 + 12.8 s; lost (463 + 2369/2) / 178,100 = 0.93 %, checkpoints 15.9 / 2369 = 0.67 %
    assert example.value("training[0].ettr") == pytest.approx(1 - 0.0093 - 0.0067, abs=5e-4)
    assert example.value("training[0].time_to_train_s") == pytest.approx(12 * DAY / example.value("training[0].ettr"))
    count = example.total("reliability.expected_interruptions")
    assert count.value == pytest.approx(12 / 0.984 / 2.0614, rel=2e-3)
    assert count.low < count.value < count.high


def test_the_largest_run_speaks_for_the_cluster(example: Cluster) -> None:
    for figure in ("mtti_s", "checkpoint_interval_s", "ettr"):
        assert example.value(f"reliability.{figure}") == example.value(f"training[0].{figure}")


def test_availability_is_the_chain(example: Cluster) -> None:
    links = ("job", "power", "storage", "control")
    product = 1.0
    for link in links:
        product *= example.value(f"reliability.{link}_availability")
    assert example.value("reliability.availability") == pytest.approx(product)
    assert "RELIABILITY-CHAIN" in codes(example)


@pytest.mark.parametrize(("scheme", "tier"), [("N", 0.99671), ("N+1", 0.99982), ("2N", 0.99995)])
def test_redundancy_is_read_as_an_uptime_tier(scheme: str, tier: float) -> None:
    found = designed(spec_of(f"redundancy: {scheme}"))
    assert found.value("reliability.power_availability") == tier
    assert "compute node" in {row["component"] for row in found.answers["redundancy"]}
    ups = next(row for row in found.answers["redundancy"] if row["component"] == "UPS")
    assert ups["scheme"].startswith(f"{scheme}: ")
    assert ups["scheme"].endswith("(3)")


def test_asked_spares_are_split_over_sites_and_judged() -> None:
    spec = spec_of("availability: 99.9 %, spares: 3", "{name: a}, {name: b}")
    found = designed(spec, nodes=(96, 32))
    # 3 x 0.75 = 2.25 -> 2, the rest to the second site
    assert [found.value(f"sites[{i}].spare_nodes") for i in range(2)] == [2, 1]
    assert "RELIABILITY-FEW-SPARES" in codes(found)


def test_spares_of_rack_scale_systems_are_whole_racks() -> None:
    # 8 GPUs a node, swapped in 12 h: 4.386e-8 / s x (0.415 x 43,200 s + 0.585 x 1,200 s) = 8.17e-4 down, so that a
    # rack of 18 is whole for 0.99918 ^ 18 = 0.9854; of 9 racks at most one is down for 0.9927, a single one short of it
    found = designed(spec_of(), nodes=(144,), system_nodes=18)
    assert found.value("compute.spare_nodes") % 18 == 0
    assert found.value("reliability.job_availability") >= found.value("reliability.availability_target")
    fewer = designed(spec_of("spares: 0"), nodes=(144,), system_nodes=18)
    assert fewer.value("reliability.job_availability") < found.value("reliability.availability_target")


def test_failures_by_component(example: Cluster) -> None:
    rows = {row["component"]: row for row in example.tables["failures"].rows()}
    # 133 x 8 GPUs x 8,766 h / 50,000 h = 186.5 a year; 133 nodes x 3.79 per 1000 node-days x 365.25 = 184
    assert rows["GPU"]["population"] == 1064
    assert rows["GPU"]["expected_per_year"] == pytest.approx(1064 * 8766 / 50000)
    assert rows["node, any cause"]["expected_per_year"] == pytest.approx(133 * 3.79e-3 * 365.25)
    # the server's supplies are "6x 3.3 kW"
    assert rows["power supply"]["population"] == 133 * 6
    assert rows["UPS module"]["population"] == 3
    assert "storage building block" not in rows
    assert all(row["source"] and row["blast_radius"] and row["redundancy"] for row in rows.values())
    table = example.tables["failures"]
    assert set(table.columns) == set(table.provenance)


def test_recoveries_are_weighed_from_the_plain_to_the_fast(example: Cluster) -> None:
    rows = example.answers["recovery_options"]
    assert [row["chosen"] for row in rows] == [True, False, False, False]
    found = [row["ettr"] for row in rows]
    assert found == sorted(found)
    assert found[0] == pytest.approx(example.value("reliability.ettr"))


def test_a_supercluster_is_told_what_a_job_may_span() -> None:
    # 1000 / (69,375 x 3.79) d = 5.5 min
    found = designed(spec_of("availability: 99 %"), nodes=(69375,))
    assert found.value("training[0].mtti_s") == pytest.approx(1e3 / 69375 / 3.79 * DAY)
    assert {"RELIABILITY-MTTI-SHORT", "RELIABILITY-MACHINE-MTTI", "RELIABILITY-FIRST-ORDER"} <= codes(found)
    assert 1000 < found.value("reliability.largest_job_nodes") < 3500
    for path in found.frame:
        estimate = found.total(path)
        assert estimate.low <= estimate.value <= estimate.high, path


def test_a_single_node_hardly_fails() -> None:
    found = designed(spec_of("spares: 0"), nodes=(1,))
    # MTTI 263.9 d: Young sqrt(2 x 15.9 x 2.28e7) = 26,900 s; lost 15.9 / 26,900 + 13,900 / 2.28e7 = 0.12 %
    assert found.value("reliability.ettr") == pytest.approx(1 - 0.0012, abs=1e-4)
    assert "RELIABILITY-INTERRUPTIONS" not in codes(found)
    assert found.value("compute.spare_nodes") == 0


def test_every_figure_says_where_it_comes_from(example: Cluster) -> None:
    for path in example.frame:
        origin = example.frame.figure(path).provenance
        assert origin.kind != "law" or origin.law in reliability.LAWS, path
