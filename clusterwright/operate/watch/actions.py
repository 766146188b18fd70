"""Doing what was intended, one step at a time: look at what is there, do what is missing, say how far it is.

A step may be done twice without harm, so that a watcher that was killed at any moment goes on from the row that it
wrote before. What a person did meanwhile is seen in the live state, and left.

==============  ====================================================================================================
``drain``        a node takes no new jobs; with ``down`` it is given up, too, so that Slurm lets its jobs go
``down``         a node that is drained already is given up
``requeue``      a job ends and waits again: see :mod:`~clusterwright.operate.watch.jobs`
``shrink``       a waiting job asks for fewer nodes; ``grow`` takes that back
``spare``        a hot spare joins the partitions of a node, once no job is left on that one
``spare-out``    and leaves them
``hold``         partitions start no jobs; ``release`` takes that back
``return``       a node that we drained is in service again
``retire``       a node stays out until a person gives it back
==============  ====================================================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.errors import WorldError
from clusterwright.operate.slurm import Node, Slurm
from clusterwright.operate.watch import jobs
from clusterwright.operate.watch.jobs import Progress
from clusterwright.operate.watch.look import Checks, World
from clusterwright.operate.watch.policy import Policy
from clusterwright.operate.watch.store import Action, Store

__all__ = ["OWN", "Hands", "owner"]

OWN = "clusterwright:"
"""How the reason of our drains begins; the number of the action follows."""
_PATIENCE_S = 900.0
"""How long an action whose calls fail is tried."""


def owner(reason: str) -> int:
    """The action that a reason names; 0 when it is somebody else's."""
    number = reason.removeprefix(OWN).partition(" ")[0] if reason.startswith(OWN) else ""
    return int(number) if number.isdigit() else 0


