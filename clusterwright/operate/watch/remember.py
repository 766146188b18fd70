"""From what sources say now to what has held since when: conditions, each with a fingerprint that stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from clusterwright.operate.watch.look import Signal
from clusterwright.operate.watch.store import Condition

__all__ = ["fold"]

FIRST = "noted: it is older than the watcher"


def fold(
    held: Sequence[Condition], signals: Iterable[Signal], blind: Collection[str], now: float, first: bool
) -> tuple[list[Condition], list[Condition]]:
    """Bring what is remembered up to date.

    A condition ends when its source answers and does not say it any more; silence of a source ends nothing. An event
    that is counted once more is a new condition. Events that are there at the very first look may be of any age: they
    are only noted.

    Args:
        held: conditions that were open.
        signals: of this look.
        blind: sources that did not answer.
        now: seconds since the epoch.
        first: whether this is the first look ever.

    Returns:
        conditions that hold, and all that changed, those that ended included.
    """
    by_key = {(c.source, c.node, c.kind, c.detail): c for c in held}
    opened: list[Condition] = []
    ended: list[Condition] = []
    once = {one[:4]: one for one in signals}
    for one in once.values():
        known = by_key.pop(one[:4], None)
        if known is not None and one.event and one.times > known.count:
            ended.append(replace(known, open=False))
            known = None
        if known is None:
            fate = FIRST if first and one.event else ""
            known = Condition(*one[:4], began_s=min(one.began_s or now, now), seen_s=now, count=one.times, fate=fate)
        else:
            known = replace(known, seen_s=now, count=one.times)
        opened.append(known)
    for lost in by_key.values():
        if lost.source in blind:
            opened.append(lost)
        else:
            ended.append(replace(lost, open=False))
    return opened, [*opened, *ended]
