"""The watcher in a real lab: faults, and bad weather. Needs root and the real daemons: make test-lab."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from clusterwright.operate.slurm import Job, Node, Slurm

pytestmark = [pytest.mark.lab, pytest.mark.long]

SPEC = """\
version: 1
name: watched
objective: cost
workloads: [{name: tune, train: {model: llama-3-8b, tokens: 50e9, sequence: 8192, global_batch: 4M tokens,
  precision: bf16, deadline: 14 d}}]
compute: {accelerators: [h100-sxm-80gb], gpus: 48}
storage: {dataset: 2 TB, checkpoints_kept: 3}
scheduler: {kind: slurm}
reliability: {availability: 99 %, spares: 2}
sites: [{name: main, region: us-east, rack_power: 50 kW}]
finance: {procurement: [buy], years: 4}
"""
JOB = """\
#!/bin/bash
saved=SHARED/.clusterwright/saved; mkdir -p $saved
trap 'echo USR1; touch $saved/$SLURM_JOB_ID' USR1
echo "begins restart=${SLURM_RESTART_COUNT:-0} nodes=$SLURM_JOB_NUM_NODES"
srun -K1 -N $SLURM_JOB_NUM_NODES -n $SLURM_JOB_NUM_NODES sleep 500 &
while kill -0 $! 2>/dev/null; do wait $!; rc=$?; done
exit $rc
"""
PATIENT = "version: 1\nflap: {wait_s: 3600}\n"
"""Nodes do not come back within the test."""


@dataclass
class Live:
    root: Path
    labs: Path

    @property
    def slurm(self) -> Slurm:
        return Slurm(self.root / "slurm" / "slurm.conf")

    def verb(self, *words: str, good: tuple[int, ...] = (0,), seconds: float = 120) -> str:
        done = subprocess.run([sys.executable, "-m", "clusterwright", *words], env=self.environment, timeout=seconds,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode in good, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "CLUSTERWRIGHT_LABS": str(self.labs), "NO_COLOR": "1",
                "PYTHONPATH": ":".join(path for path in sys.path if path)}  # fmt: skip

    def daemon(self, name: str) -> int:
        for path in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if path.name.isdigit() and (path / "comm").read_text().strip() == name \
                        and f"CLUSTERWRIGHT_LAB={self.root}".encode() in (path / "environ").read_bytes():  # fmt: skip
                    return int(path.name)
        raise AssertionError(f"{name} does not run")

    def node(self, name: str) -> Node:
        found = self.slurm.node(name)
        assert found is not None
        return found

    def submit(self, nodes: int = 2, *more: str) -> str:
        text = JOB.replace("SHARED", str(self.root / "shared"))
        out = f"{self.root}/shared/%j.out"
        words = ("sbatch", "--parsable", "-A", "everybody", f"--nodes={nodes}", "--ntasks-per-node=1", "--requeue",
                 "--gpus-per-node=8", "--exclusive", "--time=20", "--open-mode=append", "-o", out, *more)  # fmt: skip
        key = self.slurm.run(*words, stdin=text).strip()
        until(lambda: self.job(key).state == "RUNNING", 40)
        time.sleep(1.5)
        return key

    def job(self, key: str) -> Job:
        found = self.slurm.job(key)
        assert found is not None
        return found

    def clean(self) -> None:
        """As it was: no job, no fault, all nodes idle, spares apart."""
        self.slurm.run("scancel", "--user=root")
        self.verb("lab", "mend")
        self.slurm.set_partition_nodes("train", [f"s1-compute-000{i}" for i in range(1, 7)])
        self.slurm.set_partition_nodes("interactive", [f"s1-compute-000{i}" for i in range(1, 7)])
        for name in ("train", "interactive"):
            self.slurm.set_partition_up(name, True)
        until(lambda: not [j for j in self.slurm.jobs() if j.state in ("RUNNING", "COMPLETING", "PENDING")], 60)
        for node in self.slurm.nodes():
            if node.draining or node.unusable:
                self.slurm.resume(node.name)
        until(lambda: all(n.states <= {"IDLE"} for n in self.slurm.nodes()), 60)
        until(lambda: "node-exporter" not in self.silent(), 30)

    def silent(self) -> str:
        from clusterwright.operate import Prometheus

        held = yaml.safe_load((self.root / "site.yaml").read_text("utf-8"))
        return str(Prometheus(held["prometheus"]).query('up{job="node-exporter"} == 0'))

    def silent_free(self) -> bool:
        return "node-exporter" not in self.silent()


def until(good: Callable[[], bool], seconds: float) -> float:
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        if good():
            return time.monotonic() - begun
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds:g} s")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    from clusterwright.lab import missing

    lacking = missing(True)
    if lacking:
        pytest.skip(f"{lacking[0].message}: {lacking[0].hint}")
    folder = tmp_path_factory.mktemp("spec")
    (folder / "watched.yaml").write_text(SPEC, "utf-8")
    labs = Path(f"/run/cw-test-{os.getpid()}")
    made = Live(labs / "watched", labs)
    made.verb("lab", "up", str(folder / "watched.yaml"), good=(0, 1))
    try:
        yield made
    finally:
        made.verb("lab", "down", good=(0, 1, 2, 3))


class Watching:
    """A watcher as a process of its own, with a state of its own."""

    def __init__(self, live: Live, folder: Path, policy: str = PATIENT, **site: object) -> None:
        self.live, self.folder = live, folder
        held = yaml.safe_load((live.root / "site.yaml").read_text("utf-8"))
        (folder / "policy.yaml").write_text(policy, "utf-8")
        held |= {"state": str(folder / "state"), "policy": str(folder / "policy.yaml"), **site}
        self.site = folder / "site.yaml"
        self.site.write_text(yaml.safe_dump(held), "utf-8")
        self.log = folder / "watch.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *before: str, settle_s: float = 2.5) -> Watching:
        words = [*before, sys.executable, "-m", "clusterwright", "operate", "run", "--act", "--site", str(self.site)]
        with self.log.open("ab") as stream:
            self.process = subprocess.Popen(words, stdout=stream, stderr=stream, env=self.live.environment,
                                            start_new_session=True)  # fmt: skip
        time.sleep(settle_s)
        return self

    def kill(self, number: int = signal.SIGKILL) -> int:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        return self.process.wait(20)

    @property
    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def actions(self) -> list[dict[str, object]]:
        text = self.live.verb("operate", "log", "--site", str(self.site), "--json")
        found: list[dict[str, object]] = json.loads(text[text.index("{") :])["actions"]
        return found

    def of(self, kind: str, *states: str) -> list[str]:
        return [str(a["target"]) for a in self.actions() if a["kind"] == kind and a["state"] in (states or ("done",))]


@pytest.fixture
def watching(live: Live, tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    live.clean()
    made: list[Watching] = []

    def make(**more: object) -> Watching:
        made.append(Watching(live, tmp_path, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        if one.process is not None and one.process.poll() is None:
            one.kill(signal.SIGTERM)


def recovered(live: Live, node: str, key: str, restarts: int = 0, within_s: float = 10.0) -> tuple[float, float]:
    """Seconds from now to the drain, and to the job's next start."""
    begun = time.monotonic()
    until(lambda: live.node(node).draining, 40)
    drained = time.monotonic() - begun
    until(lambda: (j := live.job(key)).state == "RUNNING" and j.restarts > restarts, 60)
    restarted = time.monotonic() - begun
    print(f"drained {drained:.1f} s, restarted {restarted:.1f} s")
    assert drained <= within_s
    assert node not in live.job(key).nodes
    return drained, restarted


