"""The watcher: look, remember, decide, do, follow; again and again, until it is told to end."""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType

from clusterwright.errors import WorldError
from clusterwright.findings import Finding
from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Slurm
from clusterwright.operate.watch.actions import Hands
from clusterwright.operate.watch.decide import Known, decide
from clusterwright.operate.watch.follow import follow, returned
from clusterwright.operate.watch.leader import RENEW_S, Leader, leading
from clusterwright.operate.watch.look import Checks, Signal, World, answers_at, look, racks_of
from clusterwright.operate.watch.policy import Policy
from clusterwright.operate.watch.remember import fold
from clusterwright.operate.watch.store import Action, Condition, Store

__all__ = ["Watcher", "relevant", "watch"]

_KEEP_S = 7 * 86_400.0
_FORGET_S = 90 * 86_400.0


@dataclass
class Watcher:
    """One watcher of one site.

    Attributes:
        site, store, policy: see there.
        acts: whether it does things; without, it only says them, and remembers them in a copy.
        say: is told each line.
        find: is told each finding, once.
    """

    site: Site
    store: Store
    policy: Policy
    acts: bool
    say: Callable[[str], None]
    find: Callable[[Finding], None]
    slurm: Slurm = field(init=False)
    checks: Checks = field(init=False)
    hands: Hands = field(init=False)
    _passed: dict[str, tuple[int, float]] = field(default_factory=dict)
    _troubles: dict[str, str] = field(default_factory=dict)
    _renewed_s: float = 0.0
    _turn: int = 0

    def __post_init__(self) -> None:
        self.slurm = Slurm(self.site.slurm_conf)
        self.checks = Checks(self.site.check, max(10.0, 3 * self.site.watch.dead_after_s))
        self.hands = Hands(self.slurm, self.store, self.policy, self.checks, self.say)
        self.racks = racks_of(self.site.bundle)
        self.store.export()

    def round(self) -> World:
        """Look once and do what follows.

        Raises:
            WorldError: the state cannot be written.
        """
        world = self.look()
        self._say_blind(world)
        if "slurm" in world.blind:
            return world
        conditions, firm = self._remember(world)
        known = self._known(world, conditions, firm)
        made = decide(world, known, self.policy, self.site.watch)
        if made.tripped:
            self.store.set_meta("breaker", {"why": made.tripped, "at_s": world.at_s})
            self.store.tell("breaker opened", why=made.tripped)
            self.find(FINDINGS["WATCH-BREAKER"].at("", made.tripped, "look at the cluster, then: operate resume"))
        self._intend(made.actions, made.conditions)
        self._keep_last(world)
        self._do(world)
        done = follow(world, relevant(self.store), conditions, self.policy, self._fit, self._comment)
        for one in done.changed:
            self.store.update(one)
            self.say(f"{one.id} {one.kind} {one.target}: {one.state}, {one.note}")
        if done.actions:
            self._intend(done.actions, ())
            self._do(world)
        return world

    def look(self) -> World:
        """One look at the cluster."""
        return look(self.site, self.slurm, self.policy, self.racks)

    def _intend(self, actions: Sequence[Action], fates: Sequence[Condition]) -> None:
        if not actions and not fates:
            return
        for one in actions:
            if one.kind == "requeue" and self.site.shared:
                one.params["shared"] = str(self.site.shared)
        for one in self.store.intend(actions, fates):
            told = str(one.evidence[0].get("detail", "")) if one.evidence else ""
            word = "" if self.acts else "would "
            self.say(f"{one.id} {word}{one.kind} {one.target} ({one.cause}{': ' + told if told else ''})")

    def _do(self, world: World) -> None:
        if not self.acts:
            return
        held = relevant(self.store)
        for one in held:
            if one.state == "intended":
                self.hands.go_on(one, world, held)

    # --- what is known ---

    def _remember(self, world: World) -> tuple[list[Condition], set[str]]:
        held = self.store.conditions()
        signals = [*world.signals, *self._asked(world, held)]
        first = self.store.meta("began_s") is None
        now, changed = fold(held, signals, world.blind, world.at_s, first)
        if first:
            self.store.set_meta("began_s", world.at_s)
        before = {c.fingerprint: c for c in held}
        news = [c for c in changed if (b := before.get(c.fingerprint)) is None
                or (b.open, b.count) != (c.open, c.count)]  # fmt: skip
        self.store.save_conditions(news)
        began = float(
            self.store.meta("began_s")
        )  # an alert that is older needs a check that agrees: it may only linger
        sure = {one[:4] for one in signals if one.firm and not 0 < one.began_s < began}
        return now, {c.fingerprint for c in now if (c.source, c.node, c.kind, c.detail) in sure}

    def _asked(self, world: World, held: list[Condition]) -> list[Signal]:
        """What checks and probes say of nodes that something else is said of; one node in turn is probed as well."""
        made = []
        told: dict[str, float] = {}
        for one in held:
            if one.node in world.nodes and one.source != "check" and not one.fate.startswith("noted"):
                told[one.node] = min(told.get(one.node, one.began_s), one.began_s)
        told |= {
            s.node: world.at_s for s in world.signals if s.node in world.nodes and s.node not in told and not s.event
        }
        names = sorted(world.nodes)
        turn = names[self._turn % len(names)] if names else ""
        self._turn += 1
        for name in {*told, turn} - {""}:
            node = world.nodes[name]
            if not node.address or node.draining:
                continue
            found = answers_at(node.address, node.port)
            if found is not True:
                made.append(Signal("probe", name, "node-dead", "slurmd takes no connections", firm=False))
            elif any(c.node == name and c.kind == "node-dead" and c.source == "prometheus" for c in held):
                made.append(Signal("probe", name, "node-hung", "takes connections, and says nothing", firm=False))
        unfit = {name for name, checked in self.checks.latest.items() if not checked.fit and name in world.nodes}
        for name in {*told, *(s.node for s in made), *unfit}:
            often = 4 if name in told else 10
            self.checks.ask(name, world.at_s - often * max(self.site.watch.every_s, 1.0))
        self.checks.collect()
        for name, checked in self.checks.latest.items():
            for line in checked.said if not checked.fit and name in world.nodes else ():
                kind = self.policy.fault_of(line)
                made.append(Signal("check", "" if kind == "fs-full" else name, kind, line[:120]))
        return made

    def _known(self, world: World, conditions: list[Condition], firm: set[str]) -> Known:
        actions = relevant(self.store)
        back: dict[str, float] = self.store.meta("returned", {})
        drained = set(self.store.meta("drained", []))
        now = {name for name, node in world.nodes.items() if node.draining}
        if drained != now:
            back |= dict.fromkeys(drained - now, world.at_s)
            self.store.set_meta("returned", back)
            self.store.set_meta("drained", sorted(now))
        for name, at_s in returned(actions).items():
            back[name] = max(back.get(name, 0.0), at_s)
        last = {key: (value[0], value[1]) for key, value in self.store.meta("last_on", {}).items()}
        tripped = bool(self.store.meta("breaker"))
        return Known(conditions, firm, actions, back, tripped, float(self.store.meta("resumed_s", 0.0)), last)

    def _keep_last(self, world: World) -> None:
        """Which jobs are where: of a job that Slurm requeues by itself nothing tells afterwards where it was."""
        now = {job.key: [list(job.nodes), job.restarts] for job in world.jobs.values()
               if job.state in ("RUNNING", "SUSPENDED", "CONFIGURING") and job.nodes}  # fmt: skip
        held = self.store.meta("last_on", {})
        keep = {
            key: value
            for key, value in held.items()
            if key in world.jobs
            and key not in now
            and world.jobs[key].state in ("PENDING", "COMPLETING")
            and world.jobs[key].restarts <= value[1] + 1
        }
        if {**keep, **now} != held:
            self.store.set_meta("last_on", {**keep, **now})

    def _fit(self, node: str, since_s: float) -> bool:
        """Whether a node has passed its check as often as the policy says, in a row, after a moment."""
        count, last = self._passed.get(node, (0, 0.0))
        if last < since_s:
            count, last = 0, since_s
        found = self.checks.ask(node, last + 1.0 if count else since_s)
        if found is not None and found.at_s > last:
            count, last = (count + 1 if found.fit else 0), found.at_s
        self._passed[node] = (count, last)
        return count >= self.policy.checks_to_return

    def _comment(self, job: str) -> str:
        try:
            return self.slurm.job_comment(job)
        except WorldError:
            return ""

    def _say_blind(self, world: World) -> None:
        if abs(world.skew_s) > 5.0:
            world_says = f"its clock is {world.skew_s:+.0f} s from ours; times of alerts are corrected by that"
            self._trouble("clock", world_says.replace(f"{world.skew_s:+.0f}", f"{round(world.skew_s, -1):+.0f}"))
        for name in ("slurm", "prometheus"):
            self._trouble(name, world.blind.get(name, ""))

    def _trouble(self, source: str, said: str) -> None:
        if said and self._troubles.get(source) != said:
            place = {"clock": "prometheus"}.get(source, source)
            self.find(FINDINGS["WATCH-BLIND"].at(place, said, "the watcher goes on with what the others say"))
        elif not said and self._troubles.get(source):
            self.say(f"{source} answers again")
        self._troubles[source] = said

    def renew(self, leader: Leader) -> None:
        """Say that this watcher leads, from time to time."""
        if self.acts and time.time() - self._renewed_s > RENEW_S:
            leader.say(self.store)
            if self._renewed_s == 0.0:
                self.store.forget(time.time() - _FORGET_S)
            self._renewed_s = time.time()

    def failed(self, error: WorldError) -> None:
        """Say why a round came to nothing, once."""
        said = error.findings[0].message
        if self._troubles.get("state") != said:
            self.find(error.findings[0])
        self._troubles["state"] = said


