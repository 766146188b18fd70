"""A Slurm without daemons: it keeps nodes, jobs and partitions, and counts what is done to them."""

from __future__ import annotations

import time
from dataclasses import replace

from clusterwright.operate.slurm import Job, Node, Partition
from clusterwright.operate.watch.look import Signal, World

__all__ = ["FakeSlurm", "job"]


def job(key: str, nodes: tuple[str, ...], **more: object) -> Job:
    count = len(nodes)
    made = Job(key, "RUNNING", "team", "user", "train", "normal", count, nodes, 8 * count, 0, 1.0, 2.0, 3600.0,
               "None", 0.0)  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


class FakeSlurm:
    """What slurmctld does of it: a job ends when its node is given up, and waits with a delay after a requeue."""

    def __init__(self, nodes: int = 8, spares: int = 2) -> None:
        names = [f"n{i}" for i in range(nodes)]
        waiting = [f"s{i}" for i in range(spares)]
        self.held = {name: Node(name, frozenset({"IDLE"}), 8) for name in (*names, *waiting)}
        self.parts = {
            "train": Partition("train", tuple(names), True),
            "spare": Partition("spare", tuple(waiting), True),
        }
        self.queue: dict[str, Job] = {}
        self.comments: dict[str, str] = {}
        self.asked: dict[str, int] = {}
        self.calls: list[tuple[str, ...]] = []
        self.boot_s = 1.0
        self.signals: list[Signal] = []
        self.blind: dict[str, str] = {}
        self.racks: dict[str, str] = {}

    # --- what tests do ---

    def run_job(self, one: Job) -> None:
        self.queue[one.key] = one
        for name in one.nodes:
            self._state(name, add={"ALLOCATED"}, gone={"IDLE"})

    def person(self, name: str, drained: bool, reason: str = "looking at it") -> None:
        if drained:
            self._state(name, add={"DRAIN"}, reason=reason, by="ann")
        else:
            self._state(name, gone={"DRAIN", "DOWN"}, reason="")

    def world(self) -> World:
        return World(time.time(), dict(self.held), dict(self.queue), dict(self.parts), list(self.signals),
                     dict(self.blind), self.racks, self.boot_s)  # fmt: skip

    def done(self, *what: str) -> list[tuple[str, ...]]:
        return [call for call in self.calls if call[0] in what]

    def let_go(self) -> None:
        """What was ending has ended; what may start, starts."""
        for one in list(self.queue.values()):
            if one.state == "COMPLETING":
                self._free(one)
                self.queue[one.key] = replace(one, state="PENDING", nodes=(), reason="BeginTime")

    def start(self, key: str) -> bool:
        one = self.queue[key]
        count = self.asked.get(key, one.node_count)
        places = [self.held[name] for name in self.parts[one.partition].nodes]
        free = [node.name for node in places if not (node.draining or node.busy or node.unusable)]
        if one.state != "PENDING" or one.reason == "BeginTime" or len(free) < count:
            if one.state == "PENDING" and one.reason != "BeginTime":
                self.queue[key] = replace(one, reason="Resources")
            return False
        self.run_job(replace(one, state="RUNNING", nodes=tuple(free[:count]), node_count=count, reason="None"))
        return True

    # --- what the watcher does ---

    def nodes(self) -> list[Node]:
        return list(self.held.values())

    def node(self, name: str) -> Node | None:
        return self.held.get(name)

    def jobs(self) -> list[Job]:
        return list(self.queue.values())

    def job(self, key: str) -> Job | None:
        return self.queue.get(key)

    def partitions(self) -> list[Partition]:
        return list(self.parts.values())

    def job_comment(self, key: str) -> str:
        return self.comments.get(key, "")

    def booted_s(self) -> float:
        return self.boot_s

    def drain(self, name: str, reason: str) -> None:
        self.calls.append(("drain", name))
        self._state(name, add={"DRAIN"}, reason=reason, by="root")

    def down(self, name: str, reason: str) -> None:
        self.calls.append(("down", name))
        self._state(name, add={"DOWN"}, gone={"ALLOCATED", "IDLE"}, reason=reason, by="root")
        for one in list(self.queue.values()):
            if name in one.nodes and one.state == "RUNNING":
                left = tuple(other for other in one.nodes if other != name)
                self.queue[one.key] = replace(one, state="COMPLETING", restarts=one.restarts + 1, nodes=left)

    def resume(self, name: str) -> None:
        self.calls.append(("resume", name))
        self._state(name, add={"IDLE"}, gone={"DRAIN", "DOWN"}, reason="")

    def requeue(self, key: str) -> None:
        self.calls.append(("requeue", key))
        one = self.queue[key]
        self.queue[key] = replace(one, state="COMPLETING", restarts=one.restarts + 1)

    def start_soon(self, key: str) -> None:
        self.calls.append(("start_soon", key))
        self.queue[key] = replace(self.queue[key], reason="None")

    def set_node_count(self, key: str, count: int, per_node: int = 0) -> None:
        self.calls.append(("nodes", key, str(count), str(per_node)))
        self.asked[key] = count  # of a job that waits, Slurm 22.05 goes on showing the number of before

    def set_partition_nodes(self, name: str, nodes: list[str]) -> None:
        self.calls.append(("partition", name, *nodes))
        self.parts[name] = replace(self.parts[name], nodes=tuple(nodes))

    def set_partition_up(self, name: str, up: bool) -> None:
        self.calls.append(("up" if up else "hold", name))
        self.parts[name] = replace(self.parts[name], up=up)

    def signal(self, key: str, name: str) -> None:
        self.calls.append(("signal", key, name))

    def _free(self, one: Job) -> None:
        for name in one.nodes:
            self._state(name, add={"IDLE"}, gone={"ALLOCATED"})

    def _state(self, name: str, add: set[str] | None = None, gone: set[str] | None = None,
               reason: str | None = None, by: str = "") -> None:  # fmt: skip
        held = self.held[name]
        states = frozenset((held.states | (add or set())) - (gone or set()))
        self.held[name] = replace(held, states=states or frozenset({"IDLE"}),
                                  **({} if reason is None else {"reason": reason, "reason_by": by}))  # fmt: skip
