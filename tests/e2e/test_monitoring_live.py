"""The monitoring files at work: made-up exporters, a real Prometheus, a real Alertmanager, a listening webhook."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterwright.catalog import load_catalog
from clusterwright.deploy import Bundle, render
from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.design import design
from clusterwright.spec import load_spec

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = ("prometheus", "prometheus-alertmanager")
SITES = {"llm-70b": "main", "enterprise-1024-a100": "virginia"}
NODES = {"n1": "r1", "n2": "r1", "n3": "r2"}
GPUS = 8
pytestmark = pytest.mark.slow


class World:
    """What the made-up exporters say: two nodes work, one is held without a process; counters grow with time."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.fatal = False
        self.heard: list[tuple[str, dict[str, Any], float]] = []

    @property
    def age(self) -> float:
        return time.monotonic() - self.begun

    def page(self, job: str, node: str) -> str:
        exporter = {
            "node-exporter": "node_exporter",
            "bmc-exporter": "ipmi_exporter",
            "fabric-exporter": "infiniband_exporter",
            "storage-exporter": "lustre_exporter",
        }.get(job, job)
        rows = [row for row in table("exporters.csv") if row["exporter"] == exporter and row["metric"] != "up"]
        return "".join(line + "\n" for row in rows for line in self.lines(row, node))

    def lines(self, row: Any, node: str) -> Iterator[str]:
        name = row["metric"]
        for labels in self.labels(name, row["labels"].split(), node):
            value = self.value(name, row["type"], labels, node)
            if value is not None:
                inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
                yield f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"

    def labels(self, name: str, keys: list[str], node: str) -> Iterator[dict[str, str]]:
        """Label sets of a metric; several where rules join over them."""
        fixed = {
            "xid": "79",
            "window_size_in_ms": "300000",
            "fstype": "xfs",
            "mountpoint": "/",
            "device": "mlx5_0",
            "job_id": "7",
            "account": "research",
            "cluster_queue": "research",
            "tenant": "research",
            "size": "node",
            "component": "ost",
            "node_name": node,
            "resource": "nvidia_com_gpu" if name.startswith("kube_") else "nvidia.com/gpu",
            "condition": "Ready",
            "phase": "Running",
            "created_by_kind": "Job",
            "created_by_name": "7",
            "state_is_drain": "false",
            "is_unavailable": "false",
            "guid": "0x1",
            "switch": "sw1",
        }
        made = {key: fixed.get(key, "true" if key == "status" else key) for key in keys}
        if "gpu" in keys:
            for gpu in range(GPUS):
                yield made | {"gpu": str(gpu), "UUID": f"GPU-{node}-{gpu}"}
        elif "le" in keys:
            for most in ("60", "300", "+Inf"):
                yield made | {"le": most}
        elif "node" in keys or "node_name" in keys:
            for one in NODES:
                yield made | {"node" if "node" in keys else "node_name": one} | ({"pod": one} if "pod" in keys else {})
        elif "pod" in keys:
            yield from (made | {"pod": one} for one in NODES)
        elif "fstype" in keys:
            yield from (made | {"fstype": kind, "mountpoint": f"/{kind}"} for kind in ("xfs", "wekafs"))
        elif name == "slurm_jobs_ended_total":
            yield from (made | {"state": state} for state in ("COMPLETED", "NODE_FAIL"))
        else:
            yield made

    def value(self, name: str, kind: str, labels: dict[str, str], node: str) -> float | None:
        held = {"slurm_node_gpus_allocated": {"n3": 4}, "kube_pod_container_resource_requests": {"n3": 4}}
        which = labels.get("node") or labels.get("node_name") or node
        if name == "DCGM_EXP_XID_ERRORS_COUNT":
            return 1.0 if self.fatal and node == "n2" and labels["gpu"] == "5" else None
        if name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_UTIL"):
            return 4.0 if node == "n3" else 90.0 if name.endswith("UTIL") else 70000.0
        if name in held:
            return float(held[name].get(which, GPUS))
        if name == "kube_node_spec_unschedulable":
            return 0.0
        if name == "ipmi_dcmi_power_consumption_watts":
            return 9000.0
        if kind in ("counter", "histogram"):
            return round(self.age * (0 if labels.get("le") == "60" else 10), 3)
        if "PROF" in name or name.startswith("kube_") or name.endswith("_info"):
            return 1.0 if "PROF" not in name else 0.5
        return 2.0


