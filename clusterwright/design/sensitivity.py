"""What the verdict hangs on: every uncertain input of the winner moved to the ends of its interval, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Frame, Law
from clusterwright.design.candidates import Candidate
from clusterwright.design.doors import weigh
from clusterwright.design.weighing import finish
from clusterwright.search import rank_swings
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["TARGETS", "sensitivities", "varied_inputs"]

TARGETS = {
    "finish_s": "time until the last run is done",
    "cost.tco_usd": "cost over the operating years",
    "facility.meter_power_w": "power at the meter",
}
SHOWN = 12
WISHES = {"compute.gpus": 0.1, "training[0].tokens": 0.1}
"""Inputs without an interval that people ask about anyway, and the relative change tried."""


def varied_inputs(cluster: Cluster, laws: Mapping[str, Law]) -> list[tuple[str, float, float, str]]:
    """What is moved: (path, low factor, high factor, words).

    Given figures with an interval move to its ends; figures of a law that has a spread of its own move by that
    spread alone, so that nothing is counted twice.
    """
    made = []
    for path in cluster.frame:
        figure, estimate = cluster.frame.figure(path), cluster.total(path)
        if estimate.value == 0 or not np.isfinite([estimate.value, estimate.low, estimate.high]).all():
            continue
        if figure.provenance.kind != "law" and not figure.certain:
            words = f"{human(path, estimate.low)} to {human(path, estimate.high)}"
            made.append((path, estimate.low / estimate.value, estimate.high / estimate.value, words))
        elif figure.provenance.kind == "law" and laws[figure.provenance.law].spread > 0 and not figure.count:
            spread = laws[figure.provenance.law].spread
            made.append((path, 1 - spread, 1 + spread, f"-{spread:.0%} to +{spread:.0%} (error of the law)"))
        elif path in WISHES:
            share = WISHES[path]
            made.append((path, 1 - share, 1 + share, f"-{share:.0%} to +{share:.0%}"))
    return made


def sensitivities(
    cluster: Cluster, winner: Candidate, spec: Spec, catalog: Catalog, laws: Mapping[str, Law]
) -> list[dict[str, Any]]:
    """The swings of :data:`TARGETS`, largest first for each target. All moves run in one frame."""
    inputs = varied_inputs(cluster, laws)
    if not inputs:
        return []
    rows = 2 * len(inputs)
    frame = Frame(rows, intervals=False)
    for k, (path, low, high, _) in enumerate(inputs):
        factor = np.ones(rows)
        factor[2 * k], factor[2 * k + 1] = low, high
        frame.vary(path, factor)
    weigh([winner] * rows, spec, catalog, frame)
    result = []
    for target, words in TARGETS.items():
        values = finish(frame, spec) if target == "finish_s" else frame[target]
        base = float(finish(cluster.frame, spec)[0]) if target == "finish_s" else cluster.value(target)
        for k, low, high in rank_swings(values[0::2], values[1::2], base)[:SHOWN]:
            if max(abs(low - base), abs(high - base)) < 1e-6 * abs(base):
                continue
            result.append(
                {
                    "target": target,
                    "target_words": words,
                    "input": inputs[k][0],
                    "range": inputs[k][3],
                    "base": base,
                    "low": low,
                    "high": high,
                }
            )
    return result
