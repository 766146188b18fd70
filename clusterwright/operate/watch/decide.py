"""One round: what was seen, what the policy says of it, what is done.

The order is that of safety. First what a person has decided since is taken over; then nodes that are lost or ill are
taken away, unless that would be a storm; then their jobs are helped; then, when a node is empty, a spare takes its
place, the node is checked, and comes back or not; last, jobs shrink when nothing else is left, and grow back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.errors import WorldError
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Job, Slurm
from clusterwright.operate.watch.act import Hands, owner, with_node
from clusterwright.operate.watch.evidence import Evidence, gather
from clusterwright.operate.watch.look import Look, check_node
from clusterwright.operate.watch.policy import Fault, Policy
from clusterwright.operate.watch.store import Kept, Store

__all__ = ["Round"]

_MARKER = re.compile(r"(?:^|\s)clusterwright:min=(\d{1,6}),max=(\d{1,6})(?:\s|$)")
_ENDED_S = 60.0
"""A job that failed on a node so shortly before the node did is taken to have failed by it."""
_SPARE = "spare"


@dataclass
class Round:
    """What a round needs.

    Attributes:
        site, slurm, store, policy, hands: see there.
        severity: XID code -> severity.
        racks: node -> rack.
    """

    site: Site
    slurm: Slurm
    store: Store
    policy: Policy
    hands: Hands
    severity: Mapping[str, str]
    racks: Mapping[str, str]

    def run(self, seen: Look) -> None:
        """Decide and act on one look."""
        self._yield_to_people(seen)
        evidence = gather(seen, self.store, self.policy, self.severity, self.site.watch.dead_after_s, self.racks)
        self._remove(seen, evidence)
        self._follow(seen)
        self._hasten(seen)
        self._shrink_and_grow(seen)

    # --- people ---

    def _yield_to_people(self, seen: Look) -> None:
        """A node that somebody took back is in service; nothing older counts against it."""
        for kept in self.store.nodes().values():
            node = seen.nodes.get(kept.name)
            if kept.phase == "ok" or node is None:
                continue
            if not node.draining and not node.unusable:
                self.hands.said(f"{kept.name} was given back by somebody else")
                self.store.keep(replace(kept, phase="ok", since_s=seen.at_s, action=0))
            elif node.draining and node.reason and owner(node.reason) != kept.action:
                self.hands.said(f"{kept.name} is drained by {node.reason_by}: {node.reason}")
                self.store.keep(replace(kept, phase="ok", since_s=seen.at_s, action=0))

    # --- away with it ---

    def _remove(self, seen: Look, evidence: Sequence[Evidence]) -> None:
        wanted: dict[str, tuple[Fault, list[Evidence]]] = {}
        for one in evidence:
            fault = self._of(one, seen)
            if not one.node or fault.node == "note":
                self._tell(one)
                continue
            if fault.silent and not self._dead(one.node):
                continue
            worst = wanted.get(one.node, (fault, []))[0]
            fault = fault if fault.node == "down" else worst
            wanted[one.node] = (fault, [*wanted.get(one.node, (fault, []))[1], one])
        away = {name for name, kept in self.store.nodes().items() if kept.phase != "ok"}
        theirs = {name for name, node in seen.nodes.items() if node.draining and not owner(node.reason)}
        fresh = {name: value for name, value in wanted.items() if name not in away | theirs}
        for name in set(wanted) & away:
            self._worse(seen, name, *wanted[name])
        for name in set(wanted) & theirs - away:
            self.store.handle(*(one.id for one in wanted[name][1]))
        if fresh and not self._storm(seen, fresh):
            for name, (fault, reasons) in sorted(fresh.items()):
                self._take_away(seen, name, fault, reasons)

    def _of(self, one: Evidence, seen: Look) -> Fault:
        """What is done; a note becomes a drain when it comes too often."""
        fault = one.fault
        since = seen.at_s - self.policy.flap_window_s
        if fault.repeats and self.store.count(fault.kind, one.node, since) >= fault.repeats:
            return replace(fault, node="drain", job="restart")
        return fault

    def _tell(self, one: Evidence) -> None:
        if self.hands.do("tell", one.node or "cluster", f"{one.fault.kind}: {one.text}", (one.id,)) is not None:
            self.store.handle(one.id)

    def _dead(self, node: str) -> bool:
        """Whether the node's own check agrees; without a check, silence alone counts."""
        return check_node(self.site, node).fit is not True

    def _storm(self, seen: Look, fresh: Mapping[str, tuple[Fault, list[Evidence]]]) -> bool:
        """Whether too many nodes would go: then none goes, and a person decides."""
        if self.store.meta("breaker"):
            return True
        since = seen.at_s - self.policy.breaker_window_s
        recent = {str(a.detail.get("event", a.target)) for a in self.store.actions("done", since)
                  if a.kind in ("drain", "down") and a.who == "watcher"}  # fmt: skip
        events = {reasons[0].event for _, reasons in fresh.values()}
        most = self.policy.most(len(seen.nodes))
        if len(recent | events) <= most:
            return False
        text = f"{len(events)} more of {len(recent | events)} would go within {self.policy.breaker_window_s:g} s, {most} may"
        if not self.hands.dry:
            self.store.set_meta("breaker", text)
        self.hands.do("tell", "breaker", f"{text}: nothing is taken away until 'operate reset'")
        return True

    def _take_away(self, seen: Look, name: str, fault: Fault, reasons: Sequence[Evidence]) -> None:
        ids = tuple(one.id for one in reasons)
        since = seen.at_s - self.policy.flap_window_s
        before = [a for a in self.store.actions("done", since) if a.kind in ("drain", "down") and a.target == name]
        text = f"{fault.kind}: {reasons[0].text}"
        made = self.hands.do(fault.node, name, text, ids, event=reasons[0].event, fault=fault.kind)
        if made is None:
            return
        jobs = seen.jobs_on(name)
        phase = "leaving" if len(before) + 1 < self.policy.flaps else "retired"
        self.store.keep(Kept(name, phase, seen.at_s, made.id, "", fault.kind))
        if phase == "retired":
            self.hands.do("tell", name, f"failed {len(before) + 1} times: it is retired until a person returns it", ids)
        self.store.handle(*ids)
        self._help(seen, name, fault, jobs, ids)

    def _worse(self, seen: Look, name: str, fault: Fault, reasons: Sequence[Evidence]) -> None:
        """More evidence about a node that is away already; a drained node that dies must let its jobs go."""
        ids = tuple(one.id for one in reasons)
        jobs = seen.jobs_on(name)
        kept = self.store.nodes()[name]
        if fault.node == "down" and not seen.nodes[name].states & {"DOWN"} and jobs:
            made = self.hands.do("down", name, f"{fault.kind}: {reasons[0].text}", ids, event=reasons[0].event)
            if made is not None:
                self.store.keep(replace(kept, action=made.id, fault=fault.kind))
                self._help(seen, name, fault, jobs, ids)
        self.store.handle(*ids)

    def _help(self, seen: Look, name: str, fault: Fault, jobs: Sequence[Job], ids: tuple[str, ...]) -> None:
        """Jobs of a node that went."""
        failed = [
            job for job in seen.jobs.values()
            if name in job.nodes and job.state in ("FAILED", "NODE_FAIL") and seen.at_s - self._ended(job) < _ENDED_S
        ]  # fmt: skip
        for job in (*jobs, *failed):
            if fault.job == "migrate":
                self.hands.do("migrate", job.key, f"leaves {name} after a checkpoint", ids)
            elif fault.job == "restart":
                self._restart(job, name, ids)

    def _ended(self, job: Job) -> float:
        return self.slurm.ended_s(job.key)

    def _restart(self, job: Job, name: str, ids: tuple[str, ...]) -> None:
        done = [
            a
            for a in self.store.actions(since_s=0)
            if a.kind == "requeue" and a.target == job.key and a.state == "done"
        ]
        if any(int(a.detail.get("restarts", -1)) == job.restarts for a in done):
            return  # this life of the job was ended already
        self.hands.do("requeue", job.key, f"{name} is lost to it", ids, restarts=job.restarts)

    # --- and back ---

    def _follow(self, seen: Look) -> None:
        for kept in self.store.nodes().values():
            node = seen.nodes.get(kept.name)
            if node is None or kept.phase == "ok":
                if node is not None and kept.spare:
                    self._spare_out(seen, kept)
                continue
            if node.busy or seen.jobs_on(kept.name):
                self._hurry(seen, kept)
                continue
            if kept.phase == "leaving":
                kept = replace(kept, phase="out", since_s=seen.at_s)
                if not self.hands.dry:
                    self.store.keep(kept)
            if not kept.spare:
                kept = self._spare_in(seen, kept)
            if kept.phase == "out" and seen.at_s - kept.checked_s >= self.policy.check_every_s:
                self._check(seen, kept)

    def _hurry(self, seen: Look, kept: Kept) -> None:
        """A lost node that still holds a job: Slurm waits for its answer unless it is down."""
        node = seen.nodes[kept.name]
        if kept.fault in ("node-dead", "rack-power") and not node.states & {"DOWN"} and seen.at_s - kept.since_s > 5:
            self.hands.do("down", kept.name, "still holds a job", fault=kept.fault, event=kept.name)

    def _spare_in(self, seen: Look, kept: Kept) -> Kept:
        """A spare takes the place of a node that has left, in each of its partitions."""
        homes = {
            name: part.nodes for name, part in seen.partitions.items() if name != _SPARE and kept.name in part.nodes
        }
        used = {one.spare for one in self.store.nodes().values()}
        for name in seen.partitions[_SPARE].nodes if _SPARE in seen.partitions else ():
            node = seen.nodes.get(name)
            if node is None or name in used or node.draining or node.unusable or node.busy or not homes:
                continue
            if any(name in nodes for nodes in homes.values()):
                continue
            made = self.hands.do("spare-in", name, f"in place of {kept.name}", partitions=with_node(homes, name),
                                 before={key: list(nodes) for key, nodes in homes.items()})  # fmt: skip
            if made is None:
                return kept
            kept = replace(kept, spare=name)
            self.store.keep(kept)
            return kept
        return kept

    def _spare_out(self, seen: Look, kept: Kept) -> None:
        """The spare goes back once it is empty and the node that it stood for is in service."""
        spare, node = seen.nodes.get(kept.spare), seen.nodes[kept.name]
        if node.draining or node.unusable:
            return
        if spare is not None and (spare.busy or seen.jobs_on(kept.spare)):
            return
        homes = {
            name: part.nodes for name, part in seen.partitions.items() if name != _SPARE and kept.spare in part.nodes
        }
        if not homes or self.hands.do(
            "spare-out", kept.spare, f"{kept.name} is back", partitions=with_node(homes, gone=kept.spare)
        ):
            self.store.keep(replace(kept, spare=""))

    def _check(self, seen: Look, kept: Kept) -> None:
        if self.hands.dry:
            return
        checked = check_node(self.site, kept.name)
        self.store.keep(replace(kept, checked_s=seen.at_s))
        if checked.fit is not True:
            return
        node = seen.nodes[kept.name]
        if owner(node.reason) != kept.action and not node.unusable:
            return
        if self.hands.do("return", kept.name, "its check finds nothing wrong") is not None:
            self.store.keep(replace(kept, phase="ok", since_s=seen.at_s, checked_s=seen.at_s, action=0))

    def _hasten(self, seen: Look) -> None:
        """A job that we sent back need not sit out the two minutes for which Slurm holds it."""
        ours = {a.target for a in self.store.actions("done", seen.at_s - 600) if a.kind in ("requeue", "migrate")}
        for job in seen.jobs.values():
            if job.key in ours and job.state == "PENDING" and job.reason == "BeginTime":
                self.hands.do("start-soon", job.key, "waits for nothing but Slurm's delay after a requeue")

    # --- degraded ---

    def _shrink_and_grow(self, seen: Look) -> None:
        shrunk = self.store.jobs()
        for key, (nodes, _) in shrunk.items():
            job = seen.jobs.get(key)
            if job is None or job.state in ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT"):
                self.store.forget_job(key)
            elif job.state == "RUNNING" and job.node_count < nodes:
                self._grow(seen, job, nodes)
            elif job.state == "PENDING" and job.node_count < nodes and self._free(seen, job) >= nodes:
                if self.hands.do("grow", key, "nodes are back", nodes=nodes) is not None:
                    self.store.forget_job(key)
        ours = {a.target for a in self.store.actions("done", seen.at_s - 86_400) if a.kind in ("requeue", "migrate")}
        for job in seen.jobs.values():
            if (
                job.state == "PENDING"
                and job.key in ours
                and seen.at_s - self._waits_since(job) >= self.policy.shrink_after_s
            ):
                self._shrink(seen, job)

    def _waits_since(self, job: Job) -> float:
        actions = [a for a in self.store.actions("done") if a.target == job.key and a.kind in ("requeue", "migrate")]
        return max((a.ended_s for a in actions), default=0.0)

    def _free(self, seen: Look, job: Job) -> int:
        part = seen.partitions.get(job.partition)
        nodes = [seen.nodes[name] for name in (part.nodes if part else ()) if name in seen.nodes]
        return sum(not node.draining and not node.unusable and not node.busy for node in nodes)

    def _shrink(self, seen: Look, job: Job) -> None:
        span = self._span(job)
        free = self._free(seen, job)
        if span is None or free >= job.node_count or free < span[0]:
            return
        if self.hands.do(
            "shrink", job.key, f"{free} of {job.node_count} nodes are there", nodes=free, before=job.node_count
        ):
            self.store.keep_job(job.key, job.node_count)

    def _grow(self, seen: Look, job: Job, nodes: int) -> None:
        """A job that runs on fewer nodes is asked for a checkpoint once the others are free; it comes back whole."""
        missing = nodes - job.node_count
        asked = [a for a in self.store.actions("done", seen.at_s - 600) if a.kind == "migrate" and a.target == job.key]
        if self._free(seen, job) >= missing and not asked:
            self.hands.do("migrate", job.key, f"{missing} more nodes are free")

    def _span(self, job: Job) -> tuple[int, int] | None:
        """Fewest and most nodes, of a job that says that it can do with fewer."""
        try:
            found = _MARKER.search(self.slurm.job_comment(job.key))
        except WorldError:
            return None
        return (int(found.group(1)), int(found.group(2))) if found else None
