"""The constants of the step-time law from published runs: robust least squares on log step time, with priors.

Few constants, all physical; each has a prior (what data sheets, kernel benchmarks and papers say, and how sure that
is), so that a constant that the rows say nothing about stays where it was. A framework has a factor of its own, held
near one by its prior: what is left between frameworks is software, not hardware, and an unseen framework takes the
mean. Nothing belongs to a row, a model or a family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training import PRIOR, Physics
from clusterwright.validation.training_cases import Cases

__all__ = ["SURENESS", "Fit", "fit", "predicted_s"]

Floats = NDArray[np.float64]

SURENESS: Mapping[str, float] = {
    "matmul": 0.06,
    "matmul_8bit": 0.10,
    "matmul_4bit": 0.15,
    "row_scaled": 0.25,
    "grouped": 0.20,
    "grouped_fused": 0.15,
    "power": 0.30,
    "depth": 0.60,
    "wave": 0.50,
    "sustained": 0.60,
    "attention": 0.10,
    "attention_depth": 0.60,
    "first_attention": 0.20,
    "portable_attention": 0.20,
    "memory": 0.20,
    "kernel_s": 0.50,
    "expert_sync_s": 0.60,
    "collectives": 0.12,
    "all_to_all": 0.25,
    "ep_exposed": 0.25,
    "ep_overlapped": 0.40,
    "pp_exposed": 0.40,
    "tp_exposed": 0.30,
    "dp_exposed": 0.60,
    "natural": 0.06,
    "overhead": 0.60,
}
"""Standard deviation of the logarithm of each constant before any row is seen."""
FRAMEWORK_SPREAD = 0.05
"""Standard deviation of the logarithm of a framework's factor."""
ROW_SPREAD = 0.07
"""Standard deviation of the logarithm of a row about the law: releases alone make 6 %."""
CORNER = 2.0
"""Rows farther away than this many standard deviations pull less (Huber)."""
ROUNDS = 12


@dataclass(frozen=True)
class Fit:
    """Constants and factors from some rows.

    Attributes:
        physics: the constants.
        factors: step time of a framework relative to the mean one, by its name.
        rows: how many rows were used.
        spread: standard deviation of the logarithm of each constant afterwards, by its name.
    """

    physics: Physics
    factors: Mapping[str, float]
    rows: int
    spread: Mapping[str, float]


def fit(
    cases: Cases,
    used: NDArray[np.bool_],
    prior: Physics = PRIOR,
    sureness: Mapping[str, float] = SURENESS,
    factors: Mapping[str, float] | None = None,
) -> Fit:
    """The constants that rows ``used`` support.

    Gauss-Newton with Levenberg's damping on the logarithms of the constants; the Jacobian by differences. Rows of a
    family share a weight that grows with the root of their number, so that no family outvotes the others.

    Args:
        cases: rows with a measured step time.
        used: which of them to use.
        prior: where the constants start.
        sureness: standard deviation of their logarithms before any row is seen.
        factors: where the frameworks' factors start; one where it is not given.
    """
    taken = np.flatnonzero(used)
    part = cases.take(taken)
    goal = np.log(np.array([c.row.step_s for c in part.cases], dtype=np.float64))
    frameworks = sorted({str(f) for f in part.column("framework")})
    start = np.log([(factors or {}).get(f, 1.0) for f in frameworks])
    member = np.array([[c == f for f in frameworks] for c in part.column("framework")], dtype=np.float64)
    problem = _Problem(
        part, goal, _weights(part), member.reshape(len(taken), len(frameworks)), prior, dict(sureness), start
    )
    found, covariance = problem.solve()
    names = list(sureness)
    physics = problem.physics(found)
    factors = {f: float(np.exp(start[i] + found[len(names) + i])) for i, f in enumerate(frameworks)}
    spread = {n: float(np.sqrt(covariance[i, i])) for i, n in enumerate(names)}
    return Fit(physics, factors, len(taken), spread)


