"""Published training runs against the step-time law: every row predicted, with its interval and its error.

A row is predicted by constants that have not seen its family: where the family was in the shipped fit, the fit made
without it is used. Headline figures are means over families of the rows that leave nothing out which decides the
outcome; the others are predicted too and reported apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.catalog import Catalog
from clusterwright.domains import training
from clusterwright.domains.training import CALIBRATION, Calibration
from clusterwright.validation.training_baselines import constant_efficiency_s, rule_of_thumb_s
from clusterwright.validation.training_calibrate import PUBLISHED, gathered, half_width
from clusterwright.validation.training_cases import Case, cases_of
from clusterwright.validation.training_fit import Fit, predicted_s
from clusterwright.validation.training_memory import judged_memory
from clusterwright.validation.training_rows import Published, read_published
from clusterwright.validation.training_scores import KEYS, macro

__all__ = ["SCHEMA", "Predicted", "TrainingReport", "validate_training"]

Floats = NDArray[np.float64]

SCHEMA = "clusterwright/validate-training/1"


@dataclass(frozen=True)
class Predicted:
    """One row and what the law makes of it.

    Attributes:
        case: the row, understood.
        value_s: predicted step time.
        low_s: lower end of the 80 % interval.
        high_s: upper end.
    """

    case: Case
    value_s: float
    low_s: float
    high_s: float

    @property
    def error(self) -> float | None:
        """Predicted over measured, minus one; None where nothing was measured."""
        measured = self.case.row.step_s
        return None if measured is None else self.value_s / measured - 1.0

    @property
    def inside(self) -> bool:
        """Whether the measured value lies in the interval."""
        measured = self.case.row.step_s
        return measured is not None and self.low_s <= measured <= self.high_s

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        row = self.case.row
        return {
            "id": row.id,
            "line": row.line,
            "family": row.family,
            "kind": row.kind,
            "gpu": row.text("gpu"),
            "model": row.text("model"),
            "step_time_s": {"value": self.value_s, "low": self.low_s, "high": self.high_s},
            "measured_step_s": row.step_s,
            "error": self.error,
            "inside": self.inside if row.step_s is not None else None,
            "counted": row.counted,
            "why_not_in_target": row.text("why_not_in_target") or None,
            "plan": {k: round(v, 4) for k, v in self.case.plan.items()},
            "assumed": list(self.case.assumed),
        }


@dataclass(frozen=True)
class TrainingReport:
    """The outcome over a file.

    Attributes:
        rows: rows of the file.
        predicted: those that could be predicted, in the order of the file.
        refused: the others, with the reason.
        baselines: step times by the rules of thumb, by their name, in the order of ``predicted``.
        memory: rows with a published memory: how many, their error, and runs wrongly called impossible.
        out_of_sample: whether rows were predicted by constants that have not seen their family.
    """

    rows: int
    predicted: Sequence[Predicted]
    refused: Sequence[tuple[Published, str]]
    baselines: dict[str, Floats]
    memory: dict[str, Any]
    out_of_sample: bool

    def _counted(self) -> list[Predicted]:
        return [p for p in self.predicted if p.case.row.counted]

    def headline(self) -> dict[str, Any]:
        """Figures over the rows that count, families counting the same."""
        return self._figures(lambda _: True)

    def by(self, name: str) -> dict[str, dict[str, Any]]:
        """The headline's figures by ``family``, ``gpu`` or ``kind``."""
        rows = [p.case.row for p in self.predicted] + [row for row, _ in self.refused]

        def having(value: str) -> dict[str, Any]:
            return self._figures(lambda row: _trait(row, name) == value)

        return {value: having(value) for value in sorted({_trait(r, name) for r in rows})}

    def others(self) -> dict[str, Any]:
        """Figures over the measured rows that leave out what decides their outcome."""
        rest = [p for p in self.predicted if not p.case.row.counted and p.case.row.step_s is not None]
        return {"rows": len(rest), **_scores(rest)}

    def _figures(self, belongs: Callable[[Published], bool]) -> dict[str, Any]:
        ours = [p for p in self.predicted if belongs(p.case.row)]
        refused = sum(belongs(row) for row, _ in self.refused)
        silent = sum(p.case.row.step_s is None for p in ours)
        counted = [p for p in ours if p.case.row.counted]
        counts = {"rows": len(ours) + refused, "run": len(ours) - silent, "refused": refused, "no_target": silent}
        return {**counts, "counted": len(counted), **_scores(counted)}

    def baseline(self, name: str) -> dict[str, Any]:
        """A rule of thumb on the same rows, and by family and kind."""
        step = self.baselines[name]
        pairs = [
            (p.case.row, s / float(p.case.row.step_s or 1.0) - 1.0) for p, s in zip(self.predicted, step, strict=True)
        ]
        counted = [(row, error) for row, error in pairs if row.counted]

        def figures(some: list[tuple[Published, float]]) -> dict[str, Any]:
            found = macro([r.family for r, _ in some], np.array([e for _, e in some]))
            return {"rows": len(some), **{k: found[k] for k in KEYS if k != "coverage80"}}

        parts = {
            f"by_{name}": {
                value: figures([(r, e) for r, e in counted if _trait(r, name) == value])
                for value in sorted({_trait(r, name) for r, _ in counted})
            }
            for name in ("family", "kind")
        }
        return {**figures(counted), **parts}

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": SCHEMA,
            "out_of_sample": self.out_of_sample,
            **self.headline(),
            "others": self.others(),
            "by_family": self.by("family"),
            "by_gpu": self.by("gpu"),
            "by_kind": self.by("kind"),
            "memory": self.memory,
            "baselines": {name: self.baseline(name) for name in self.baselines},
            "predictions": [p.to_dict() for p in self.predicted]
            + [{"id": r.id, "line": r.line, "family": r.family, "refused": why} for r, why in self.refused],
        }


