"""Status from recorded answers of Slurm 22.05.8 and a Prometheus that speaks its HTTP interface, or is not there."""

import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterwright.errors import WorldError
from clusterwright.operate import Site, Slurm, measured, status
from clusterwright.traces import JobTable, NodeSamples, sacct_file, with_use

DATA = Path(__file__).parent / "data"
TRACES = Path(__file__).parents[1] / "traces" / "data"
BEGIN, END = 1796120700_000000, 1796121400_000000
SQUEUE = (
    "41|41|RUNNING|research|normal|train|alice|2|n[1-2]|gres/gpu=16|0|1796121000|1796121000|10:00|N/A|2|None\n"
    "42|42|PENDING|product|normal|train|bob|1||gres/gpu=8|0|1796121000|N/A|10:00|N/A|1|Prio\x1b[31mrity\n"
)
NOBODY = "http://127.0.0.1:9"


class Answers:
    """What the made-up Prometheus says: series now, alerts, and series over time by name."""

    def __init__(self) -> None:
        self.now: dict[str, tuple[dict[str, str], float]] = {}
        self.alerts: list[dict[str, Any]] = []
        self.over: dict[str, dict[str, float]] = {}
        self.url = ""

    def data(self, path: str) -> Any:
        if "/alerts" in path:
            return {"alerts": self.alerts}
        if "/query_range" in path:
            asked = {key: one[0] for key, one in urllib.parse.parse_qs(urllib.parse.urlsplit(path).query).items()}
            start, end, step = (float(asked[key]) for key in ("start", "end", "step"))
            times = np.arange(start, end, step)
            rows = self.over.get(asked["query"], {})
            return {
                "result": [{"metric": {"node": n}, "values": [[t, str(v)] for t in times]} for n, v in rows.items()]
            }
        made = [{"metric": {"__name__": n, **ls}, "value": [1.0, str(v)]} for n, (ls, v) in self.now.items()]
        return {"resultType": "vector", "result": made}


