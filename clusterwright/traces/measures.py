"""The metrics of utilisation and scaling over a history, each with target, verdict and what it stands on.

One object for live data and for a simulation: names, units, directions and targets are those of the table of metrics
(:mod:`~clusterwright.traces.metrics`); what only a whole history can give is defined in :data:`HISTORY`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clusterwright.traces.capacity import Capacity, Samples
from clusterwright.traces.jobs import INTERRUPTED, SECOND_US, UNKNOWN, JobTable
from clusterwright.traces.metric import Metric
from clusterwright.traces.metrics import METRICS
from clusterwright.traces.occupancy import Queue, held_us, node_use, queue
from clusterwright.traces.work import kept_us, per_job

__all__ = ["HISTORY", "Measure", "Measures", "definition", "judged", "measure"]

Verdict = Literal["met", "missed", "no target", "unknown"]
Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

HISTORY = (
    Metric(
        "infrastructure_failure_rate",
        "",
        "",
        "1",
        (),
        "share of attempts that ended because a node failed or did not boot; a job that fails by itself is not in it",
        direction="lower",
    ),
    Metric(
        "bounded_slowdown",
        "",
        "",
        "1",
        (),
        "mean over finished jobs of (wait + run) / max(run, 10 s), at least 1 (Feitelson and Rudolph 1998)",
        direction="lower",
    ),
    Metric(
        "goodput",
        "",
        "",
        "1",
        (),
        "effective training time ratio, weighted by GPUs: run time whose work was kept, over the time from when the "
        "job could start to its end, all attempts and waits between (Kokolis et al. 2024)",
        direction="higher",
    ),
    Metric("work_kept", "", "", "1", (), "share of held GPU time whose work was not lost", direction="higher"),
)
"""Metrics that Prometheus has no series for."""
_DEFINED = {one.name: one for one in (*METRICS, *HISTORY)}
_FAILED = ("NODE_FAIL", "BOOT_FAIL", "FAILED", "OUT_OF_MEMORY", "DEADLINE")
_BROKEN = ("NODE_FAIL", "BOOT_FAIL")
_QUANTILES = (0.5, 0.95)
_BOUND_US = 10 * SECOND_US
_LEAST_SCORE = 0.05
"""A bottleneck that holds less than this share of the time is none."""


def definition(name: str) -> Metric:
    """Unit, direction, target and meaning of a measure."""
    return _DEFINED[name]


@dataclass(frozen=True)
class Measure:
    """One figure.

    Attributes:
        name: of the metric.
        value: in ``unit``; None where it is not known.
        labels: what it is of, such as ``{"tenant": "research", "quantile": "0.95"}``; empty for the cluster.
        verdict: against the target of the metric.
        why: what is not known, or what the figure stands on.
        source: ``jobs``, ``samples`` or ``prometheus``.
    """

    name: str
    value: float | None
    labels: Mapping[str, str] = field(default_factory=dict)
    verdict: Verdict = "unknown"
    why: str = ""
    source: str = "jobs"

    @property
    def metric(self) -> Metric:
        """What it is."""
        return definition(self.name)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``unit`` is that of the metric."""
        one = self.metric
        return {
            "name": self.name,
            "labels": dict(self.labels),
            "value": self.value,
            "unit": one.unit,
            "direction": one.direction,
            "target_low": one.low,
            "target_high": one.high,
            "verdict": self.verdict,
            "why": self.why,
            "source": self.source,
        }


def judged(
    name: str, value: float, labels: Mapping[str, str] | None = None, why: str = "", source: str = "jobs"
) -> Measure:
    """A figure with its verdict; NaN is not known, and ``why`` says why not."""
    metric, of = definition(name), dict(labels or {})
    if not math.isfinite(value):
        return Measure(name, None, of, "unknown", why or "nothing to measure it by", source)
    verdict: Verdict = "no target"
    if metric.low is not None or metric.high is not None:
        low = -math.inf if metric.low is None else metric.low
        high = math.inf if metric.high is None else metric.high
        verdict = "met" if low <= value <= high else "missed"
    return Measure(name, value, of, verdict, why, source)