def relevant(store: Store) -> list[Action]:
    """Actions that matter still: all that are not over, and those of the last week."""
    since = time.time() - _KEEP_S
    return store.actions("state IN ('intended', 'done') OR changed_s > ?", (since,))


def watch(
    site: Site, policy: Policy, *, act: bool, once: bool, standby: bool,
    say: Callable[[str], None], find: Callable[[Finding], None],
    serve: Callable[[Watcher], None] | None = None,
) -> bool:  # fmt: skip
    """Watch a site until a signal says otherwise.

    Returns:
        whether the breaker is closed at the end.

    Raises:
        WorldError: another watcher leads, or the state cannot be written.
    """
    ended: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        ended.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    store = Store(site.state, copy=not act)
    leader = Leader(site.state)
    while act and not leader.leads(store):
        if not standby:
            who = leading(store)
            said = f"process {who.get('pid', '?')} of {who.get('by', '?')} on {who.get('host', '?')} leads"
            raise WorldError(FINDINGS["WATCH-LEADER"].at(str(site.state), said, "--standby waits for its end"))
        if ended:
            return True
        time.sleep(0.5)
    one = Watcher(site, store, policy, act, say, find)
    if serve is not None:
        serve(one)
    try:
        while not ended:
            begun = time.monotonic()
            try:
                one.renew(leader)
                one.round()
                one._troubles.pop("state", None)
            except WorldError as error:
                one.failed(error)
                if once:
                    raise
            if once:
                break
            rest = site.watch.every_s - (time.monotonic() - begun)
            time.sleep(max(rest, 0.05) * random.uniform(0.95, 1.0))  # noqa: S311
    finally:
        one.checks.close()
        with contextlib.suppress(WorldError):
            leader.end(store)
    return not store.meta("breaker")
