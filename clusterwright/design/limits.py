"""The limits of a spec, and which candidates hold them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterwright.cluster import Cluster, Floats, Frame
from clusterwright.domains.training import USABLE_FRACTION
from clusterwright.findings import Finding
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["Limit", "committed", "constraint_rows", "holds", "limits_of", "violation"]

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Limit:
    """One limit.

    Attributes:
        name: in words.
        path: figure that is limited; ``cost.committed_usd`` means :func:`committed`.
        bound: the limit, SI.
        at_most: True for an upper limit.
        place: where the spec says so.
        key: what to change in the spec to relax it; empty when it cannot be relaxed by asking for less.
        ours: True when it concerns a building of ours, so that a rented cluster need not hold it.
    """

    name: str
    path: str
    bound: float
    at_most: bool
    place: str
    key: str = ""
    ours: bool = False

    def values(self, frame: Frame) -> Floats:
        """The limited figure for each candidate."""
        return committed(frame) if self.path == "cost.committed_usd" else frame[self.path]

    def margin(self, frame: Frame) -> Floats:
        """Share of the limit that is left; negative where it is broken. +inf where it does not apply."""
        value = self.values(frame)
        scale = self.bound if self.bound > 0 else 1.0
        margin = (self.bound - value) / scale if self.at_most else (value - self.bound) / scale
        margin = np.where(np.isfinite(margin), margin, -1e9)
        return np.where(_rented(frame), np.inf, margin) if self.ours else margin


def _rented(frame: Frame) -> Bools:
    return np.asarray((frame["cost.rent"] + frame["cost.reserved"]) > 0)


def committed(frame: Frame) -> Floats:
    """What a budget is held against: the purchase of what is bought, or the rent over the operating years."""
    rent = frame["cost.tco_usd"]
    bought = np.where(frame["cost.colocate"] > 0, frame["cost.colocate_capex_usd"], frame["cost.capex_usd"])
    return np.where(_rented(frame), rent, bought)


def limits_of(spec: Spec, frame: Frame) -> list[Limit]:
    """Every limit that the spec sets, and those that physics sets."""
    made = [*_workload_limits(spec), *_global_limits(spec), *_site_limits(spec), *_physical_limits(spec)]
    return [limit for limit in made if limit.path == "cost.committed_usd" or limit.path in frame]


def _workload_limits(spec: Spec) -> Iterator[Limit]:
    years = Limit("operating years", "", spec.finance.years * 365.25 * 86400.0, True, "", "finance.years")
    for j, workload in enumerate(spec.workloads):
        if workload.train is None:
            continue
        key = f"workloads[{j}].train.deadline"
        bound = workload.train.deadline_s
        named = f"deadline of {workload.name}"
        if bound is None:
            named = f"{workload.name} within {years.name}"
            yield Limit(named, f"training[{j}].finish_s", years.bound, True, "", years.key)
        else:
            yield Limit(named, f"training[{j}].finish_s", bound, True, str(spec.place(key)), key)
        yield Limit(f"{workload.name} fits the GPUs' memory", f"training[{j}].fits", 1.0, False, "", "")


def _global_limits(spec: Spec) -> Iterator[Limit]:
    limits = spec.limits
    for name, path, bound, key, ours in (
        ("budget", "cost.committed_usd", limits.budget_usd, "limits.budget", False),
        ("power at the meter", "facility.meter_power_w", limits.power_w, "limits.power", True),
        ("power of a rack", "facility.rack_power_w", limits.rack_power_w, "limits.rack_power", True),
        ("number of racks", "facility.racks", limits.racks, "limits.racks", True),
        ("weight of a rack", "facility.rack_weight_kg", limits.rack_weight_kg, "limits.rack_weight", True),
        ("floor area", "facility.floor_m2", limits.floor_m2, "limits.floor", True),
    ):
        if bound is not None:
            yield Limit(name, path, float(bound), True, str(spec.place(key)), key, ours)


def _site_limits(spec: Spec) -> Iterator[Limit]:
    for i, site in enumerate(spec.sites):
        at = f" at {site.name}"
        for name, path, bound, key in (
            ("power at the meter", "meter_power_w", site.power_w, "power"),
            ("power of a rack", "rack_power_w", site.rack_power_w, "rack_power"),
            ("number of racks", "racks", site.racks, "racks"),
            ("weight of a rack", "rack_weight_kg", site.rack_weight_kg, "rack_weight"),
            ("floor area", "floor_m2", site.floor_m2, "floor"),
        ):
            if bound is not None:
                where = f"sites[{i}].{key}"
                yield Limit(name + at, f"sites[{i}].{path}", float(bound), True, str(spec.place(where)), where, True)


def _physical_limits(spec: Spec) -> Iterator[Limit]:
    yield Limit("fabric within three tiers", "fabric.fits", 1.0, False, "", "")
    yield Limit("racks tall enough", "facility.rack_fits", 1.0, False, "", "", True)
    yield Limit("the part is offered for rent", "cost.procurable", 1.0, False, "", "")
    for i, site in enumerate(spec.sites):
        yield Limit(f"cooling at {site.name}", f"sites[{i}].cooling_fits", 1.0, False, "", "", True)


def holds(limits: list[Limit], frame: Frame) -> Bools:
    """Which candidates hold every limit."""
    result = np.ones(frame.n, dtype=bool)
    for limit in limits:
        result &= limit.margin(frame) >= -1e-9
    return result


def violation(limits: list[Limit], frame: Frame) -> Floats:
    """How far each candidate is from holding all limits: the sum of the logs of how often each limit is exceeded."""
    total = np.zeros(frame.n)
    for limit in limits:
        margin = limit.margin(frame)
        total += np.log1p(np.clip(-np.where(np.isfinite(margin), margin, 0.0), 0.0, None))
    return total


def constraint_rows(limits: list[Limit], cluster: Cluster) -> list[dict[str, Any]]:
    """The limits against the design, with interval and margin, tightest first; physical ones only where they fail."""
    rows: list[dict[str, Any]] = []
    impossible = set[str]()  # what runs out of memory has no time that a deadline could be held against
    for limit in limits:
        margin = float(limit.margin(cluster.frame)[0])
        if _is_physical(limit) and margin < 0:
            impossible.add(limit.path)
        if math.isinf(margin) or (_is_physical(limit) and margin >= 0):
            continue
        low, value, high = _interval(limit, cluster)
        rows.append(
            {
                "name": limit.name,
                "path": limit.path,
                "limit": limit.bound,
                "at_most": limit.at_most,
                "value": value,
                "low": low,
                "high": high,
                "margin": margin,
                "holds": margin >= -1e-9,
                "probability": _probability(limit, low, value, high),
                "holds_throughout": (high <= limit.bound) if limit.at_most else (low >= limit.bound),
                "binding": False,
                "key": limit.key,
                "place": limit.place,
                "text": _text(limit, value, cluster),
            }
        )
    rows.sort(key=lambda row: (row["path"] not in impossible, float(row["margin"])))
    if rows:
        rows[0]["binding"] = True
    return rows


def _is_physical(limit: Limit) -> bool:
    """Whether it says yes or no."""
    return limit.bound == 1.0 and not limit.at_most


def _text(limit: Limit, value: float, cluster: Cluster) -> str:
    """The figure against the limit; of what fits or not, what stands against it."""
    if not _is_physical(limit):
        return f"{human(limit.path, value)} against {human(limit.path, limit.bound)}"
    at = limit.path.removesuffix(".fits")
    if f"{at}.memory_bytes" not in cluster.frame:
        return "it does not" if value < 1 else "it does"
    for finding in cluster.findings:
        if finding.code in ("TRAINING-PLAN-INCONSISTENT", "TRAINING-NO-PLAN") and _about(finding, at):
            return f"{finding.message}; {finding.hint}"
    need, has = cluster.value(f"{at}.memory_bytes"), cluster.value("accelerator.memory_bytes")
    held = f"{human('x_bytes', has)}, of which {USABLE_FRACTION:.0%} can be filled"
    return f"needs {human('x_bytes', need)} a GPU, which has {held}"


def _about(finding: Finding, at: str) -> bool:
    """Whether a finding speaks of a run: by its figures, or by the line of the spec, where there is one run."""
    return str(finding.place).startswith(f"{at}.") or not str(finding.place).startswith("training[")


def _probability(limit: Limit, low: float, value: float, high: float) -> float:
    """Chance that the limit holds: the side of the 80 % interval towards it as that of a normal distribution."""
    half = (high - value) if limit.bound >= value else (value - low)
    if half <= 0:
        return 1.0 if (value <= limit.bound) == limit.at_most or value == limit.bound else 0.0
    below = 0.5 * math.erfc(-(limit.bound - value) / (half / TEN_PER_CENT) / math.sqrt(2.0))
    return below if limit.at_most else 1.0 - below


TEN_PER_CENT = 1.2816
"""Standard deviations from the middle to the end of an 80 % interval."""


def _interval(limit: Limit, cluster: Cluster) -> tuple[float, float, float]:
    path = limit.path
    if path == "cost.committed_usd":
        frame = cluster.frame
        rented = frame["cost.rent"][0] + frame["cost.reserved"][0] > 0
        colocated = frame["cost.colocate"][0] > 0
        path = "cost.tco_usd" if rented else "cost.colocate_capex_usd" if colocated else "cost.capex_usd"
    estimate = cluster.total(path)
    return estimate.low, estimate.value, estimate.high