@dataclass(frozen=True)
class Measures:
    """The figures of a period.

    Attributes:
        begin_us, end_us: of the period.
        attempts: rows that touch it; ``jobs`` different ones.
        gpu_hours: of the GPUs that stand there; ``held_gpu_hours`` of them held by jobs.
        values: the figures, those of the cluster first.
        bottleneck: ``gpus``, ``scheduling``, ``network``, ``storage``, ``power``, or ``none`` where nothing was short.
        scores: of each possible bottleneck, 0 to 1, where it is known.
    """

    begin_us: int
    end_us: int
    attempts: int
    jobs: int
    gpu_hours: float
    held_gpu_hours: float
    values: tuple[Measure, ...]
    bottleneck: str
    scores: Mapping[str, float]

    def get(self, name: str, **labels: str) -> Measure:
        """One figure.

        Raises:
            KeyError: it is not there.
        """
        for one in self.values:
            if one.name == name and dict(one.labels) == labels:
                return one
        raise KeyError(f"{name} {labels}")

    @property
    def missed(self) -> list[Measure]:
        """Figures that miss their targets."""
        return [one for one in self.values if one.verdict == "missed"]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "begin_s": self.begin_us / SECOND_US,
            "end_s": self.end_us / SECOND_US,
            "jobs": self.jobs,
            "attempts": self.attempts,
            "gpu_hours": self.gpu_hours,
            "held_gpu_hours": self.held_gpu_hours,
            "bottleneck": self.bottleneck,
            "bottleneck_scores": dict(self.scores),
            "measures": [one.to_dict() for one in self.values],
        }


def measure(
    table: JobTable,
    capacity: Capacity,
    begin_us: int,
    end_us: int,
    *,
    samples: Samples | None = None,
    sizes: Mapping[str, float] | None = None,
    reference_mfu: float = math.nan,
    checkpoint_us: int = UNKNOWN,
) -> Measures:
    """Every figure of a period.

    Args:
        table: the history; rows outside the period do not count.
        capacity: what there was to use.
        begin_us, end_us: the period.
        samples: of utilisation, where they are known.
        sizes: classes of jobs by GPUs, name -> at most, rising; by nodes of the capacity when left out.
        reference_mfu: model FLOPs utilisation of the planned run on few GPUs, the reference of scaling.
        checkpoint_us: interval of checkpoints, for attempts whose lost work is not known; half of it counts as lost.

    Raises:
        ValueError: the period is empty.
    """
    if end_us <= begin_us:
        raise ValueError("the period is empty")
    last = table.ends_us(end_us)
    table = table.take(((table.submit_us < end_us) | (table.start_us >= 0)) & (last >= begin_us))
    table = table.take((table.start_us < end_us) & (np.maximum(table.submit_us, 0) < end_us))
    held = held_us(table, begin_us, end_us) * table.gpus
    seen = queue(table, capacity, begin_us, end_us)
    values = [
        *_utilisation(table, capacity, held, begin_us, end_us, samples),
        *_sampled(samples, reference_mfu),
        *_ends(table, begin_us, end_us),
        *_work(table, begin_us, end_us, checkpoint_us),
        *_waits(table, begin_us, end_us, sizes or _sizes(capacity)),
    ]
    scores = _scores(seen if capacity.gpus > 0 else Queue(0.0, 0.0, 0.0), samples)
    worst = max(scores, key=lambda name: scores[name])
    hour = 3600 * SECOND_US
    return Measures(
        begin_us,
        end_us,
        len(table),
        len(np.unique(table.job_id)),
        capacity.gpus * (end_us - begin_us) / hour,
        float(held.sum()) / hour,
        tuple(values),
        worst if scores[worst] >= _LEAST_SCORE else "none",
        scores,
    )


