"""The choice among candidates, and the words for why each option won or lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterwright.cluster import Frame
from clusterwright.cluster.frame import Floats
from clusterwright.design.candidates import Candidate
from clusterwright.design.limits import Bools, Limit, violation
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["considered_rows", "finish", "objective", "pareto_points", "pick"]

OBJECTIVES = {
    "cost": "cost.tco_usd",
    "time": "finish",
    "energy": "facility.run_energy_j",
    "carbon": "facility.carbon_kg_run",
}
SHOWN = 24
"""Rows of the table of options; every axis of choice is represented."""


def finish(frame: Frame, spec: Spec) -> Floats:
    """When the last workload is done, seconds."""
    return np.max([frame[f"training[{j}].finish_s"] for j in range(len(spec.workloads))], axis=0)


def objective(frame: Frame, spec: Spec) -> Floats:
    """The weighted objective: each part divided by its median over the candidates, so that parts are comparable."""
    total = np.zeros(frame.n)
    for name, weight in spec.objective.items():
        values = finish(frame, spec) if name == "time" else frame[OBJECTIVES[name]]
        scale = float(np.median(values)) or 1.0
        total += weight * values / scale
    # Equal to within a ten-thousandth: the shorter run, then the fewer racks decide.
    tie = finish(frame, spec) / (float(np.median(finish(frame, spec))) or 1.0)
    racks = frame["facility.racks"] / (float(np.median(frame["facility.racks"])) or 1.0)
    return total + 1e-5 * tie + 1e-6 * racks


def pick(candidates: Sequence[Candidate], frame: Frame, limits: list[Limit], feasible: Bools, spec: Spec) -> int:
    """The row of the winner: the best by the objective among what was asked and holds; else the least broken."""
    asked = np.array([not c.lifts for c in candidates])
    score = objective(frame, spec)
    allowed = asked & feasible
    if allowed.any():
        return int(np.argmin(np.where(allowed, score, np.inf)))
    broken = np.where(asked, violation(limits, frame), np.inf)
    least = broken <= broken.min() + 1e-6
    return int(np.argmin(np.where(least, score, np.inf)))


def considered_rows(
    candidates: Sequence[Candidate],
    frame: Frame,
    limits: list[Limit],
    feasible: Bools,
    winner: int,
    spec: Spec,
) -> list[dict[str, Any]]:
    """The options worth showing, the winner first, each with its figures and why it lost."""
    score, done = objective(frame, spec), finish(frame, spec)
    rows = []
    for i in _representatives(candidates, score, feasible, winner):
        rows.append(
            {
                "name": candidates[i].name,
                "chosen": i == winner and bool(feasible[i]),
                "closest": i == winner and not feasible[i],
                "verdict": "feasible" if feasible[i] else "infeasible",
                "asked": not candidates[i].lifts,
                "accelerator": candidates[i].accelerator,
                "server": candidates[i].server,
                "gpus": candidates[i].gpus,
                "nodes_per_rack": candidates[i].nodes_per_rack,
                "fabric": candidates[i].fabric,
                "procurement": candidates[i].procurement,
                "time_to_train_s": float(done[i]),
                "capex_usd": float(frame["cost.capex_usd"][i]),
                "tco_usd": float(frame["cost.tco_usd"][i]),
                "meter_power_w": float(frame["facility.meter_power_w"][i]),
                "energy_j": float(frame["facility.run_energy_j"][i]),
                "carbon_kg": float(frame["facility.carbon_kg_run"][i]),
                "why": _why(i, winner, candidates, frame, limits, feasible, spec),
            }
        )
    return rows


def _representatives(candidates: Sequence[Candidate], score: Floats, feasible: Bools, winner: int) -> list[int]:
    """The winner, then the best of each accelerator, count, density, fabric and procurement; best first."""
    order = np.lexsort((score, ~feasible, [len(c.lifts) for c in candidates]))
    picked: dict[int, None] = {winner: None}
    seen: set[tuple[str, Any]] = set()
    for i in order:
        c = candidates[int(i)]
        fresh = {
            ("accelerator", (c.accelerator, bool(c.lifts))),
            ("server", (c.server, c.procurement)),
            ("gpus", (c.gpus, bool(c.lifts))) if c.accelerator == candidates[winner].accelerator else ("", ""),
            ("density", c.nodes_per_rack) if not c.lifts else ("", ""),
            ("fabric", c.fabric) if not c.lifts else ("", ""),
            ("procurement", c.procurement),
        } - seen - {("", "")}
        if fresh:
            seen |= fresh
            picked[int(i)] = None
        if len(picked) >= SHOWN:
            break
    return list(picked)


def _why(
    i: int,
    winner: int,
    candidates: Sequence[Candidate],
    frame: Frame,
    limits: list[Limit],
    feasible: Bools,
    spec: Spec,
) -> str:
    """One sentence: what broke, what pin it would lift, or by how much it is worse."""
    parts = []
    if candidates[i].lifts:
        parts.append("not asked for: needs " + " and ".join(candidates[i].lifts) + " to be free")
    if not feasible[i]:
        margins = [(float(limit.margin(frame)[i]), limit) for limit in limits]
        margin, limit = min(margins, key=lambda pair: pair[0])
        value = human(limit.path, float(limit.values(frame)[i]))
        more = sum(m < -1e-9 for m, _ in margins) - 1
        said = f"breaks {limit.name}: {value} against {human(limit.path, limit.bound)}"
        if limit.bound == 1.0 and not limit.at_most:
            said = f"fails: {limit.name}"
        parts.append(said + (f" and {more} more" if more else ""))
    elif i == winner:
        parts.append(f"best by {_objective_words(spec)} among what was asked and holds every limit")
    else:
        parts.append(_difference(i, winner, frame, spec))
    return "; ".join(parts)


def _objective_words(spec: Spec) -> str:
    return " and ".join(f"{name}" if len(spec.objective) == 1 else f"{w:.0%} {name}" for name, w in spec.objective.items())


def _difference(i: int, winner: int, frame: Frame, spec: Spec) -> str:
    """How the option differs from the winner in cost, time and power, in per cent."""
    done = finish(frame, spec)
    said = []
    for word, values in (("cost", frame["cost.tco_usd"]), ("time", done), ("power", frame["facility.meter_power_w"])):
        if values[winner] > 0:
            change = values[i] / values[winner] - 1.0
            if abs(change) >= 0.0005:
                said.append(f"{word} {change:+.1%}")
    return "holds; " + (", ".join(said) + " against the choice" if said else "equal to the choice, more racks or parts")


def pareto_points(
    candidates: Sequence[Candidate], frame: Frame, feasible: Bools, winner: int, spec: Spec, dominated: Bools
) -> dict[str, Any]:
    """Time against cost of ownership for the report: at most 400 points, the front always among them."""
    done, cost = finish(frame, spec), frame["cost.tco_usd"]
    keep = np.flatnonzero(~dominated | (np.arange(frame.n) == winner))
    rest = np.flatnonzero(dominated & (np.arange(frame.n) != winner))
    step = max(1, len(rest) // max(1, 400 - len(keep)))
    rows = [
        {
            "name": candidates[i].name,
            "x": float(done[i]),
            "y": float(cost[i]),
            "dominated": bool(dominated[i]),
            "chosen": bool(i == winner),
            "feasible": bool(feasible[i]),
            "asked": not candidates[i].lifts,
        }
        for i in [*keep[:400], *rest[::step]]
    ]
    return {"x": "time_to_train_s", "y": "tco_usd", "points": rows}
