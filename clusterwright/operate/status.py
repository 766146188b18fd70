"""How a running cluster does: metrics against their targets, nodes, jobs and alerts, from whoever answers.

The figures are the :class:`~clusterwright.traces.Measures` that a simulation returns, too. Prometheus gives the metrics
of the table as they are now, Slurm's accounting those of a whole history. Where both have one, accounting counts for
events (jobs that waited, ended, failed), of which it has every one, and Prometheus for the rest. A
source that does not answer is said, and what it alone knows is unknown.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from clusterwright.cluster import load
from clusterwright.errors import InputError, WorldError
from clusterwright.findings import Finding
from clusterwright.operate.account_codes import FINDINGS
from clusterwright.operate.account_history import history
from clusterwright.operate.prometheus import Alert, Prometheus, Sample
from clusterwright.operate.site import Site
from clusterwright.operate.slurm import Job, Node, Slurm, plain_text
from clusterwright.traces import METRICS, Capacity, Measure, Measures, judged, measure

__all__ = ["Status", "status"]

_BOTTLENECK = "bottleneck_"
_LEAST_SCORE = 0.05
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Status:
    """A cluster at a moment.

    Attributes:
        name: of the cluster.
        at_s: when it was asked, seconds since the epoch.
        measures: of the period until then.
        nodes: state -> how many, and ``out`` the nodes that take no jobs, with reason.
        jobs: a row a team: running and waiting jobs, and the GPUs of both.
        reasons: why jobs wait -> how many.
        alerts: that fire.
        blind: sources that did not answer: ``slurmctld``, ``slurmdbd``, ``prometheus``.
        findings: what was said on the way.
    """

    name: str
    at_s: float
    measures: Measures
    nodes: Mapping[str, int]
    out: Sequence[Mapping[str, Any]]
    jobs: Sequence[Mapping[str, Any]]
    reasons: Mapping[str, int]
    alerts: Sequence[Alert]
    blind: tuple[str, ...]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": "clusterwright/status/1",
            "cluster": self.name,
            "at_s": self.at_s,
            "blind": list(self.blind),
            **self.measures.to_dict(),
            "nodes": dict(self.nodes),
            "out": [dict(one) for one in self.out],
            "teams": [dict(one) for one in self.jobs],
            "waiting_for": dict(self.reasons),
            "alerts": [
                {
                    "name": one.name,
                    "labels": dict(one.labels),
                    "since_s": one.since_s,
                    "summary": one.summary,
                }
                for one in self.alerts
            ],
            "findings": [one.to_dict() for one in self.findings],
        }


def status(site: Site, begin_us: int, end_us: int) -> Status:
    """Ask the cluster.

    Args:
        site: how it is reached.
        begin_us, end_us: period of the figures that come from accounting.

    Raises:
        WorldError: nobody answers.
    """
    asked = _Asked()
    slurm = Slurm(site.slurm_conf)
    nodes = asked.of("slurmctld", slurm.nodes, "states of nodes")
    jobs = asked.of("slurmctld", slurm.jobs, "jobs in the queue") if nodes is not None else None
    held = asked.of("slurmdbd", lambda: history(site, begin_us, end_us), "waits, failures and goodput")
    samples, alerts = _prometheus(site, asked)
    if nodes is None and held is None and samples is None:
        raise WorldError(asked.failures)
    capacity = _capacity(site, nodes)
    past = measure(held.jobs, capacity, begin_us, end_us) if held is not None else None
    findings = [*asked.findings, *(held.findings if held else ())]
    return Status(
        site.name,
        time.time(),
        _merged(past, samples or (), nodes or (), begin_us, end_us, capacity),
        Counter(_state(node) for node in nodes or ()),
        [_out(node) for node in nodes or () if node.unusable or node.draining],
        _teams(jobs or ()),
        Counter(plain_text(job.reason) for job in jobs or () if job.state == "PENDING"),
        [one for one in alerts or () if one.firing],
        tuple(asked.blind),
        tuple(findings),
    )


class _Asked:
    """Who answered and who did not."""

    def __init__(self) -> None:
        self.blind: list[str] = []
        self.findings: list[Finding] = []
        self.failures: list[Finding] = []

    def of(self, source: str, ask: Callable[[], _Answer], what: str) -> _Answer | None:
        """The answer, or None."""
        try:
            return ask()
        except WorldError as error:
            self.miss(source, what, error.findings)
            return None

    def miss(self, source: str, what: str, said: Sequence[Finding]) -> None:
        """Note that a source has nothing to say."""
        if source not in self.blind:
            self.blind.append(source)
            self.failures += said
            why = f": {said[0].message}" if said else ""
            hint = said[0].hint if said else "name it in site.yaml"
            self.findings.append(FINDINGS["STATUS-BLIND"].at(source, f"does not give {what}{why}", hint))


def _prometheus(site: Site, asked: _Asked) -> tuple[list[Sample] | None, list[Alert] | None]:
    if site.prometheus is None:
        asked.miss("prometheus", "utilisation, power and alerts: the site names none", ())
        return None, None
    server = Prometheus(site.prometheus, site.token_file)
    names = "|".join(sorted(_BY_RECORD))
    samples = asked.of("prometheus", lambda: server.query(f'{{__name__=~"{names}"}}'), "utilisation, power and alerts")
    return samples, asked.of("prometheus", server.alerts, "alerts") if samples is not None else None


def _capacity(site: Site, nodes: Sequence[Node] | None) -> Capacity:
    """What Slurm has, spares included; when it does not answer what the design has; else nothing is known of it."""
    sizes = [node.gpus for node in nodes or () if node.gpus]
    if sizes:
        return Capacity(max(sizes), len(sizes), float(sum(sizes)))
    if site.design is not None:
        try:
            design = load(site.design)
        except InputError:
            return Capacity(1, 0, 0.0)
        each = int(design.value("server.gpus"))
        return Capacity.steady(int(design.value("compute.nodes") + design.value("compute.spare_nodes")), each)
    return Capacity(1, 0, 0.0)


# --- figures ---


def _merged(
    past: Measures | None,
    samples: Sequence[Sample],
    nodes: Sequence[Node],
    begin_us: int,
    end_us: int,
    capacity: Capacity,
) -> Measures:
    """One object of both: each figure from Prometheus where it has it, else from accounting."""
    live = {_key(one): one for one in _live(samples)}
    old = {_key(one): one for one in (past.values if past else ())}
    values = [one for key, one in live.items() if key not in old or _counts_more(one, old[key])]
    values += [one for key, one in old.items() if key not in live or not _counts_more(live[key], one)]
    if nodes:
        values = [_stranded(nodes) if one.name == "stranded" and one.value is None else one for one in values]
    order = {one.name: i for i, one in enumerate(METRICS)}
    values.sort(key=lambda one: (bool(one.labels), order.get(one.name, len(order))))
    scores = {
        one.labels["resource"]: one.value
        for sample in samples
        if (one := _measured(sample)) and "resource" in one.labels and one.value is not None
    } or dict(past.scores if past else {})
    worst = max(scores, key=lambda name: scores[name], default="none")
    whole = capacity.gpus * (end_us - begin_us) / 3.6e9
    return Measures(
        begin_us,
        end_us,
        past.attempts if past else 0,
        past.jobs if past else 0,
        past.gpu_hours if past else whole,
        past.held_gpu_hours if past else 0.0,
        tuple(values),
        worst if scores.get(worst, 0.0) >= _LEAST_SCORE else "none",
        scores,
    )


_EVENTS = ("throughput", "failure_rate", "queue_time", "queue_time_by_size")
"""Counts of events: accounting has every one of them, rates of counters only those between two scrapes."""


def _key(one: Measure) -> tuple[str, tuple[tuple[str, str], ...]]:
    return one.name, tuple(sorted(one.labels.items()))


def _counts_more(live: Measure, old: Measure) -> bool:
    """Whether the figure of Prometheus counts where accounting has one, too."""
    if live.value is None or old.value is None:
        return live.value is not None
    return live.name not in _EVENTS


def _live(samples: Sequence[Sample]) -> Iterator[Measure]:
    for sample in samples:
        made = _measured(sample)
        if made is not None and not made.name.startswith(_BOTTLENECK):
            yield made


_BY_RECORD = {one.record: one for one in METRICS if one.level == "cluster" and "node" not in one.labels}


def _measured(sample: Sample) -> Measure | None:
    """A sample of a recorded series as a figure."""
    metric = _BY_RECORD.get(sample.labels.get("__name__", ""))
    if metric is None:
        return None
    labels = {name: plain_text(sample.labels[name]) for name in metric.labels if name in sample.labels}
    if metric.record.endswith("_p95"):
        labels["quantile"] = "0.95"
    return judged(metric.name, sample.value, labels, source="prometheus")


def _stranded(nodes: Sequence[Node]) -> Measure:
    """Now, as Slurm alone sees it: free GPUs of nodes that take no jobs."""
    all_ = sum(node.gpus for node in nodes)
    gone = sum(max(node.gpus - node.gpus_used, 0) for node in nodes if node.unusable or node.draining)
    return judged(
        "stranded", gone / all_ if all_ else float("nan"), why="now, by the states of nodes", source="slurmctld"
    )


# --- nodes and jobs ---


def _state(node: Node) -> str:
    if node.unusable:
        return "down"
    if node.draining:
        return "draining" if node.busy else "drained"
    return "busy" if node.busy else "idle" if "IDLE" in node.states else "other"


def _out(node: Node) -> Mapping[str, Any]:
    return {
        "node": node.name,
        "state": _state(node),
        "reason": plain_text(node.reason),
        "by": plain_text(node.reason_by),
        "since_s": node.reason_at_s,
    }


def _teams(jobs: Sequence[Job]) -> list[Mapping[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for job in jobs:
        if job.state not in ("RUNNING", "PENDING"):
            continue
        row = made.setdefault(
            job.account, {"team": plain_text(job.account), "running": 0, "waiting": 0, "gpus_held": 0}
        )
        row["running" if job.state == "RUNNING" else "waiting"] += 1
        row["gpus_held"] += job.gpus if job.state == "RUNNING" else 0
    return [made[name] for name in sorted(made)]