def _sizes(capacity: Capacity) -> Mapping[str, float]:
    node = capacity.node_gpus
    return {"part": node - 1, "node": node, "larger": math.inf} if node > 1 else {"node": 1, "larger": math.inf}


def _utilisation(
    table: JobTable, capacity: Capacity, held: Reals, begin_us: int, end_us: int, samples: Samples | None
) -> Iterator[Measure]:
    whole, period = capacity.gpus * (end_us - begin_us), end_us - begin_us
    known = np.isfinite(table.utilisation) & (held > 0)
    covered = float(held[known].sum()) / max(float(held.sum()), 1.0)
    sampled = samples.mean("gpu_utilisation", "gpus_allocated") if samples else math.nan
    if math.isfinite(sampled):
        yield judged("gpu_utilisation", sampled, source="samples")
    elif known.any():
        busy = float(np.average(table.utilisation[known], weights=held[known]))
        yield judged("gpu_utilisation", busy, why=f"measured for {covered:.0%} of the GPU time held")
    else:
        yield judged("gpu_utilisation", math.nan, why="accounting does not say how busy GPUs are")
    if capacity.gpus <= 0:
        shares = ("node_utilisation", "cluster_utilisation", "stranded", "fragmentation")
        yield from (judged(name, math.nan, why="the size of the cluster is not known") for name in shares)
        return
    use = node_use(table, capacity, begin_us, end_us)
    no_list = "the history does not say on which nodes jobs ran"
    share = math.nan if use is None else use.held / (capacity.nodes * period)
    yield judged("node_utilisation", share, why=no_list if use is None else "")
    yield judged("cluster_utilisation", float(held.sum()) / whole)
    stranded = capacity.stranded_us(begin_us, end_us)
    gone = "" if capacity.known else "outages of nodes were not observed"
    yield judged("stranded", stranded / whole if capacity.known else math.nan, why=gone)
    free = whole - stranded - (use.gpu_held if use else 0.0)
    part = math.nan if use is None or free <= 0 else min(use.free / free, 1.0)
    yield judged("fragmentation", part, why=no_list if use is None else "no GPU was free" if free <= 0 else "")


def _sampled(samples: Samples | None, reference_mfu: float) -> Iterator[Measure]:
    mean = samples.mean if samples else lambda *_: math.nan
    why = "needs samples of the GPUs"
    yield judged("wasted", mean("wasted", "gpus_allocated"), why=why, source="samples")
    mfu = mean("mfu", "gpus_allocated")
    yield judged("mfu", mfu, why=why, source="samples")
    lacks = why if math.isnan(mfu) else "no planned run to hold it against"
    scaling = mfu / reference_mfu if reference_mfu > 0 else math.nan
    yield judged("scaling_efficiency", scaling, why=lacks if math.isnan(scaling) else "", source="samples")


def _ends(table: JobTable, begin_us: int, end_us: int) -> Iterator[Measure]:
    """Throughput and failures; an attempt belongs to the period in which it ended."""
    ended = (table.end_us >= begin_us) & (table.end_us < end_us) & ~table.are("PENDING", "RUNNING", "SUSPENDED")
    hours = (end_us - begin_us) / (3600 * SECOND_US)
    count = int(ended.sum())
    yield judged("throughput", float((ended & table.are("COMPLETED")).sum()) / hours)
    none = "no job ended in the period"
    for name, states in (("failure_rate", _FAILED), ("infrastructure_failure_rate", _BROKEN)):
        failed = int((ended & table.are(*states)).sum())
        said = f"{failed:,} of {count:,} attempts" if count else none
        yield judged(name, failed / count if count else math.nan, why=said)


