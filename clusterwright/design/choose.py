"""The options in words: which are worth showing, and why each won or lost."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterwright.cluster import Floats
from clusterwright.design.weighing import Weighing
from clusterwright.units import human

__all__ = ["considered_rows", "pareto_points"]

SHOWN = 24
"""Rows of the table of options; every axis of choice is represented."""
POINTS = 400
"""Points of the Pareto picture; the front is always among them."""


def considered_rows(weighing: Weighing) -> list[dict[str, Any]]:
    """The options worth showing, the winner first, each with its figures and why it lost."""
    return [_row(i, weighing) for i in _representatives(weighing)]


def _row(i: int, weighing: Weighing) -> dict[str, Any]:
    option, frame = weighing.candidates[i], weighing.frame
    feasible, won = bool(weighing.feasible[i]), i == weighing.winner
    return {
        "name": option.name,
        "chosen": won and feasible,
        "closest": won and not feasible,
        "verdict": "feasible" if feasible else "infeasible",
        "asked": not option.lifts,
        "accelerator": option.accelerator,
        "server": option.server,
        "gpus": option.gpus,
        "nodes_per_rack": option.nodes_per_rack,
        "fabric": option.fabric,
        "procurement": option.procurement,
        "time_to_train_s": float(weighing.finish[i]),
        "capex_usd": float(frame["cost.capex_usd"][i]),
        "tco_usd": float(weighing.cost[i]),
        "meter_power_w": float(frame["facility.meter_power_w"][i]),
        "energy_j": float(frame["facility.run_energy_j"][i]),
        "carbon_kg": float(frame["facility.carbon_kg_run"][i]),
        "why": _why(i, weighing),
    }


def _representatives(weighing: Weighing) -> list[int]:
    """The winner, then the best of each accelerator, count, density, fabric and procurement; best first."""
    lifts = np.array([len(c.lifts) for c in weighing.candidates], dtype=np.float64)
    order = np.lexsort((weighing.score, (~weighing.feasible).astype(np.float64), lifts))
    picked: dict[int, None] = {weighing.winner: None}
    free = np.flatnonzero(~weighing.asked & weighing.feasible)
    if len(free):
        picked[int(free[np.argmin(weighing.cost[free])])] = None
    seen: set[tuple[str, Any]] = set()
    for i in (int(i) for i in order):
        fresh = _axes(i, weighing) - seen
        if fresh:
            seen |= fresh
            picked[i] = None
        if len(picked) >= SHOWN:
            break
    return list(picked)


def _axes(i: int, weighing: Weighing) -> set[tuple[str, Any]]:
    """What an option is the representative of."""
    option, best = weighing.candidates[i], weighing.candidates[weighing.winner]
    axes: set[tuple[str, Any]] = {("accelerator", (option.accelerator, bool(option.lifts)))}
    axes |= {("procurement", option.procurement), ("server", (option.server, option.procurement))}
    if option.accelerator == best.accelerator:
        axes.add(("gpus", (option.gpus, bool(option.lifts))))
    if not option.lifts:
        axes |= {("density", option.nodes_per_rack), ("fabric", option.fabric)}
    return axes


def _why(i: int, weighing: Weighing) -> str:
    """One sentence: what broke, what pin it would lift, or by how much it is worse."""
    lifts = weighing.candidates[i].lifts
    parts = ["not asked for: needs " + " and ".join(lifts) + " to be free"] if lifts else []
    if not weighing.feasible[i]:
        parts.append(_broken(i, weighing))
    elif i == weighing.winner:
        parts.append(f"best by {_objective_words(weighing)} among what was asked and holds every limit")
    else:
        parts.append(_difference(i, weighing))
    return "; ".join(parts)


def _broken(i: int, weighing: Weighing) -> str:
    """The worst broken limit, and how many more."""
    margins = weighing.margins[:, i]
    limit = weighing.limits[int(np.argmin(margins))]
    more = int((margins < -1e-9).sum()) - 1
    value = human(limit.path, float(limit.values(weighing.frame)[i]))
    said = f"breaks {limit.name}: {value} against {human(limit.path, limit.bound)}"
    if not limit.key and not limit.at_most:
        said = f"fails: {limit.name}"
    return said + (f" and {more} more" if more else "")


def _objective_words(weighing: Weighing) -> str:
    weights = weighing.spec.objective
    if len(weights) == 1:
        return next(iter(weights))
    return " and ".join(f"{weight:.0%} {name}" for name, weight in weights.items())


def _difference(i: int, weighing: Weighing) -> str:
    """How the option differs from the winner in cost, time and power, in per cent."""
    figures: dict[str, Floats] = {
        "cost": weighing.cost,
        "time": weighing.finish,
        "power": weighing.frame["facility.meter_power_w"],
        "racks": weighing.frame["facility.racks"],
    }
    said = []
    for word, values in figures.items():
        base = float(values[weighing.winner])
        change = float(values[i]) / base - 1.0 if base > 0 else 0.0
        if abs(change) >= 0.0005:
            said.append(f"{word} {change:+.1%}")
    return "holds; " + (", ".join(said) + " against the choice" if said else "equal to the choice in every figure")


def pareto_points(weighing: Weighing) -> dict[str, Any]:
    """Time against cost of ownership for the report: at most :data:`POINTS`, the front always among them."""
    winner = np.arange(weighing.frame.n) == weighing.winner
    keep = np.flatnonzero(~weighing.beaten | winner)[:POINTS]
    rest = np.flatnonzero(weighing.beaten & ~winner)
    step = max(1, len(rest) // max(1, POINTS - len(keep)))
    rows = [
        {
            "name": weighing.candidates[i].name,
            "x": float(weighing.finish[i]),
            "y": float(weighing.cost[i]),
            "dominated": bool(weighing.beaten[i]),
            "chosen": bool(winner[i]),
            "feasible": bool(weighing.feasible[i]),
            "asked": bool(weighing.asked[i]),
        }
        for i in [*keep, *rest[::step]]
    ]
    return {"x": "time_to_train_s", "y": "tco_usd", "points": rows}