@dataclass
class Hands:
    """What acts.

    Attributes:
        slurm: that is acted on.
        store: what was intended, and what came of it.
        policy, checks: see there.
        busy_spares: spares that stand in for somebody, or are about to.
        said: is told each thing that was done.
    """

    slurm: Slurm
    store: Store
    policy: Policy
    checks: Checks
    said: Callable[[str], None]

    def go_on(self, one: Action, world: World, actions: Sequence[Action]) -> None:
        """Take an intended action as far as it goes now, and write down how far it is.

        Raises:
            WorldError: it cannot be written down.
        """
        try:
            made = self._step(one, world, actions)
        except WorldError as error:
            if any(found.code == "WATCH-STATE" for found in error.findings):
                raise
            said = error.findings[0].message
            late = time.time() - one.made_s > _PATIENCE_S
            made = Progress("abandoned" if late or _refused(said) else "intended", one.phase, said)
        if (made.state, made.phase, made.note) != (one.state, one.phase, one.note):
            one.state, one.phase, one.note = made.state, made.phase, made.note
            self.store.update(one)
            self.said(f"{one.id} {one.kind} {one.target} ({one.cause}): {one.state} {one.note or one.phase}".rstrip())

    def save(self, one: Action) -> None:
        """Write down how far an action is, before its next step."""
        self.store.update(one)

    def _step(self, one: Action, world: World, actions: Sequence[Action]) -> Progress:
        match one.kind:
            case "drain":
                return self._drain(one)
            case "down":
                return self._down(one, world)
            case "requeue":
                return jobs.requeue(one, world, self.slurm, self.policy, self.save)
            case "shrink" | "grow":
                return jobs.resize(one, world, self.slurm)
            case "spare":
                return self._spare(one, world, actions)
            case "spare-out":
                return self._spare_out(one, world)
            case "hold":
                return self._hold(one, world, False)
            case "release":
                return self._hold(one, world, True)
            case "return":
                return self._return(one)
            case "retire":
                return self._retire(one, world)
        return Progress("abandoned", note=f"nobody knows how to {one.kind}")

    # --- nodes ---

    def _drain(self, one: Action) -> Progress:
        node = self.slurm.node(one.target)  # as it is now: somebody may have been faster
        if node is None:
            return Progress("abandoned", note="the cluster has no such node")
        if node.held and owner(node.reason) != one.id and not (one.by != "watcher" and not node.draining):
            return Progress("abandoned", note=f"out of service already by {node.reason_by or 'somebody'}")
        reason = f"{one.mark} {one.cause}: {_told(one)}"[:150]
        if not node.draining:
            self.slurm.drain(one.target, reason)
        if one.params.get("down") and "DOWN" not in node.states:
            self.slurm.down(one.target, reason)
        return Progress("done", note=f"drained{' and given up' if one.params.get('down') else ''}")

    def _down(self, one: Action, world: World) -> Progress:
        node = world.nodes.get(one.target)
        if node is None:
            return Progress("abandoned", note="the cluster has no such node")
        if "DOWN" not in node.states:
            self.slurm.down(one.target, node.reason or f"{one.mark} {one.cause}")
        return Progress("done", note="given up; the drain stays whose it is")

    def _return(self, one: Action) -> Progress:
        node = self.slurm.node(one.target)
        if node is None:
            return Progress("abandoned", note="the cluster has no such node")
        if not node.draining and not node.unusable:
            return Progress("done", note="it is in service")
        if not owner(node.reason) and one.by == "watcher":
            return Progress("abandoned", note=f"{node.reason_by or 'somebody'} holds it: {node.reason}"[:120])
        self.slurm.resume(one.target)
        return Progress("done", note="in service again")

    def _retire(self, one: Action, world: World) -> Progress:
        node = world.nodes.get(one.target)
        if node is None:
            return Progress("abandoned", note="the cluster has no such node")
        if node.draining and not owner(node.reason) and one.by == "watcher":
            return Progress("abandoned", note=f"{node.reason_by or 'somebody'} holds it: {node.reason}"[:120])
        if owner(node.reason) != one.id:
            self.slurm.drain(one.target, f"{one.mark} retired: {_told(one)}"[:150])
        return Progress("done", note="out until a person gives it back")

    # --- spares ---

    def _spare(self, one: Action, world: World, actions: Sequence[Action]) -> Progress:
        node = self.slurm.node(one.target)
        if node is None or not (node.draining or node.unusable):
            going = any(a.kind == "drain" and a.target == one.target and a.state == "intended" for a in actions)
            return Progress("intended", "waits") if going else Progress("abandoned", note="the node is in service")
        if node.busy or world.on(one.target):
            return Progress("intended", "waits", "until no job is left on the node")
        chosen = one.params.get("spare") or self._choose(one, world, actions)
        if not chosen:
            return Progress("abandoned", note="no spare is left")
        if one.params.get("spare") is None:
            one.params["spare"] = chosen
            self.save(one)
        answer = self.checks.ask(chosen, one.made_s) if self.checks.words else None
        if self.checks.words and answer is None:
            return Progress("intended", "check", f"{chosen} is being checked")
        if answer is not None and not answer.fit:
            one.params["unfit"] = [*one.params.get("unfit", []), chosen]
            one.params["spare"] = None
            return Progress("intended", f"unfit {chosen}", f"{chosen} is unfit: {'; '.join(answer.said)}"[:120])
        self._join(chosen, one.params["partitions"], True)
        return Progress("done", note=f"{chosen} stands in")

    def _choose(self, one: Action, world: World, actions: Sequence[Action]) -> str:
        held = world.partitions.get(self.policy.spare_partition)
        at_work = {n for part in world.partitions.values() if part.name != self.policy.spare_partition
                   for n in part.nodes}  # fmt: skip
        taken = {str(a.params.get("spare")) for a in actions if a.kind == "spare" and a.id != one.id
                 and a.state in ("intended", "done")}  # fmt: skip
        out = at_work | taken | set(one.params.get("unfit", []))
        for name in held.nodes if held else ():
            node = world.nodes.get(name)
            if node is not None and name not in out and _idle(node):
                return name
        return ""

    def _spare_out(self, one: Action, world: World) -> Progress:
        spare = str(one.params["spare"])
        node = world.nodes.get(spare)
        if node is not None and (node.busy or world.on(spare)):
            return Progress("intended", "waits", "until no job is left on the spare")
        self._join(spare, one.params["partitions"], False)
        return Progress("done", note=f"{spare} waits again")

    def _join(self, node: str, partitions: Sequence[str], there: bool) -> None:
        """Put a node into partitions, or take it out; read anew, so that nobody's change in between is lost."""
        held = {part.name: part for part in self.slurm.partitions()}
        for name in partitions:
            part = held.get(name)
            if part is not None and (node in part.nodes) != there:
                nodes = [*part.nodes, node] if there else [other for other in part.nodes if other != node]
                self.slurm.set_partition_nodes(name, nodes)

    # --- the whole site ---

    def _hold(self, one: Action, world: World, up: bool) -> Progress:
        for name in one.params["partitions"]:
            part = world.partitions.get(name)
            if part is not None and part.up != up:
                self.slurm.set_partition_up(name, up)
        return Progress("done", note="jobs start again" if up else "no new job starts; those that run go on")


def _idle(node: Node) -> bool:
    return not (node.draining or node.unusable or node.busy) and node.answers


def _told(one: Action) -> str:
    found: Mapping[str, object] = one.evidence[0] if one.evidence else {}
    return str(found.get("detail") or one.params.get("reason") or one.by)


def _refused(said: str) -> bool:
    """Whether Slurm will not do it however often it is asked."""
    words = ("disabled", "Invalid job id", "Access/permission denied", "already completing", "no longer pending")
    return any(word.lower() in said.lower() for word in words)
