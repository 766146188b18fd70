"""The way out of an infeasible spec: which limit binds, and what would have to give, cheapest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterwright.cluster import Frame
from clusterwright.design.candidates import Candidate
from clusterwright.design.choose import finish
from clusterwright.design.limits import Bools, Limit
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["relaxations"]

MOST = 8


def relaxations(
    candidates: Sequence[Candidate],
    frame: Frame,
    limits: list[Limit],
    feasible: Bools,
    winner: int,
    spec: Spec,
) -> list[dict[str, Any]]:
    """Changes of the spec that make it feasible, each with what it costs over the operating years.

    Three kinds: keep what was asked for and loosen exactly the limits it breaks; keep the limits and free one pin
    (GPU count, accelerator, rack density); do both, where neither is enough alone.
    """
    done, cost = finish(frame, spec), frame["cost.tco_usd"]
    asked = np.array([not c.lifts for c in candidates])
    made = [_loosen(i, candidates, frame, limits, done, cost) for i in _best_asked(asked, frame, limits, cost, winner)]
    for lifts in sorted({c.lifts for c in candidates if c.lifts}, key=len):
        rows = np.array([c.lifts == lifts for c in candidates])
        if (rows & feasible).any():
            i = int(np.argmin(np.where(rows & feasible, cost, np.inf)))
            made.append(_free(i, lifts, candidates, done, cost))
        else:
            best = [j for j in _best_asked(rows, frame, limits, cost, winner) if rows[j]]
            made += [_loosen(j, candidates, frame, limits, done, cost) for j in best[:1]]
    base = float(cost[winner])
    for row in made:
        row["extra_usd"] = row["cost_usd"] - base
    unique = {row["text"]: row for row in made if row["change"]}
    return sorted(unique.values(), key=lambda row: (row["cost_usd"], row["time_to_train_s"]))[:MOST]


def _best_asked(rows: Bools, frame: Frame, limits: list[Limit], cost: Any, winner: int) -> list[int]:
    """For each set of broken limits among ``rows``, the cheapest candidate that breaks no other."""
    best: dict[tuple[int, ...], int] = {}
    margins = np.array([limit.margin(frame) for limit in limits])
    for i in np.flatnonzero(rows):
        broken = tuple(np.flatnonzero(margins[:, i] < -1e-9))
        if not broken or any(not limits[k].key for k in broken):
            continue
        if broken not in best or cost[i] < cost[best[broken]]:
            best[broken] = int(i)
    return sorted(best.values(), key=lambda i: (i != winner, cost[i]))[:4]


def _loosen(
    i: int, candidates: Sequence[Candidate], frame: Frame, limits: list[Limit], done: Any, cost: Any
) -> dict[str, Any]:
    """Loosen each broken limit of candidate ``i`` to what it needs."""
    changes, words = {}, []
    for limit in limits:
        if limit.key and float(limit.margin(frame)[i]) < -1e-9:
            value = float(limit.values(frame)[i])
            changes[limit.key] = value
            words.append(f"{limit.key}: {human(limit.path, limit.bound)} -> {human(limit.path, value)}")
    text = f"{'; '.join(words)} (with {candidates[i].name})"
    if candidates[i].lifts:
        text = f"free {' and '.join(candidates[i].lifts)} and {text}"
    return _row("loosen", text, changes, i, candidates, done, cost)


def _free(
    i: int, lifts: tuple[str, ...], candidates: Sequence[Candidate], done: Any, cost: Any
) -> dict[str, Any]:
    option = candidates[i]
    pins = {
        "compute.gpus": option.gpus,
        "compute.accelerators": option.accelerator,
        "compute.nodes_per_rack": option.nodes_per_rack,
    }
    changes = {lift: pins[lift] for lift in lifts}
    said = "; ".join(f"{k}: {v:,}" if isinstance(v, int) else f"{k}: {v}" for k, v in changes.items())
    return _row("free", f"{said} (as {option.name})", changes, i, candidates, done, cost)


def _row(
    kind: str, text: str, changes: dict[str, Any], i: int, candidates: Sequence[Candidate], done: Any, cost: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "change": changes,
        "text": text,
        "option": candidates[i].name,
        "cost_usd": float(cost[i]),
        "time_to_train_s": float(done[i]),
    }
