"""The monitoring files: values that they must hold, worked out by hand or said by the real tools."""

from __future__ import annotations

import copy
import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle, render, verify
from clusterwright.deploy.bundle import Folder
from clusterwright.deploy.targets import target
from clusterwright.deploy.targets.monitoring import alerts_nodes, queries
from clusterwright.deploy.targets.monitoring.check_alerting import routed
from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.design import design
from clusterwright.spec import load_spec
from clusterwright.traces import METRICS, filled, metric

Render = Callable[..., Bundle]
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def bundle(render_of: Render, worked: Cluster) -> Bundle:
    return render_of(worked, "monitoring")


def _yaml(bundle: Bundle, path: str) -> Any:
    return yaml.safe_load(bundle.files[f"monitoring/main/{path}"].text)


def _json(bundle: Bundle, path: str) -> Any:
    return json.loads(bundle.files[f"monitoring/main/{path}"].text)


def _rules(bundle: Bundle, site: str = "main") -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path, file in bundle.files.items():
        if path.startswith(f"monitoring/{site}/prometheus/rules/"):
            for group in yaml.safe_load(file.text)["groups"]:
                found |= {rule.get("alert") or rule["record"]: rule for rule in group["rules"]}
    return found


# --- the gate ---


@pytest.mark.parametrize("name", ["worked", "company", "rack_scale"])
def test_every_file_passes_our_own_reading(
    name: str, request: pytest.FixtureRequest, render_of: Render, tmp_path: Path
) -> None:
    cluster = request.getfixturevalue(name)
    render_of(cluster, "monitoring").write(tmp_path / "b")
    checks = verify(tmp_path / "b", live=False)
    assert [check for check in checks if not check.ok] == []
    assert {check.file for check in checks if check.level == "none"} == set()


@pytest.mark.parametrize("name", ["worked", "company"])
def test_promtool_and_amtool_accept_every_file(
    name: str, request: pytest.FixtureRequest, render_of: Render, tmp_path: Path
) -> None:
    for program in ("promtool", "amtool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is absent: sudo apt install prometheus prometheus-alertmanager")
    render_of(request.getfixturevalue(name), "monitoring").write(tmp_path / "b")
    checks = [check for check in verify(tmp_path / "b") if check.level == "tool"]
    assert [check for check in checks if not check.ok] == []
    said = {check.file.split("/", 2)[2]: check.message for check in checks if check.judge == "promtool"}
    assert said["prometheus/tests/node.test.yml"] == "tests of rules passed"
    assert said["prometheus/tests/site.test.yml"] == "tests of rules passed"
    assert said["cost-exporter/cost.prom"] == "metrics in the text format"
    assert sum(check.judge == "amtool" for check in checks) == 2


