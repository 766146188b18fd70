"""A real Slurm is observed, designed again, changed behind its files' back, and mended.

The whole way: design -> render -> lab (slurmctld, slurmdbd, MariaDB, slurmd) -> observe -> spec -> design.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterwright.lab import missing

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SPEC = """version: 1
name: obs
workloads:
  - {name: tune, train: {model: llama-3-8b, tokens: 5e9, global_batch: 512 sequences, deadline: 14 d}}
compute: {accelerators: [h100-sxm-80gb], gpus: 64}
scheduler: {kind: slurm}
reliability: {spares: 1}
tenants:
  - {name: research, share: 2, quota: 40, users: [ada]}
  - {name: students, share: 1, quota: 24, limit: 32, priority: low}
"""


@dataclass
class Live:
    """A lab that is up."""

    folder: Path
    environment: dict[str, str]
    conf: Path

    def verb(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "clusterwright", *words],
            capture_output=True, text=True, check=False, env=self.environment, cwd=self.folder,
        )  # fmt: skip

    def slurm(self, *words: str) -> str:
        environment = self.environment | {"SLURM_CONF": str(self.conf)}
        return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout

    def drift(self) -> tuple[int, list[dict[str, Any]]]:
        done = self.verb("drift", "-o", "json")
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, json.loads(done.stdout)["differences"]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    lacking = missing()
    if lacking:
        pytest.skip("; ".join(f"{one.message}: {one.hint}" for one in lacking))
    labs = Path(tempfile.mkdtemp(prefix="cw-", dir="/run"))
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "CLUSTERWRIGHT_LABS": str(labs), "PYTHONPATH": str(root)}
    environment.pop("CLUSTERWRIGHT_SITE", None)
    made = Live(Path(tempfile.mkdtemp(prefix="cw-obs-")), environment, labs / "obs/slurm/slurm.conf")
    (made.folder / "spec.yaml").write_text(SPEC)
    done = made.verb("lab", "up", "spec.yaml")
    try:
        assert done.returncode == 0, done.stderr
        yield made
    finally:
        made.verb("lab", "down")
        shutil.rmtree(made.folder)
        shutil.rmtree(labs, ignore_errors=True)


def test_lab_that_is_observed_and_designed_again_renders_the_same_slurm(live: Live) -> None:
    done = live.verb("observe", "--out", "seen.yaml", "-o", "json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert [(one["nodes"], one["spares"], one["gpus"]) for one in seen["groups"]] == [(8, 1, 8)]
    spec = yaml.safe_load((live.folder / "seen.yaml").read_text())
    assert spec["compute"] == {"gpus": 64, "accelerators": ["h100-sxm-80gb"], "server": "hgx-h100"}
    assert spec["tenants"] == [
        {"name": "research", "share": 2, "quota": 40, "users": ["ada"]},
        {"name": "students", "share": 1, "quota": 24, "limit": 32, "priority": "low"},
    ]
    for words in (("check", "seen.yaml"), ("design", "seen.yaml", "--out", "again"), ("render", "again", "--out", "b")):
        assert live.verb(*words).returncode == 0, words
    rendered, lab = live.folder / "b/slurm/main", live.conf.parents[1] / "bundle/slurm/main"
    assert (rendered / "accounts.sh").read_text() == (lab / "accounts.sh").read_text()
    kept = ("NodeName=", "PartitionName=")
    lines = [[x for x in (f / "slurm.conf").read_text().splitlines() if x.startswith(kept)] for f in (rendered, lab)]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 5
    leaves = [one["nodes"] for one in seen["leaves"]]
    assert leaves == [9]
    topology = (rendered / "topology.conf").read_text()
    assert "SwitchName=s1-su001 Nodes=s1-compute-[0001-0008],s1-spare-0001" in topology


def test_block_of_how_makes_a_dump_that_says_the_same(live: Live) -> None:
    block = live.verb("observe", "--how").stdout
    environment = live.environment | {"SLURM_CONF": str(live.conf)}
    subprocess.run(["bash", "-e"], input=block, text=True, check=True, env=environment, cwd=live.folder)
    assert live.verb("observe", "--dump", "dump", "--out", "dumped.yaml").returncode == 0
    assert live.verb("observe", "--out", "asked.yaml").returncode == 0
    assert (live.folder / "dumped.yaml").read_text() == (live.folder / "asked.yaml").read_text()


def test_lab_as_it_started_has_no_drift(live: Live) -> None:
    assert live.drift() == (0, [])


def test_changes_behind_the_files_are_found_and_each_mend_takes_its_change_back(live: Live) -> None:
    live.slurm("scontrol", "update", "PartitionName=train", "MaxTime=2-00:00:00", "AllowAccounts=research")
    live.slurm("scontrol", "update", "PartitionName=train", "Nodes=s1-compute-[0001-0007]")
    live.slurm("scontrol", "create", "PartitionName=adhoc", "Nodes=s1-compute-0001")
    live.slurm("sacctmgr", "-i", "modify", "qos", "where", "name=research-own", "set", "GrpTRES=gres/gpu=48")
    live.slurm("sacctmgr", "-i", "modify", "account", "where", "name=students", "set", "fairshare=5")
    code, found = live.drift()
    assert code == 1
    assert {(one["part"], one["name"], one["key"], one["running"]) for one in found} == {
        ("partition", "train", "nodes gone", ""),
        ("partition", "train", "MaxTime", "2-00:00:00"),
        ("partition", "train", "AllowAccounts", "research"),
        ("partition", "adhoc", "", "1 nodes"),
        ("qos", "research-own", "GrpTRES", "gres/gpu=48"),
        ("account", "students", "fairshare", "5"),
    }
    assert {one["wins"] for one in found} == {"bundle"}
    for one in found:
        live.slurm(*shlex.split(one["mend"]))
    assert live.drift() == (0, [])


def test_setting_that_was_edited_on_the_cluster_is_found_by_its_key(live: Live) -> None:
    text = live.conf.read_text()
    try:
        live.conf.write_text(text.replace("PriorityWeightAge=50000", "PriorityWeightAge=7"))
        live.slurm("scontrol", "reconfigure")
        code, found = live.drift()
        assert (code, [(one["name"], one["rendered"], one["running"]) for one in found]) == (
            1, [("PriorityWeightAge", "50000", "7")],
        )  # fmt: skip
    finally:
        live.conf.write_text(text)
        live.slurm("scontrol", "reconfigure")
    assert live.drift() == (0, [])


def test_spare_for_a_node_that_the_watcher_drained_is_no_drift_and_without_one_it_is(live: Live) -> None:
    live.slurm("scontrol", "update", "PartitionName=train", "Nodes=s1-compute-[0001-0008],s1-spare-0001")
    code, found = live.drift()
    assert (code, [one["running"] for one in found]) == (1, ["1: s1-spare-0001"])
    live.slurm("scontrol", "update", "NodeName=s1-compute-0003", "State=DRAIN", "Reason=clusterwright:1 xid 79")
    done = live.verb("drift")
    assert done.returncode == 0
    assert "spare s1-spare-0001 stands in" in done.stderr
    live.slurm("scontrol", "update", "NodeName=s1-compute-0003", "State=RESUME")
    live.slurm("scontrol", "update", "PartitionName=train", "Nodes=s1-compute-[0001-0008]")


def test_rule_that_is_loaded_otherwise_is_drift(live: Live) -> None:
    path = live.conf.parents[1] / "monitoring/rules/node-records.yml"
    text = path.read_text()
    try:
        path.write_text(text.replace("expr: count by", "expr: sum by", 1))
        _reload(live)
        assert [(one["part"], one["name"]) for one in live.drift()[1]] == [("rule", "node:gpus:count")]
    finally:
        path.write_text(text)
        _reload(live)
    assert live.drift() == (0, [])


def _reload(live: Live) -> None:
    """What the lab does itself: SIGHUP to the Prometheus of this lab, which is known by its file."""
    wanted = f"--config.file={live.conf.parents[1]}/monitoring/prometheus.yml"
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if wanted in words:
            os.kill(int(entry.name), 1)
    time.sleep(2)


def test_file_that_somebody_edited_is_drift(live: Live) -> None:
    path = live.conf.parents[1] / "bundle/slurm/main/gres.conf"
    text = path.read_text()
    path.write_text(text + "# mine\n")
    code, found = live.drift()
    path.write_text(text)
    assert (code, [(one["part"], one["name"]) for one in found]) == (1, [("file", "slurm/main/gres.conf")])


def test_hostile_reason_of_a_node_changes_neither_the_spec_nor_drift(live: Live) -> None:
    before = live.verb("observe", "--out", "a.yaml").returncode
    evil = "Gres=gpu:h100:800 Partitions=x NodeName=evil RealMemory=1 $(touch /tmp/x)\nNodeName=evil Gres=gpu:h100:1"
    live.slurm("scontrol", "update", "NodeName=s1-compute-0005", "State=DRAIN", f"Reason={evil}")
    after = live.verb("observe", "--out", "b.yaml").returncode
    code = live.drift()
    live.slurm("scontrol", "update", "NodeName=s1-compute-0005", "State=RESUME")
    assert (before, after) == (0, 0)
    assert (live.folder / "a.yaml").read_text() == (live.folder / "b.yaml").read_text()
    assert code == (0, [])


def test_slurm_that_does_not_answer_is_exit_code_3(live: Live) -> None:
    site = yaml.safe_load((live.conf.parents[1] / "site.yaml").read_text())
    text = live.conf.read_text()
    conf = live.folder / "slurm.conf"
    conf.write_text("\n".join("SlurmctldPort=9" if x.startswith("SlurmctldPort=") else x for x in text.splitlines()))
    (live.folder / "site.yaml").write_text(yaml.safe_dump(site | {"slurm": {"conf": str(conf)}}))
    for words in (("observe", "--site", "site.yaml"), ("drift", "--site", "site.yaml")):
        done = live.verb(*words)
        assert (done.returncode, "OPERATE-SLURM" in done.stderr) == (3, True)
