"""Real training, a real fault, and the watcher alone: every kind of fault with every strategy of recovery.

Each test asserts the figures and adds a row to the table ``recovery.csv`` in the folder of the session, which the guide
of the watcher shows: seconds from the fault until the node is drained, until the job trains again, steps that were
done twice, and how far the final loss is from that of the undisturbed run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.lab.living import EVERY, ROOT, STEPS, Life, Run, apart, clusterwright, until

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("torch")]

DRAINED_S = 10.0
POLICY = "version: 1\nflap: {wait_s: 3600}\nbreaker: {nodes: 4}\n"
"""Nodes do not come back within a test, and a rack of the small lab is no storm."""


class Watcher:
    """``clusterwright operate run --act`` as a process of its own."""

    def __init__(self, life: Life, folder: Path) -> None:
        held = yaml.safe_load(life.site.path.read_text("utf-8"))
        (folder / "policy.yaml").write_text(POLICY, "utf-8")
        site = held | {"state": str(folder / "state"), "policy": str(folder / "policy.yaml")}
        self.site, self.log = folder / "site.yaml", folder / "watcher.log"
        self.site.write_text(yaml.safe_dump(site), "utf-8")
        words = [sys.executable, "-m", "clusterwright", "operate", "run", "--act", "--site", str(self.site)]
        with self.log.open("w") as stream:
            self.process = subprocess.Popen(words, stdout=stream, stderr=subprocess.STDOUT, cwd="/",
                                            env=_environment())  # fmt: skip
        time.sleep(4)  # what is true when it begins is history

    def actions(self) -> list[dict[str, object]]:
        """What it did, the oldest first."""
        said = clusterwright("operate", "log", "--site", str(self.site), "--json")
        return list(reversed(json.loads(said.stdout)["actions"])) if said.returncode == 0 else []

    def kinds(self) -> list[str]:
        """Kinds of what was done."""
        return [str(one["kind"]) for one in self.actions() if one["state"] == "done"]

    def end(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)


def _environment() -> dict[str, str]:
    import os

    return os.environ | {"PYTHONPATH": ":".join([str(ROOT), *(one for one in sys.path if one)])}


@pytest.fixture
def watcher(life: Life, tmp_path: Path) -> Iterator[Watcher]:
    one = Watcher(life, tmp_path)
    yield one
    one.end()
    print(one.log.read_text("utf-8")[-4000:])  # shown when the test fails
    parts = {part.name: part for part in life.slurm.partitions()}
    homes = [name for name in parts["train"].nodes if "spare" not in name]
    for name in ("train", "interactive"):
        life.slurm.set_partition_nodes(name, homes)
    life.slurm.set_partition_up("train", True)
    life.slurm.set_partition_up("interactive", True)


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "recovery.csv"
    path.write_text("fault,strategy,drained_s,training_again_s,lost_steps,final_loss_apart\n", "utf-8")
    return path


def _drained(life: Life, node: str, begun: float) -> float:
    until(lambda: any(one.name == node and one.draining for one in life.slurm.nodes()), f"{node} is drained", 60)
    return time.time() - begun


def _again(run: Run, attempt: int, begun: float) -> float:
    until(lambda: any(line["attempt"] >= attempt for line in run.lines()), f"attempt {attempt} trains", 200)
    return min(line["time"] for line in run.lines() if line["attempt"] >= attempt) - begun


def _row(table: Path, *cells: object) -> None:
    with table.open("a", encoding="utf-8") as stream:
        stream.write(",".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells) + "\n")
    print(table.read_text("utf-8"))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("node-dead", ()),
        pytest.param("node-hung", (), marks=pytest.mark.long),
        pytest.param("xid", ("--xid", "79", "--gpu", "3"), marks=pytest.mark.long),
        pytest.param("gpu-lost", ("--gpu", "2"), marks=pytest.mark.long),
        pytest.param("link-down", (), marks=pytest.mark.long),
    ],
)
def test_after_a_fault_the_training_goes_on_with_a_spare_and_the_same_losses(
    life: Life, undisturbed: Run, watcher: Watcher, table: Path, fault: str, words: tuple[str, ...]
) -> None:
    run = life.start(f"spare-{fault}", 16)
    run.wait_for_step(25)
    node, begun = run.nodes()[-1], time.time()
    life.inject(fault, node, *words)
    drained = _drained(life, node, begun)
    assert drained <= DRAINED_S
    again = _again(run, 1, begun)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert "spare" in watcher.kinds()
    assert [world for _, world in run.attempts()] == [2, 2]
    assert run.lost_steps() <= EVERY + 1
    off = apart(run.losses(), undisturbed.losses())
    assert off < 1e-6
    _row(table, fault, "checkpoint-restart; spare in", drained, again, run.lost_steps(), off)


@pytest.mark.long
def test_a_slow_node_is_left_by_migration_without_losing_a_step(
    life: Life, undisturbed: Run, watcher: Watcher, table: Path
) -> None:
    run = life.start("migrated", 16, ("--steps", 400))  # the alert's rate rises slowly
    run.wait_for_step(15)
    node, begun = run.nodes()[-1], time.time()
    life.inject("node-slow", node, "--factor", "0.5")
    drained = _drained(life, node, begun)
    again = _again(run, 1, begun)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert run.lost_steps() == 0
    off = apart(run.losses(), undisturbed.losses())
    assert off < 1e-6
    _row(table, "node-slow", "migration", drained, again, 0, off)


@pytest.mark.long
def test_a_job_that_dies_of_an_xid_of_its_own_is_tried_again_where_it_is(
    life: Life, undisturbed: Run, watcher: Watcher, table: Path
) -> None:
    run = life.start("again", 16)
    run.wait_for_step(15)
    node, begun = run.nodes()[-1], time.time()
    life.inject("xid", node, "--xid", "31")
    again = _again(run, 1, begun)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert not any(one.draining for one in life.slurm.nodes())
    assert run.lost_steps() <= EVERY + 1
    off = apart(run.losses(), undisturbed.losses())
    assert off < 1e-6
    _row(table, "xid of the job", "retry", "", again, run.lost_steps(), off)


@pytest.mark.long
def test_without_a_spare_a_job_goes_on_with_fewer_nodes_and_the_same_batch(
    life: Life, undisturbed: Run, watcher: Watcher, table: Path
) -> None:
    kept = [one.name for one in life.slurm.nodes() if "spare" in one.name]
    for name in kept:
        life.slurm.drain(name, "a person keeps it")
    nodes = {part.name: part for part in life.slurm.partitions()}["train"].nodes
    for name in nodes[2:]:
        life.slurm.drain(name, "a person keeps it")
    run = life.start("degraded", {"min": 8, "max": 16})
    run.wait_for_step(25)
    node, begun = run.nodes()[-1], time.time()
    life.inject("node-dead", node)
    drained = _drained(life, node, begun)
    assert drained <= DRAINED_S
    again = _again(run, 1, begun)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert "shrink" in watcher.kinds()
    assert [world for _, world in run.attempts()][:2] == [2, 1]
    off = apart(run.losses(), undisturbed.losses())
    assert off < 1e-2
    assert all(one.reason == "a person keeps it" for one in life.slurm.nodes() if one.name in kept)
    _row(table, "node-dead", "graceful degradation", drained, again, run.lost_steps(), off)


@pytest.mark.long
def test_a_rack_that_loses_its_power_is_left_together(
    life: Life, undisturbed: Run, watcher: Watcher, table: Path
) -> None:
    run = life.start("rack", 16)
    run.wait_for_step(25)
    racks = {name: str(one["rack"]) for name, one in life.held.about["nodes"].items()}
    node = run.nodes()[0]
    lost = [name for name, rack in racks.items() if rack == racks[node]]
    assert len(lost) < len(racks), "the lab has several racks"
    begun = time.time()
    life.inject("rack-power", racks[node])
    drained = max(_drained(life, name, begun) for name in lost)
    assert drained <= DRAINED_S
    again = _again(run, 1, begun)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    off = apart(run.losses(), undisturbed.losses())
    assert off < 1e-6
    _row(table, f"rack-power ({len(lost)} nodes)", "checkpoint-restart", drained, again, run.lost_steps(), off)


@pytest.mark.long
def test_a_full_file_system_drains_nobody_and_the_run_ends_as_it_would(
    life: Life, undisturbed: Run, watcher: Watcher, table: Path
) -> None:
    run = life.start("full", 16)
    run.wait_for_step(15)
    life.inject("fs-full")
    time.sleep(8)
    assert not any(one.draining for one in life.slurm.nodes())
    life.mend()
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert max(run.losses()) == STEPS
    off = apart(run.losses(), undisturbed.losses())
    assert off < 1e-6
    _row(table, "fs-full", "goes on; told", "", "", run.lost_steps(), off)
