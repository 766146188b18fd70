"""What a person asks for goes through the same journal: the watcher that leads does it, or, without one, the verb."""

from __future__ import annotations

import time
from collections.abc import Callable

from clusterwright.errors import InputError, WorldError
from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Slurm
from clusterwright.operate.watch.actions import Hands
from clusterwright.operate.watch.leader import Leader
from clusterwright.operate.watch.look import Checks, look
from clusterwright.operate.watch.loop import relevant
from clusterwright.operate.watch.policy import Policy
from clusterwright.operate.watch.store import Action, Store

__all__ = ["asked", "resume", "taken_back", "wait_for"]

_BACK = {"drain": "return", "down": "return", "retire": "return", "return": "drain", "spare": "spare-out",
         "hold": "release", "shrink": "grow"}  # fmt: skip


def asked(kind: str, node: str, by: str, reason: str = "") -> Action:
    """An action by hand on a node."""
    params = {"event": node, "partitions": [], "reason": reason or f"by {by}"}
    return Action(f"hand:{kind}:{node}:{time.time_ns()}", kind, node, "by hand", (), params, by=by)


def taken_back(store: Store, number: int, by: str) -> Action:
    """The action that takes another one back.

    Raises:
        InputError: there is none, or nothing takes it back.
    """
    one = store.action(number)

    def refuse(said: str, hint: str = "operate log lists them") -> InputError:
        return InputError(FINDINGS["WATCH-ACTION"].at(str(number), said, hint))

    if one is None:
        raise refuse("no action has that number")
    if one.state not in ("done", "intended"):
        raise refuse(f"it is {one.state}: {one.note}".rstrip(": "))
    back = _BACK.get(one.kind)
    if one.state == "intended":
        raise refuse("it is being done", "undo it when it is done")
    if back is None:
        raise refuse(f"a {one.kind} cannot be undone: what it ended is over", "")
    params = {**one.params, "of": one.id, "reason": f"undoes action {one.id}"}
    if one.kind == "shrink":
        params |= {"nodes": one.params["was"], "was": one.params["nodes"]}
    return Action(f"undo:{one.id}", back, one.target, "by hand", one.evidence, params, by=by)


def wait_for(
    site: Site, store: Store, policy: Policy, one: Action, seconds: float, said: Callable[[str], None]
) -> Action:
    """Write an action down and have it done: by the watcher that leads, else here.

    Raises:
        WorldError: it cannot be written down, or Slurm does not answer.
    """
    made = store.intend([one])
    number = made[0].id if made else store.actions("key = ?", (one.key,))[0].id
    leader, slurm = Leader(site.state), Slurm(site.slurm_conf)
    limit = time.monotonic() + seconds
    checks = Checks(site.check, 30.0)
    try:
        while time.monotonic() < limit:
            held = store.action(number)
            if held is None or held.state != "intended":
                break
            if leader.leads(store):
                world = look(site, slurm, policy, {})
                if "slurm" in world.blind:
                    raise WorldError(
                        FINDINGS["WATCH-BLIND"].at("slurm", world.blind["slurm"], "the action stays intended")
                    )
                Hands(slurm, store, policy, checks, said).go_on(held, world, relevant(store))
            time.sleep(0.2)
    finally:
        leader.give()
        checks.close()
    held = store.action(number)
    return held if held is not None else one


def resume(store: Store, by: str) -> str:
    """Close the breaker; what still holds counts from now on. Returns why it was open; empty when it was not."""
    found = store.meta("breaker")
    if not found:
        return ""
    store.set_meta("resumed_s", time.time())
    with store.change() as db:
        db.execute("UPDATE conditions SET fate = '' WHERE open = 1 AND fate = ? AND kind NOT LIKE 'xid%'",
                   ("noted: the breaker is open",))  # fmt: skip
    store.set_meta("breaker", None)
    store.tell("breaker closed", by)
    return str(found["why"])