HOSTILE = "$(touch /tmp/pwned)|a b\x1b[31m';--"


@pytest.mark.parametrize("fault", [["node-dead"], ["node-hung"], ["xid", "--xid", "79"], ["gpu-lost"]])
def test_a_fault_drains_within_10_s_and_the_job_starts_again_elsewhere(
    live: Live, watching: Callable[..., Watching], fault: list[str]
) -> None:
    one = watching().start()
    key = live.submit(2, f"--job-name={HOSTILE}", f"--comment={HOSTILE}")
    victim = live.job(key).nodes[1]
    live.verb("lab", "inject", fault[0], victim, *fault[1:])
    recovered(live, victim, key)
    until(lambda: "s1-spare-0001" in {p.name: p.nodes for p in live.slurm.partitions()}["train"], 20)
    assert live.job(key).restarts == 1
    assert one.of("drain") == [victim] and one.of("spare") == [victim] and one.of("requeue") == [key]
    assert "\x1b" not in one.said and not Path("/tmp/pwned").exists()


def test_a_slow_node_is_left_after_a_checkpoint(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching().start()
    key = live.submit(2)
    victim = live.job(key).nodes[1]
    live.verb("lab", "inject", "node-slow", victim)
    until(lambda: live.job(key).restarts == 1 and live.job(key).state == "RUNNING", 120)
    text = (live.root / "shared" / f"{key}.out").read_text("utf-8")
    assert text.index("USR1") < text.index("restart=1")
    assert victim not in live.job(key).nodes and one.of("drain") == [victim]


def test_a_job_that_dies_of_an_xid_of_its_own_starts_again_in_place(
    live: Live, watching: Callable[..., Watching]
) -> None:
    one = watching().start()
    key = live.submit(2)
    nodes = live.job(key).nodes
    live.verb("lab", "inject", "xid", nodes[0], "--xid", "13")
    until(lambda: live.job(key).state == "RUNNING" and live.job(key).restarts == 1, 60)
    assert one.of("requeue") == [key] and not [n.name for n in live.slurm.nodes() if n.draining]


def test_without_a_spare_a_job_shrinks_and_grows_back_after_a_checkpoint(
    live: Live, watching: Callable[..., Watching]
) -> None:
    policy = "version: 1\nbreaker: {nodes: 9}\nflap: {wait_s: 0}\nshrink: {after_s: 2}\n"
    live.slurm.drain("s1-spare-0001", "a person")
    live.slurm.drain("s1-spare-0002", "a person")
    one = watching(policy=policy).start()
    key = live.submit(6, "--comment=clusterwright:min=3,max=6")
    victim = live.job(key).nodes[2]
    live.verb("lab", "inject", "node-dead", victim)
    until(lambda: live.job(key).state == "RUNNING" and live.job(key).node_count == 5, 60)
    live.verb("lab", "mend", victim)
    until(lambda: live.job(key).state == "RUNNING" and live.job(key).node_count == 6, 90)
    text = (live.root / "shared" / f"{key}.out").read_text("utf-8")
    begins = [line for line in text.splitlines() if line.startswith(("begins", "USR1"))]
    assert begins == ["begins restart=0 nodes=6", "begins restart=1 nodes=5", "USR1", "begins restart=2 nodes=6"]
    assert one.of("shrink", "undone") == [key]
    assert {n.name for n in live.slurm.nodes() if n.draining} == {"s1-spare-0001", "s1-spare-0002"}


def test_a_rack_without_power_is_one_event_for_the_breaker(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching().start()
    live.verb("lab", "inject", "rack-power", "s1-p01-r02")
    until(lambda: sum(n.draining for n in live.slurm.nodes()) == 4, 30)
    assert {str(a["cause"]) for a in one.actions() if a["kind"] == "drain"} == {"rack-power"}


def test_a_full_file_system_drains_nobody_and_holds_new_starts_until_there_is_room(
    live: Live, watching: Callable[..., Watching]
) -> None:
    one = watching().start()
    live.verb("lab", "inject", "fs-full")
    until(lambda: not {p.name: p.up for p in live.slurm.partitions()}["train"], 40)
    assert not [n.name for n in live.slurm.nodes() if n.draining]
    live.verb("lab", "mend")
    until(lambda: {p.name: p.up for p in live.slurm.partitions()}["train"], 40)
    until(lambda: one.of("hold", "undone") == ["*"], 10)


def test_a_storm_of_xid_45_drains_none(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching().start()
    live.verb("lab", "inject", "xid", *(f"s1-compute-000{i}" for i in range(1, 7)), "--xid", "45")
    time.sleep(8)
    assert one.actions() == [] and not [n.name for n in live.slurm.nodes() if n.draining]
    text = live.verb("operate", "log", "--site", str(one.site), "--evidence", "--json")
    assert text.count("xid 45 on GPU 0") == 6


def test_the_breaker_stops_a_storm_and_a_person_goes_on(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching().start()
    live.verb("lab", "inject", "gpu-lost", *(f"s1-compute-000{i}" for i in range(1, 6)))
    until(lambda: "WATCH-BREAKER" in one.said, 40)
    assert sum(n.draining for n in live.slurm.nodes()) <= 2
    assert one.kill(signal.SIGTERM) == 1
    live.verb("operate", "resume", "--site", str(one.site))
    assert (
        json.loads((one.folder / "state" / "audit.jsonl").read_text("utf-8").splitlines()[-1])["what"]
        == "breaker closed"
    )


def test_a_node_comes_back_flaps_and_is_retired(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching(policy="version: 1\nflap: {wait_s: 0, most: 1}\n").start()
    victim = "s1-compute-0003"
    live.verb("lab", "inject", "node-dead", victim)
    until(lambda: live.node(victim).draining, 20)
    live.verb("lab", "mend", victim)
    until(lambda: not live.node(victim).draining, 40)
    until(lambda: not live.node(victim).unusable and live.silent_free(), 20)
    time.sleep(2)
    live.verb("lab", "inject", "node-dead", victim)
    until(lambda: "retired" in live.node(victim).reason, 30)
    live.verb("lab", "mend", victim)
    time.sleep(6)
    assert live.node(victim).draining and one.of("return") == [victim]


# --- bad weather ---


def test_killed_again_and_again_while_faults_come_nothing_is_lost_or_done_twice(
    live: Live, watching: Callable[..., Watching]
) -> None:
    one = watching().start()
    keys = [live.submit(2), live.submit(2)]
    victims = [live.job(key).nodes[0] for key in keys]
    begun = time.monotonic()
    for number in range(14):
        if number == 2:
            live.verb("lab", "inject", "node-dead", victims[0])
        if number == 6:
            live.verb("lab", "inject", "xid", victims[1], "--xid", "79")
        time.sleep(0.35 + 0.17 * (number % 5))
        one.kill()
        one.start(settle_s=0.9)
    until(lambda: all(live.job(k).state == "RUNNING" and live.job(k).restarts >= 1 for k in keys), 60)
    until(lambda: len(one.of("spare")) == 2, 30)
    print(
        f"14 kills in {time.monotonic() - begun:.0f} s: {[(a['kind'], a['target'], a['state']) for a in one.actions()]}"
    )
    assert sorted(one.of("drain")) == sorted(victims)
    assert sorted(one.of("requeue")) == sorted(keys)
    assert [live.job(k).restarts for k in keys] == [1, 1]
    assert one.of("drain", "intended", "abandoned") == []
    lines = [json.loads(line) for line in (one.folder / "state" / "audit.jsonl").read_text("utf-8").splitlines()]
    assert [line["event"] for line in lines] == list(range(1, len(lines) + 1))
    assert sum(line["what"] == "done" and line.get("kind") == "drain" for line in lines) == 2


def test_two_watchers_the_second_says_who_leads(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching().start()
    assert one.process is not None
    text = live.verb("operate", "run", "--act", "--once", "--site", str(one.site), good=(1,))
    assert "WATCH-LEADER" in text and f"process {one.process.pid}" in text
    live.verb("operate", "run", "--once", "--site", str(one.site))  # one that does nothing may look


def test_a_person_goes_through_the_watcher_that_leads(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching().start()
    said = live.verb("operate", "drain", "s1-compute-0004", "--reason", "new fan", "--site", str(one.site))
    assert "done" in said and "new fan" in live.node("s1-compute-0004").reason
    number = str(one.actions()[-1]["id"])
    live.verb("operate", "undo", number, "--site", str(one.site))
    assert not live.node("s1-compute-0004").draining
    assert "WATCH-ACTION" in live.verb("operate", "undo", number, "--site", str(one.site), good=(2,))


def test_slurmctld_is_killed_and_comes_back(live: Live, watching: Callable[..., Watching]) -> None:
    one = watching().start()
    key = live.submit(2)
    victim = live.job(key).nodes[1]
    pid = live.daemon("slurmctld")
    words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    held = Path(f"/proc/{pid}/environ").read_bytes().rstrip(b"\0").split(b"\0")
    environment = dict(item.split(b"=", 1) for item in held if b"=" in item)
    os.kill(pid, signal.SIGKILL)
    live.verb("lab", "inject", "node-dead", victim)
    until(lambda: "WATCH-BLIND" in one.said, 40)
    subprocess.run([b"setsid", b"--fork", *words], env=environment, cwd=live.root, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    until(live.slurm.up, 30)
    recovered(live, victim, key, within_s=30)
    assert one.of("drain") == [victim] and live.job(key).restarts == 1


def test_without_mariadb_it_goes_on(live: Live, watching: Callable[..., Watching]) -> None:
    watching().start()
    key = live.submit(2)
    victim = live.job(key).nodes[1]
    os.kill(live.daemon("mariadbd"), signal.SIGSTOP)
    try:
        live.verb("lab", "inject", "node-dead", victim)
        recovered(live, victim, key)
    finally:
        os.kill(live.daemon("mariadbd"), signal.SIGCONT)


def test_without_prometheus_it_goes_on_with_slurm_and_checks_and_says_so(
    live: Live, watching: Callable[..., Watching]
) -> None:
    one = watching(prometheus="http://127.0.0.1:1").start()
    key = live.submit(2)
    victim = live.job(key).nodes[1]
    live.verb("lab", "inject", "node-dead", victim)
    recovered(live, victim, key, within_s=25)
    assert "WATCH-BLIND" in one.said and "prometheus" in one.said


def test_with_a_clock_five_minutes_ahead(live: Live, watching: Callable[..., Watching]) -> None:
    if shutil.which("faketime") is None:
        pytest.skip("faketime is not installed: apt install faketime")
    one = watching().start("faketime", "-f", "+300s")
    key = live.submit(2)
    victim = live.job(key).nodes[1]
    live.verb("lab", "inject", "node-dead", victim)
    recovered(live, victim, key)
    assert "its clock is -300 s from ours" in one.said


def test_a_full_disk_stops_all_action_and_says_so_until_there_is_room(
    live: Live, watching: Callable[..., Watching]
) -> None:
    one = watching()
    state = one.folder / "state"
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(state)], check=False).returncode:
        pytest.skip("mount is not allowed on this machine")
    try:
        one.start()
        key = live.submit(2)
        with (state / "fill").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while True:
                stream.write(b"0" * 1024)
        victim = live.job(key).nodes[1]
        live.verb("lab", "inject", "node-dead", victim)
        until(lambda: "WATCH-STATE" in one.said, 30)
        assert not live.node(victim).draining
        (state / "fill").unlink()
        recovered(live, victim, key)
        assert one.of("drain") == [victim]
    finally:
        one.kill(signal.SIGTERM)
        subprocess.run(["umount", "-l", str(state)], check=False)
