"""The watcher's rounds against a Slurm without daemons: what it does, what it leaves, and whose decisions it keeps."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from clusterwright.operate.site import Site, Watch
from clusterwright.operate.watch import Store, Watcher, read_policy
from clusterwright.operate.watch.look import Checked, Signal, World
from tests.unit.operate.fake_slurm import FakeSlurm, job


class Watched(Watcher):
    fake: FakeSlurm

    def look(self) -> World:
        return self.fake.world()


def watched(folder: Path, fake: FakeSlurm, own: str = "", acts: bool = True, dead_after_s: float = 0.0) -> Watched:
    path = folder / "policy.yaml"
    path.write_text("version: 1\nflap: {wait_s: 0}\nshrink: {after_s: 0}\n" + own, "utf-8")
    site = Site(folder / "site.yaml", "lab", folder / "state", watch=Watch(0.01, dead_after_s))
    said: list[str] = []
    one = Watched(site, Store(site.state, copy=not acts), read_policy(path), acts, said.append,
                  lambda f: said.append(f.line()))  # fmt: skip
    one.fake = fake
    one.slurm = one.hands.slurm = fake  # type: ignore[assignment]
    one.said = said  # type: ignore[attr-defined]
    one.round()  # the first look only learns
    return one


def silent(name: str) -> list[Signal]:
    return [Signal("prometheus", name, "node-dead", "its exporter does not answer", firm=False),
            Signal("slurm", name, "node-dead", "Slurm: NOT_RESPONDING")]  # fmt: skip


def xid(name: str, code: int, times: int = 1) -> Signal:
    kind = read_policy().fault_of_xid(code)
    return Signal("prometheus", name, kind, f"xid {code} on GPU 0", 0.0, times, True, True)


def kinds(one: Watcher) -> list[tuple[str, str, str]]:
    return [(a.kind, a.target, a.state) for a in one.store.actions()]


def test_a_dead_node_is_drained_and_given_up_its_job_restarts_and_a_spare_stands_in(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.run_job(job("7", ("n0", "n1")))
    one = watched(tmp_path, fake)
    fake.signals = silent("n1")
    one.round()
    assert fake.done("drain", "down") == [("drain", "n1"), ("down", "n1")]
    assert fake.held["n1"].reason.startswith("clusterwright:1 node-dead")
    assert fake.done("requeue") == []  # Slurm has sent the job back itself
    fake.let_go()
    one.round()
    one.round()
    assert fake.parts["train"].nodes[-1] == "s0"
    assert fake.start("7") and fake.queue["7"].nodes == ("n0", "n2")
    one.round()
    assert kinds(one) == [("drain", "n1", "done"), ("spare", "n1", "done"), ("requeue", "7", "done")]
    for _ in range(5):
        one.round()
    assert len(fake.done("drain", "down", "requeue", "partition")) == 3


def test_one_source_alone_does_not_prove_a_death(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = silent("n1")[:1]
    for _ in range(4):
        one.round()
    assert fake.calls == []


def test_a_node_is_dead_only_after_the_sites_patience(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake, dead_after_s=0.3)
    fake.signals = silent("n1")
    one.round()
    assert fake.calls == []
    time.sleep(0.35)
    one.round()
    assert fake.done("down") == [("down", "n1")]


def test_a_drain_of_a_person_stays_theirs_but_the_job_gets_free(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.run_job(job("7", ("n0", "n1")))
    fake.person("n1", drained=True, reason="fan noise")
    one = watched(tmp_path, fake)
    fake.signals = silent("n1")
    one.round()
    assert fake.done("drain") == [] and fake.done("down") == [("down", "n1")]
    assert fake.held["n1"].reason == "fan noise"
    fake.signals = []
    fake.let_go()
    for _ in range(4):
        one.round()
    assert fake.done("resume") == []


def test_a_node_that_a_person_set_down_stays_theirs(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.down("n1", "maintenance")
    fake.down("n2", "Not responding [slurm]")
    fake.calls.clear()
    one = watched(tmp_path, fake)
    fake.signals = [*silent("n1"), *silent("n2")]
    for _ in range(3):
        one.round()
    assert fake.held["n1"].reason == "maintenance"
    assert fake.done("drain", "down") == [("drain", "n2")]


def test_a_person_who_resumes_a_node_wins_over_the_same_evidence(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = [xid("n1", 79)]
    one.round()
    assert fake.done("drain") == [("drain", "n1")]
    time.sleep(0.01)
    fake.boot_s = 1.0
    fake.person("n1", drained=False)
    for _ in range(4):
        one.round()
    assert fake.done("drain") == [("drain", "n1")]
    assert one.store.actions()[0].state == "overruled"
    fake.signals = [xid("n1", 79, times=2)]  # it happened again
    one.round()
    assert len(fake.done("drain")) == 2


def test_what_slurmctld_forgot_when_it_was_killed_is_done_again(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = [xid("n1", 79)]
    one.round()
    one.round()
    assert fake.parts["train"].nodes[-1] == "s0"
    time.sleep(0.01)
    fake.boot_s = time.time()
    fake.person("n1", drained=False)
    fake.set_partition_nodes("train", [f"n{i}" for i in range(8)])
    one.round()
    one.round()
    assert len(fake.done("drain")) == 2 and fake.parts["train"].nodes[-1] == "s0"
    assert kinds(one) == [("drain", "n1", "done"), ("spare", "n1", "done")]


def test_a_storm_of_xid_45_on_77_nodes_drains_none(tmp_path: Path) -> None:
    fake = FakeSlurm(nodes=200)
    one = watched(tmp_path, fake)
    fake.signals = [xid(f"n{i}", 45) for i in range(77)]
    for _ in range(3):
        one.round()
    assert fake.calls == [] and one.store.meta("breaker") is None


def test_where_a_site_drains_on_xid_45_the_breaker_holds_the_storm_off(tmp_path: Path) -> None:
    fake = FakeSlurm(nodes=200)
    one = watched(tmp_path, fake, "xid_overrides: {45: xid}\n")
    fake.signals = [Signal("prometheus", f"n{i}", "xid", "xid 45 on GPU 0", 0.0, 1, True, True) for i in range(77)]
    for _ in range(3):
        one.round()
    assert fake.calls == []
    assert (
        "77 nodes would go" in one.store.meta("breaker")["why"] and "at most 10 may" in one.store.meta("breaker")["why"]
    )


def test_the_breaker_counts_the_window_and_a_person_closes_it(tmp_path: Path) -> None:
    from clusterwright.operate.watch import resume

    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    for name in ("n0", "n1", "n2"):
        fake.signals = [*fake.signals, *silent(name)]
        one.round()
    assert fake.done("drain") == [("drain", "n0"), ("drain", "n1")]
    assert "at most 2 may" in resume(one.store, "ann")
    one.round()
    assert fake.done("drain")[-1] == ("drain", "n2")  # it is still dead
    events = [json.loads(line) for line in (tmp_path / "state" / "audit.jsonl").read_text("utf-8").splitlines()]
    assert [e["by"] for e in events if e["what"] == "breaker closed"] == ["ann"]


def test_an_event_seen_while_the_breaker_was_open_is_not_replayed(tmp_path: Path) -> None:
    from clusterwright.operate.watch import resume

    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = [xid(f"n{i}", 79) for i in range(4)]
    one.round()
    resume(one.store, "ann")
    for _ in range(3):
        one.round()
    assert fake.calls == []


def test_a_rack_without_power_is_one_event(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.racks = {f"n{i}": "r1" if i < 4 else "r2" for i in range(8)}
    one = watched(tmp_path, fake)
    fake.signals = [s for i in range(4) for s in silent(f"n{i}")]
    one.round()
    assert sorted(fake.done("down")) == [("down", f"n{i}") for i in range(4)]
    assert {a.cause for a in one.store.actions()} == {"rack-power"} and one.store.meta("breaker") is None


def test_events_that_are_older_than_the_watcher_are_only_noted(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.signals = [xid("n1", 79)]
    one = watched(tmp_path, fake)
    for _ in range(3):
        one.round()
    assert fake.calls == []
    assert one.store.conditions()[0].fate == "noted: it is older than the watcher"


def test_without_slurm_nothing_is_decided_and_nothing_forgotten(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.blind = {"slurm": "no answer"}
    fake.signals = silent("n1")
    one.round()
    assert fake.calls == [] and any("no answer" in line for line in one.said)  # type: ignore[attr-defined]
    fake.blind = {}
    one.round()
    assert fake.done("drain") == [("drain", "n1")]


def test_silence_of_prometheus_ends_no_condition(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = [Signal("prometheus", "n1", "link-down", "NodeLinkDown", firm=False)]
    one.round()
    fake.signals, fake.blind = [], {"prometheus": "refused"}
    one.round()
    assert [c.open for c in one.store.conditions()] == [True]
    fake.blind = {}
    one.round()
    assert one.store.conditions() == []


def test_a_retry_requeues_only_a_job_that_died_and_not_for_ever(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.run_job(job("7", ("n0",)))
    one = watched(tmp_path, fake, "retry: {most: 1, settle_s: 60}\n")
    fake.signals = [xid("n0", 13)]
    one.round()
    assert fake.calls == []
    fake.queue["7"] = job("7", ("n0",), state="FAILED", ended_s=time.time())
    one.round()
    assert fake.done("requeue") == [("requeue", "7")]
    fake.queue["7"] = job("7", ("n0",), state="FAILED", ended_s=time.time(), restarts=1)
    fake.signals = [xid("n0", 13, times=2)]
    for _ in range(3):
        one.round()
    assert fake.done("requeue") == [("requeue", "7")]


def test_a_migrated_job_is_asked_for_its_checkpoint_and_requeued_when_it_is_written(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.run_job(job("7", ("n0",)))
    one = watched(tmp_path, fake)
    one.site = type(one.site)(**{**one.site.__dict__, "shared": tmp_path})
    fake.signals = [Signal("check", "n0", "node-slow", "gpu: slowed down")]
    one.round()
    one.round()
    assert fake.done("signal") == [("signal", "7", "USR1")] and fake.done("requeue") == []
    (tmp_path / ".clusterwright" / "saved").mkdir(parents=True)
    (tmp_path / ".clusterwright" / "saved" / "7").touch()
    one.round()
    assert fake.done("signal", "requeue") == [("signal", "7", "USR1"), ("requeue", "7")]


def test_a_job_shrinks_when_no_spare_is_left_and_grows_back(tmp_path: Path) -> None:
    fake = FakeSlurm(nodes=4, spares=0)
    fake.run_job(job("7", ("n0", "n1", "n2", "n3"), tasks=32))
    fake.comments["7"] = "clusterwright:min=2,max=4"
    one = watched(tmp_path, fake)
    fake.signals = silent("n3")
    one.round()
    fake.let_go()
    for _ in range(3):
        one.round()
        fake.start("7")
    assert fake.done("nodes") == [("nodes", "7", "3", "8")]
    assert fake.queue["7"].node_count == 3 and fake.queue["7"].state == "RUNNING"
    fake.signals = []
    fake.resume("n3")
    for _ in range(3):
        one.round()
    assert fake.done("signal") == [("signal", "7", "USR1")]
    fake.requeue("7")  # it has written its checkpoint and sends itself back
    fake.let_go()
    for _ in range(4):
        one.round()
        fake.start("7")
    assert fake.queue["7"].node_count == 4 and fake.queue["7"].state == "RUNNING"
    one.round()
    assert [a.state for a in one.store.actions() if a.kind == "shrink"] == ["undone"]


@pytest.mark.parametrize("comment", ["", "clusterwright:min=0,max=4", "x clusterwright:min=2,max=4", "min=2",
                                     "clusterwright:min=4,max=2", "clusterwright:min=2,max=4\nmin=1"])  # fmt: skip
def test_a_job_that_did_not_plainly_ask_for_it_is_never_shrunk(tmp_path: Path, comment: str) -> None:
    fake = FakeSlurm(nodes=4, spares=0)
    fake.run_job(job("7", ("n0", "n1", "n2", "n3")))
    fake.comments["7"] = comment
    one = watched(tmp_path, fake)
    fake.signals = silent("n3")
    one.round()
    fake.let_go()
    for _ in range(4):
        one.round()
        fake.start("7")
    assert fake.done("nodes") == []


def test_a_full_file_system_holds_new_starts_and_drains_nothing(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = [Signal("check", "", "fs-full", "disk: the shared file system is full")]
    one.round()
    one.round()
    assert fake.calls == [("hold", "train")]
    fake.signals = []
    one.round()
    one.round()
    assert fake.calls == [("hold", "train"), ("up", "train")] and fake.parts["train"].up


def test_a_node_comes_back_when_its_checks_pass_and_the_spare_waits_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = silent("n1")
    one.round()
    one.round()
    assert fake.parts["train"].nodes[-1] == "s0"
    fake.signals = []
    monkeypatch.setattr(one, "_fit", lambda node, since: True)
    for _ in range(4):
        time.sleep(0.002)
        one.round()
    assert fake.done("resume") == [("resume", "n1")]
    assert fake.parts["train"].nodes == tuple(f"n{i}" for i in range(8))
    assert [a.state for a in one.store.actions()] == ["undone", "undone", "done", "done"]


def test_checks_must_pass_twice_in_a_row(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    now = time.time()
    for at_s, fit, wanted in ((1, True, False), (3, False, False), (5, True, False), (7, True, True)):
        one.checks.latest["n1"] = Checked("n1", now + at_s, fit)
        assert one._fit("n1", now) is wanted


def test_a_node_that_flaps_is_retired_after_its_third_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake, "breaker: {nodes: 100}\n")
    monkeypatch.setattr(one, "_fit", lambda node, since: True)
    for _ in range(5):
        fake.signals = silent("n1")
        one.round()
        one.round()
        fake.signals = []
        for _ in range(3):
            time.sleep(0.002)
            one.round()
    assert fake.done("resume") == [("resume", "n1")] * 3
    assert [a.kind for a in one.store.actions()].count("retire") == 1
    assert "retired" in fake.held["n1"].reason


def test_a_dry_run_says_all_and_touches_nothing(tmp_path: Path) -> None:
    fake = FakeSlurm()
    fake.run_job(job("7", ("n0", "n1")))
    one = watched(tmp_path, fake, acts=False)
    fake.signals = silent("n1")
    for _ in range(3):
        one.round()
    assert fake.calls == [] and not (tmp_path / "state").exists()
    said = [line for line in one.said if "would" in line]  # type: ignore[attr-defined]
    assert [line.split()[2] for line in said] == ["drain", "spare", "requeue"]


def test_the_audit_log_has_every_change_once_and_is_only_added_to(tmp_path: Path) -> None:
    fake = FakeSlurm()
    one = watched(tmp_path, fake)
    fake.signals = [xid("n1", 79)]
    one.round()
    path = tmp_path / "state" / "audit.jsonl"
    before = path.read_bytes()
    with path.open("ab") as stream:
        stream.write(b'{"event": 99, "cut of')  # a crash in the middle of a line
    one.round()
    one.store.tell("hello", "ann")
    after = path.read_bytes()
    assert after.startswith(before)
    events = [json.loads(line)["event"] for line in after.splitlines()]
    assert events == list(range(1, len(events) + 1))
