"""The way out of an infeasible spec: which limit binds, and what would have to give, fewest changes first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.design.candidates import RENTED, Candidate
from clusterwright.design.limits import Bools, Limit
from clusterwright.design.weighing import Weighing, weigh_all
from clusterwright.spec import Spec
from clusterwright.units import YEAR_S, human, unit_of

__all__ = ["relaxations"]

MOST = 8


def relaxations(weighing: Weighing, catalog: Catalog | None = None) -> list[dict[str, Any]]:
    """Changes of the spec that make it feasible, each with what it costs over the operating years.

    Three kinds: keep what was asked for and loosen exactly the limits it breaks; keep the limits and free one pin
    (GPU count, accelerator, rack density; the plan and the count of a run, for which the catalogue is needed); do
    both, where neither is enough alone. Fewest changes first, then cost.

    Returns:
        One mapping a way out; ``change`` holds every key to change with its value, SI (``finance.years`` in years),
        ``set`` the same as ``--set`` takes it.
    """
    made = [_loosen(i, weighing) for i in _least_broken(weighing.asked, weighing)]
    for lifts in sorted({c.lifts for c in weighing.candidates if c.lifts}, key=len):
        rows = np.array([c.lifts == lifts for c in weighing.candidates])
        if (rows & weighing.feasible).any():
            made.append(_free(int(np.argmin(np.where(rows & weighing.feasible, weighing.cost, np.inf))), weighing))
        else:
            made += [_loosen(i, weighing) for i in _least_broken(rows, weighing)[:1]]
    made += _freed_runs(weighing, catalog) if catalog is not None else []
    base = float(weighing.cost[weighing.winner])
    unique = {row["text"]: {**row, "extra_usd": row["cost_usd"] - base} for row in made if _possible(row["change"])}
    return sorted(unique.values(), key=lambda row: (row["steps"], row["cost_usd"], row["time_to_train_s"]))[:MOST]


def _freed_runs(weighing: Weighing, catalog: Catalog) -> list[dict[str, Any]]:
    """The plan of a run left to the design, its own count of accelerators, or both."""
    spec, made = weighing.spec, list[dict[str, Any]]()
    for j, workload in enumerate(spec.workloads):
        train = workload.train
        if train is None:
            continue
        pinned = [name for name in ("plan", "gpus") if spec.given(f"workloads[{j}].train.{name}")]
        for names in [[name] for name in pinned] + ([pinned] if len(pinned) > 1 else []):
            freed = train.model_copy(update=dict.fromkeys(names)).without_offload()
            runs = [w.model_copy(update={"train": freed}) if w is workload else w for w in spec.workloads]
            asked = [c for c in weighing.candidates if not c.lifts]
            again = weigh_all(asked, spec.model_copy(update={"workloads": runs}), catalog)
            row = _cheapest(again, {f"workloads[{j}].train.{name}": "auto" for name in names})
            if row is not None:
                made.append(row)
                break
    return made


def _cheapest(weighing: Weighing, freed: dict[str, Any]) -> dict[str, Any] | None:
    """The cheapest option after pins of a run were freed; with limits loosened where it breaks some."""
    if weighing.found:
        return _row("free", freed, {}, {}, weighing.winner, weighing)
    return next((_loosen(i, weighing, freed) for i in _least_broken(weighing.asked, weighing)), None)


LONGEST = {"deadline": 100 * YEAR_S, "years": 50.0}
"""The longest times that a spec may ask for."""


def _possible(changes: Mapping[str, Any]) -> bool:
    """True for changes that a spec accepts; what takes centuries is no way out."""
    return bool(changes) and all(
        value <= LONGEST.get(key.rpartition(".")[2], math.inf)
        for key, value in changes.items()
        if isinstance(value, float)
    )


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


def _loosen(i: int, weighing: Weighing, freed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Loosen each broken limit of candidate ``i`` to what it needs, after the pins that it lifts."""
    pins = dict(freed or {}) | _pins(weighing.candidates[i], weighing.spec)
    loosened, words = dict[str, Any](), dict[str, str]()
    for limit, margin in zip(weighing.limits, weighing.margins[:, i], strict=True):
        if limit.key and margin < -1e-9:
            value = _with_room(limit, float(limit.values(weighing.frame)[i]))
            asked = value / YEAR_S if limit.key == "finance.years" else value
            if asked > loosened.get(limit.key, 0.0):
                loosened[limit.key] = asked
                words[limit.key] = f"{human(limit.path, limit.bound)} -> {human(limit.path, value)}"
    _loosen_rent(i, weighing, loosened, words)
    return _row("loosen", pins, loosened, words, i, weighing)


