"""The watcher: look, decide, act, again and again, until it is told to end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from clusterwright.errors import WorldError
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Slurm
from clusterwright.operate.watch.act import Hands
from clusterwright.operate.watch.decide import Round
from clusterwright.operate.watch.look import look
from clusterwright.operate.watch.policy import Policy
from clusterwright.operate.watch.store import Store, leading

__all__ = ["racks_of", "watch"]


def racks_of(bundle: Path | None) -> Mapping[str, str]:
    """Node -> rack, of a rendered cluster."""
    if bundle is None:
        return {}
    try:
        held = json.loads((bundle / "inventory.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: str(host.get("rack", "")) for name, host in held.get("hosts", {}).items()}


def watch(
    site: Site,
    policy: Policy,
    severity: Mapping[str, str],
    *,
    act: bool,
    once: bool = False,
    said: Callable[[str], None] = print,
) -> None:
    """Watch a site.

    Args:
        site: that is watched.
        policy: what is done about what.
        severity: XID code -> severity.
        act: whether anything is done; without, it is only said.
        once: one round, then end.
        said: is told each line.

    Raises:
        WorldError: another watcher leads, or the memory cannot be written when it starts.
    """
    ended = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    with leading(site.state):
        signal.signal(signal.SIGTERM, stop)
        store = Store.open(site.state)
        slurm = Slurm(site.slurm_conf)
        hands = Hands(slurm, store, not act, said)
        one = Round(site, slurm, store, policy, hands, severity, racks_of(site.bundle))
        first, trouble = True, ""
        while not ended:
            begun = time.monotonic()
            try:
                seen = look(site, slurm)
                if first:
                    hands.recover(seen)
                    first = False
                one.run(seen)
                trouble = _said_once(said, trouble, "; ".join(seen.blind))
            except WorldError as error:
                trouble = _said_once(said, trouble, error.findings[0].message)
                if once:
                    raise
            if once:
                break
            time.sleep(max(site.watch.every_s - (time.monotonic() - begun), 0.05))
        store.close()


def _said_once(said: Callable[[str], None], before: str, now: str) -> str:
    """Say what is wrong when it begins and when it ends, not each round."""
    if now != before:
        said(f"cannot see all: {now}" if now else "sees all again")
    return now