def _work(table: JobTable, begin_us: int, end_us: int, checkpoint_us: int) -> Iterator[Measure]:
    """Slowdown and goodput of jobs whose last attempt ended in the period."""
    rows = table.attempts()
    jobs = per_job(rows, end_us, checkpoint_us)
    done = (jobs.end_us >= begin_us) & (jobs.end_us < end_us) & (jobs.run_us > 0)
    none = "no job that had run ended in the period"
    if not done.any():
        yield from (judged(name, math.nan, why=none) for name in ("bounded_slowdown", "goodput", "work_kept"))
        return
    last = jobs.last_run_us[done]
    whole = np.maximum(jobs.end_us - jobs.ready_us, jobs.run_us)[done]
    yield judged("bounded_slowdown", float(np.mean(np.maximum(whole / np.maximum(last, _BOUND_US), 1.0))))
    gpus = jobs.gpus[done]
    weights = gpus if gpus.sum() > 0 else np.ones(len(gpus))
    guessed = int((rows.are(*INTERRUPTED) & (rows.lost_us < 0) & (rows.start_us >= 0)).sum())
    how = "all of it" if checkpoint_us < 0 else "half a checkpoint interval each"
    why = f"lost work of {guessed:,} interrupted attempts is not known, {how} counts as lost" if guessed else ""
    yield judged("goodput", float((weights * jobs.kept_us[done]).sum() / (weights * whole).sum()), why=why)
    inside = held_us(rows, begin_us, end_us) * rows.gpus
    run = np.maximum(rows.run_us(end_us), 1)
    share = kept_us(rows, end_us, checkpoint_us) / run
    kept = float((inside * share).sum() / inside.sum()) if inside.sum() > 0 else math.nan
    yield judged("work_kept", kept, why=none if math.isnan(kept) else why)


def _waits(table: JobTable, begin_us: int, end_us: int, sizes: Mapping[str, float]) -> Iterator[Measure]:
    """Quantiles of the waits of attempts that started in the period."""
    started = (table.start_us >= begin_us) & (table.start_us < end_us) & (table.wait_us() >= 0)
    jobs = table.take(started)
    waits = jobs.wait_us() / SECOND_US
    if not len(jobs):
        yield judged("queue_time", math.nan, {"quantile": "0.95"}, why="no job started in the period")
        return
    for quantile in _QUANTILES:
        yield judged("queue_time", float(np.quantile(waits, quantile)), {"quantile": f"{quantile:g}"})
    classes = np.searchsorted(np.array(list(sizes.values())), jobs.gpus)
    tenants, names = jobs.account.sorted()
    for name, label, group, words in (
        ("queue_time_by_size", "size", np.minimum(classes, len(sizes) - 1), tuple(sizes)),
        ("queue_time", "tenant", tenants, names),
    ):
        for quantile in _QUANTILES:
            for place, value in _by_group(group, waits, quantile):
                yield judged(name, value, {label: words[place], "quantile": f"{quantile:g}"})


def _by_group(group: Ints, values: Reals, quantile: float) -> Iterator[tuple[int, float]]:
    """A quantile of each group, linear between neighbours; one sort for all."""
    order = np.lexsort((values, group))
    held, sorted_ = group[order], values[order]
    first = np.flatnonzero(np.diff(held, prepend=held[0] - 1))
    count = np.diff(np.append(first, len(held)))
    at = first + quantile * (count - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, first + count - 1)
    found = sorted_[low] + (at - low) * (sorted_[high] - sorted_[low])
    return zip(held[first].tolist(), found.tolist(), strict=True)


def _scores(seen: Queue, samples: Samples | None) -> Mapping[str, float]:
    """The bottlenecks as the table of metrics has them, over the period."""
    scores = {"gpus": seen.taken, "scheduling": seen.free}
    for name, series in (
        ("network", "network_utilisation"),
        ("storage", "storage_load"),
        ("power", "power_throttled"),
    ):
        value = samples.mean(series) if samples else math.nan
        if math.isfinite(value):
            scores[name] = value
    return scores
