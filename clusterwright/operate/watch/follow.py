"""What follows from what was done: people's decisions are taken over, nodes and spares go back, jobs shrink and grow.

Like :mod:`~clusterwright.operate.watch.decide` it touches nothing: it says which rows change and what is intended next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clusterwright.operate.slurm import OWN_REASONS, Job
from clusterwright.operate.watch.actions import owner
from clusterwright.operate.watch.decide import outings
from clusterwright.operate.watch.jobs import elastic
from clusterwright.operate.watch.look import World
from clusterwright.operate.watch.policy import Policy
from clusterwright.operate.watch.store import Action, Condition

__all__ = ["Followed", "fits_now", "follow", "returned"]

_LOST_S = 60.0
"""slurmctld that is killed may forget what was changed so shortly before."""
_LACKS = ("ReqNodeNotAvail", "Resources", "PartitionConfig", "PartitionNodeLimit", "BadConstraints", "NodeDown",
          "Nodes required for job are DOWN")  # fmt: skip


@dataclass
class Followed:
    """What follows.

    Attributes:
        changed: actions whose state is another one now.
        actions: intended next.
    """

    changed: list[Action] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)


def returned(actions: Sequence[Action]) -> dict[str, float]:
    """Node -> when it last came back, as far as our actions tell."""
    made: dict[str, float] = {}
    for one in actions:
        back = (one.kind == "return" and one.state in ("done", "undone")) or (
            one.kind == "drain" and one.state == "overruled"
        )
        if back:
            made[one.target] = max(made.get(one.target, 0.0), one.changed_s)
    return made


def follow(
    world: World, actions: Sequence[Action], conditions: Sequence[Condition], policy: Policy,
    fit: Callable[[str, float], bool], comment: Callable[[str], str],
) -> Followed:  # fmt: skip
    """What follows from what was done.

    Args:
        world: as it is.
        actions: that matter still.
        conditions: that hold.
        policy: of the site.
        fit: whether a node has passed its checks, which began after a moment; asks for them.
        comment: of a job, as its user wrote it.
    """
    made = Followed()
    _ended(actions, made)
    _people(world, actions, made)
    out = outings(actions)
    made.actions += _give_back(world, actions, out, conditions, policy, fit)
    made.actions += _spares(world, actions, out)
    made.actions += _release(actions, conditions)
    made.actions += _shrink(world, actions, policy, comment)
    made.actions += _grow(world, actions, policy, made)
    return made


def _set(one: Action, state: str, note: str, made: Followed) -> None:
    one.state, one.note = state, note
    made.changed.append(one)


# --- people ---


def _people(world: World, actions: Sequence[Action], made: Followed) -> None:
    """A person who undoes what we did wins; what only slurmctld forgot is done again."""
    for one in actions:
        if one.state != "done" or world.at_s <= one.changed_s:
            continue
        why = _gone(world, one)
        if why and world.booted_s > one.changed_s - _LOST_S:
            _set(one, "intended", f"{why}: slurmctld started anew and forgot it", made)
        elif why:
            _set(one, "overruled", why, made)


def _gone(world: World, one: Action) -> str:
    """Why what was done is not there any more; empty when it is."""
    if one.kind == "drain":
        node = world.nodes.get(one.target)
        if node is None:
            return ""
        if not node.draining:
            return "somebody gave it back"
        return (
            ""
            if owner(node.reason) or not node.reason or node.reason.startswith(OWN_REASONS)
            else f"{node.reason_by or 'somebody'} holds it now"
        )
    if one.kind == "spare":
        held = [world.partitions[name] for name in one.params["partitions"] if name in world.partitions]
        return "" if all(one.params["spare"] in part.nodes for part in held) else "the spare was taken out again"
    if one.kind == "hold":
        held = [world.partitions[name] for name in one.params["partitions"] if name in world.partitions]
        return "somebody let jobs start again" if any(part.up for part in held) else ""
    return ""


def _ended(actions: Sequence[Action], made: Followed) -> None:
    """What was taken back."""
    by_id = {one.id: one for one in actions}
    for one in actions:
        if one.state != "done":
            continue
        if one.kind == "return":
            for other in actions:
                if other.target == one.target and other.kind in ("drain", "retire") and other.state == "done" \
                        and other.id < one.id:  # fmt: skip
                    _set(other, "undone", f"given back by action {one.id}", made)
        elif one.kind in ("spare-out", "release", "grow"):
            whole = by_id.get(int(one.params["of"]))
            if whole is not None and whole.state == "done":
                _set(whole, "undone", f"taken back by action {one.id}", made)


# --- back to service ---


def _give_back(
    world: World, actions: Sequence[Action], out: Mapping[str, Action], conditions: Sequence[Condition],
    policy: Policy, fit: Callable[[str, float], bool],
) -> Iterator[Action]:  # fmt: skip
    flap = policy.numbers["flap"]
    for node, drain in out.items():
        held = world.nodes.get(node)
        retired = any(a.kind == "retire" and a.target == node and a.id > drain.id and a.state in ("intended", "done")
                      for a in actions)  # fmt: skip
        if drain.by != "watcher" or drain.state != "done" or retired or held is None:
            continue
        before = sum(a.kind == "return" and a.target == node and a.by == "watcher" and a.state != "abandoned"
                     and a.changed_s > world.at_s - flap["window_s"] for a in actions)  # fmt: skip
        told = {"reason": f"it failed {before + 1} times within {flap['window_s'] / 3600:g} h"}
        if before >= flap["most"]:
            yield Action(f"retire:{drain.id}", "retire", node, "flapping", drain.evidence, told)
            continue
        since = drain.changed_s + flap["wait_s"] * flap["factor"] ** before
        if not policy.auto_return or world.at_s < since or held.busy or world.on(node):
            continue
        if any(_still(c, node) for c in conditions) or not fit(node, max(since, drain.changed_s)):
            continue
        yield Action(f"return:{drain.id}", "return", node, "checks passed", drain.evidence, {"of": drain.id})


def _still(one: Condition, node: str) -> bool:
    """Whether something is wrong with a node still; an XID is something that happened, the check knows if it lasts."""
    return one.node == node and not one.kind.startswith("xid") and not one.fate.startswith("noted")


def _spares(world: World, actions: Sequence[Action], out: Mapping[str, Action]) -> Iterator[Action]:
    for one in actions:
        node = world.nodes.get(one.target)
        back = node is not None and not node.draining and not node.unusable and one.target not in out
        if one.kind == "spare" and one.state == "done" and back:
            params = {"of": one.id, "spare": one.params["spare"], "partitions": one.params["partitions"]}
            yield Action(f"spare-out:{one.id}", "spare-out", one.target, "the node is back", (), params)


def _release(actions: Sequence[Action], conditions: Sequence[Condition]) -> Iterator[Action]:
    if any(c.kind == "fs-full" for c in conditions):
        return
    for one in actions:
        if one.kind == "hold" and one.state == "done" and one.by == "watcher":
            params = {"of": one.id, "partitions": one.params["partitions"]}
            yield Action(f"release:{one.id}", "release", "*", "there is room again", (), params)


# --- fewer nodes, and more ---


def _shrink(world: World, actions: Sequence[Action], policy: Policy, comment: Callable[[str], str]) -> Iterator[Action]:
    if any(one.kind == "spare" and one.state == "intended" for one in actions):
        return  # a spare may come yet
    for one in actions:
        job = world.jobs.get(one.target)
        if one.kind != "requeue" or one.state != "intended" or job is None or not _lacks(job):
            continue
        if world.at_s - one.made_s < policy.numbers["shrink"]["after_s"]:
            continue
        usable = sum(fits_now(world, job.partition, name, busy=True) for name in _nodes(world, job))
        span = elastic(comment(job.key)) if usable < job.node_count else None
        if span is not None and usable >= span[0]:
            params = {"nodes": usable, "was": job.node_count, "restarts": job.restarts,
                      "per_node": job.tasks // job.node_count}  # fmt: skip
            key = f"shrink:{job.key}:{job.restarts}:{usable}"
            yield Action(key, "shrink", job.key, one.cause, one.evidence, params)


def _lacks(job: Job) -> bool:
    return job.state == "PENDING" and job.reason.startswith(_LACKS)


def _nodes(world: World, job: Job) -> Sequence[str]:
    held = world.partitions.get(job.partition)
    return held.nodes if held else ()


def fits_now(world: World, partition: str, name: str, busy: bool) -> bool:
    """Whether a node of a partition can run jobs; with ``busy`` those count that run some."""
    node = world.nodes.get(name)
    return node is not None and not node.draining and not node.unusable and (busy or not node.busy)


def _grow(world: World, actions: Sequence[Action], policy: Policy, made: Followed) -> Iterator[Action]:
    for one in actions:
        if one.kind != "shrink" or one.state != "done":
            continue
        job, was = world.jobs.get(one.target), int(one.params["was"])
        if job is None or job.state not in ("RUNNING", "PENDING"):
            if job is None or job.state not in ("COMPLETING", "SUSPENDED", "CONFIGURING"):
                _set(one, "undone", "the job is over", made)
            continue
        if job.state == "RUNNING" and job.node_count >= was:  # of a job that waits Slurm shows the number of before
            _set(one, "undone", f"the job has {job.node_count} nodes again", made)
            continue
        if world.at_s - one.changed_s < policy.numbers["shrink"]["after_s"]:
            continue
        free = sum(fits_now(world, job.partition, name, busy=False) for name in _nodes(world, job))
        key, per_node = f"grow:{job.key}:{job.restarts}", int(one.params.get("per_node", 0))
        if any(a.kind == "requeue" and a.target == job.key and a.state == "intended" and a.params.get("nodes")
               for a in actions):  # fmt: skip
            continue
        if job.state == "PENDING" and free >= was:
            yield Action(
                key, "grow", job.key, "nodes are back", (), {"nodes": was, "was": job.node_count, "of": one.id}
            )
        elif job.state == "RUNNING" and free >= was - job.node_count:
            params = {"restarts": job.restarts, "strategy": "migrate", "nodes": was, "of": one.id, "per_node": per_node}
            yield Action(key, "requeue", job.key, "nodes are back", (), params)
