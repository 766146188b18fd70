"""What ``verify`` says beside its checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.cli.verify import _show
from clusterwright.deploy import Check, aged, document
from clusterwright.deploy.judges.programs import older


@pytest.mark.parametrize(
    ("version", "release", "is_older"),
    [("22.05.8", "25.11", True), ("25.05.1", "25.11", True), ("25.11.4", "25.11", False), ("26.05.0", "25.11", False),
     ("", "25.11", False)],
)  # fmt: skip
def test_a_release_is_compared_by_its_numbers(version: str, release: str, is_older: bool) -> None:
    assert older(version, release) is is_older


def test_an_old_judge_is_a_finding_with_what_it_left_out() -> None:
    checks = [
        Check("slurm/slurm.conf", "slurmctld", "22.05.8", "tool", True, "held", "25.11", "MetricsType, HashPlugin"),
        Check("slurm/cgroup.conf", "slurmctld", "22.05.8", "tool", True, "held", "25.11", "cgroup.conf: EnableX"),
        Check("slurm/gres.conf", "slurmd", "25.11.1", "tool", True, "held"),
    ]
    found = aged(checks)
    assert [(one.code, one.severity, one.place) for one in found] == [("DEPLOY-JUDGE-OLD", "warning", "slurm")]
    assert "slurmctld 22.05.8 is older than 25.11" in found[0].message
    assert found[0].message.endswith("left out: HashPlugin, MetricsType, cgroup.conf: EnableX")
    assert document(Path("b"), checks)["findings"] == [found[0].to_dict()]


def test_the_table_groups_what_is_accepted_and_shows_failures_in_full(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    long = " ".join(f"word{i}" for i in range(60))
    checks = [Check(f"slurm/campus/batch/{i}.sh", "slurmctld", "22.05.8", "tool", True, "queued") for i in range(23)]
    checks.append(Check("slurm/campus/slurm.conf", "slurmctld", "22.05.8", "tool", False, long))
    _show(document(Path("b"), checks), checks, False)
    out = capsys.readouterr().out
    assert "slurm: 23 files, slurmctld 22.05.8, tool, ok" in out.splitlines()
    assert max(map(len, out.splitlines())) <= 80
    assert long in " ".join(out.split())
    assert "batch/0.sh" not in out
    _show(document(Path("b"), checks), checks, True)
    out = capsys.readouterr().out
    assert all(f"ok slurm/campus/batch/{i}.sh" in out for i in range(23))
    assert max(map(len, out.splitlines())) <= 80