def test_dashboards_lose_nothing_in_grafanas_own_model(render_of: Render, worked: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("grafana_foundation_sdk", reason="pip install grafana-foundation-sdk")
    render_of(worked, "monitoring").write(tmp_path / "b")
    checks = [check for check in verify(tmp_path / "b") if check.judge == "grafana-foundation-sdk"]
    assert len(checks) == 7
    assert [check for check in checks if not check.ok] == []


def test_two_renders_are_the_same_to_the_byte(render_of: Render, worked: Cluster, bundle: Bundle) -> None:
    assert {p: f.text for p, f in render_of(worked, "monitoring").files.items()} == {
        p: f.text for p, f in bundle.files.items()
    }


def test_secrets_are_named_by_file_only(bundle: Bundle) -> None:
    config = _yaml(bundle, "alertmanager/alertmanager.yml")
    assert config["global"]["smtp_auth_password_file"] == "/etc/alertmanager/secrets/smtp-password"
    everything = "".join(file.text for file in bundle.files.values()).lower()
    for word in ("password:", "token:", "routing_key:", "bearer_token:", "api_key"):
        assert word not in everything


# --- targets ---


def test_every_gpu_node_spares_too_is_scraped_at_its_address_and_the_port_of_the_table(bundle: Bundle) -> None:
    groups = _json(bundle, "prometheus/targets/dcgm-exporter.json")
    assert len(groups) == 128 + 5
    inventory = bundle.inventory
    for group, host in zip(groups, inventory.compute(inventory.site("main")), strict=True):
        assert group["targets"] == [f"{inventory.address(host)}:9400"]
        assert group["labels"] == {"node": host.name, "rack": host.rack, "group": host.group}


def test_facts_are_read_back_from_the_files(bundle: Bundle, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b")
    facts = list(target("monitoring").facts(Folder.open(tmp_path / "b")))
    ports = {fact.key: fact.value for fact in facts if fact.kind == "service.port"}
    assert ports == {name: bundle.inventory.ports[name] for name in ports}
    assert ports.keys() == {
        *("dcgm-exporter", "node-exporter", "bmc-exporter", "fabric-exporter", "storage-exporter", "cost-exporter"),
        *("slurm-exporter", "prometheus", "alertmanager", "grafana"),
    } - {"grafana"}
    nodes = {fact.key for fact in facts if fact.kind == "node.address" and fact.file.endswith("dcgm-exporter.json")}
    assert len(nodes) == 133


def test_sixty_four_more_nodes_are_lines_added_to_the_files_of_targets(
    catalog: Catalog, worked: Cluster, render_of: Render
) -> None:
    larger = design(load_spec(EXAMPLES / "llm-70b.yaml", ["compute.gpus=1536", "limits={}"], catalog), catalog)
    before, after = render_of(worked, "monitoring"), render(larger, catalog, ["monitoring"])
    path = "monitoring/main/prometheus/targets/dcgm-exporter.json"
    kept = set(before.files[path].text.splitlines()) & set(after.files[path].text.splitlines())
    assert len(kept) >= 128


def test_kubernetes_scrapes_kueue_and_kube_state_metrics_and_not_slurm(render_of: Render, company: Cluster) -> None:
    made = render_of(company, "monitoring")
    names = {path.rpartition("/")[2] for path in made.files if "/targets/" in path}
    assert {"kueue.json", "kube-state-metrics.json"} <= names
    assert "slurm-exporter.json" not in names
    assert not any("slurm_" in file.text for path, file in made.files.items() if "/rules/" in path)


def test_a_large_site_is_shared_out_over_pairs_by_rack_and_the_first_pair_sees_it_whole(catalog: Catalog) -> None:
    """16,384 GPUs: 2,070 nodes x (8 x 70 + 1,500 series) = 4.3 M, more than one server's 4 M, so two pairs."""
    made = render(design(load_spec(EXAMPLES / "llama-405b-16k.yaml", [], catalog), catalog), catalog, ["monitoring"])
    servers = {path: yaml.safe_load(f.text) for path, f in made.files.items() if _is_server(path)}
    assert len(servers) == 4
    shares, federating = [], []
    for read in servers.values():
        jobs = {job["job_name"]: job for job in read["scrape_configs"]}
        hashed, kept = jobs["dcgm-exporter"]["relabel_configs"][:2]
        assert (hashed["source_labels"], hashed["modulus"]) == (["rack"], 2)
        shares.append(kept["regex"])
        federating.append("federate" in jobs)
        assert ("slurm-exporter" in jobs) == (kept["regex"] == "0")
    assert shares == ["0", "0", "1", "1"]
    assert federating == [True, True, False, False]


def _is_server(path: str) -> bool:
    return path.count("/") == 3 and "/prometheus/" in path and path.endswith(".yml")


def test_scheduler_exporters_give_the_job_of_a_gpu_not_labels_on_its_series(bundle: Bundle) -> None:
    read = _yaml(bundle, "prometheus/s1-observability-0002.yml")
    job = next(job for job in read["scrape_configs"] if job["job_name"] == "dcgm-exporter")
    dropped = job["metric_relabel_configs"][0]
    assert dropped["action"] == "labeldrop"
    assert {"pod", "namespace", "hpc_job"} <= set(dropped["regex"].split("|"))
    board = _json(bundle, "grafana/dashboards/cw-job.json")
    assert "slurm_node_job{job_id=" in board["panels"][1]["targets"][0]["expr"]


# --- metrics and rules ---


def test_targets_of_row_five_of_the_product() -> None:
    assert (metric("gpu_utilisation").low, metric("gpu_utilisation").high) == (0.7, 0.9)
    assert metric("node_utilisation").low == 0.8
    assert metric("scaling_efficiency").low == 0.8
    assert metric("failure_rate").high == 0.05


def test_thresholds_are_the_designs_figures(bundle: Bundle, worked: Cluster) -> None:
    rules = _rules(bundle)
    limit = worked.value("facility.limit.power_w")
    assert limit == 10e6
    assert rules["site:power:ratio"]["expr"] == "site:power:watts / 10000000"
    assert rules["cluster:utilisation:ratio"]["expr"].endswith("/ 1024")
    assert rules["storage:bandwidth:ratio"]["expr"].count("/ 180000000000") == 1
    assert rules["storage:bandwidth:ratio"]["expr"].count("/ 130000000000") == 1
    assert "/ 50000000000" in rules["node:link_utilisation:ratio"]["expr"]
    assert rules["GpuMissing"]["expr"] == 'node:gpus:count{group=~"s1-compute|s1-spare"} < 8'
    assert rules["SparesExhausted"]["expr"].endswith("> 5")
    # 50 GB/s x 8 x 3,600 s x 1e-12 errors a bit
    assert "> 1440)" in rules["FabricLinkErrors"]["expr"]
    low = worked.frame.estimate("training[0].mfu").low
    assert f"cluster:mfu:ratio < {low:.6g} " in rules["TrainingBelowPlan"]["expr"]


def test_fatal_xids_page_and_teardown_and_ignored_ones_do_not(bundle: Bundle) -> None:
    """79: fallen off the bus; 48: uncorrectable memory; 119: firmware; 45 comes when jobs end; 63, 137 are ignored."""
    fatal = set(alerts_nodes.xids("critical").split("|"))
    assert {"46", "48", "62", "64", "79", "95", "119", "120", "140"} <= fatal
    silent = {"45", "63", "137", "43"}
    for severity in ("critical", "warning", "info"):
        assert not silent & set(alerts_nodes.xids(severity).split("|"))
    assert {"74", "94", "149"} <= set(alerts_nodes.xids("warning").split("|"))
    rule = _rules(bundle)["GpuFatalXid"]
    assert "DCGM_EXP_XID_ERRORS_COUNT{" in rule["expr"]
    assert "DCGM_FI_DEV_XID_ERRORS" not in "".join(f.text for p, f in bundle.files.items() if "/rules/" in p)


def test_every_alert_has_a_severity_a_team_a_reason_for_its_threshold_and_an_entry_in_the_handbook(
    bundle: Bundle,
) -> None:
    alerts = [rule for rule in _rules(bundle).values() if "alert" in rule]
    assert len(alerts) >= 40
    handbook = bundle.files["monitoring/main/alerts.md"].text
    for rule in alerts:
        assert rule["labels"].keys() == {"severity", "team"}
        assert rule["annotations"]["threshold"]
        assert f"## {rule['alert']}\n" in handbook
        anchor = rule["annotations"]["runbook_url"].partition("/monitoring/main/alerts.md#")[2]
        assert anchor == rule["alert"].lower()


def test_amd_gpus_are_watched_through_amds_exporter(catalog: Catalog, tmp_path: Path) -> None:
    made = render(design(load_spec(EXAMPLES / "mi300x-256.yaml", [], catalog), catalog), catalog, ["monitoring"])
    text = "".join(file.text for path, file in made.files.items() if not path.endswith("inventory.json"))
    assert "gpu_gfx_activity" in text
    assert "DCGM_" not in text
    made.write(tmp_path / "b")
    assert [check for check in verify(tmp_path / "b") if not check.ok] == []


def test_every_figure_and_series_of_the_table_is_known() -> None:
    exporters = {row["metric"] for row in table("exporters.csv")}
    records = {one.record for one in METRICS}
    traits = ("slurm", "kubernetes", "nvidia", "amd", "rdma", "ethernet", "lustre", "gpfs", "nfs", "posix", "training")
    seen: set[str] = set()
    for one in METRICS:
        for trait in traits:
            if text := one.text({trait}):
                from clusterwright.traces import placeholders

                read = queries.names(filled(text, dict.fromkeys(placeholders(text), 1.0)))
                assert {name for name in read.series if ":" not in name} <= exporters, one.name
                assert {name for name in read.series if ":" in name} <= seen | records, one.name
        seen.add(one.record)


# --- queries ---


@pytest.mark.parametrize(
    ("query", "series", "grouped"),
    [
        ('sum by (node) (rate(a_total{x="1", y!~"b|c"}[5m])) > 3', {"a_total": {"x", "y"}}, {"node"}),
        ("a:b:c * on (node) group_left () max by (node) (d)", {"a:b:c": set(), "d": set()}, {"node"}),
        ("histogram_quantile(0.95, sum by (le) (rate(h_bucket[$__rate_interval])))", {"h_bucket": set()}, {"le"}),
        ("1 - (sum(a == b) or vector(0)) / (sum(b) > 0)", {"a": set(), "b": set()}, set()),
    ],
)
def test_what_a_query_names(query: str, series: dict[str, set[str]], grouped: set[str]) -> None:
    read = queries.names(query)
    assert read.series == series
    assert read.grouped == grouped


@pytest.mark.parametrize("query", ["sum(a", "a)", "sum by (x (a)", "", "a{x=1}}", "a # only\n;"])
def test_a_query_that_cannot_be_read_is_refused(query: str) -> None:
    assert queries.wrong(query, {"a": frozenset({"x"})})


# --- Alertmanager ---


def test_a_critical_fault_of_a_gpu_wakes_somebody_and_a_wasted_one_does_not(bundle: Bundle) -> None:
    route = _yaml(bundle, "alertmanager/alertmanager.yml")["route"]
    assert routed(route, {"alertname": "GpuFatalXid", "severity": "critical", "team": "hardware"}) == ["on-call"]
    assert routed(route, {"alertname": "GpusWasted", "severity": "info", "team": "platform"}) == ["digest"]
    assert routed(route, {"alertname": "FabricCongested", "severity": "warning", "team": "fabric"}) == ["team-fabric"]


def test_one_rack_down_is_one_alert(bundle: Bundle) -> None:
    config = _yaml(bundle, "alertmanager/alertmanager.yml")
    rack = config["inhibit_rules"][0]
    assert rack["source_matchers"] == ['alertname="RackDown"']
    assert rack["equal"] == ["site", "rack"]
    critical = config["route"]["routes"][0]
    assert critical["group_by"] == ["site", "rack"]


# --- DCGM ---


def test_the_field_list_adds_what_nvidias_own_leaves_off(bundle: Bundle) -> None:
    text = bundle.files["monitoring/main/dcgm-exporter/counters.csv"].text
    rows = {row[0]: row for row in csv.reader(line for line in text.splitlines() if not line.startswith("#"))}
    for field in ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_EXP_XID_ERRORS_COUNT"):
        assert field in rows
    assert rows["DCGM_EXP_XID_ERRORS_COUNT"][1].strip() == "gauge"
    assert all(len(row) == 3 for row in rows.values())
    assert f"# {len(rows)} fields on 1064 GPUs: {len(rows) * 1064} series" in text
    assert len(rows) <= 70  # series of a GPU that the design counts on


def test_the_cost_page_holds_the_designs_price_and_the_tenants_quotas(bundle: Bundle, worked: Cluster) -> None:
    lines = bundle.files["monitoring/main/cost-exporter/cost.prom"].text.splitlines()
    assert f"clusterwright_gpu_hour_usd {worked.value('cost.usd_per_gpu_h'):.6g}" in lines
    assert 'clusterwright_tenant_quota_gpus{tenant="research"} 512' in lines
    assert 'clusterwright_tenant_quota_gpus{tenant="prod-serving"} 256' in lines


# --- names ---


@pytest.mark.parametrize("name", ['a"b', "$(reboot)", "a\nb", "ü", "{{ x }}", "x" * 300, "a'b", "a\\b", "-"])
def test_a_hostile_tenant_never_reaches_a_file(name: str, worked: Cluster, catalog: Catalog) -> None:
    from clusterwright.errors import InputError

    hostile = copy.deepcopy(worked)
    hostile.tables["tenants"]["name"][0] = name
    with pytest.raises(InputError) as error:
        render(hostile, catalog, ["monitoring"])
    assert {finding.code for finding in error.value.findings} <= {"DEPLOY-NAME", "DEPLOY-VALUE", "DEPLOY-DESIGN"}
