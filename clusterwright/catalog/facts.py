"""Facts: a value with its unit, its source, its date, and whether it was checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clusterwright.catalog.kinds import Suffix
from clusterwright.units import UnitError, parse

__all__ = ["STATUSES", "TIERS", "Context", "Fact", "Source", "Status", "Tier", "make_fact", "make_text"]

Tier = Literal["primary", "secondary", "estimate", "claim", "memory", "own"]
TIERS: tuple[Tier, ...] = ("primary", "secondary", "estimate", "claim", "memory", "own")
"""Kinds of source: who made the thing, who reports on it, an estimate, a claim of an interested party, nobody
(memory), and the file of a user."""

Status = Literal["checked", "memory", "derived", "estimate"]
STATUSES: tuple[Status, ...] = ("checked", "memory", "derived", "estimate")
"""``checked``: read in the named source; ``derived``: computed from such values; ``memory``: not checked;
``estimate``: a judgement, ours or the source's."""


@dataclass(frozen=True)
class Source:
    """Where a value comes from; ``date`` is when it was published or collected."""

    key: str
    title: str
    url: str
    tier: str
    date: str


@dataclass(frozen=True)
class Fact:
    """One value of the catalogue.

    Attributes:
        value: in ``unit``; NaN when the fact is a text.
        low: lower end where a range is given, else ``value``.
        high: upper end where a range is given, else ``value``.
        unit: the unit that the key ends in.
        text: as written.
        source: where it comes from.
        status: one of :data:`STATUSES`.
        date: when it was so (ISO, perhaps only year and month).
        note: what one should know; where sources disagree, why this one was chosen.
        others: what other sources say.
    """

    value: float
    low: float
    high: float
    unit: str
    text: str
    source: Source
    status: str
    date: str
    note: str = ""
    others: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Context:
    """What a value may inherit: sources by key, defaults of its part, exchange rates."""

    sources: Mapping[str, Source]
    currencies: Mapping[str, float]
    source: str = ""
    status: str = "checked"
    date: str = ""


def make_fact(raw: Any, suffix: Suffix, context: Context, *, price: bool = False) -> Fact:
    """The fact that a value in a file says.

    Args:
        raw: a scalar, a list ``[low, high]``, or a mapping with ``v`` (a scalar or such a list) or ``low`` and
            ``high``, and ``source status date note also``.
        suffix: dimension and unit wanted.
        context: what the value inherits.
        price: the middle of a range is then its geometric mean.

    Raises:
        UnitError: when it is not a quantity of that dimension, or its form is wrong.
    """
    entry: Mapping[str, Any] = raw if isinstance(raw, dict) else {"v": raw}
    low, value, high, text = _numbers(entry, suffix, context, price)
    source, status, date, note = _origin(entry, context)
    others = tuple(make_fact(other, suffix, context, price=price) for other in _also(entry))
    return Fact(value, low, high, suffix.unit, text, source, status, date, note, others)


def make_text(raw: Any, context: Context) -> Fact:
    """The fact that a text in a file says; its ``value`` is NaN."""
    entry: Mapping[str, Any] = raw if isinstance(raw, dict) else {"v": raw}
    written = entry.get("v", "")
    if isinstance(written, dict | list) or written in ("", None):
        raise UnitError("expected a text", "write it plainly, or as {v: text, source: key}")
    source, status, date, note = _origin(entry, context)
    others = tuple(make_text(other, context) for other in _also(entry))
    return Fact(math.nan, math.nan, math.nan, "", _plain(written), source, status, date, note, others)


def _also(entry: Mapping[str, Any]) -> list[Any]:
    also = entry.get("also", [])
    if not isinstance(also, list):
        raise UnitError("'also' is not a list", "write it as [{v: ..., source: ...}]")
    return also


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _numbers(
    entry: Mapping[str, Any], suffix: Suffix, context: Context, price: bool
) -> tuple[float, float, float, str]:
    written = entry.get("v")
    ends = [entry["low"], entry["high"]] if "low" in entry and "high" in entry else None
    if isinstance(written, list):
        ends, written = written, None
    if ends is None:
        value = _parse(written, suffix, context)
        return value, value, value, _plain(written)
    if len(ends) != 2:
        raise UnitError(f"a range has two ends, not {len(ends)}", "write it as [low, high]")
    low, high = (_parse(end, suffix, context) for end in ends)
    if low > high:
        raise UnitError(f"the range {ends[0]} to {ends[1]} runs backwards", "write the smaller value first")
    if written is None:
        value = math.sqrt(low * high) if price else (low + high) / 2
        return low, value, high, f"{ends[0]} to {ends[1]}"
    value = _parse(written, suffix, context)
    if not low <= value <= high:
        raise UnitError(f"{written} lies outside {ends[0]} to {ends[1]}", "widen the range or move the value")
    return low, value, high, f"{written} ({ends[0]} to {ends[1]})"


def _parse(text: Any, suffix: Suffix, context: Context) -> float:
    return parse(text, suffix.dimension, context.currencies) * suffix.factor


def _origin(entry: Mapping[str, Any], context: Context) -> tuple[Source, str, str, str]:
    key = str(entry.get("source") or context.source)
    source = context.sources.get(key)
    if source is None:
        known = "name one under 'sources:'" if not key else f"add '{key}' under 'sources:'"
        raise UnitError(f"no source '{key}'" if key else "no source is given", known)
    status = entry.get("status") or context.status
    if status not in STATUSES:
        raise UnitError(f"'{status}' is not a status", f"one of {', '.join(STATUSES)}")
    date = str(entry.get("date") or context.date or source.date)
    return source, status, date, str(entry.get("note") or "")