class Handler(http.server.BaseHTTPRequestHandler):
    world: World

    def do_GET(self) -> None:
        _, job, node = self.path.split("?")[0].split("/")
        body = self.world.page(job, node).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.world.heard += [(self.path.strip("/"), alert, time.monotonic()) for alert in body["alerts"]]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _configure(bundle: Bundle, site: str, folder: Path, web: int, prometheus: int, manager: int) -> None:
    """The bundle's own files; only addresses, intervals and waiting times are those of the test."""
    base = f"monitoring/{site}"
    read = yaml.safe_load(bundle.files[f"{base}/prometheus/s1-observability-0002.yml"].text)
    read["global"] |= {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    del read["remote_write"]
    told = [{"static_configs": [{"targets": [f"127.0.0.1:{manager}"]}]}]
    read["alerting"]["alertmanagers"] = told
    jobs = []
    for job in read["scrape_configs"]:
        own = {"prometheus": prometheus, "alertmanager": manager}.get(job["job_name"])
        per_node = job["job_name"] in ("dcgm-exporter", "node-exporter", "bmc-exporter")
        for node, rack in NODES.items() if per_node else [("n1", "r1")]:
            target = {
                "targets": [f"127.0.0.1:{own or web}"],
                "labels": {"node": node, "rack": rack, "group": "s1-compute"},
            }
            jobs.append(
                {
                    "job_name": job["job_name"] + (f"-{node}" if per_node else ""),
                    "scrape_interval": "1s",
                    "scrape_timeout": "1s",
                    "metrics_path": "/metrics" if own else f"/{job['job_name']}/{node}",
                    "static_configs": [target],
                    "relabel_configs": [
                        {"source_labels": ["node"], "target_label": "instance"},
                        {"target_label": "job", "replacement": job["job_name"]},
                        *(rule for rule in job["relabel_configs"] if rule.get("action") == "labeldrop"),
                    ],
                    "metric_relabel_configs": job.get("metric_relabel_configs", []),
                }
            )
    read["scrape_configs"] = jobs
    (folder / "rules").mkdir()
    (folder / "prometheus.yml").write_text(yaml.safe_dump(read))
    for path, file in bundle.files.items():
        if path.startswith(f"{base}/prometheus/rules/"):
            (folder / "rules" / path.rpartition("/")[2]).write_text(file.text.replace("interval: 30s", "interval: 1s"))
    alerting = yaml.safe_load(bundle.files[f"{base}/alertmanager/alertmanager.yml"].text)
    alerting["global"] = {"resolve_timeout": "1m"}
    alerting["receivers"] = [
        {"name": one["name"], "webhook_configs": [{"url": f"http://127.0.0.1:{web}/{one['name']}"}]}
        for one in alerting["receivers"]
    ]
    for route in [alerting["route"], *alerting["route"]["routes"]]:
        route |= {"group_wait": "1s", "group_interval": "1s"}
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(alerting))


@contextlib.contextmanager
def _running(words: list[str], folder: Path, name: str) -> Iterator[None]:
    with (folder / f"{name}.log").open("w") as log, subprocess.Popen(words, cwd=folder, stdout=log, stderr=log) as one:
        try:
            yield
        finally:
            one.terminate()
            one.wait(20)


def _asked(port: int, query: str) -> list[Any]:
    text = urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{text}", timeout=20) as answer:
        found = json.load(answer)
    assert found["status"] == "success"
    return list(found["data"]["result"])


def _wait(seconds: float, check: Any) -> float:
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        with contextlib.suppress(OSError):
            if check():
                return time.monotonic() - begun
        time.sleep(0.3)
    raise AssertionError(f"not within {seconds:g} s")


@pytest.fixture(params=list(SITES))
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[World, int, Bundle, str]]:
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is absent: sudo apt install prometheus prometheus-alertmanager")
    catalog = load_catalog()
    cluster = design(load_spec(EXAMPLES / f"{request.param}.yaml", [], catalog), catalog)
    bundle, site = render(cluster, catalog, ["monitoring"]), SITES[request.param]
    world = World()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"world": world}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    prometheus, manager = _port(), _port()
    _configure(bundle, site, tmp_path, server.server_address[1], prometheus, manager)
    managing = [
        *(
            "prometheus-alertmanager",
            "--config.file=alertmanager.yml",
            "--storage.path=am",
            "--cluster.listen-address=",
        ),
        f"--web.listen-address=127.0.0.1:{manager}",
    ]
    watching = [
        *("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", "--log.level=warn"),
        f"--web.listen-address=127.0.0.1:{prometheus}",
    ]
    with _running(managing, tmp_path, "alertmanager"), _running(watching, tmp_path, "prometheus"):
        yield world, prometheus, bundle, site
    server.shutdown()
    server.server_close()


def test_every_panel_shows_data_and_a_fatal_gpu_error_reaches_who_is_on_call(
    live: tuple[World, int, Bundle, str],
) -> None:
    world, port, bundle, site = live
    _wait(60, lambda: _asked(port, "cluster:bottleneck:score") and _asked(port, "cluster:throughput:jobs_per_hour"))
    world.fatal = True
    begun = time.monotonic()
    _wait(15, lambda: any(alert["labels"]["alertname"] == "GpuFatalXid" for _, alert, _ in world.heard))
    receiver, alert, at = next(one for one in world.heard if one[1]["labels"]["alertname"] == "GpuFatalXid")
    assert receiver == "on-call"
    assert at - begun < 15
    assert alert["labels"]["node"] == "n2"
    assert alert["labels"]["gpu"] == "5"
    assert alert["labels"]["xid"] == "79"
    assert alert["labels"]["site"] == site
    assert "replica" not in alert["labels"]
    assert alert["annotations"]["summary"] == "n2 GPU 5: fatal XID 79"
    time.sleep(3)
    empty = [found for found in _panels(bundle, site) if not _asked(port, found[2])]
    assert empty == []
    failing = _asked(port, "increase(prometheus_rule_evaluation_failures_total[1m]) > 0")
    assert failing == []
    wasted = _asked(port, 'node:gpus_wasted:count{node="n3"}')
    assert [one["value"][1] for one in wasted] == ["4"]  # eight without a process, four of them free


def _panels(bundle: Bundle, site: str) -> Iterator[tuple[str, str, str]]:
    for path, file in bundle.files.items():
        if path.startswith(f"monitoring/{site}/grafana/dashboards/"):
            board = json.loads(file.text)
            for panel in board["panels"]:
                for target in panel.get("targets", []):
                    query = target["expr"].replace("$job", "7").replace('=~"$node"', '=~"n.*"')
                    yield board["uid"], panel["title"], re.sub(r"\$__\w+", "30s", query)
