"""Did you mean: names close to one that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

__all__ = ["close_names", "plain"]


def plain(name: str) -> str:
    """A name without case, spaces and signs: ``H100 SXM5-80GB`` and ``h100-sxm5-80gb`` are the same."""
    return re.sub(r"[^a-z0-9.]+", "", name.lower())


def close_names(name: str, names: Iterable[str], most: int = 3) -> list[str]:
    """The names most like ``name``, best first; one that starts with it, or is part of it, counts as close."""
    wanted = plain(name)
    if not wanted:
        return []
    scored = []
    for candidate in names:
        other = plain(candidate)
        score = SequenceMatcher(None, wanted, other).ratio()
        if len(wanted) >= 2 and other.startswith(wanted):
            score = max(score, 0.9)
        elif len(wanted) >= 3 and (wanted in other or (len(other) >= 3 and other in wanted)):
            score = max(score, 0.75)
        if score >= 0.6:
            scored.append((-score, len(candidate), candidate))
    return [candidate for _, _, candidate in sorted(scored)[:most]]
