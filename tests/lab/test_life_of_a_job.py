"""Real training in a lab: to completion, through faults, with fewer nodes."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from tests.lab.living import EVERY, STEPS, Life, Run, apart, clusterwright, recover, start_again, until

pytestmark = pytest.mark.lab


def test_a_job_runs_to_completion_and_is_accounted_for(life: Life, undisturbed: Run) -> None:
    assert sorted(undisturbed.losses()) == list(range(1, STEPS + 1))
    assert undisturbed.attempts() == [(0, 2)]
    losses = undisturbed.losses()
    assert losses[STEPS] < 0.8 * losses[1], "the model learns something, so that a wrong resume would show"
    fields = "State,Account,NNodes,AllocTRES"
    said = life.slurm.run("sacct", "-n", "-X", "-P", "-j", undisturbed.key, "-o", fields).strip().split("|")
    assert said[:3] == ["COMPLETED", "research", "2"]
    assert "gres/gpu=16" in said[3]


def test_a_job_that_loses_a_node_goes_on_from_its_checkpoint_with_the_same_losses(life: Life, undisturbed: Run) -> None:
    run = life.start("dead", 16)
    run.wait_for_step(25)
    node = run.nodes()[-1]
    life.inject("node-dead", node)
    recover(life, run, node)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert [world for _, world in run.attempts()] == [2, 2]
    assert node not in _nodes_of_last_attempt(life, run)
    assert apart(run.losses(), undisturbed.losses()) < 1e-6
    assert run.lost_steps() <= EVERY + 1, "at most an interval is done again, and the step that was under way"


@pytest.mark.long
def test_a_job_that_loses_its_head_node_goes_on_too(life: Life, undisturbed: Run) -> None:
    run = life.start("head", 16)
    run.wait_for_step(15)
    node = run.nodes()[0]
    life.inject("node-dead", node)
    recover(life, run, node)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert apart(run.losses(), undisturbed.losses()) < 1e-6


@pytest.mark.long
def test_a_job_that_may_shrink_goes_on_with_a_node_less_and_the_same_batch(life: Life, undisturbed: Run) -> None:
    run = life.start("shrunk", {"min": 8, "max": 16})
    assert "clusterwright:min=1,max=2" in life.slurm.run("squeue", "-h", "-j", run.key, "-o", "%k")
    run.wait_for_step(25)
    node = run.nodes()[-1]
    life.inject("node-dead", node)
    recover(life, run, node, nodes=1)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert [world for _, world in run.attempts()] == [2, 1]
    assert apart(run.losses(), undisturbed.losses()) < 1e-2
    assert run.lost_steps() <= EVERY + 1


@pytest.mark.long
def test_a_job_that_is_told_to_stop_loses_no_step(life: Life, undisturbed: Run) -> None:
    run = life.start("told", 16)
    run.wait_for_step(13)
    life.slurm.signal(run.key, "USR1")  # what Slurm sends before the time limit, and a preemptor's grace
    until(lambda: run.seen().state == "PENDING", "it requeues itself")
    start_again(life, run)
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert run.lost_steps() == 0
    assert apart(run.losses(), undisturbed.losses()) < 1e-6


@pytest.mark.long
def test_a_full_disk_costs_checkpoints_and_not_the_training(life: Life, undisturbed: Run) -> None:
    if life.held.about.get("shared") != "tmpfs":
        pytest.skip("the shared folder is no file system of its own here: mount is not allowed")
    run = life.start("full", 16)
    run.wait_for_step(EVERY + 2)
    life.inject("fs-full")
    time.sleep(4)  # a checkpoint is due each second or two
    life.mend()
    assert run.end() == "COMPLETED", run.said()[-2000:]
    assert apart(run.losses(), undisturbed.losses()) < 1e-6
    assert run.attempts() == [(0, 2)], run.said()[-3000:]
    assert (run.kept / "latest").read_text("utf-8").strip() == f"step-{STEPS:09d}", "the last one was waited for"


@pytest.mark.long
def test_a_torn_checkpoint_is_passed_over(life: Life, undisturbed: Run) -> None:
    first = life.start("torn", 16, ["--steps", 2 * EVERY])
    assert first.end() == "COMPLETED", first.said()[-2000:]
    newest = first.kept / f"step-{2 * EVERY:09d}"
    data = max(newest.glob("*.distcp"), key=lambda one: one.stat().st_size)
    data.write_bytes(data.read_bytes()[:-1000])
    again = life.start("torn", 16)
    assert again.end() == "COMPLETED", again.said()[-2000:]
    assert "is torn" in again.said()
    assert apart(again.losses(), undisturbed.losses()) < 1e-6
    assert sum(line["step"] == 2 * EVERY for line in again.lines()) == 2, "it went on from the one before"


@pytest.mark.long
def test_a_failure_of_its_own_is_tried_again_so_often_and_no_more(life: Life) -> None:
    run = life.start("fails", 8, command=["bash", "-c", "echo here; exit 7"], retries=1)
    until(lambda: run.seen().restarts == 1 and run.seen().state == "PENDING", "it waits for its second start")
    start_again(life, run)
    assert run.end() == "FAILED", run.said()
    assert run.seen().restarts == 1
    assert run.said().count("here") == 2
    said = life.slurm.run("sacct", "-n", "-X", "-P", "-j", run.key, "-o", "ExitCode").strip()
    assert said.endswith("7:0")


def test_submit_waits_and_says_the_states(life: Life) -> None:
    path = life.folder / "short.yaml"
    path.write_text(
        'version: 1\nname: short\ncommand: ["true"]\ngpus: 8\ntime_limit: 2 min\ntenant: research\nfolder: /\n', "utf-8"
    )
    done = clusterwright("submit", str(path), "--site", str(life.site.path), "--wait", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["states"][-1]["state"] == "COMPLETED"


@pytest.mark.long
def test_ctrl_c_leaves_the_job_running_and_says_so(life: Life) -> None:
    import os
    import signal
    import sys

    from tests.lab.living import ROOT

    path = life.folder / "long.yaml"
    path.write_text(
        "version: 1\nname: long\ncommand: [sleep, 60]\ngpus: 8\ntime_limit: 2 min\ntenant: research\nfolder: /\n",
        "utf-8",
    )
    words = [sys.executable, "-m", "clusterwright", "submit", str(path), "--site", str(life.site.path), "--wait"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    waiting = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    until(lambda: any(job.state == "RUNNING" for job in life.slurm.jobs()), "it runs")
    time.sleep(1.5)
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=30)
    assert waiting.returncode == 130
    assert "goes on" in said
    running = [job for job in life.slurm.jobs() if job.state == "RUNNING"]
    assert len(running) == 1
    life.slurm.cancel(running[0].key)


def _nodes_of_last_attempt(life: Life, run: Run) -> str:
    from clusterwright.domains.scheduling import hosts

    rows = life.slurm.run("sacct", "-n", "-X", "-D", "-P", "-j", run.key, "-o", "NodeList").split()
    return " ".join(hosts(rows[-1]))
