"""Calibration: the constants that the law ships with from the published runs, or a site's own factors from its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.catalog import Catalog
from clusterwright.domains import training
from clusterwright.domains.training import CALIBRATION, Calibration
from clusterwright.errors import InputError
from clusterwright.source import Place
from clusterwright.validation.codes import FINDINGS
from clusterwright.validation.training_cases import Case, Cases, case_of, cases_of
from clusterwright.validation.training_fit import SURENESS, Fit, fit, predicted_s
from clusterwright.validation.training_interval import EIGHTY, SOFTWARE, open_width, spread_of
from clusterwright.validation.training_parts import RefusedRowError
from clusterwright.validation.training_rows import Published, read_published
from clusterwright.validation.training_scores import macro

__all__ = [
    "PUBLISHED",
    "SiteReport",
    "calibrate_published",
    "calibrate_site",
    "gathered",
]

Floats = NDArray[np.float64]

PUBLISHED = Path(str(resources.files("clusterwright.validation").joinpath("data/training_published.csv")))
"""Published training runs, each with its source, that the shipped constants are derived from."""
_LEAST_RUNS = 1
_KINDS = ("dense", "moe")


def gathered(rows: Sequence[Published], catalog: Catalog) -> tuple[list[Case], list[tuple[Published, str]]]:
    """The rows that can be predicted, and the refused ones with the reason."""
    cases, refused = [], []
    for row in rows:
        try:
            cases.append(case_of(row, catalog))
        except RefusedRowError as why:
            refused.append((row, str(why)))
    return cases, refused


def calibrate_published(catalog: Catalog, path: Path = PUBLISHED, date: str = "") -> Calibration:
    """Derive the constants from published runs, and cross-validate them by family.

    The spread of the law is that of one more family, from the errors of families left out in turn
    (:func:`~clusterwright.validation.training_interval.spread_of`).

    Raises:
        InputError: the file cannot be read or holds too few runs.
    """
    cases, _ = gathered(read_published(path), catalog)
    counted = [c for c in cases if c.row.counted]
    families = sorted({c.row.family for c in counted})
    if len(families) < 2:
        place, hint = Place(str(path)), "give runs of at least two reports or sites in the column family"
        raise InputError(FINDINGS["VALIDATION-DATA"].at(place, "has runs of fewer than two families", hint))
    table = cases_of(counted, training.measured_parts(catalog))
    family, everyone = table.column("family"), np.ones(len(counted), dtype=bool)
    whole = fit(table, everyone)
    apart = {name: fit(table, family != name) for name in families}
    predicted = np.empty(len(counted))
    for name, without in apart.items():
        predicted[family == name] = predicted_s(table, without)[family == name]
    error = predicted / _measured(counted) - 1.0
    inside = predicted_s(table, whole) / _measured(counted) - 1.0
    kinds = np.array([c.row.kind for c in counted])
    gpus, unseen = _gpus_left_out(counted, catalog, error)
    wider = {"software": SOFTWARE, "gpu": unseen}
    others = {
        name: Calibration(_rounded(f), _near(f), wider, {}, _seen([c for c in counted if c.row.family != name]))
        for name, f in apart.items()
    }
    opened = np.array([open_width(c, others[c.row.family]) for c in counted])
    spread = spread_of(list(family), list(kinds), error, opened)
    facts: dict[str, Any] = {
        "date": date,
        "rows": len(counted),
        "families": families,
        **_seen(counted),
        "left_out": {k: macro(list(family[kinds == k]), error[kinds == k]) for k in spread},
        "in_sample": {k: macro(list(family[kinds == k]), inside[kinds == k]) for k in spread},
        "gpu_left_out": gpus,
        "sureness": {name: round(value, 4) for name, value in whole.spread.items()},
    }
    return Calibration(_rounded(whole), _near(whole), spread | wider, others, facts)


def _seen(cases: Sequence[Case]) -> dict[str, Any]:
    """Accelerators that runs were on, and releases of the software that they name."""
    releases = {c.row.text("release") for c in cases} - {""}
    return {"gpus": sorted({c.chip.name for c in cases}), "releases": sorted(releases)}


def _gpus_left_out(counted: Sequence[Case], catalog: Catalog, error: Floats) -> tuple[dict[str, dict[str, Any]], float]:
    """Errors on each accelerator when none of its runs was seen and only its data sheet is known.

    Args:
        counted: the runs.
        catalog: accelerators.
        error: of each run when its family is left out, shape (n,).

    Returns:
        Errors by accelerator and kind, and the half-width, as a logarithm, that this adds to that of an unseen family:
        by how much its mean square is larger, over all accelerators and kinds.
    """
    names = np.array([c.row.text("gpu") for c in counted])
    kinds, families = np.array([c.row.kind for c in counted]), np.array([c.row.family for c in counted])
    found: dict[str, dict[str, Any]] = {}
    more: list[float] = []
    for name in sorted(set(names)):
        table = cases_of(counted, training.measured_parts(catalog), str(name))
        away = predicted_s(table, fit(table, names != name)) / _measured(counted) - 1.0
        found[str(name)] = {}
        for kind in sorted(set(kinds[names == name])):
            rows = (names == name) & (kinds == kind)
            found[str(name)][str(kind)] = {"rows": int(rows.sum()), **macro(list(families[rows]), away[rows])}
            more.append(max(_square(families[rows], away[rows]) - _square(families[rows], error[rows]), 0.0))
    return found, round(EIGHTY * float(np.sqrt(np.mean(more))), 4)


def _square(families: NDArray[np.str_], error: Floats) -> float:
    """Mean square of the logarithm of predicted over measured, families counting the same."""
    square = np.log1p(error) ** 2
    return float(np.mean([square[families == f].mean() for f in sorted(set(families))]))


def _measured(cases: Sequence[Case]) -> Floats:
    return np.array([c.row.step_s for c in cases], dtype=np.float64)


def _rounded(found: Fit) -> training.Physics:
    return replace(found.physics, **{k: float(f"{v:.4g}") for k, v in asdict(found.physics).items()})


def _near(found: Fit) -> dict[str, float]:
    return {str(k): round(float(v), 4) for k, v in found.factors.items()}


@dataclass(frozen=True)
class SiteReport:
    """What a site's own runs say.

    Attributes:
        before: errors with the shipped constants.
        after: errors with the site's calibration.
        left_out: errors of each run predicted from the site's other runs; None with fewer than three.
        calibration: the site's.
        changes: of each constant and factor that moved: before and after.
        rows: of the file; ``used`` are those that count, ``refused`` those that could not be read, with the reason.
    """

    before: Mapping[str, float | None]
    after: Mapping[str, float | None]
    left_out: Mapping[str, float | None] | None
    calibration: Calibration
    changes: Sequence[Mapping[str, Any]]
    rows: int
    used: int
    refused: Sequence[Mapping[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": "clusterwright/calibrate/1",
            "rows": self.rows,
            "used": self.used,
            "refused": list(self.refused),
            "before": dict(self.before),
            "after": dict(self.after),
            "left_out": None if self.left_out is None else dict(self.left_out),
            "changes": list(self.changes),
            "calibration": self.calibration.to_dict(),
        }


SITE_TIGHTNESS = 0.5
"""A site's constants are held to the shipped ones by half of the spread that they had before any run was seen."""


