"""The exporter of Slurm that the bundle carries: what it makes of scontrol's answers."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusterwright.cluster import Cluster
from clusterwright.deploy import Bundle

NODES = """\
NodeName=n1 Arch=x86_64 CPUAlloc=64 State=ALLOCATED ThreadsPerCore=2 CfgTRES=cpu=128,mem=2000000M,gres/gpu=8 AllocTRES=cpu=64,gres/gpu=8
NodeName=n2 Arch=x86_64 CPUAlloc=8 State=MIXED+PLANNED CfgTRES=cpu=128,gres/gpu=8,gres/gpu:h100=8 AllocTRES=cpu=8,gres/gpu=2
NodeName=n3 CPUAlloc=0 State=IDLE+DRAIN CfgTRES=cpu=128,gres/gpu=8 AllocTRES= Reason=XID 79 on GPU=3 [root@2026-12-01T04:00:00]
NodeName=n4 CPUAlloc=0 State=DOWN* CfgTRES=cpu=128,gres/gpu=8 AllocTRES=
"""  # noqa: E501  # as Slurm writes it
JOBS = """\
7|RUNNING|research|alice|gpu|n[1-2]|cpu=72,node=2,gres/gpu=10,gres/gpu:h100=10|2026-12-01T04:00:00|2026-12-01T04:00:00|2026-12-01T04:02:00|
8|PENDING|research|bob|gpu||cpu=64,gres/gpu=512|2026-12-01T04:00:00|2026-12-01T04:00:00|N/A|
"""  # as squeue 22.05.8 writes it


@pytest.fixture(scope="module")
def program(render_of: Callable[..., Bundle], worked: Cluster) -> str:
    return render_of(worked, "monitoring").files["monitoring/main/slurm-exporter/slurm_exporter.py"].text


@pytest.fixture
def exporter(program: str) -> Any:
    module = types.ModuleType("slurm_exporter")
    exec(compile(program, "slurm_exporter.py", "exec"), module.__dict__)  # our own program
    return module


def _page(exporter: Any, state: Any, nodes: str, jobs: str) -> set[str]:
    exporter.asked = lambda kind: [exporter.fields(line) for line in nodes.splitlines()]
    exporter.queue = lambda: exporter.listed(jobs)
    return set(state.page().splitlines())


def test_nodes_jobs_and_queue_are_what_slurm_says(exporter: Any) -> None:
    lines = _page(exporter, exporter.State(), NODES, JOBS)
    assert {
        'slurm_node_gpus_total{node_name="n2"} 8',
        'slurm_node_gpus_allocated{node_name="n1"} 8',
        'slurm_node_gpus_allocated{node_name="n2"} 2',
        'slurm_node_gpus_allocated{node_name="n3"} 0',
        'slurm_node_info{node_name="n1",state_base="ALLOCATED",state_is_drain="false",is_unavailable="false"} 1',
        'slurm_node_info{node_name="n3",state_base="IDLE",state_is_drain="true",is_unavailable="true"} 1',
        'slurm_node_info{node_name="n4",state_base="DOWN",state_is_drain="false",is_unavailable="true"} 1',
        'slurm_node_job{job_id="7",node_name="n1"} 1',
        'slurm_node_job{job_id="7",node_name="n2"} 1',
        'slurm_job_gpus{job_id="7"} 10',
        'slurm_account_gpus_allocated{account="research"} 10',
        'slurm_queue_pending{account="research",size="larger"} 1',
    } <= lines


def test_a_wait_is_counted_once_and_by_the_size_of_the_job(exporter: Any) -> None:
    """Submitted at 4:00, started at 4:02 on 10 GPUs, more than a node: 120 s, in the bucket up to 300 s."""
    state = exporter.State()
    waiting = JOBS.replace("RUNNING", "PENDING").replace("2026-12-01T04:02:00", "N/A")
    _page(exporter, state, NODES, waiting)
    for _ in range(3):
        lines = _page(exporter, state, NODES, JOBS)
    assert 'slurm_job_wait_seconds_bucket{account="research",size="unit",le="60"} 0' in lines
    assert 'slurm_job_wait_seconds_bucket{account="research",size="unit",le="300"} 1' in lines
    assert 'slurm_job_wait_seconds_count{account="research",size="unit"} 1' in lines
    assert 'slurm_job_wait_seconds_sum{account="research",size="unit"} 120.0' in lines


def test_ends_and_failures_of_nodes_are_counted_once_and_not_those_before_the_program(exporter: Any) -> None:
    state = exporter.State()
    assert 'slurm_node_fails_total{node_name="n4"} 0' in _page(exporter, state, NODES, JOBS)
    nodes = NODES.replace("State=ALLOCATED", "State=DOWN*")
    jobs = JOBS.replace("RUNNING", "NODE_FAIL")
    for _ in range(2):
        lines = _page(exporter, state, nodes, jobs)
    assert 'slurm_node_fails_total{node_name="n1"} 1' in lines
    assert 'slurm_node_fails_total{node_name="n4"} 0' in lines
    assert 'slurm_jobs_ended_total{account="research",state="NODE_FAIL"} 1' in lines


def test_gpus_of_nodes_are_seen_without_accounting_as_slurm_22_05_writes_them(exporter: Any) -> None:
    line = (
        "NodeName=n5 Gres=gpu:h100:8(S:0-1) GresUsed=gpu:h100:3(IDX:0-2) State=MIXED CfgTRES=cpu=16 AllocTRES=cpu=1\n"
    )
    lines = _page(exporter, exporter.State(), line, "")
    assert 'slurm_node_gpus_total{node_name="n5"} 8' in lines
    assert 'slurm_node_gpus_allocated{node_name="n5"} 3' in lines


def test_lists_of_nodes(exporter: Any) -> None:
    assert exporter.hosts("s1-compute-[0009-0011,0020],login1") == [
        *("s1-compute-0009", "s1-compute-0010", "s1-compute-0011", "s1-compute-0020", "login1")
    ]
    assert exporter.hosts("(null)") == []


def test_the_program_runs_and_its_page_is_prometheus_text(program: str, tmp_path: Path) -> None:
    """False clients that answer as Slurm's do."""
    for name, text in (("scontrol", NODES), ("squeue", JOBS)):
        (tmp_path / f"{name}.said").write_text(text)
        (tmp_path / name).write_text(f'#!/bin/sh\ncat "{tmp_path}/{name}.said"\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "exporter.py").write_text(program)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "exporter.py"), "--once"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'slurm_node_job{job_id="7",node_name="n2"} 1' in done.stdout.splitlines()


def test_no_field_that_a_user_writes_is_asked_for(program: str, exporter: Any) -> None:
    """A job's name with a line break and 'JobState=... Account=...' in it once stopped the exporter for good."""
    assert not {"Name", "Comment", "WorkDir", "Command"} & set(exporter.JOB)
    assert '"show", "job"' not in program
    assert exporter.listed("y JobState=COMPLETED Account=product\n7|RUNNING|x\n|||||||||||\n") == []
