"""What is to be done: from what is known to intended actions. Nothing here touches the world."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clusterwright.operate.site import Watch
from clusterwright.operate.watch.look import World
from clusterwright.operate.watch.policy import Policy, Rule
from clusterwright.operate.watch.store import Action, Condition

__all__ = ["Decision", "Fault", "Known", "decide", "faults", "outings"]

_MORTAL = ("node-dead", "node-hung")
_SOON_S = 30.0
"""A job that failed within this time of a fault on one of its nodes died of it."""
BREAKER = "noted: the breaker is open"


@dataclass
class Known:
    """What is remembered.

    Attributes:
        conditions: that hold.
        firm: fingerprints of those whose source is sure.
        actions: that matter still.
        returned_s: node -> when it last came back to service.
        tripped: whether the breaker is open; resumed_s: when a person closed it last.
        last_on: job -> nodes and restarts at the last look.
    """

    conditions: Sequence[Condition] = ()
    firm: Collection[str] = ()
    actions: Sequence[Action] = ()
    returned_s: Mapping[str, float] = field(default_factory=dict)
    tripped: bool = False
    resumed_s: float = 0.0
    last_on: Mapping[str, tuple[Sequence[str], int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """Something that is broken, as far as the evidence says.

    Attributes:
        kind: one of the policy's.
        nodes: that it concerns; none for the site as a whole.
        evidence: for each node.
    """

    kind: str
    nodes: tuple[str, ...]
    evidence: tuple[Condition, ...]


@dataclass
class Decision:
    """What one look leads to.

    Attributes:
        actions: to be written down and done.
        conditions: whose fate is known now.
        tripped: why the breaker opens; empty when it does not.
    """

    actions: list[Action] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    tripped: str = ""


def outings(actions: Iterable[Action]) -> dict[str, Action]:
    """Nodes that we took out of service and that are not back: node -> the drain."""
    return {one.target: one for one in actions if one.kind == "drain" and one.state in ("intended", "done")}


def decide(world: World, known: Known, policy: Policy, watch: Watch) -> Decision:
    """What is to be done now.

    Without Slurm nothing is decided: the state of the nodes is not known.
    """
    made = Decision()
    if "slurm" in world.blind:
        return made
    fresh, made.conditions = _fresh(known)
    found = faults(world, fresh, known.firm, policy, watch)
    out = outings(known.actions)
    going = [one for one in found if policy.faults.get(one.kind, Rule()).node != "none"]
    new = [one for one in going if any(node not in out and _in_service(world, node) for node in one.nodes)]
    why = _breaker(world, known, policy, new)
    if known.tripped or why:
        made.tripped = "" if known.tripped else why
        made.conditions += [replace(c, fate=BREAKER) for one in going for c in one.evidence]
        found = [one for one in found if one not in going]
    made.conditions += [
        replace(c, fate="noted: the policy says so") for c in fresh if not c.fate and c.kind not in policy.faults
    ]
    for one in found:
        made.actions += _actions(world, known, policy, one, out)
        made.conditions += [replace(c, fate="acted") for c in one.evidence if c.fate != "acted"]
    return made


def _fresh(known: Known) -> tuple[list[Condition], list[Condition]]:
    """Conditions that count, and those that are only noted: they began before the node last came back."""
    fresh, noted = [], []
    for one in known.conditions:
        if one.fate.startswith("noted"):
            continue
        if one.node and one.began_s <= known.returned_s.get(one.node, 0.0):
            noted.append(replace(one, fate="noted: the node came back to service after it began"))
        else:
            fresh.append(one)
    return fresh, noted


def _in_service(world: World, node: str) -> bool:
    held = world.nodes.get(node)
    return held is not None and not held.held


# --- what is broken ---


def faults(
    world: World, fresh: Sequence[Condition], firm: Collection[str], policy: Policy, watch: Watch
) -> list[Fault]:
    """What is proved. A node is dead when two sources have said so for long enough; a rack's nodes go together."""
    by_node: dict[str, list[Condition]] = {}
    for one in fresh:
        by_node.setdefault(one.node, []).append(one)
    silent = {node: [c for c in held if c.kind in policy.doubted] for node, held in by_node.items() if node}
    silent = {
        node: held for node, held in silent.items() if any(c.kind in _MORTAL and c.source != "probe" for c in held)
    }
    dead = {node for node, held in silent.items() if _proved(held, world.at_s, watch)}
    made = list(_racks(world, silent, dead, watch))
    waits = {node for one in made for node in one.nodes}
    made = [one for one in made if one.kind]
    for node in sorted(dead - waits):
        hung = any(c.kind == "node-hung" for c in silent[node])
        made.append(Fault("node-hung" if hung else "node-dead", (node,), tuple(silent[node])))
    for node, held in sorted(by_node.items()):
        sure = [c for c in held if c.kind not in policy.doubted and c.kind in policy.faults and c.fingerprint in firm]
        if node in silent and node not in dead:
            continue  # first it must be known whether it lives
        for kind in sorted({c.kind for c in sure}, key=lambda kind: _weight(policy.faults[kind])):
            made.append(Fault(kind, (node,) if node else (), tuple(c for c in sure if c.kind == kind)))
    return made


