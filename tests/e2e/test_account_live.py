"""Accounting and status on a real Slurm with a real Prometheus: hostile names, a requeue, a month that sums."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.lab, pytest.mark.slow]
SMALL = (
    *("--set", "compute.gpus=32"),
    *("--set", "tenants=[{name: research, quota: 16}, {name: product, quota: 12}, {name: students, quota: 4}]"),
)
NAMES = (
    "plain",
    "pipe|name|x",
    "new\n99|99|root|root|x|x|COMPLETED|0|0|0|0|1|||1|0:0|0|None|n|forged",
    "\x1b[31mred $(id)",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Environment of a lab of five nodes that is up."""
    from clusterwright.lab import missing

    if lacking := missing():
        pytest.skip("; ".join(f"{one.message}: {one.hint}" for one in lacking))
    folder = tmp_path_factory.mktemp("cw")
    environment = {**os.environ, "CLUSTERWRIGHT_LABS": f"/tmp/{folder.name}-{os.getpid()}"}  # sockets need a short path
    try:
        up = clusterwright(environment, "lab", "up", "examples/lab-256.yaml", *SMALL, "--name", "acc")
        assert up.returncode == 0, up.stderr
        yield environment
    finally:
        clusterwright(environment, "lab", "down", "--name", "acc")


def clusterwright(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clusterwright", *words], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def test_a_real_history_with_hostile_names_is_accounted_to_the_cent(lab: dict[str, str]) -> None:
    root = f"{lab['CLUSTERWRIGHT_LABS']}/acc"
    slurm = {**lab, "SLURM_CONF": f"{root}/slurm/slurm.conf", "CLUSTERWRIGHT_LAB": root}

    def call(*words: str) -> str:
        done = subprocess.run(
            list(words), env=slurm, capture_output=True, text=True, timeout=60, check=True, cwd="/tmp"
        )
        return done.stdout

    for name in NAMES:
        call(
            "sbatch",
            "-A",
            "research",
            "--gpus-per-node=2",
            "-N1",
            "-t5",
            "-o",
            "/dev/null",
            "-J",
            name,
            "--wrap",
            "sleep 3",
        )
    long = call(
        "sbatch",
        "--parsable",
        "-A",
        "product",
        "--gpus-per-node=4",
        "-N1",
        "-t5",
        "-o",
        "/dev/null",
        "--wrap",
        "sleep 90",
    )
    time.sleep(8)
    call("scontrol", "requeue", long.strip())
    time.sleep(8)
    bill = clusterwright(lab, "account", "--from", "-1d", "--json")
    assert bill.returncode == 0, bill.stderr
    found = json.loads(bill.stdout)
    assert sum(round(one["cost"] * 100) for one in found["teams"]) == round(found["cost"] * 100)
    assert {one["team"]: one["jobs"] for one in found["teams"]} == {"research": len(NAMES), "product": 1, "students": 0}
    assert bill.stderr.count("TRACE-LINE") == 1  # the rest of the name with a line break; no job 99
    report = json.loads(clusterwright(lab, "account", "--job", long.strip(), "--json").stdout)
    assert report["attempts"][0]["state"] == "REQUEUED"
    assert report["goodput"] < 1
    limit = time.monotonic() + 90  # until the first rules have been evaluated
    while True:
        seen = json.loads(clusterwright(lab, "status", "--json").stdout)
        sources = {one["name"]: one["source"] for one in seen["measures"]}
        if sources["cluster_utilisation"] == "prometheus" or time.monotonic() > limit:
            break
        time.sleep(2)
    assert sources["cluster_utilisation"] == "prometheus"
    assert sources["failure_rate"] == "jobs"
    assert seen["blind"] == []
    assert sum(seen["nodes"].values()) == 5
