"""The audit: what a proposal claims, against the laws and against its own other claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.spec import Claim, Spec
from clusterwright.units import human, unit_of

__all__ = ["audit"]

Range = tuple[float, float]


@dataclass(frozen=True)
class _Relation:
    """How a claimed figure maps to a common figure, so that claims about different figures can be compared.

    Attributes:
        group: claims of one group speak about the same thing.
        base: value of the claim -> value of the group's common figure.
        falling: True when the common figure falls as the claim rises.
        words: the common figure and its key, for the arithmetic.
    """

    group: str
    base: Callable[[float], float]
    words: str
    key: str
    falling: bool = False

    def of(self, claimed: Range) -> Range:
        """The claimed range in terms of the common figure."""
        low, high = (self.base(v) for v in claimed)
        return (high, low) if self.falling else (low, high)


def audit(cluster: Cluster, spec: Spec) -> list[dict[str, Any]]:
    """Judge every claim of the spec.

    Returns:
        One mapping a claim: path, who, text, claimed {low, high}, computed {value, low, high} or None, verdict
        (``holds``, ``does-not-hold``, ``cannot-tell``), contradicts (indices of other claims are given as their
        paths), arithmetic (the sums, in words).
    """
    rows = [_judge(claim, cluster) for claim in spec.claims]
    relations = [_relation(claim.path, cluster) for claim in spec.claims]
    for i, row in enumerate(rows):
        against = list(_contradictions(i, spec.claims, relations))
        row["contradicts"] = [spec.claims[j].path for j in against]
        row["arithmetic"] = " ".join([row["arithmetic"], *_sums(i, against, spec.claims, relations, cluster)]).strip()
    return rows


def _judge(claim: Claim, cluster: Cluster) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path": claim.path,
        "who": claim.who,
        "text": claim.text,
        "claimed": {"low": claim.low, "high": None if math.isinf(claim.high) else claim.high},
        "computed": None,
    }
    if claim.path not in cluster.frame or claim.path in cluster.frame.texts:
        row["verdict"] = "cannot-tell"
        row["arithmetic"] = f"No law computes {claim.path}; the design cannot confirm or refute it."
        return row
    found = cluster.total(claim.path)
    row["computed"] = found.to_dict()
    if claim.low <= found.value <= claim.high:
        row["verdict"] = "holds"
    elif found.high >= claim.low and found.low <= claim.high:
        row["verdict"] = "cannot-tell"
    else:
        row["verdict"] = "does-not-hold"
    row["arithmetic"] = _compare(claim, found.value, found.low, found.high, row["verdict"])
    return row


def _compare(claim: Claim, value: float, low: float, high: float, verdict: str) -> str:
    said = f"Claimed {_range_words(claim.path, (claim.low, claim.high))}; computed {human(claim.path, value)}"
    if low != high:
        said += f" ({human(claim.path, low)} to {human(claim.path, high)})"
    if verdict == "does-not-hold" and value > 0:
        if value > claim.high:
            factor = value / claim.high if claim.high > 0 else math.inf
            said += f": the claim is too low by a factor of {factor:,.3g}"
        else:
            most = "" if math.isinf(claim.high) or claim.high == claim.low else f" to {claim.high / value:,.3g}"
            said += f": the claim is too high by a factor of {claim.low / value:,.3g}{most}"
    elif verdict == "cannot-tell":
        said += ": the intervals overlap, but the best estimate lies outside the claim"
    elif low < claim.low or high > claim.high:
        said += ": it holds at the best estimate, not over the whole interval"
    return said + "."


def _range_words(path: str, claimed: Range) -> str:
    low, high = claimed
    if low == high:
        return human(path, low)
    if low == 0:
        return f"at most {human(path, high)}"
    if math.isinf(high):
        return f"at least {human(path, low)}"
    return f"{human(path, low)} to {human(path, high)}"


def _relation(path: str, cluster: Cluster) -> _Relation | None:
    """The relation of a path, with the design's own fixed inputs (GPU count, FLOP, peak, PUE, nodes)."""
    if path.startswith("training["):
        prefix, _, name = path.partition("].")
        return _throughput(prefix + "]", name, cluster)
    frame = cluster.frame
    if path in ("facility.meter_power_w", "facility.it_power_w") and "facility.pue" in frame:
        factor = cluster.value("facility.pue") if path.endswith("it_power_w") else 1.0
        return _Relation("power", lambda v: v * factor, "power at the meter", "facility.meter_power_w")
    if path == "facility.rack_power_w" and "compute.nodes_per_rack" in frame and "server.power_w" in frame:
        all_nodes_w = cluster.value("compute.nodes") * cluster.value("server.power_w")
        return _Relation(
            "racks", lambda v: all_nodes_w / v if v else math.inf, "compute racks", "facility.compute_racks", True
        )
    if path in ("facility.compute_racks", "compute.nodes_per_rack") and "compute.nodes" in frame:
        nodes = cluster.value("compute.nodes")
        falling = path == "compute.nodes_per_rack"
        base = (lambda v: nodes / v if v else math.inf) if falling else (lambda v: v)
        return _Relation("racks", base, "compute racks", "facility.compute_racks", falling)
    return None


