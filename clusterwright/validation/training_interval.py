"""The 80 % interval of the step time: how far families that a fit has not seen lie off, and what a run leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from clusterwright.domains.training import Calibration
from clusterwright.validation.training_cases import Case
from clusterwright.validation.training_fit import ROW_SPREAD
from clusterwright.validation.training_scores import macro

__all__ = ["MOST_COVERED", "SOFTWARE", "half_width", "open_width", "spread_of", "student"]

Floats = NDArray[np.float64]

EIGHTY = NormalDist().inv_cdf(0.9)
"""Half-width of an 80 % interval in standard deviations."""
SOFTWARE = round(EIGHTY * ROW_SPREAD, 4)
"""What an unseen framework or release adds: 7 %, as releases differ by a median 6 %, factors of frameworks by 5 %."""
MOST_COVERED = 0.845
"""An 80 % interval is cut where it would hold more than this of the very runs that it is taken from."""
_ASSUMED_SPREAD = {"stand-in": 0.35, "not known": 0.35, "plan not published": 0.15}
_KNOB_SPREAD = 0.05
"""Half-width, as a logarithm, that each knob adds which was not published."""


def half_width(case: Case, by: Calibration) -> float:
    """Half-width of the 80 % interval of a case, as a logarithm: the law's, and what is open, as squares."""
    base = by.spread.get("moe" if case.shape.expert else "dense", 0.3)
    return float(np.hypot(base, open_width(case, by)))


def open_width(case: Case, by: Calibration) -> float:
    """The part of the half-width that comes of what was not published or what the fit has not seen.

    Each knob that was assumed; a framework without a factor, or a release that no run of the fit names; an accelerator
    that no run of the fit was on.
    """
    parts = [next((s for word, s in _ASSUMED_SPREAD.items() if word in said), _KNOB_SPREAD) for said in case.assumed]
    release, releases = case.row.text("release"), by.facts.get("releases", ())
    if case.row.text("framework") not in by.factors or (release and releases and release not in releases):
        parts.append(by.spread.get("software", 0.0))
    parts.append(by.unseen(case.chip.name))
    return float(np.sqrt(sum(p**2 for p in parts)))


def spread_of(families: Sequence[str], kinds: Sequence[str], error: Floats, opened: Floats) -> dict[str, float]:
    """Half-width, as a logarithm, for one more family, by kind, from the errors of families left out of the fit.

    Families are the units, one a kind: the law may miss all runs of a family by its mean error, whose variance is
    taken over all families (a kind may have few), and single runs by what is left, whose variance is taken over the
    families of the kind, each counting the same. Student's t with as many degrees of freedom as families less one.
    What the runs' own open points explain is taken off. A few families lie far off, so this holds more than 80 % of the
    runs; both kinds are cut by one factor until no more than :data:`MOST_COVERED` of them lie inside.

    Args:
        families: of each run.
        kinds: of each run, ``dense`` or ``moe``.
        error: predicted over measured, minus one, of each run when its family is left out, shape (n,).
        opened: half-width that comes of what each run leaves open, shape (n,).
    """
    miss, names = np.log1p(error), np.array([f"{k}/{f}" for k, f in zip(kinds, families, strict=True)])
    units = sorted(set(names))
    between = (1.0 + 1.0 / len(units)) * float(np.mean([miss[names == u].mean() ** 2 for u in units]))
    whole = {}
    for kind in sorted(set(map(str, kinds))):
        ours = [names == u for u in units if u.startswith(f"{kind}/")]
        within = float(np.mean([miss[rows].var() for rows in ours]))
        own = float(np.mean([np.mean(opened[rows] ** 2) for rows in ours]))
        whole[kind] = float(np.sqrt(max(student(len(units) - 1) ** 2 * (between + within) - own, 0.05**2)))
    base = np.array([whole[str(k)] for k in kinds])
    shares = (share / 100.0 for share in range(100, 50, -1))
    cut = next((s for s in shares if _covered(families, miss, np.hypot(s * base, opened)) <= MOST_COVERED), 0.5)
    return {kind: round(cut * width, 4) for kind, width in whole.items()}


def _covered(families: Sequence[str], miss: Floats, width: Floats) -> float:
    """Share of the runs inside an interval, families counting the same."""
    return float(macro(families, np.zeros(len(miss)), np.abs(miss) <= width)["coverage80"] or 0.0)


def student(freedom: int) -> float:
    """The 90th percentile of Student's t (Cornish-Fisher expansion; within 0.2 % from four degrees of freedom on)."""
    z, n = EIGHTY, float(max(freedom, 1))
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
