"""Servers beside compute, the scheduler's choice, and the components, against hand calculations."""

import pytest

from clusterwright.catalog import load_catalog
from clusterwright.cluster import Cluster, Frame, Provenance
from clusterwright.domains import scheduling
from clusterwright.spec import Spec, read_spec

CATALOG = load_catalog()
HERE = Provenance("choice", note="given by the test")


def spec_of(kind: str | None = None, sites: str = "{name: main}") -> Spec:
    train = "{model: llama-3-70b, tokens: 1T tokens}"
    more = f"scheduler: {{kind: {kind}}}\n" if kind else ""
    text = f"version: 1\nname: t\nworkloads:\n  - name: w\n    train: {train}\nsites: [{sites}]\n{more}"
    return read_spec(text, "spec.yaml")


def sized(spec: Spec, *nodes: float, spares: float = 0.0) -> Frame:
    frame = Frame(1)
    frame.give("compute.nodes", sum(nodes), HERE, count=True)
    frame.give("compute.gpus", 8 * sum(nodes), HERE, count=True)
    frame.give("compute.spare_nodes", spares, HERE, count=True)
    frame.give("server.gpus", 8.0, HERE, count=True)
    for i, count in enumerate(nodes):
        frame.give(f"sites[{i}].nodes", count, HERE, count=True)
    scheduling.size(frame, spec, CATALOG)
    return frame


def told(spec: Spec, *nodes: float, spares: float = 0.0) -> Cluster:
    cluster = Cluster(frame=sized(spec, *nodes, spares=spares))
    scheduling.apply(cluster, spec, CATALOG)
    return cluster


def counts(frame: Frame) -> dict[str, float]:
    roles = ("login", "scheduler", "management", "security", "observability")
    return {role: frame[f"scheduling.{role}_nodes"][0] for role in roles}


def test_128_nodes_have_every_role_twice_or_as_a_quorum() -> None:
    # series: 128 x (8 x 70 + 1,500) = 263,680, one pair of metrics servers and one for logs
    frame = sized(spec_of(), 128)
    assert counts(frame) == {"login": 2, "scheduler": 3, "management": 3, "security": 3, "observability": 3}
    assert frame["scheduling.series"][0] == 263_680
    assert frame["management.nodes"][0] == 14
    assert frame["management.power_w"][0] == pytest.approx(14 * 800)
    assert frame["management.units"][0] == 14


def test_servers_grow_with_the_cluster() -> None:
    # 2,048 nodes: login 2,048 / 256 = 8; management 2,048 / 512 = 4; series 4.22M / 4M -> 2 pairs and 1
    frame = sized(spec_of(), 2048)
    assert counts(frame) == {"login": 8, "scheduler": 3, "management": 4, "security": 3, "observability": 5}


def test_two_servers_manage_a_small_cluster() -> None:
    cluster = told(spec_of(), 1)
    assert counts(cluster.frame) == {"login": 1, "scheduler": 0, "management": 1, "security": 0, "observability": 0}
    assert {f.code for f in cluster.findings} == {"SCHEDULING-CHOICE", "SCHEDULING-SMALL"}
    slurm = cluster.tables["services"].where(name="slurmctld")[0]
    assert (slurm["nodes"], slurm["role"]) == (1, "management")


def test_every_site_has_its_own_servers_and_an_empty_one_has_none() -> None:
    sites = "{name: a}, {name: b}, {name: c}"
    cluster = told(spec_of(sites=sites), 128, 64, 0)
    assert [cluster.value(f"sites[{i}].management.nodes") for i in range(3)] == [14, 14, 0]
    assert cluster.value("management.nodes") == 28
    assert cluster.tables["services"].where(name="slurmctld")[0]["nodes"] == 4
    rows = cluster.tables["nodes"].rows()
    assert {(row["site"], row["role"]) for row in rows if row["count"]} >= {("a", "login"), ("b", "security")}
    assert sum(row["count"] for row in cluster.tables["nodes"].rows()) == 28


def test_exporters_run_on_every_node_spares_included() -> None:
    services = told(spec_of(), 128, spares=5).tables["services"]
    for name in ("dcgm-exporter", "slurmd", "health checks"):
        assert services.where(name=name)[0]["nodes"] == 133


def test_slurm_is_chosen_for_training_and_the_others_are_argued() -> None:
    cluster = told(spec_of(), 128)
    assert cluster.frame.text("scheduling.scheduler") == "slurm"
    rows = {row["name"]: row for row in cluster.answers["scheduler_options"]}
    assert [name for name, row in rows.items() if row["chosen"]] == ["slurm"]
    assert rows["kubernetes"]["beside"] == ["gang", "fair share", "topology", "accounting"]
    assert rows["ray"]["lacks"] == ["fair share", "topology", "accounting"]


@pytest.mark.parametrize(
    ("kind", "component"), [("slurm", "slurmdbd and MariaDB"), ("kubernetes", "Kueue"), ("ray", "Ray head")]
)
def test_the_spec_fixes_the_scheduler_and_its_components(kind: str, component: str) -> None:
    cluster = told(spec_of(kind), 128)
    assert cluster.frame.text("scheduling.scheduler") == kind
    assert cluster.frame.texts["scheduling.scheduler"][1].kind == "spec"
    assert cluster.tables["services"].where(name=component)
    assert ("SCHEDULING-LACKS" in {f.code for f in cluster.findings}) == (kind == "ray")


@pytest.mark.parametrize(("kind", "nodes", "said"), [("kubernetes", 5001, True), ("kubernetes", 5000, False)])
def test_more_nodes_than_a_controller_is_known_to_run_are_a_risk(kind: str, nodes: int, said: bool) -> None:
    assert ("SCHEDULING-LARGE" in {f.code for f in told(spec_of(kind), nodes).findings}) == said


def test_all_layers_are_listed() -> None:
    layers = set(told(spec_of("kubernetes"), 128).tables["services"]["layer"])
    assert layers == {"scheduler", "observability", "security", "provisioning", "storage"}


def test_the_file_system_client_goes_with_the_file_system() -> None:
    spec = spec_of()
    for systems, there in ((0.0, False), (2.0, True)):
        frame = sized(spec, 128)
        frame.give("storage.parallel.systems", systems, HERE, count=True)
        cluster = Cluster(frame=frame)
        scheduling.apply(cluster, spec, CATALOG)
        assert bool(cluster.tables["services"].where(name="file-system client")) == there


def test_every_figure_and_column_says_where_it_comes_from() -> None:
    cluster = told(spec_of(), 128)
    for path in cluster.frame:
        origin = cluster.frame.figure(path).provenance
        assert origin.kind != "law" or origin.law in scheduling.LAWS, path
    table = cluster.tables["services"]
    assert set(table.columns) == set(table.provenance)
