"""Faults planted in the monitoring files: each must be caught by our own reading, without any tool."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle
from tests.unit.deploy.conftest import planted

Edit = Callable[[str], str]


def swap(old: str, new: str) -> Edit:
    """The first place only."""
    return lambda text: text.replace(old, new, 1)


def drop(pattern: str) -> Edit:
    """The first line that fits."""
    return lambda text: re.sub(rf"^.*{pattern}.*\n", "", text, count=1, flags=re.MULTILINE)


def change(pattern: str, new: str) -> Edit:
    """The first place that fits a regular expression."""
    return lambda text: re.sub(pattern, new, text, count=1, flags=re.MULTILINE | re.DOTALL)


def double(pattern: str) -> Edit:
    """The first line that fits, twice."""
    return lambda text: re.sub(rf"^(.*{pattern}.*\n)", r"\1\1", text, count=1, flags=re.MULTILINE)


SERVER = "prometheus/s1-observability-0002.yml"
FLAGS = "prometheus/s1-observability-0002.default"
GPUS = "prometheus/targets/dcgm-exporter.json"
HOSTS = "prometheus/targets/node-exporter.json"
CONTROLLERS = "prometheus/targets/bmc-exporter.json"
NODE_RECORDS = "prometheus/rules/node-records.yml"
SITE_RECORDS = "prometheus/rules/site-records.yml"
NODE_ALERTS = "prometheus/rules/node-alerts.yml"
SITE_ALERTS = "prometheus/rules/site-alerts.yml"
NODE_TESTS = "prometheus/tests/node.test.yml"
SITE_TESTS = "prometheus/tests/site.test.yml"
HANDBOOK = "alerts.md"
MANAGER = "alertmanager/alertmanager.yml"
MANAGER_FLAGS = "alertmanager/s1-observability-0001.default"
COUNTERS = "dcgm-exporter/counters.csv"
ENVIRONMENT = "dcgm-exporter/dcgm-exporter.env"
EXPORTER = "slurm-exporter/slurm_exporter.py"
PRICES = "cost-exporter/cost.prom"
SOURCES = "grafana/provisioning/datasources/clusterwright.yml"
PROVIDERS = "grafana/provisioning/dashboards/clusterwright.yml"
BOARD = "grafana/dashboards/cw-cluster.json"
GPU_BOARD = "grafana/dashboards/cw-gpu.json"

FAULTS: list[tuple[str, str, Edit]] = [
    # Prometheus
    ("misspelt key", SERVER, swap("scrape_interval", "scrape_intervall")),
    ("bad unit", SERVER, swap("scrape_interval: 30s", "scrape_interval: 30sec")),
    ("timeout longer than the interval", SERVER, swap("scrape_timeout: 25s", "scrape_timeout: 45s")),
    ("series would end between scrapes", SERVER, swap("scrape_interval: 60s", "scrape_interval: 10m")),
    ("rule file that is not there", SERVER, swap("rules/site-alerts.yml", "rules/site-alarms.yml")),
    ("targets that are not there", SERVER, swap("targets/dcgm-exporter.json", "targets/dcgm.json")),
    ("secret in the file", SERVER, swap("credentials_file: secrets/remote-write.token", "credentials: hunter2")),
    ("label of the replica is missing", SERVER, drop("replica: ")),
    ("two jobs of one name", SERVER, swap("job_name: node-exporter", "job_name: dcgm-exporter")),
    ("unknown action", SERVER, swap("action: labeldrop", "action: labelremove")),
    ("exporter of the controllers at another port", SERVER, swap(":9290", ":9291")),
    ("labels of the exporter's host", SERVER, swap("regex: node|rack|group", "regex: rack|group")),
    ("no Alertmanager", SERVER, swap("targets/alertmanager.json", "targets/alertmanagers.json")),
    ("not YAML", SERVER, swap("global:", "global: [")),
    ("flag that does not exist", FLAGS, swap("--storage.tsdb.retention.time", "--storage.tsdb.retention.days")),
    ("retention without a unit", FLAGS, swap("retention.time=90d", "retention.time=90")),
    ("size in an unknown unit", FLAGS, lambda text: re.sub(r"(retention.size=\d+)GB", r"\1Go", text)),
    ("another port than in the table", FLAGS, swap(":9090 ", ":9091 ")),
    ("file of another server", FLAGS, swap("s1-observability-0002.yml", "s1-observability-0003.yml")),
    ("no arguments", FLAGS, swap("ARGS=", "ARG=")),
    # targets
    ("a node is missing", GPUS, drop("s1-compute-0007")),
    ("a spare is missing", GPUS, drop("s1-spare-0002")),
    ("address of another node", GPUS, swap("10.0.1.3:", "10.0.1.4:")),
    ("wrong port", GPUS, lambda text: text.replace(":9400", ":9401")),
    ("wrong rack", GPUS, swap("s1-p01-r01", "s1-p01-r02")),
    ("a node twice", GPUS, double("s1-compute-0007")),
    ("unknown host", GPUS, swap("s1-compute-0009", "s1-compute-9999")),
    ("no address", GPUS, swap("10.0.1.3:", "10.0.1.333:")),
    ("label that joins need is missing", GPUS, swap('"group": "s1-compute"', '"groups": "s1-compute"')),
    ("a login node is not watched", HOSTS, drop("s1-login-0001")),
    ("a controller is not watched", CONTROLLERS, drop("s1-scheduler-0001")),
    ("not JSON", HOSTS, swap("[", "")),
    # recording rules
    ("unknown metric", NODE_RECORDS, swap("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_USE")),
    ("unknown label", NODE_RECORDS, swap("by (node, rack, group)", "by (host, rack, group)")),
    ("unknown function", NODE_RECORDS, swap("rate(", "ratio(")),
    ("bracket not closed", NODE_RECORDS, swap("/ 100", "/ (100")),
    ("name that says nothing", NODE_RECORDS, swap("record: node:gpus:count", "record: gpus")),
    ("bad interval", NODE_RECORDS, swap("interval: 30s", "interval: 30")),
    ("misspelt key of a rule", SITE_RECORDS, swap("- record:", "- records:")),
    ("series that nothing records", SITE_RECORDS, swap("record: node:gpus_free:count", "record: node:gpus_idle:count")),
    ("two rules of one name", SITE_RECORDS, swap("record: cluster:wasted:ratio", "record: cluster:stranded:ratio")),
    ("rule without a query", SITE_RECORDS, drop("expr: sum\\(slurm_queue_pending\\)")),
    ("metric of the other scheduler's exporter", SITE_RECORDS, swap("slurm_queue_pending", "slurm_jobs_waiting")),
    # alerts
    ("no severity", NODE_ALERTS, drop("severity: critical")),
    ("unknown severity", NODE_ALERTS, swap("severity: critical", "severity: page")),
    ("unknown team", NODE_ALERTS, swap("team: hardware", "team: metal")),
    ("no summary", NODE_ALERTS, drop("summary: ")),
    ("no reason for the threshold", NODE_ALERTS, drop("threshold: ")),
    ("entry of the handbook that is not there", NODE_ALERTS, swap("alerts.md#gpufatalxid", "alerts.md#gpuxid")),
    ("bad duration", NODE_ALERTS, swap("for: 5m", "for: 5min")),
    ("two alerts of one name", NODE_ALERTS, swap("alert: GpuRowsRemapped", "alert: GpuFatalXid")),
    ("unknown series", NODE_ALERTS, swap("node_infiniband_state_id", "node_infiniband_port_state")),
    ("unknown matcher", NODE_ALERTS, swap('{xid=~"', '{code=~"')),
    ("template not closed", NODE_ALERTS, swap("{{ $labels.node }}", "{{ $labels.node }")),
    ("unknown key", SITE_ALERTS, swap("  for: ", "  wait: ")),
    ("query cut off", SITE_ALERTS, swap("expr: site:power:ratio > 1\n", "expr: 'sum(site:power:ratio > 1'\n")),
    ("alert on a metric that nobody records", SITE_ALERTS, swap("site:power:ratio > 1", "site:power:share > 1")),
    # tests of rules
    ("rule file that is not in the bundle", NODE_TESTS, swap("../rules/node-records.yml", "../rules/nodes.yml")),
    ("series that no exporter gives", NODE_TESTS, swap("DCGM_EXP_XID_ERRORS_COUNT", "DCGM_XID_COUNT")),
    ("label that the series has not", NODE_TESTS, swap('xid="79"', 'code="79"')),
    ("misspelt key of a test", NODE_TESTS, swap("input_series", "inputs")),
    ("query that cannot be read", SITE_TESTS, swap("round(sum(", "round(sum((")),
    ("no tests", SITE_TESTS, lambda text: text[: text.index("tests:")] + "tests: []\n"),
    # handbook
    ("alert without an entry", HANDBOOK, drop("## GpuFatalXid")),
    ("entry of no alert", HANDBOOK, swap("## NodeDown", "## NodeLost")),
    ("entry renamed", HANDBOOK, swap("## RackDown", "## Rackdown now")),
    ("entry without a threshold", HANDBOOK, drop("Threshold: ")),
    ("entry without a first step", HANDBOOK, drop("First: ")),
    # Alertmanager
    ("receiver that is not there", MANAGER, swap("receiver: on-call", "receiver: oncall")),
    ("receiver that nobody reaches", MANAGER, swap("- name: team-storage", "- name: team-disks")),
    ("critical alerts go to the digest", MANAGER, swap("receiver: on-call", "receiver: digest")),
    ("bad duration of a route", MANAGER, swap("group_wait: 10s", "group_wait: 10 s")),
    ("matcher that cannot be read", MANAGER, swap('severity="critical"', 'severity == "critical"')),
    ("secret of Alertmanager in the file", MANAGER, swap("smtp_auth_password_file:", "smtp_auth_password:")),
    ("key of a pager in the file", MANAGER, swap("routing_key_file:", "routing_key:")),
    ("misspelt key of a route", MANAGER, swap("group_by:", "groupby:")),
    ("receiver without an address", MANAGER, swap("  email_configs:", "  mail_configs:")),
    ("inhibition without its labels", MANAGER, swap("  equal:\n  - site\n  - rack\n", "")),
    ("regular expression that is none", MANAGER, swap('node=~".+"', 'node=~".+("')),
    ("another port of Alertmanager", MANAGER_FLAGS, swap(":9093 ", ":9095 ")),
    ("unknown flag of Alertmanager", MANAGER_FLAGS, swap("--cluster.peer", "--cluster.peers")),
    ("address of another server", MANAGER_FLAGS, change(r"listen-address=10[.\d]+", "listen-address=10.9.9.9")),
    ("no configuration", MANAGER_FLAGS, swap("--config.file=/etc/prometheus/alertmanager.yml ", "")),
    ("a quote is missing", MANAGER_FLAGS, lambda text: text.rstrip("\n").rstrip('"') + "\n"),
    # dcgm-exporter
    ("field that DCGM has not", COUNTERS, swap("DCGM_FI_DEV_GPU_TEMP,", "DCGM_FI_DEV_GPU_TEMPERATURE,")),
    ("wrong type", COUNTERS, swap("DCGM_FI_DEV_FB_USED, gauge", "DCGM_FI_DEV_FB_USED, counter")),
    ("field that an alert needs is missing", COUNTERS, drop("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL")),
    ("field that a panel needs is missing", COUNTERS, drop("DCGM_FI_DEV_MEMORY_TEMP")),
    ("a field twice", COUNTERS, double("DCGM_FI_DEV_SM_CLOCK")),
    ("a column is missing", COUNTERS, swap("DCGM_FI_DEV_FB_USED, gauge,", "DCGM_FI_DEV_FB_USED gauge,")),
    ("port of dcgm-exporter", ENVIRONMENT, swap(":9400", ":9500")),
    ("window of the XIDs in minutes", ENVIRONMENT, swap("=300000", "=5m")),
    ("window of the XIDs in seconds", ENVIRONMENT, swap("=300000", "=300")),
    ("variable of another program", ENVIRONMENT, swap("DCGM_EXPORTER_LISTEN", "LISTEN")),
    ("no field list", ENVIRONMENT, drop("DCGM_EXPORTER_COLLECTORS")),
    # Slurm's exporter
    ("port of the exporter", EXPORTER, swap("PORT = 8080", "PORT = 8081")),
    ("a bracket is missing", EXPORTER, swap("def fields(line):", "def fields(line:")),
    ("indentation", EXPORTER, swap("    found = list(", "   found = list(")),
    ("a string is not closed", EXPORTER, swap('"scontrol"', '"scontrol')),
    ("another series", EXPORTER, swap('"slurm_node_job"', '"slurm_job_node"')),
    ("another label", EXPORTER, swap('_gpus_total", {"node_name":', '_gpus_total", {"nodename":')),
    # prices
    ("price that is no number", PRICES, lambda text: re.sub(r"(?m)^(clusterwright_gpu_hour_usd) .*$", r"\1 USD", text)),
    ("price is missing", PRICES, lambda text: re.sub(r"(?m)^clusterwright_gpu_hour_usd .*\n", "", text)),
    ("another quota", PRICES, swap('{tenant="research"} 512', '{tenant="research"} 640')),
    ("unknown tenant", PRICES, swap('{tenant="research"}', '{tenant="researchers"}')),
    ("no type", PRICES, drop("TYPE clusterwright_carbon_grams_per_kwh")),
    ("unknown price", PRICES, lambda text: text.replace("energy_usd_per_kwh", "energy_usd")),
    ("another port of the cost page", PRICES, swap("--web.listen-address=:9444", "--web.listen-address=:9445")),
    # Grafana
    ("address of no host", SOURCES, change(r"http://[0-9.]+:", "http://10.250.0.1:")),
    ("port of no Prometheus", SOURCES, swap(":9090", ":9000")),
    ("two data sources of one uid", SOURCES, lambda text: re.sub(r"uid: cw-\S+", "uid: cw-one", text)),
    ("no default", SOURCES, swap("isDefault: true", "isDefault: false")),
    ("misspelt key of a source", SOURCES, swap("jsonData:", "json_data:")),
    ("version of provisioning", SOURCES, swap("apiVersion: 1", "apiVersion: 2")),
    ("secret of a source", SOURCES, swap("  access: proxy", "  access: proxy\n  password: hunter2")),
    ("no path of dashboards", PROVIDERS, drop("path: ")),
    ("misspelt key of a provider", PROVIDERS, swap("disableDeletion", "disableDelete")),
    ("provider without a type", PROVIDERS, drop("type: file")),
    ("version of providers", PROVIDERS, swap("apiVersion: 1", "apiVersion: '1'")),
    ("providers of another kind", PROVIDERS, swap("providers:", "provider:")),
    ("unit that Grafana has not", BOARD, swap('"unit": "percentunit"', '"unit": "percents"')),
    ("two panels of one number", BOARD, swap('"id": 2,', '"id": 1,')),
    ("panels overlap", BOARD, swap('"x": 4,', '"x": 3,')),
    ("panel outside the grid", BOARD, swap('"x": 20,', '"x": 22,')),
    ("query of a series that nobody records", BOARD, swap("cluster:gpu_utilisation:ratio", "cluster:gpu_use:ratio")),
    ("data source of somebody else", BOARD, swap('"uid": "${datasource}"', '"uid": "P1234"')),
    ("uid of another dashboard", BOARD, swap('"uid": "cw-cluster"', '"uid": "cw-job"')),
    ("no title", BOARD, lambda text: re.sub(r'"title": "Bottleneck"', '"title": ""', text)),
    ("kind of panel that is none", BOARD, swap('"type": "stat"', '"type": "stats"')),
    ("variable that is not there", GPU_BOARD, swap('"name": "node"', '"name": "host"')),
    ("variable over a label that is none", GPU_BOARD, swap("node:gpus:count, node)", "node:gpus:count, host)")),
    ("panel without a query", GPU_BOARD, change(r'"targets": \[.*?^   \],', '"targets": [],')),
    ("bracket of a panel's query", GPU_BOARD, swap("rate(DCGM_FI", "rate((DCGM_FI")),
]  # fmt: skip


@pytest.fixture(scope="module")
def bundle(render_of: Callable[..., Bundle], worked: Cluster) -> Bundle:
    return render_of(worked, "monitoring")


@pytest.mark.parametrize(("what", "path", "edit"), FAULTS, ids=[f"{p.rpartition('/')[2]}: {w}" for w, p, _ in FAULTS])
def test_a_planted_fault_is_caught_without_any_tool(
    what: str, path: str, edit: Edit, bundle: Bundle, tmp_path: Path
) -> None:
    failed = planted(bundle, f"monitoring/main/{path}", edit, tmp_path / "b", live=False)
    assert failed, what
    assert all(check.message for check in failed)


def test_every_kind_of_file_has_at_least_five_faults() -> None:
    kinds: dict[str, int] = {}
    for _, path, _ in FAULTS:
        kind = re.sub(r"s1-\S+-0001|s1-\S+-0002|node[.-]|site[.-]|cw-\w+|targets/.*", "", path)
        kinds[kind] = kinds.get(kind, 0) + 1
    assert min(kinds.values()) >= 5, kinds


LIVE: list[tuple[str, str, Edit]] = [
    ("grammar that our own reading does not know", NODE_RECORDS, swap("/ 100", "100")),
    ("a test that expects something else", SITE_TESTS, swap("value: 0.4", "value: 0.5")),
    ("matching that Prometheus refuses", SITE_RECORDS, swap("clamp_min(", "clamp_min(1, ")),
]


@pytest.mark.parametrize(("what", "path", "edit"), LIVE, ids=[what for what, _, _ in LIVE])
def test_a_fault_that_only_promtool_sees_is_caught_by_it(
    what: str, path: str, edit: Edit, bundle: Bundle, tmp_path: Path
) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is absent: sudo apt install prometheus")
    failed = planted(bundle, f"monitoring/main/{path}", edit, tmp_path / "b", live=True)
    assert any(check.judge == "promtool" for check in failed), what