def _throughput(prefix: str, name: str, cluster: Cluster) -> _Relation | None:
    """All figures of a run's speed as the cluster's sustained TFLOP/s."""
    try:
        gpus = cluster.value(f"{prefix}.gpus")
        flop = cluster.value(f"{prefix}.flop") / 1e12
        peak = cluster.value(f"{prefix}.peak_flops") / 1e12
        ettr = cluster.value(f"{prefix}.ettr")
        tokens_s = cluster.value(f"{prefix}.tokens_per_s") / cluster.value(f"{prefix}.cluster_tflops")
    except KeyError:
        return None
    table: dict[str, tuple[Callable[[float], float], bool]] = {
        "tflops_per_gpu": (lambda v: v * gpus, False),
        "cluster_tflops": (lambda v: v, False),
        "mfu": (lambda v: v * gpus * peak, False),
        "tokens_per_s": (lambda v: v / tokens_s, False),
        "compute_time_s": (lambda v: flop / v if v else math.inf, True),
        "time_to_train_s": (lambda v: flop / ettr / v if v else math.inf, True),
    }
    if name not in table:
        return None
    base, falling = table[name]
    return _Relation(f"speed of {prefix}", base, "sustained by the cluster", f"{prefix}.cluster_tflops", falling)


def _contradictions(i: int, claims: list[Claim], relations: list[_Relation | None]) -> Iterable[int]:
    mine = relations[i]
    if mine is None:
        return
    low, high = mine.of((claims[i].low, claims[i].high))
    for j, other in enumerate(relations):
        if j == i or other is None or other.group != mine.group:
            continue
        other_low, other_high = other.of((claims[j].low, claims[j].high))
        if low > other_high * 1.001 or high < other_low * 0.999:
            yield j


def _sums(
    i: int, against: list[int], claims: list[Claim], relations: list[_Relation | None], cluster: Cluster
) -> list[str]:
    """What the claim means in the common figure and for a run's length, and how the others contradict it."""
    mine = relations[i]
    if mine is None:
        return [*_state(claims[i], cluster), *_per_gpu(claims[i], cluster)]
    said = []
    low, high = mine.of((claims[i].low, claims[i].high))
    if mine.key != claims[i].path:
        said.append(f"It means {_range_words(mine.key, (low, high))} {mine.words}.")
    if mine.key.endswith("cluster_tflops"):
        said += _speed_words(claims[i], mine, (low, high), cluster)
    for j in against:
        theirs = relations[j]
        if theirs is None:
            continue
        meant = _range_words(mine.key, theirs.of((claims[j].low, claims[j].high)))
        said.append(f"That contradicts {claims[j].path} {claims[j].text}, which means {meant}.")
    return said + _per_gpu(claims[i], cluster)


def _speed_words(claim: Claim, mine: _Relation, meant: Range, cluster: Cluster) -> list[str]:
    prefix = claim.path.partition("].")[0] + "]"
    flop, gpus = cluster.value(f"{prefix}.flop") / 1e12, cluster.value(f"{prefix}.gpus")
    said = []
    if not claim.path.endswith("time_to_train_s"):
        speed = meant[1] if math.isfinite(meant[1]) else meant[0]
        said.append(f"At that rate {flop * 1e12:.3g} FLOP take {human('x_s', flop / speed)}.")
    else:
        peak, ettr = cluster.value(f"{prefix}.peak_flops") / 1e12, cluster.value(f"{prefix}.ettr")
        need = meant[0] if meant[0] > 0 else meant[1]
        mfu = need / gpus / peak
        said.append(
            f"That needs {human('tflops', need * ettr / gpus)} per GPU on average, failures included (an MFU of "
            f"{mfu * ettr:.1%}), which is {human('tflops', need / gpus)} ({mfu:.1%}) while it runs."
        )
    if claim.path.endswith("cluster_tflops") and meant[0] > 0:
        said.append(f"Over {gpus:,.0f} GPUs that is {human('tflops', meant[0] / gpus)} each.")
    return said


def _state(claim: Claim, cluster: Cluster) -> list[str]:
    """Weights are the small part: what training keeps besides."""
    prefix, _, name = claim.path.partition("].")
    state = f"{prefix}].checkpoint_bytes"
    if name != "weights_bytes" or state not in cluster.frame:
        return []
    total = cluster.total(state)
    return [
        f"That is the weights alone; with the optimiser's state a checkpoint has {human('x_bytes', total.value)} "
        f"({human('x_bytes', total.low)} to {human('x_bytes', total.high)})."
    ]


def _per_gpu(claim: Claim, cluster: Cluster) -> list[str]:
    """Totals of power and money divided by the GPUs: the quickest test of plausibility."""
    if unit_of(claim.path) not in ("W", "USD") or not claim.path.startswith(("facility.", "cost.")):
        return []
    gpus = cluster.value("compute.gpus")
    if gpus < 2 or "rack" in claim.path or "per" in claim.path.rsplit(".", 1)[-1]:
        return []
    low, high = claim.low / gpus, claim.high / gpus
    return [f"The claim is {_range_words(claim.path, (low, high))} a GPU ({gpus:,.0f} GPUs)."]