def predicted_s(cases: Cases, by: Fit) -> Floats:
    """Step time of every case by a fit; a framework that it has not seen takes the mean factor."""
    factor = np.array([by.factors.get(f, 1.0) for f in cases.column("framework")])
    return np.asarray(cases.step_s(by.physics) * factor)


def _weights(cases: Cases) -> Floats:
    """Weight of each row: a family of n rows weighs as much as the root of n rows."""
    groups = np.array([f"{c.row.family}/{c.row.kind}" for c in cases.cases])
    _, index, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(counts[index.reshape(-1)] ** -0.5, dtype=np.float64)


@dataclass(frozen=True)
class _Problem:
    cases: Cases
    goal: Floats
    weights: Floats
    member: Floats
    prior: Physics
    sureness: Mapping[str, float]
    start: Floats

    @cached_property
    def repeated(self) -> Cases:
        """The cases once for each constant."""
        return self.cases.take(np.tile(np.arange(len(self.cases)), len(self.sureness)))

    def physics(self, x: Floats) -> Physics:
        """Constants at a point: their logarithms from the prior, in units of its spread."""
        moved = {n: getattr(self.prior, n) * float(np.exp(x[i] * s)) for i, (n, s) in enumerate(self.sureness.items())}
        return replace(self.prior, **moved)

    def misses(self, x: Floats) -> Floats:
        """Logarithm of predicted over measured."""
        return np.asarray(
            np.log(self.cases.step_s(self.physics(x)))
            - self.goal
            + self.member @ (self.start + x[len(self.sureness) :])
        )

    def solve(self) -> tuple[Floats, Floats]:
        """The point with the least cost and the covariance of the logarithms there."""
        n, extra = len(self.sureness), self.member.shape[1]
        inverse = np.concatenate([np.ones(n), np.full(extra, FRAMEWORK_SPREAD**-2)])
        x, damping = np.zeros(n + extra), 1e-2
        miss = self.misses(x)
        hessian = np.diag(inverse)
        for _ in range(ROUNDS):
            jacobian = self._jacobian(x, miss)
            row = self.weights * self._pull(miss) / ROW_SPREAD**2
            hessian = jacobian.T @ (row[:, None] * jacobian) + np.diag(inverse)
            slope = jacobian.T @ (row * miss) + inverse * x
            before = self._cost(x, miss, inverse)
            for _ in range(6):
                tried = x - np.linalg.solve(hessian + damping * np.diag(np.diag(hessian)), slope)
                there = self.misses(tried)
                if self._cost(tried, there, inverse) < before:
                    break
                damping *= 8.0
            else:
                break
            moved = float(np.max(np.abs(tried - x)))
            x, miss, damping = tried, there, max(damping / 8.0, 1e-6)
            if moved < 1e-3:
                break
        scale = np.concatenate([np.array(list(self.sureness.values())), np.ones(extra)])
        return x, np.asarray(np.linalg.inv(hessian) * np.outer(scale, scale), dtype=np.float64)

    def _jacobian(self, x: Floats, miss: Floats) -> Floats:
        """By differences; all moved constants are worked out at once, each with the rows below one another."""
        n, rows, step = len(self.sureness), len(miss), 1e-3
        points = x[:n] + step * np.eye(n)
        moved: dict[str, Any] = {
            name: np.repeat(getattr(self.prior, name) * np.exp(points[:, i] * s), rows)
            for i, (name, s) in enumerate(self.sureness.items())
        }
        there = np.log(self.repeated.step_s(replace(self.prior, **moved))).reshape(n, rows)
        there = there - self.goal + self.member @ (self.start + x[n:])
        return np.concatenate([(there - miss).T / step, self.member], axis=1)

    def _pull(self, miss: Floats) -> Floats:
        away = np.abs(miss) / ROW_SPREAD
        return np.minimum(1.0, CORNER / np.maximum(away, 1e-9))

    def _cost(self, x: Floats, miss: Floats, inverse: Floats) -> float:
        away = np.abs(miss) / ROW_SPREAD
        huber = np.where(away <= CORNER, 0.5 * away**2, CORNER * (away - 0.5 * CORNER))
        return float(np.sum(self.weights * huber) + 0.5 * np.sum(inverse * x**2))