def _weight(rule: Rule) -> int:
    return -{"none": 0, "drain": 1, "down": 2}[rule.node]


def _proved(held: Sequence[Condition], now: float, watch: Watch) -> bool:
    """Whether two sources say it, the first of them for long enough."""
    sources = {c.source for c in held}
    return len(sources) >= 2 and now - min(c.began_s for c in held) >= watch.dead_after_s


def _racks(
    world: World, silent: Mapping[str, Sequence[Condition]], dead: Collection[str], watch: Watch
) -> Iterator[Fault]:
    """Racks all of whose nodes are silent; of no kind while some of them are not proved yet."""
    racks: dict[str, list[str]] = {}
    for node in world.nodes:
        if world.racks.get(node):
            racks.setdefault(world.racks[node], []).append(node)
    for nodes in racks.values():
        if len(nodes) < 2 or not all(node in silent for node in nodes):
            continue
        evidence = tuple(c for node in nodes for c in silent[node])
        if all(node in dead for node in nodes):
            yield Fault("rack-power", tuple(nodes), evidence)
        elif world.at_s - min(c.began_s for c in evidence) < 4 * watch.dead_after_s:
            yield Fault("", tuple(nodes), evidence)


# --- how many may go ---


def _breaker(world: World, known: Known, policy: Policy, new: Sequence[Fault]) -> str:
    if not new or known.tripped:
        return ""
    since = max(world.at_s - policy.numbers["breaker"]["window_s"], known.resumed_s)
    gone = {one.params.get("event") or one.target for one in known.actions
            if one.kind == "drain" and one.by == "watcher" and one.made_s > since}  # fmt: skip
    limit = policy.breaker_limit(len(world.nodes))
    coming = {_event(one) for one in new}
    if len(gone | coming) <= limit:
        return ""
    kinds = ", ".join(sorted({one.kind for one in new}))
    return f"{len(coming)} nodes would go ({kinds}), {len(gone)} went already; at most {limit} may"


def _event(one: Fault) -> str:
    return "+".join(one.nodes)


# --- what follows ---


def _actions(world: World, known: Known, policy: Policy, fault: Fault, out: Mapping[str, Action]) -> Iterator[Action]:
    rule = policy.faults[fault.kind]
    if rule.hold:
        yield from _hold(world, policy, fault)
    for node in fault.nodes:
        evidence = sorted((c for c in fault.evidence if c.node == node), key=lambda c: c.began_s)
        if node not in world.nodes or not evidence:
            continue
        first, told = evidence[0].fingerprint, [c.to_dict() for c in evidence]
        places = _places(world, policy, node)
        if rule.node != "none":
            yield from _node(world, fault, rule, node, first, told, places, out)
        if all(c.fate == "acted" for c in evidence) and rule.jobs == "retry":
            continue
        if rule.jobs != "none":
            yield from _jobs(world, known, fault, rule, node, min(c.began_s for c in evidence), told)


def _node(
    world: World, fault: Fault, rule: Rule, node: str, first: str, told: list[dict[str, object]],
    places: Sequence[str], out: Mapping[str, Action],
) -> Iterator[Action]:  # fmt: skip
    down, held = rule.node == "down", world.nodes[node]
    if node in out:
        if down and not out[node].params.get("down") and held.busy:
            yield Action(f"down:{node}:{first}", "down", node, fault.kind, told)
        return
    if held.held:  # what somebody else took out of service stays theirs
        if down and held.busy:
            yield Action(f"down:{node}:{first}", "down", node, fault.kind, told)
        return
    params = {"down": down, "event": _event(fault), "partitions": list(places)}
    yield Action(f"drain:{node}:{first}", "drain", node, fault.kind, told, params)
    if rule.spare and places:
        yield Action(f"spare:{node}:{first}", "spare", node, fault.kind, told, {"partitions": list(places)})


def _places(world: World, policy: Policy, node: str) -> list[str]:
    return [one.name for one in world.partitions.values() if node in one.nodes and one.name != policy.spare_partition]


def _jobs(
    world: World, known: Known, fault: Fault, rule: Rule, node: str, began_s: float, told: list[dict[str, object]]
) -> Iterator[Action]:
    for job in world.jobs.values():
        was_on, restarts = known.last_on.get(job.key, ((), -1))
        died = job.state in ("FAILED", "NODE_FAIL") and job.ended_s >= began_s - _SOON_S
        hit = job.state in ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING") or died
        asleep = job.state in ("PENDING", "COMPLETING") and job.restarts == restarts + 1
        same = job.restarts == restarts and hit
        if (node in job.nodes and hit) or (node in was_on and (asleep or same)):
            run = restarts if asleep and node in was_on else job.restarts
            params = {"restarts": run, "strategy": rule.jobs, "node": node, "began_s": began_s}
            yield Action(f"job:{job.key}:{run}", "requeue", job.key, fault.kind, told, params)


def _hold(world: World, policy: Policy, fault: Fault) -> Iterator[Action]:
    up = [one.name for one in world.partitions.values() if one.up and one.name != policy.spare_partition]
    told = [c.to_dict() for c in fault.evidence]
    if up:
        yield Action(f"hold:{fault.evidence[0].fingerprint}", "hold", "*", fault.kind, told, {"partitions": up})
