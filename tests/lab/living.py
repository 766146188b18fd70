"""A lab with a job of real training in it: start, hurt, recover, compare. Tests are a table over these steps.

A test over fault and strategy reads::

    run = life.start("name", gpus=16)                 # submitted by 'clusterwright submit'
    run.wait_for_step(25)
    life.inject("node-dead", run.nodes()[-1])
    recover(life, run, node)                          # or let the watcher do it
    assert run.end() == "COMPLETED"
    assert apart(run.losses(), undisturbed) < 1e-6
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clusterwright import lab
from clusterwright.errors import WorldError
from clusterwright.operate import Site, Slurm
from clusterwright.operate.submit import Seen, states

ROOT = Path(__file__).parents[2]
TRAINING = ROOT / "examples" / "train"
SPEC = """\
version: 1
name: life
workloads:
  - name: tune
    train: {model: llama-3-8b, tokens: 5e9, sequence: 8192, global_batch: 512 sequences, deadline: 14 d}
compute: {accelerators: [h100-sxm-80gb], gpus: 48}
scheduler: {kind: slurm}
reliability: {spares: 1}
sites: [{name: main, region: us-east, rack_power: 25 kW}]
tenants:
  - {name: research, share: 2, quota: 40}
  - {name: students, share: 1, quota: 8, limit: 16, priority: low}
