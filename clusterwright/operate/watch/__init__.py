"""The watcher of a cluster: it sees nodes fail, takes them away, helps their jobs, and gives nodes back.

:func:`watch` runs it. What it does about what is data (``policy.yaml``). It never undoes what a person did, it stops
when too much would go, and what it did stands in its :class:`Store` with the evidence.

A round reads from left to right: ``look`` (signals) > ``remember`` (conditions) > ``decide`` (intended actions) >
``actions`` and ``jobs`` (steps) > ``follow`` (what comes next). ``decide`` and ``follow`` touch nothing.
"""

from __future__ import annotations

from clusterwright.operate.watch.actions import OWN, owner
from clusterwright.operate.watch.hand import asked, resume, taken_back, wait_for
from clusterwright.operate.watch.leader import Leader, leading
from clusterwright.operate.watch.listen import listen
from clusterwright.operate.watch.loop import Watcher, watch
from clusterwright.operate.watch.policy import Policy, Rule, read_policy
from clusterwright.operate.watch.store import Action, Condition, Store, whoami
from clusterwright.operate.watch.tokens import new_token

__all__ = ["OWN", "Action", "Condition", "Leader", "Policy", "Rule", "Store", "Watcher", "asked", "leading",
           "listen", "new_token", "owner", "read_policy", "resume", "taken_back", "wait_for", "watch",
           "whoami"]  # fmt: skip
