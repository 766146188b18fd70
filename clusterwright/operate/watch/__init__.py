"""The watcher of a cluster: sees nodes fail, takes them away, helps their jobs, and gives nodes back.

:func:`watch` runs it. What it does about what is data (``policy.yaml``). It never undoes what a person did, it stops when
too much would go, and what it did stands in its :class:`Store` with the evidence.
"""

from __future__ import annotations

from clusterwright.operate.watch.act import OWN, Hands, by_hand, owner
from clusterwright.operate.watch.look import Look, check_node, look
from clusterwright.operate.watch.loop import racks_of, watch
from clusterwright.operate.watch.policy import Policy, read_policy, severities
from clusterwright.operate.watch.store import Action, Kept, Store, leading

__all__ = ["OWN", "Action", "Hands", "Kept", "Look", "Policy", "Store", "by_hand", "check_node", "leading", "look", "owner",
           "racks_of", "read_policy", "severities", "watch"]  # fmt: skip
