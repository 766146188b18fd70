"""Actions: each is written down, done, and written down again; each can be seen to be done, and most can be undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusterwright.errors import InputError, WorldError
from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.slurm import Slurm
from clusterwright.operate.watch.look import Look
from clusterwright.operate.watch.store import Action, Kept, Store

__all__ = ["OWN", "Hands", "by_hand", "owner", "with_node"]

OWN = "clusterwright:"
"""How the reason of our drains begins; the number of the action follows."""


def owner(reason: str) -> int:
    """The action that a reason names; 0 when it is somebody else's."""
    number = reason.removeprefix(OWN).partition(" ")[0] if reason.startswith(OWN) else ""
    return int(number) if number.isdigit() else 0


class Hands:
    """Does things, or in a dry run only says them.

    Attributes:
        dry: whether nothing is touched.
        said: lines for whoever watches.
    """

    def __init__(self, slurm: Slurm, store: Store, dry: bool, said: Callable[[str], None]) -> None:
        self.slurm, self.store, self.dry, self.said = slurm, store, dry, said

    def do(self, kind: str, target: str, why: str, evidence: tuple[str, ...] = (), **detail: Any) -> Action | None:
        """Do one thing; None in a dry run, or when it could not be done, which is written down.

        Args:
            kind: of the action.
            target: node or job.
            why: in words.
            evidence: fingerprints.
            detail: what the action needs.
        """
        if self.dry:
            self.said(f"would {kind} {target}: {why}")
            return None
        action = self.store.intend(kind, target, evidence, {"why": why, **detail})
        try:
            self._do(action)
        except WorldError as error:
            self.store.end(action, "failed", error.findings[0].message)
            self.said(f"{action.id} {kind} {target} failed: {error.findings[0].message}")
            return None
        self.store.end(action, "done", why)
        self.said(f"{action.id} {kind} {target}: {why}")
        return action

    def _do(self, action: Action) -> None:
        slurm, target, detail = self.slurm, action.target, action.detail
        reason = f"{OWN}{action.id} {detail['why']}"[:200]
        match action.kind:
            case "drain" | "retire":
                slurm.drain(target, reason)
            case "down":
                slurm.down(target, reason)
                slurm.drain(target, reason)
            case "return":
                slurm.resume(target)
            case "requeue":
                try:
                    slurm.requeue(target)
                except WorldError:
                    if slurm.job_state(target) != "PENDING":  # it waits again already
                        raise
            case "start-soon":
                slurm.start_soon(target)
            case "migrate":
                slurm.signal(target, "USR1")
            case "spare-in" | "spare-out":
                for partition, nodes in detail["partitions"].items():
                    slurm.set_partition_nodes(partition, nodes)
            case "shrink" | "grow":
                slurm.set_node_count(target, int(detail["nodes"]))
                slurm.start_soon(target)
            case "tell":
                pass

    def recover(self, seen: Look) -> None:
        """Look at what was intended when a watcher ended in the middle: it is done, or it is left to be decided anew."""
        for action in reversed(self.store.actions("intended")):
            if _visible(action, seen):
                self.store.end(action, "done", "found done after a restart")
            else:
                self.store.end(action, "abandoned", "not found done after a restart; decided anew")
            self.said(f"{action.id} {action.kind} {action.target} was not finished; looked at again")

    def undo(self, key: int, seen: Look) -> Action | None:
        """Take an action back.

        Raises:
            InputError: it cannot be undone, or somebody else has decided since.
        """
        action = self.store.action(key)
        where = str(key)
        if action.state != "done":
            said = f"action {key} is {action.state}"
            raise InputError(FINDINGS["OPERATE-ACTION"].at(where, said, "only what was done can be undone"))
        node = seen.nodes.get(action.target)
        if action.kind in ("drain", "down", "retire"):
            if node is None or owner(node.reason) != key:
                said = f"{action.target} is not drained by action {key} any more"
                raise InputError(FINDINGS["OPERATE-ACTION"].at(where, said, "somebody else has decided since"))
            made = self.do("return", action.target, f"action {key} is undone")
        elif action.kind == "spare-in":
            made = self.do("spare-out", action.target, f"action {key} is undone", partitions=action.detail["before"])
        elif action.kind == "return":
            made = self.do("drain", action.target, f"action {key} is undone")
        else:
            said = f"a {action.kind} cannot be undone"
            raise InputError(FINDINGS["OPERATE-ACTION"].at(where, said, "what a job lost, it lost"))
        if made is not None:
            self.store.end(action, "undone", f"by action {made.id}")
        return made


def _visible(action: Action, seen: Look) -> bool:
    """Whether the cluster shows that an action was done."""
    node, job, detail = seen.nodes.get(action.target), seen.jobs.get(action.target), action.detail
    match action.kind:
        case "drain" | "down" | "retire":
            return node is not None and owner(node.reason) == action.id
        case "return":
            return node is not None and not node.draining
        case "requeue":
            return job is not None and job.restarts > int(detail.get("restarts", 0))
        case "spare-in" | "spare-out":
            return all(_same(seen, name, nodes) for name, nodes in detail["partitions"].items())
        case "shrink" | "grow":
            return job is not None and job.node_count == int(detail["nodes"])
    return False


def _same(seen: Look, partition: str, nodes: Any) -> bool:
    held = seen.partitions.get(partition)
    return held is not None and set(held.nodes) == set(nodes)


def with_node(partitions: Mapping[str, tuple[str, ...]], add: str = "", gone: str = "") -> dict[str, list[str]]:
    """Partition -> nodes with one more, or one less."""
    return {
        name: [n for n in nodes if n != gone] + ([add] if add and add not in nodes else [])
        for name, nodes in partitions.items()
    }


def by_hand(hands: Hands, seen: Look, kind: str, nodes: Sequence[str], reason: str) -> bool:
    """A person drains, returns or retires nodes.

    Returns:
        whether all of it was done.

    Raises:
        InputError: a node is none of the cluster's.
    """
    wrong = [name for name in nodes if name not in seen.nodes]
    if wrong:
        hint = f"such as {min(seen.nodes)}" if seen.nodes else "the cluster has no nodes"
        raise InputError([FINDINGS["OPERATE-ACTION"].at(name, "the cluster has no such node", hint) for name in wrong])
    done = True
    for name in nodes:
        made = hands.do(kind, name, reason)
        done = done and made is not None
        if made is not None and kind == "return":
            kept = hands.store.nodes().get(name)
            spare = kept.spare if kept else ""
            hands.store.keep(Kept(name, "ok", seen.at_s, 0, spare))
        elif made is not None and kind == "retire":
            hands.store.keep(Kept(name, "retired", seen.at_s, made.id, "", "by hand"))
    return done
