"""Published training runs against the step-time law: every row predicted, with its interval and its error.

No row is predicted by constants that have seen it: a row of the shipped fit is predicted by the fit made without its
whole family, any other row by the shipped constants. Headline figures are means over families of the rows that leave
nothing out which decides the outcome; the others are predicted too and reported apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.catalog import Catalog
from clusterwright.domains import training
from clusterwright.domains.training import CALIBRATION, Calibration
from clusterwright.validation.training_baselines import constant_efficiency_s, rule_of_thumb_s
from clusterwright.validation.training_calibrate import PUBLISHED, gathered
from clusterwright.validation.training_cases import Case, cases_of
from clusterwright.validation.training_fit import Fit, predicted_s
from clusterwright.validation.training_interval import half_width
from clusterwright.validation.training_memory import judged_memory
from clusterwright.validation.training_plans import judged_planner
from clusterwright.validation.training_rows import Published, read_published
from clusterwright.validation.training_scores import KEYS, macro

__all__ = ["SCHEMA", "Predicted", "TrainingReport", "validate_training"]

Floats = NDArray[np.float64]

SCHEMA = "clusterwright/validate-training/1"

NOMINAL = (0.50, 0.60, 0.70, 0.80, 0.90, 0.95)
"""Intervals whose coverage is counted; all follow from that of 80 % as if the logarithm's errors were normal."""


@dataclass(frozen=True)
class Predicted:
    """One row and what the law makes of it.

    Attributes:
        case: the row, understood.
        value_s: predicted step time.
        low_s: lower end of the 80 % interval.
        high_s: upper end.
        fitted: whether the run is one that the constants were fitted to.
    """

    case: Case
    value_s: float
    low_s: float
    high_s: float
    fitted: bool = False

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

    @property
    def needed(self) -> float:
        """The least interval that holds the measured value, as a fraction: 0.8 where it lies on the end of ours."""
        away = np.log(float(self.case.row.step_s or np.nan) / self.value_s)
        widths = abs(float(away / np.log(self.high_s / self.value_s)))
        return 2.0 * NormalDist().cdf(widths * NormalDist().inv_cdf(0.9)) - 1.0

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
            "fitted": self.fitted,
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
    """

    rows: int
    predicted: Sequence[Predicted]
    refused: Sequence[tuple[Published, str]]
    baselines: dict[str, Floats]
    memory: dict[str, Any]

    @property
    def fitted(self) -> int:
        """Runs that were predicted by constants fitted to them."""
        return sum(p.fitted for p in self.predicted)

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

    def by_family(self) -> dict[str, dict[str, Any]]:
        """The headline's figures by family, with those of the rules of thumb on the same rows."""
        rules = {name: self.baseline(name)["by_family"] for name in self.baselines}
        return {
            family: {**figures, "baselines": {name: by.get(family) for name, by in rules.items()}}
            for family, figures in self.by("family").items()
        }

    def families_won(self) -> dict[str, int]:
        """In how many families each has the least mean error: the ``law`` and the rules of thumb."""
        won = dict.fromkeys(("law", *self.baselines), 0)
        for figures in self.by_family().values():
            if figures["counted"]:
                errors = {"law": figures["mape"], **{n: f["mape"] for n, f in figures["baselines"].items()}}
                won[min(errors, key=lambda name: errors[name])] += 1
        return won

    def interval(self) -> list[dict[str, Any]]:
        """Share of the counted runs inside intervals of several widths, families counting the same."""
        counted = self._counted()
        needed = np.array([p.needed for p in counted])
        families, error = [p.case.row.family for p in counted], np.zeros(len(counted))
        found = [macro(families, error, needed <= nominal + 1e-12)["coverage80"] for nominal in NOMINAL]
        return [{"nominal": n, "coverage": c} for n, c in zip(NOMINAL, found, strict=True)]

    def planner(self) -> dict[str, Any]:
        """The plan that the law ranks first against the best measured one, group by group of comparable runs."""
        return judged_planner([p.case for p in self.predicted], [p.value_s for p in self.predicted])

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
            "out_of_sample": not self.fitted,
            "fitted": self.fitted,
            **self.headline(),
            "others": self.others(),
            "by_family": self.by_family(),
            "by_gpu": self.by("gpu"),
            "by_kind": self.by("kind"),
            "interval": self.interval(),
            "planner": self.planner(),
            "memory": self.memory,
            "baselines": {name: self.baseline(name) for name in self.baselines},
            "families_won": self.families_won(),
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
        out_of_sample: predict a row that the constants were fitted to by those fitted without its family.

    Raises:
        InputError: the file cannot be read.
    """
    rows = read_published(path)
    cases, refused = gathered(rows, catalog)
    step, width, fitted = _step_s(cases, catalog, calibration, out_of_sample)
    predicted = [
        Predicted(c, float(s), float(s * np.exp(-w)), float(s * np.exp(w)), bool(f))
        for c, s, w, f in zip(cases, step, width, fitted, strict=True)
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
    )


def _step_s(
    cases: Sequence[Case], catalog: Catalog, calibration: Calibration, apart: bool
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Step time of every case, half-width of its interval, whether its constants were fitted to this very run."""
    if not cases:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)
    table = cases_of(cases, training.measured_parts(catalog))
    names = {_name(row) for row in read_published(PUBLISHED)}
    shipped = np.array([_name(c.row) in names for c in cases])
    family = np.array([c.row.family for c in cases])
    left = np.where(shipped & apart & np.isin(family, list(calibration.apart)), family, "")
    step, width = np.empty(len(cases)), np.empty(len(cases))
    for name in sorted(set(left)):
        by = calibration.without(str(name)) if name else calibration
        rows = np.flatnonzero(left == name)
        step[rows] = predicted_s(table.take(rows), Fit(by.physics, by.factors, 0, {}))
        width[rows] = [half_width(cases[int(i)], by) for i in rows]
    own = np.isin(family, list(calibration.facts.get("site_families", ())))
    counted = np.array([c.row.counted for c in cases])
    return step, width, counted & (left == "") & (shipped | own)


def _name(row: Published) -> tuple[str, str, str]:
    return row.text("id"), row.text("model"), row.text("gpu")


def _known(cases: Sequence[Case], catalog: Catalog) -> list[Case]:
    """Measured runs that a constant efficiency can be learnt from: those of the file and the published ones."""
    ours = [c for c in cases if c.row.counted]
    names = {c.row.id for c in ours}
    shipped, _ = gathered(read_published(PUBLISHED), catalog)
    more = [replace(c) for c in shipped if c.row.counted and c.row.id not in names]
    return ours + more
