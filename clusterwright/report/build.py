"""From a cluster to the report: which sections, in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clusterwright.cluster import Cluster, Law
from clusterwright.report import choices, evidence, headline, machine, workload
from clusterwright.report.explanation import explain
from clusterwright.report.model import ReportModel, Section

__all__ = ["SECTIONS", "report"]

SECTIONS: tuple[Callable[[Cluster], Section], ...] = (
    choices.options,
    choices.limits,
    workload.metrics,
    workload.step_time,
    evidence.cost,
    choices.sensitivity,
    machine.racks,
    machine.fabric,
    machine.power,
    machine.storage,
    workload.faults,
    evidence.materials,
    choices.choices,
    evidence.audit,
    evidence.findings,
    evidence.assumptions,
)
"""The sections in the order of reading."""


def report(cluster: Cluster, laws: Mapping[str, Law] | None = None) -> ReportModel:
    """Everything a report says about a cluster, before it is written.

    Args:
        cluster: the design.
        laws: by name, for the explanations; every law of the package by default.
    """
    paths = [*cluster.frame, *cluster.frame.texts]
    return ReportModel(
        cluster.head,
        headline.verdict(cluster),
        headline.asked(cluster),
        headline.key_numbers(cluster),
        headline.main_risks(cluster),
        [section(cluster) for section in SECTIONS],
        {path: explain(cluster, path, 1, laws) for path in paths},
    )