"""
STEPS, EVERY = 60, 10
"""Steps of a run, and between two of its checkpoints."""
PATIENCE_S = 150.0


def torch_lacking() -> str:
    """Why no training can run here; empty when it can."""
    if importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed: make test-lab, or pip install torch==2.13.0"
    return ""


def surroundings() -> dict[str, str]:
    """Variables with which a job finds torchrun and the packages of this interpreter."""
    found = importlib.util.find_spec("torch")
    beside = Path(str(found.origin)).parents[1] / "bin" if found and found.origin else Path("/usr/bin")
    return {
        "PATH": f"{beside}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": ":".join(one for one in sys.path if one),
        "OMP_NUM_THREADS": "1",
    }


@dataclass
class Run:
    """A job in the lab."""

    slurm: Slurm
    key: str
    kept: Path

    def lines(self) -> list[dict[str, Any]]:
        """The loss log, in the order in which it was written."""
        try:
            text = (self.kept / "loss.jsonl").read_text("utf-8")
        except OSError:
            return []
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def losses(self) -> dict[int, float]:
        """Step to loss; of a step that was repeated the last."""
        return {line["step"]: line["loss"] for line in self.lines()}

    def lost_steps(self) -> int:
        """Steps that were done twice."""
        lines = self.lines()
        return len(lines) - len({line["step"] for line in lines})

    def attempts(self) -> list[tuple[int, int]]:
        """Number of the attempt and its world size, one a start."""
        return sorted({(line["attempt"], line["world"]) for line in self.lines()})

    def said(self) -> str:
        """The output of the job."""
        return "".join(one.read_text("utf-8", "replace") for one in self.kept.glob("*.out"))

    def seen(self) -> Seen:
        """Its state; a controller that does not answer is asked again."""
        found = until(lambda: states(self.slurm, self.key), f"job {self.key} is known", 30)
        assert isinstance(found, Seen)
        return found

    def nodes(self) -> tuple[str, ...]:
        """The nodes that it is on."""
        return next((job.nodes for job in self.slurm.jobs() if job.key == self.key), ())

    def wait_for_step(self, step: int, attempt: int = 0) -> None:
        """Until an attempt has done a step."""
        until(
            lambda: any(line["step"] >= step and line["attempt"] >= attempt for line in self.lines()),
            f"step {step} of attempt {attempt}; {self.seen()}",
        )

    def end(self) -> str:
        """The state in which it ended."""
        until(lambda: self.seen().ended, "the job is over")
        return self.seen().state


@dataclass
class Life:
    """A lab that jobs of this test session run in."""

    held: lab.Lab
    site: Site
    slurm: Slurm
    folder: Path
    started: list[Run] = field(default_factory=list)

    def start(self, name: str, gpus: int | dict[str, int] = 16, words: Sequence[object] = (), **more: Any) -> Run:
        """Submit the training program as a person would: a file and the verb."""
        command = ["train.py", "--steps", STEPS, "--checkpoint-steps", EVERY, "--pause-s", 0.1, "--timeout-s", 30]
        job = {
            "version": 1,
            "name": name,
            "command": [*command, *words],
            "gpus": gpus,
            "processes": 1,
            "time_limit": "10 min",
            "tenant": "research",
            "checkpoint": {"interval": "1 h"},
            "folder": str(TRAINING),
            "environment": surroundings(),
        } | more
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(job), "utf-8")
        done = clusterwright("submit", str(path), "--site", str(self.site.path), "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        run = Run(self.slurm, told["job"], Path(told["checkpoints"]))
        self.started.append(run)
        return run

    def inject(self, kind: str, *words: str) -> None:
        """Break something: the words of ``lab inject``."""
        done = clusterwright("lab", "inject", kind, *words)
        assert done.returncode == 0, done.stderr

    def mend(self) -> None:
        """Repair everything."""
        done = clusterwright("lab", "mend")
        assert done.returncode == 0, done.stderr

    def heal(self) -> None:
        """Everything as it was: no jobs, nothing broken, every node idle."""
        for run in self.started:
            if not self.seen_over(run):
                self.slurm.cancel(run.key)
        self.started.clear()
        self.mend()
        until(lambda: all(node.answers for node in self._nodes(resume=True)), "every node answers")
        until(lambda: not any(node.busy for node in self.slurm.nodes()), "every node is free")

    def seen_over(self, run: Run) -> bool:
        """Whether a job is over."""
        return run.seen().ended

    def _nodes(self, resume: bool) -> Sequence[Any]:
        for node in self.slurm.nodes():
            if resume and (node.draining or node.unusable):
                quietly(lambda name=node.name: self.slurm.resume(name))
        return self.slurm.nodes()


def recover(life: Life, run: Run, node: str, nodes: int | None = None) -> None:
    """What an operator does about a lost node: give it up, let the job wait no longer than it must.

    Args:
        life: the lab.
        run: the job that was on the node.
        node: that is lost.
        nodes: with how many the job goes on; None for as many as before.
    """
    restarts = run.seen().restarts
    life.slurm.down(node, "clusterwright: lost")
    until(lambda: run.seen().state == "PENDING" and run.seen().restarts > restarts, "the job is requeued")
    if nodes is not None:
        life.slurm.set_node_count(run.key, nodes)
    start_again(life, run)


def start_again(life: Life, run: Run) -> None:
    """Let a job that waits after a requeue start at once."""
    for _ in range(6):
        quietly(lambda: life.slurm.start_soon(run.key))
        with contextlib.suppress(AssertionError):
            until(lambda: run.seen().state != "PENDING", "it starts again", 15)
            return
    raise AssertionError(f"job {run.key} does not start again: {run.seen()}")


def apart(found: dict[int, float], expected: dict[int, float], first: int = 1) -> float:
    """The largest relative difference between two loss curves; every step of the second must be in the first."""
    assert set(expected) <= set(found), f"steps are missing: {sorted(set(expected) - set(found))[:5]}"
    return max(abs(found[step] - loss) / abs(loss) for step, loss in expected.items() if step >= first)


def until(true: Callable[[], object], what: str, seconds: float = PATIENCE_S) -> object:
    """Wait for something to be true; what it returned."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        with contextlib.suppress(WorldError):
            if found := true():
                return found
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds:g} s: {what}")


def quietly(do: Callable[[], object]) -> bool:
    """Do it, and never mind when Slurm refuses; always False."""
    with contextlib.suppress(WorldError):
        do()
    return False


def clusterwright(*words: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "clusterwright", *words],
        env=os.environ | {"PYTHONPATH": ":".join([str(ROOT), *(one for one in sys.path if one)])},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        cwd="/",
    )
