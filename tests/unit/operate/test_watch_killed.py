"""The watcher is killed at any step, again and again: nothing is done twice, nothing that was intended is lost."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clusterwright.operate.watch import Store, owner
from clusterwright.operate.watch.look import Signal
from tests.unit.operate.fake_slurm import FakeSlurm, job
from tests.unit.operate.test_watch_rounds import Watched, silent, watched

NODES = [f"n{i}" for i in range(5)]
OWN = "breaker: {nodes: 100}\nflap: {wait_s: 0, most: 1000}\n"


class Killed(BaseException):
    """kill -9."""


class Mortal(FakeSlurm):
    """Refuses what must never be asked for, and may be the last thing that a watcher did."""

    def __init__(self) -> None:
        super().__init__(5, 1)
        self.left = -1
        self.lives: set[tuple[str, int]] = set()

    def step(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1

    def drain(self, name: str, reason: str) -> None:
        assert not self.held[name].draining, f"{name} is drained twice"
        self.step()
        super().drain(name, reason)
        self.step()

    def down(self, name: str, reason: str) -> None:
        assert "DOWN" not in self.held[name].states, f"{name} is given up twice"
        self.step()
        super().down(name, reason)
        self.step()

    def requeue(self, key: str) -> None:
        life = (key, self.queue[key].restarts)
        assert life not in self.lives, f"job {key} is ended twice in one life"
        self.step()
        self.lives.add(life)
        super().requeue(key)
        self.step()

    def resume(self, name: str) -> None:
        assert owner(self.held[name].reason), f"somebody's drain of {name} is undone"
        self.step()
        super().resume(name)
        self.step()

    def set_partition_nodes(self, name: str, nodes: list[str]) -> None:
        assert len(set(nodes)) == len(nodes), "a node is in a partition twice"
        self.step()
        super().set_partition_nodes(name, nodes)
        self.step()

    def start_soon(self, key: str) -> None:
        self.step()
        super().start_soon(key)
        self.step()


class Life(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.fake = Mortal()
        self.bad: set[str] = set()
        self.jobs = 0
        self.one = self.born()

    def born(self) -> Watched:
        made = watched(self.folder, self.fake, OWN)
        made._fit = lambda node, since: node not in self.bad  # type: ignore[method-assign]
        return made

    def teardown(self) -> None:
        self.one.store.close()
        shutil.rmtree(self.folder)

    def tell(self) -> None:
        self.fake.signals = [s for name in sorted(self.bad) for s in silent(name)]

    @contextmanager
    def deadly(self, steps: int) -> Iterator[None]:
        """Each commit, and each call of Slurm, before and after, is a step; the watcher dies at one of them."""
        real = Store.change

        @contextmanager
        def change(store: Store) -> Iterator[Any]:
            self.fake.step()
            with real(store) as db:
                yield db
                self.fake.step()  # before the commit
            self.fake.step()  # after it

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "change", change)
            self.fake.left = steps
            try:
                yield
            except Killed:
                self.one.store.close()
                self.fake.left = -1
                patch.undo()
                self.one = self.born()
            finally:
                self.fake.left = -1

    @rule(name=st.sampled_from(NODES))
    def breaks(self, name: str) -> None:
        self.bad.add(name)
        self.tell()

    @rule(name=st.sampled_from(NODES))
    def is_mended(self, name: str) -> None:
        self.bad.discard(name)
        self.tell()

    @rule(name=st.sampled_from(NODES))
    def a_person_drains(self, name: str) -> None:
        if not self.fake.held[name].draining:
            self.fake.person(name, drained=True)

    @rule(name=st.sampled_from(NODES))
    def a_person_resumes(self, name: str) -> None:
        if self.fake.held[name].draining:
            time.sleep(0.001)
            self.fake.person(name, drained=False)

    @precondition(lambda self: self.jobs < 3)
    @rule(size=st.integers(1, 3))
    def a_job_is_submitted(self, size: int) -> None:
        self.jobs += 1
        key = str(self.jobs)
        self.fake.queue[key] = replace(job(key, ()), state="PENDING", node_count=size)
        self.fake.start(key)

    @rule()
    def time_goes_on(self) -> None:
        self.fake.let_go()
        for key in self.fake.queue:
            self.fake.start(key)

    @rule()
    def a_round(self) -> None:
        time.sleep(0.001)
        self.one.round()

    @rule(steps=st.integers(0, 25))
    def a_round_that_is_killed(self, steps: int) -> None:
        time.sleep(0.001)
        with self.deadly(steps):
            self.one.round()

    @rule()
    def it_comes_to_rest(self) -> None:
        for _ in range(6):
            time.sleep(0.001)
            self.one.round()
            self.time_goes_on()
        held = self.one.store.actions()
        assert not [a for a in held if a.kind in ("drain", "down", "return") and a.state == "intended"]
        for name, node in self.fake.held.items():
            if owner(node.reason) and node.draining:
                action = self.one.store.action(owner(node.reason))
                assert action is not None and action.state == "done", f"the drain of {name} is lost"
        assert all(one.reason != "BeginTime" for one in self.fake.queue.values() if one.state == "PENDING")

    @invariant()
    def the_audit_log_tells_each_event_once(self) -> None:
        import json

        path = self.folder / "state" / "audit.jsonl"
        events = [json.loads(line)["event"] for line in path.read_text("utf-8").splitlines()] if path.exists() else []
        assert events == list(range(1, len(events) + 1))


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=30, deadline=None,
                             suppress_health_check=list(HealthCheck))  # fmt: skip


def test_killed_at_each_single_step_of_a_recovery(tmp_path: Path) -> None:
    """The whole way of a dead node, cut at its first, second ... step; then left to itself, it ends the same."""
    for steps in range(60):
        life = Life()
        try:
            life.fake.run_job(job("1", ("n0", "n1")))
            life.bad = {"n1"}
            life.tell()
            with life.deadly(steps):
                for _ in range(3):
                    life.one.round()
                    life.time_goes_on()
            life.it_comes_to_rest()
            assert life.fake.held["n1"].states >= {"DOWN", "DRAIN"}
            assert life.fake.queue["1"].state == "RUNNING" and life.fake.queue["1"].restarts == 1
            assert life.fake.parts["train"].nodes == (*NODES, "s0")
            done = [a.kind for a in life.one.store.actions() if a.state == "done"]
            assert sorted(done) == ["drain", "requeue", "spare"]
        finally:
            life.teardown()


def test_a_signal_that_is_no_fault_of_the_policy_is_only_noted(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = [Signal("prometheus", "n1", "xid-noted-45", "xid 45 on GPU 0", 0.0, 1, True, True)]
    one.round()
    one.round()
    assert fake.calls == [] and one.store.conditions()[0].fate == "noted: the policy says so"