def _trait(row: Published, name: str) -> str:
    return {"family": row.family, "kind": row.kind, "gpu": row.text("gpu")}[name]


def _scores(some: Sequence[Predicted]) -> dict[str, float | None]:
    error = np.array([p.error for p in some], dtype=np.float64)
    return macro([p.case.row.family for p in some], error, np.array([p.inside for p in some], dtype=bool))


def validate_training(
    path: Path,
    catalog: Catalog,
    calibration: Calibration = CALIBRATION,
    *,
    out_of_sample: bool = True,
) -> TrainingReport:
    """Run every row of a CSV file through the step-time law.

    Args:
        path: the file; see the reference of ``validate`` for its columns.
        catalog: accelerators and models.
        calibration: constants and what they leave unexplained.
        out_of_sample: predict a row of a family that the constants have seen by those fitted without it.

    Raises:
        InputError: the file cannot be read.
    """
    rows = read_published(path)
    cases, refused = gathered(rows, catalog)
    step = _step_s(cases, catalog, calibration, out_of_sample)
    width = np.array([half_width(c, calibration.spread) for c in cases])
    predicted = [
        Predicted(c, float(s), float(s * np.exp(-w)), float(s * np.exp(w)))
        for c, s, w in zip(cases, step, width, strict=True)
    ]
    return TrainingReport(
        rows=len(rows),
        predicted=predicted,
        refused=refused,
        baselines={
            "constant_efficiency": constant_efficiency_s(cases, _known(cases, catalog)),
            "six_nd_at_40_percent": np.array([rule_of_thumb_s(c) for c in cases]),
        },
        memory=judged_memory(cases),
        out_of_sample=out_of_sample,
    )


def _step_s(cases: Sequence[Case], catalog: Catalog, calibration: Calibration, apart: bool) -> Floats:
    if not cases:
        return np.zeros(0)
    table = cases_of(cases, training.measured_parts(catalog))
    family = table.column("family")
    step = np.empty(len(cases))
    for name in sorted(set(family)):
        by = calibration.without(str(name)) if apart else calibration
        rows = np.flatnonzero(family == name)
        step[rows] = predicted_s(table.take(rows), Fit(by.physics, by.factors, 0, {}))
    return step


def _known(cases: Sequence[Case], catalog: Catalog) -> list[Case]:
    """Measured runs that a constant efficiency can be learnt from: those of the file and the published ones."""
    ours = [c for c in cases if c.row.counted]
    names = {c.row.id for c in ours}
    shipped, _ = gathered(read_published(PUBLISHED), catalog)
    more = [replace(c) for c in shipped if c.row.counted and c.row.id not in names]
    return ours + more
