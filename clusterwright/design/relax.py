"""The way out of an infeasible spec: which limit binds, and what would have to give, fewest changes first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clusterwright.design.limits import Bools, Limit
from clusterwright.design.weighing import Weighing
from clusterwright.units import human, unit_of

__all__ = ["relaxations"]

MOST = 8


def relaxations(weighing: Weighing) -> list[dict[str, Any]]:
    """Changes of the spec that make it feasible, each with what it costs over the operating years.

    Three kinds: keep what was asked for and loosen exactly the limits it breaks; keep the limits and free one pin
    (GPU count, accelerator, rack density); do both, where neither is enough alone. Fewest changes first, then cost.
    """
    made = [_loosen(i, weighing) for i in _least_broken(weighing.asked, weighing)]
    for lifts in sorted({c.lifts for c in weighing.candidates if c.lifts}, key=len):
        rows = np.array([c.lifts == lifts for c in weighing.candidates])
        if (rows & weighing.feasible).any():
            made.append(_free(int(np.argmin(np.where(rows & weighing.feasible, weighing.cost, np.inf))), weighing))
        else:
            made += [_loosen(i, weighing) for i in _least_broken(rows, weighing)[:1]]
    base = float(weighing.cost[weighing.winner])
    unique = {row["text"]: {**row, "extra_usd": row["cost_usd"] - base} for row in made if row["change"]}
    return sorted(unique.values(), key=lambda row: (row["steps"], row["cost_usd"], row["time_to_train_s"]))[:MOST]


def _least_broken(rows: Bools, weighing: Weighing) -> list[int]:
    """For each set of limits broken among ``rows`` that the spec could loosen, the cheapest candidate."""
    best: dict[tuple[int, ...], int] = {}
    for i in np.flatnonzero(rows):
        broken = tuple(int(k) for k in np.flatnonzero(weighing.margins[:, i] < -1e-9))
        if not broken or any(not weighing.limits[k].key for k in broken):
            continue
        if broken not in best or weighing.cost[i] < weighing.cost[best[broken]]:
            best[broken] = int(i)
    return sorted(best.values(), key=lambda i: (i != weighing.winner, weighing.cost[i]))[:4]


def _loosen(i: int, weighing: Weighing) -> dict[str, Any]:
    """Loosen each broken limit of candidate ``i`` to what it needs."""
    changes, words = {}, []
    for limit, margin in zip(weighing.limits, weighing.margins[:, i], strict=True):
        if limit.key and margin < -1e-9:
            value = _with_room(limit, float(limit.values(weighing.frame)[i]))
            changes[limit.key] = value
            words.append(f"{limit.key}: {human(limit.path, limit.bound)} -> {human(limit.path, value)}")
    option = weighing.candidates[i]
    text = f"{'; '.join(words)} (with {option.name})"
    if option.lifts:
        text = f"free {' and '.join(option.lifts)} and {text}"
    return _row("loosen", text, changes, i, weighing)


ROOM = 1.006
"""Relaxed limits are given a little wider than needed, so that they hold as printed, with three digits."""


def _with_room(limit: Limit, value: float) -> float:
    """A limit that still holds when it is written with three digits; counts are whole."""
    if unit_of(limit.path) == "1":
        return float(math.ceil(value))
    return value * ROOM if limit.at_most else value / ROOM


def _free(i: int, weighing: Weighing) -> dict[str, Any]:
    """Free the pins that candidate ``i`` lifts."""
    option = weighing.candidates[i]
    pins: dict[str, Any] = {
        "compute.gpus": option.gpus,
        "compute.accelerators": option.accelerator,
        "compute.nodes_per_rack": option.nodes_per_rack,
    }
    changes = {lift: pins[lift] for lift in option.lifts}
    said = "; ".join(f"{k}: {v:,}" if isinstance(v, int) else f"{k}: {v}" for k, v in changes.items())
    return _row("free", f"{said} (as {option.name})", changes, i, weighing)


def _row(kind: str, text: str, changes: dict[str, Any], i: int, weighing: Weighing) -> dict[str, Any]:
    return {
        "kind": kind,
        "steps": len(changes) + (len(weighing.candidates[i].lifts) if kind == "loosen" else 0),
        "change": changes,
        "text": text,
        "option": weighing.candidates[i].name,
        "cost_usd": float(weighing.cost[i]),
        "time_to_train_s": float(weighing.finish[i]),
    }
