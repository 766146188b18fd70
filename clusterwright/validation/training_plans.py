"""The planner against measured plans: would the plan that the law ranks first have been a good choice?

A group is the counted runs of one report with the same model, accelerator, number of accelerators, precision, batch,
sequence and software, that differ in nothing but their plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.validation.training_cases import Case

__all__ = ["LEAST_PLANS", "LIMIT", "NOISE", "judged_planner", "spearman"]

Floats = NDArray[np.float64]

LEAST_PLANS = 3
"""Plans that a group must have."""
NOISE = 0.06
"""Measured times this near each other are a tie: the same plan differs by as much between software releases."""
LIMIT = 0.03
"""Regret that a choice may have where no other plan ties with the best."""

_TEXTS = ("family", "model", "gpu", "precision", "framework", "release", "routing", "interconnect")
_NUMBERS = ("gpu_count", "global_batch_seqs", "seq_len", "layers", "hidden", "num_experts")


def judged_planner(cases: Sequence[Case], step_s: Sequence[float]) -> dict[str, Any]:
    """Every group of measured plans, and the mean figures with families counting the same.

    Regret is the measured time of the plan that is predicted fastest over the best measured time, minus one. Repeats of
    a plan count as one plan with their median; plans that are predicted equal share their mean measured time.

    Args:
        cases: the rows.
        step_s: their predicted step times.
    """
    members: dict[tuple[Any, ...], list[tuple[Case, float]]] = defaultdict(list)
    for case, predicted in zip(cases, step_s, strict=True):
        if case.row.counted:
            members[_same(case)].append((case, predicted))
    groups = [g for some in members.values() if (g := _judged(some)) is not None]
    groups.sort(key=lambda g: (g["family"], g["model"], g["gpu_count"]))
    return {
        "groups": len(groups),
        "plans": sum(g["plans"] for g in groups),
        "regret": _macro(groups, "regret"),
        "worst_regret": max((g["regret"] for g in groups), default=None),
        "within_limit": sum(g["within_limit"] for g in groups),
        "spearman": _macro(groups, "spearman"),
        "least_spearman": min((g["spearman"] for g in groups if g["spearman"] is not None), default=None),
        "ordered_pairs": _macro(groups, "ordered_pairs"),
        "by_group": groups,
    }


def spearman(one: Floats, other: Floats) -> float | None:
    """Spearman's rank correlation, equal values sharing their mean rank; None where all values of a side are equal."""
    ranks = [_ranks(values) - (len(values) - 1) / 2.0 for values in (one, other)]
    size = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float(ranks[0] @ ranks[1]) / size if size else None


def _ranks(values: Floats) -> Floats:
    below = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    return np.asarray(below + (equal - 1) / 2.0, dtype=np.float64)


def _same(case: Case) -> tuple[Any, ...]:
    row = case.row
    return (*(row.text(name).lower() for name in _TEXTS), *(row.number(name) for name in _NUMBERS))


def _judged(members: Sequence[tuple[Case, float]]) -> dict[str, Any] | None:
    """What the law makes of a group; None where it has too few plans."""
    plans: dict[tuple[float, ...], list[tuple[Case, float]]] = defaultdict(list)
    for case, predicted in members:
        plans[tuple(round(v, 6) for v in case.plan.values())].append((case, predicted))
    if len(plans) < LEAST_PLANS:
        return None
    kept = list(plans.values())
    measured = np.array([np.median([float(c.row.step_s or np.nan) for c, _ in runs]) for runs in kept])
    step = np.array([runs[0][1] for runs in kept])
    first, best = np.flatnonzero(step == step.min()), int(np.argmin(measured))
    regret = float(measured[first].mean() / measured[best] - 1.0)
    tied = int((measured <= measured[best] * (1.0 + NOISE)).sum())
    limit = NOISE if tied > 1 else LIMIT
    row = members[0][0].row
    return {
        **{name: row.text(name) for name in ("family", "model", "gpu", "precision", "framework", "release")},
        **{name: row.number(name) for name in ("gpu_count", "global_batch_seqs", "seq_len")},
        "runs": len(members),
        "plans": len(kept),
        "chosen": _plan(kept[int(first[0])][0], measured[first].mean()),
        "best": _plan(kept[best][0], measured[best]),
        "regret": regret,
        "tied_with_best": tied - 1,
        "limit": limit,
        "within_limit": regret <= limit,
        "spearman": spearman(step, measured),
        "ordered_pairs": _ordered(step, measured),
    }


def _plan(run: tuple[Case, float], measured_s: float) -> dict[str, Any]:
    case, predicted = run
    plan = {k: round(v, 4) for k, v in case.plan.items()}
    return {"id": case.row.id, "predicted_step_s": float(predicted), "measured_step_s": float(measured_s), "plan": plan}


def _ordered(predicted: Floats, measured: Floats) -> float | None:
    """Share of the pairs whose measured times differ by more than noise that the law puts in the right order."""
    slower = measured[:, None] > measured[None, :] * (1.0 + NOISE)
    right = slower & (predicted[:, None] > predicted[None, :])
    return float(right.sum() / slower.sum()) if slower.any() else None


def _macro(groups: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Mean over families of the mean over their groups."""
    found: dict[str, list[float]] = defaultdict(list)
    for group in groups:
        if group[name] is not None:
            found[group["family"]].append(group[name])
    return float(np.mean([np.mean(values) for values in found.values()])) if found else None