@pytest.fixture
def prometheus() -> Iterator[Answers]:
    said = Answers()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"status": "success", "data": said.data(self.path)}).encode())

        def log_message(self, *_: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    said.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield said
    server.shutdown()
    server.server_close()


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Recorded answers of the clients; the set names those that fail."""
    down: set[str] = set()

    def run(self: Slurm, *words: str, **_: Any) -> str:
        if words[0] in down:
            raise self._failed(words, "no answer within 20 s", "scontrol ping")
        if words[0] == "scontrol":
            return (DATA / "scontrol-nodes.txt").read_text("utf-8")
        if words[0] == "squeue":
            return SQUEUE
        separator = next(word for word in words if word.startswith("--delimiter=")).partition("=")[2]
        text = (TRACES / "sacct-22.05-local-time.txt").read_text("utf-8")
        return text.replace("5f1c9a0b7e", separator)

    monkeypatch.setattr(Slurm, "run", run)
    return down


def site(url: str | None) -> Site:
    return Site(Path("site.yaml"), "t", Path("state"), prometheus=url)


def test_without_prometheus_slurm_alone_is_shown_and_it_is_said(slurm: set[str]) -> None:
    found = status(site(NOBODY), BEGIN, END)
    assert found.blind == ("prometheus",)
    assert any(one.code == "STATUS-BLIND" and "refused" in one.message for one in found.findings)
    assert found.measures.get("gpu_utilisation").verdict == "unknown"
    assert found.measures.get("failure_rate").verdict == "missed"
    assert dict(found.nodes) == {"idle": 4, "drained": 1}
    assert [(one["node"], one["reason"]) for one in found.out] == [("s1-compute-0004", "cw: xid 79 [gpu 3]")]
    assert found.measures.get("stranded").value == pytest.approx(8 / 40)
    assert found.jobs == [
        {"team": "product", "running": 0, "waiting": 1, "gpus_held": 0},
        {"team": "research", "running": 1, "waiting": 0, "gpus_held": 16},
    ]
    assert dict(found.reasons) == {"Prio?[31mrity": 1}


def test_prometheus_counts_for_what_is_now_and_accounting_for_events(slurm: set[str], prometheus: Answers) -> None:
    prometheus.now = {
        "cluster:gpu_utilisation:ratio": ({}, 0.8),
        "cluster:failure_rate:ratio": ({}, 0.0),
        "cluster:mfu:ratio": ({}, float("nan")),
        "rack:power:watts": ({"rack": "r1"}, 5.0),
        "cluster:bottleneck:score": ({"resource": "network"}, 0.9),
        "nobody:asked": ({}, 1.0),
    }
    prometheus.alerts = [
        {"labels": {"alertname": "GpuFatalXid", "node": "n1"}, "state": "firing", "activeAt": "2026-12-01T10:00:00Z"},
        {"labels": {"alertname": "Soon"}, "state": "pending", "activeAt": "2026-12-01T10:00:00Z"},
    ]
    found = status(site(prometheus.url), BEGIN, END)
    use = found.measures.get("gpu_utilisation")
    assert (use.value, use.verdict, use.source) == (0.8, "met", "prometheus")
    assert found.measures.get("failure_rate").source == "jobs"
    assert found.measures.get("mfu").value is None
    assert found.measures.get("rack_power", rack="r1").value == 5.0
    assert found.measures.bottleneck == "network"
    assert [one.name for one in found.alerts] == ["GpuFatalXid"]
    assert found.blind == ()
    json.dumps(found.to_dict(), allow_nan=False)


def test_each_source_that_is_down_is_named_and_the_others_are_shown(slurm: set[str], prometheus: Answers) -> None:
    prometheus.now = {"cluster:gpu_utilisation:ratio": ({}, 0.8)}
    slurm |= {"scontrol", "sacct"}
    found = status(site(prometheus.url), BEGIN, END)
    assert found.blind == ("slurmctld", "slurmdbd")
    assert found.measures.get("gpu_utilisation").value == 0.8
    slurm -= {"sacct"}  # slurmctld alone is down: waits and failures are known, shares of the cluster are not
    found = status(site(None), BEGIN, END)
    assert found.measures.get("failure_rate").value == pytest.approx(3 / 20)  # jobs 3, 6 and 15 of 20 that ended
    assert "size of the cluster" in found.measures.get("cluster_utilisation").why
    assert found.measures.bottleneck == "none"
    slurm |= {"sacct"}
    slurm -= {"scontrol"}
    assert status(site(None), BEGIN, END).blind == ("slurmdbd", "prometheus")


def test_when_nobody_answers_it_is_a_failure_of_the_world(slurm: set[str]) -> None:
    slurm |= {"scontrol", "sacct", "squeue"}
    with pytest.raises(WorldError) as caught:
        status(site(NOBODY), BEGIN, END)
    assert {one.code for one in caught.value.findings} == {"OPERATE-SLURM", "OPERATE-PROMETHEUS"}


# --- use of jobs from samples of their nodes ---


def test_utilisation_and_energy_of_a_job_are_means_over_its_nodes_and_time() -> None:
    at = np.arange(0, 60, 10) * 1_000_000
    busy = NodeSamples(at, {"n1": np.array([0, 0.4, 0.6, 0, 0, 0]), "n2": np.array([0, 1.0, 0.8, np.nan, 0, 0])})
    power = NodeSamples(at, {"n1": np.full(6, 4000.0), "n2": np.full(6, 8000.0)})
    table = JobTable.of(
        [1, 2, 3, 4], start_us=[5_000000, 12_000000, 0, -1], end_us=[25_000000, 13_000000, 9_000000, -1],
        gpus=[16, 4, 8, 8], node_list=["n[1-2]", "n1", "n3", ""], utilisation=[np.nan, np.nan, np.nan, 0.3],
    )  # fmt: skip
    found = with_use(table, 60_000000, 8, busy, power)
    assert found.utilisation[0] == pytest.approx((0.4 + 0.6 + 1.0 + 0.8) / 4)
    assert found.energy_j[0] == pytest.approx((4000 + 8000) * 20)  # two nodes for 20 s
    assert found.utilisation[1] == pytest.approx(0.6)  # shorter than a step: the next sample
    assert found.energy_j[1] == pytest.approx(4000 / 2)  # half a node for 1 s
    assert np.isnan(found.utilisation[2])  # nobody sampled n3
    assert found.utilisation[3] == 0.3  # known already


def test_jobs_are_measured_by_what_prometheus_kept_of_their_nodes(prometheus: Answers) -> None:
    jobs = sacct_file(TRACES / "sacct-22.05-steps.txt").jobs
    nodes = [f"s1-compute-000{i}" for i in range(1, 5)]
    for name, value in (("node:gpu_utilisation:ratio", 0.5), ("node:power:watts", 4000.0), ("node:gpus:count", 8.0)):
        prometheus.over[name] = dict.fromkeys(nodes, value)
    found, said = measured(site(prometheus.url), jobs, END)
    assert said == []
    ran = (found.start_us >= 0) & (found.end_us > found.start_us) & ~found.node_list.are("")
    assert found.utilisation[ran].tolist() == pytest.approx([0.5] * int(ran.sum()))
    i = int(np.flatnonzero(found.job_id == 1)[0])
    assert found.energy_j[i] == pytest.approx(2 * 4000 * 20)  # two whole nodes for 20 s


def test_without_samples_jobs_stay_as_they_are_and_it_is_said(prometheus: Answers) -> None:
    jobs = sacct_file(TRACES / "sacct-22.05-steps.txt").jobs
    for url in (NOBODY, prometheus.url):
        found, said = measured(site(url), jobs, END)
        assert found is jobs
        assert [one.code for one in said] == ["ACCOUNT-NO-SAMPLES"]
    assert measured(site(None), jobs, END) == (jobs, [])