def _loosen_rent(i: int, weighing: Weighing, loosened: dict[str, Any], words: dict[str, str]) -> None:
    """More operating years cost more rent, which a budget that held before may not cover."""
    budget, years = weighing.spec.limits.budget_usd, loosened.get("finance.years")
    if budget is None or years is None or weighing.candidates[i].procurement not in RENTED:
        return
    needed = float(weighing.cost[i]) * years / weighing.spec.finance.years * ROOM
    if needed > budget:
        loosened["limits.budget"] = needed
        words["limits.budget"] = f"{human('x_usd', budget)} -> {human('x_usd', needed)}"


def _said(words: Mapping[str, str]) -> str:
    return "; ".join(f"{key}: {text}" for key, text in words.items())


ROOM = 1.006
"""Relaxed limits are given a little wider than needed, so that they hold as printed, with three digits."""


def _with_room(limit: Limit, value: float) -> float:
    """A limit that still holds when it is written with three digits; counts are whole."""
    if unit_of(limit.path) == "1":
        return float(math.ceil(value))
    return value * ROOM if limit.at_most else value / ROOM


def _free(i: int, weighing: Weighing) -> dict[str, Any]:
    """Free the pins that candidate ``i`` lifts."""
    return _row("free", _pins(weighing.candidates[i], weighing.spec), {}, {}, i, weighing)


def _pins(option: Candidate, spec: Spec) -> dict[str, Any]:
    """What the pins that an option lifts would have to be; other parts may need another server and other links."""
    values: dict[str, Any] = {
        "compute.gpus": option.gpus,
        "compute.accelerators": option.accelerator,
        "compute.nodes_per_rack": option.nodes_per_rack,
    }
    pins = {lift: values[lift] for lift in option.lifts}
    if "compute.accelerators" in pins and spec.compute.server is not None:
        pins["compute.server"] = option.server
    if spec.fabric.technology is not None and spec.fabric.technology != option.fabric:
        pins["fabric.technology"] = option.fabric
    return pins


_UNITS = {"power": "W", "rack_power": "W", "budget": "USD", "floor": "m2", "rack_weight": "kg", "deadline": "s"}
"""Units of the keys that can be loosened, as the figures have them."""


def _written(key: str, value: Any) -> str:
    """One change as ``--set`` takes it: ``limits.power=1830000 W``."""
    if key == "compute.accelerators":
        return f"{key}=[{value}]"
    unit = _UNITS.get(key.rpartition(".")[2], "")
    return f"{key}={value:.6g} {unit}".strip() if isinstance(value, float) else f"{key}={value}"


def _row(
    kind: str, pins: dict[str, Any], loosened: dict[str, Any], words: dict[str, str], i: int, weighing: Weighing
) -> dict[str, Any]:
    option, asked = weighing.candidates[i], weighing.spec.compute
    said = {key: f"{pin:,}" if isinstance(pin, int) else pin for key, pin in pins.items()} | words
    kept = {}
    if any(key.endswith((".deadline", ".years")) for key in loosened) and asked.gpus is None:
        kept["compute.gpus"] = option.gpus  # the counts that are weighed follow the deadline
    changes = pins | {key: value for key, value in kept.items() if key not in pins} | loosened
    return {
        "kind": kind,
        "steps": len(pins) + len(loosened),
        "change": changes,
        "set": [_written(key, value) for key, value in changes.items()],
        "text": f"{_said(said)} ({'with' if kind == 'loosen' else 'as'} {option.name})",
        "option": option.name,
        "cost_usd": float(weighing.cost[i]),
        "time_to_train_s": float(weighing.finish[i]),
    }
