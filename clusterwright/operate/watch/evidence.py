"""From what was seen to evidence: one entry for each thing that happened, with a fingerprint that stays the same.

What began before a node came back to service last is history and counts no more; so an alert that lingers, or an XID
error that stays in the exporter's window after the repair, takes no node away a second time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.operate.watch.look import Look
from clusterwright.operate.watch.policy import Fault, Policy
from clusterwright.operate.watch.store import Kept, Store

__all__ = ["Evidence", "gather"]

_SLACK_S = 2.0
"""Clocks of Prometheus and of this machine may differ by so much."""


@dataclass(frozen=True)
class Evidence:
    """Something that happened.

    Attributes:
        id: fingerprint: source, node, what, when it began.
        fault: what the policy says of it.
        node: where; empty for what concerns no node.
        event: what it is part of: the node, or the rack that lost its power; a breaker counts events.
        text: in words.
        source: ``prometheus``, ``slurm`` ...
        began_s: seconds since the epoch.
    """

    id: str
    fault: Fault
    node: str
    event: str
    text: str
    source: str
    began_s: float


def gather(
    seen: Look, store: Store, policy: Policy, severity: Mapping[str, str], dead_after_s: float, racks: Mapping[str, str]
) -> list[Evidence]:
    """Evidence of one look, kept in the store; that which was handled before is left out.

    Args:
        seen: the look.
        store: remembers counts and when silence began.
        policy: says what each is.
        severity: XID code -> severity.
        dead_after_s: how long a node may be silent.
        racks: node -> rack.
    """
    kept = store.nodes()
    found = [
        *_xids(seen, store, policy, severity),
        *_alerts(seen, policy, racks),
        *_silent(seen, store, policy, dead_after_s, racks),
    ]
    fresh = []
    for one in found:
        store.note(one.id, one.fault.kind, one.node, one.text, one.source, one.began_s, seen.at_s)
        if store.handled(one.id):
            continue
        if _old(one, kept.get(one.node)):
            store.handle(one.id)
            continue
        fresh.append(one)
    return fresh


def _old(one: Evidence, kept: Kept | None) -> bool:
    """Whether it began before the node was given back."""
    return kept is not None and kept.phase == "ok" and one.began_s < kept.since_s + _SLACK_S


def _xids(seen: Look, store: Store, policy: Policy, severity: Mapping[str, str]) -> Iterator[Evidence]:
    """A count that rose is an event, and the one that a first look finds is history."""
    text = store.meta("xids")
    before: dict[str, int] | None = json.loads(text) if text else None
    now = {"|".join(key): count for key, count in seen.xids.items()}
    if not any("Prometheus" in one or "answer" in one for one in seen.blind) or now:
        store.set_meta("xids", json.dumps(now))
    if before is None:
        return
    for (node, gpu, code), count in sorted(seen.xids.items()):
        if count > before.get(f"{node}|{gpu}|{code}", 0) and node in seen.nodes:
            fault = policy.of_xid(code, severity.get(code, "info"))
            name = f"xid|{node}|{gpu}|{code}|{round(seen.at_s)}"
            yield Evidence(name, fault, node, node, f"XID {code} on GPU {gpu}", "dcgm", seen.at_s)


def _alerts(seen: Look, policy: Policy, racks: Mapping[str, str]) -> Iterator[Evidence]:
    rules = {rule: fault for fault in policy.faults.values() for rule in fault.alerts}
    for alert in seen.alerts:
        fault = rules.get(alert.name)
        if fault is None or not (alert.firing or seen.at_s - alert.since_s >= fault.hold_s > 0):
            continue
        rack, node = alert.labels.get("rack", ""), alert.labels.get("node", "")
        places = [node] if node else [name for name, place in racks.items() if place == rack and rack]
        event = node or f"rack {rack}" if places else ""
        for place in places or [""]:
            if place and place not in seen.nodes:
                continue
            name = f"alert|{alert.name}|{place}|{alert.labels.get('gpu', '')}|{round(alert.since_s)}"
            text = alert.summary or alert.name
            yield Evidence(name, fault, place, event, text[:200], "prometheus", alert.since_s)


def _silent(
    seen: Look, store: Store, policy: Policy, dead_after_s: float, racks: Mapping[str, str]
) -> Iterator[Evidence]:
    """Nodes that answer neither their exporter's caller nor the controller; silence is timed here."""
    fault = next((one for one in policy.faults.values() if one.silent), None)
    lost = {name for name, node in seen.nodes.items() if not node.answers}
    text = store.meta("silent")
    since: dict[str, float] = json.loads(text) if text else {}
    blind = bool(seen.blind)
    now = {name: since.get(name, seen.at_s) for name in (seen.silent | lost) if name in seen.nodes}
    if blind:  # nobody is taken for well because Prometheus cannot be asked
        now = since | now
    if now != since:
        store.set_meta("silent", json.dumps(now))
    if fault is None:
        return
    whole = _whole_racks(set(now), racks)
    for name, began in sorted(now.items()):
        if seen.at_s - began < dead_after_s or name not in (seen.silent | lost):
            continue
        event = f"rack {racks[name]}" if name in whole else name
        yield Evidence(f"silent|{name}|{round(began)}", fault, name, event, "answers nobody", "watcher", began)


def _whole_racks(silent: set[str], racks: Mapping[str, str]) -> set[str]:
    """Nodes of racks of which no node answers: one event, the loss of the rack's power."""
    members: dict[str, set[str]] = {}
    for node, rack in racks.items():
        members.setdefault(rack, set()).add(node)
    return {node for nodes in members.values() if len(nodes) > 1 and nodes <= silent for node in nodes}