def calibrate_site(catalog: Catalog, path: Path, base: Calibration = CALIBRATION) -> SiteReport:
    """A site's own constants and factors from its runs, held near the shipped ones: a few runs move little.

    Raises:
        InputError: the file cannot be read or no run in it can be used.
    """
    published = read_published(path)
    cases, refused = gathered(published, catalog)
    counted = [c for c in cases if c.row.counted]
    if len(counted) < _LEAST_RUNS:
        place, hint = Place(str(path)), "measured_step_s, gpu, gpu_count, model and the plan are needed"
        raise InputError(FINDINGS["VALIDATION-DATA"].at(place, "has no run with a measured step time", hint))
    table = cases_of(counted, training.measured_parts(catalog))
    measured, everyone = _measured(counted), np.ones(len(counted), dtype=bool)
    found = _site_fit(table, everyone, base)
    alone = None
    if len(counted) >= 3:
        predicted = np.empty(len(counted))
        for i in range(len(counted)):
            predicted[i] = predicted_s(table, _site_fit(table, np.arange(len(counted)) != i, base))[i]
        alone = macro(["site"] * len(counted), predicted / measured - 1.0)
    first = predicted_s(table, Fit(base.physics, base.factors, 0, {}))
    spread = _site_spread(base, alone)
    facts = {"rows": len(counted), "site_families": sorted({c.row.family for c in counted}), **_both(base, counted)}
    own = Calibration(_rounded(found), {**base.factors, **_near(found)}, spread, {}, facts)
    return SiteReport(
        before=macro(["site"] * len(counted), first / measured - 1.0),
        after=macro(["site"] * len(counted), predicted_s(table, found) / measured - 1.0),
        left_out=alone,
        calibration=own,
        changes=_changes(base, own),
        rows=len(published),
        used=len(counted),
        refused=[{"id": row.id, "reason": why} for row, why in refused],
    )


def _both(base: Calibration, cases: Sequence[Case]) -> dict[str, Any]:
    """Accelerators and releases of the base's runs and of the site's."""
    return {k: sorted({*base.facts.get(k, ()), *seen}) for k, seen in _seen(cases).items()}


def _site_fit(table: Cases, used: NDArray[np.bool_], base: Calibration) -> Fit:
    tight = {name: SITE_TIGHTNESS * value for name, value in SURENESS.items()}
    return fit(table, used, base.physics, tight, base.factors)


def _site_spread(base: Calibration, alone: Mapping[str, float | None] | None) -> dict[str, float]:
    """The shipped spread, narrower where the site's runs, each left out, show less; never below 5 %."""
    p90 = None if alone is None else alone["p90"]
    narrowed = {} if p90 is None else {k: float(np.clip(p90, 0.05, v)) for k, v in base.spread.items() if k in _KINDS}
    return {**base.spread, **narrowed}


def _changes(before: Calibration, after: Calibration) -> list[dict[str, Any]]:
    old, new = asdict(before.physics), asdict(after.physics)
    rows = [{"name": k, "before": old[k], "after": new[k]} for k in old if abs(new[k] / old[k] - 1.0) > 0.002]
    for name, value in after.factors.items():
        start = before.factors.get(name, 1.0)
        if abs(value / start - 1.0) > 0.002:
            rows.append({"name": f"factor of {name}", "before": start, "after": value})
    unseen = before.spread.get("software", 0.0) if set(after.factors) - set(before.factors) else 0.0
    for kind in _KINDS:
        value = after.spread.get(kind, 1.0)
        start = float(np.hypot(before.spread.get(kind, value), unseen))
        if abs(value / start - 1.0) > 0.002:
            rows.append({"name": f"80 % interval of {kind} models, either way", "before": start, "after": value})
    return rows
