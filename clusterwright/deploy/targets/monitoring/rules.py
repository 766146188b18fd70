"""Recording and alert rules of a site, from the tables of metrics and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from clusterwright.deploy.targets.monitoring.alert import Alert
from clusterwright.deploy.targets.monitoring.alerts import ALERTS
from clusterwright.deploy.targets.monitoring.figures import Place, table
from clusterwright.deploy.targets.monitoring.queries import names
from clusterwright.traces import METRICS, Level, Metric, filled, placeholders

__all__ = ["alert_file", "alerts", "federated", "known", "metrics", "query_of", "record_file", "runbook_url"]

TARGET_LABELS = frozenset({"job", "instance", "node", "rack", "group", "switch", "tier"})
"""Labels that scrape jobs add; which of them a series has depends on its job."""
RENAMED = {"node_name": "node", "account": "tenant", "cluster_queue": "tenant", "gpu_id": "gpu"}
"""Labels of exporters that scrape jobs rename, so that series can be joined."""
DROPPED = frozenset({"device_error", "Hostname", "hostname", "pci_bus_id", "modelName", "card_model"})
INTERVAL = "30s"


@lru_cache(maxsize=8)
def metrics(place: Place) -> tuple[Metric, ...]:
    """Metrics that can be measured at a site: their queries apply, and everything that they read is recorded."""
    made: list[Metric] = []
    records: set[str] = set()
    for one in METRICS:
        text = one.text(place.traits)
        if text and all(series in records for series in names(_numbered(text)).series if ":" in series):
            made.append(one)
            records.add(one.record)
    return tuple(made)


def _numbered(query: str) -> str:
    """The query with a number for every figure, so that it can be read."""
    return filled(query, dict.fromkeys(placeholders(query), 1.0))


def query_of(query: str, place: Place) -> str:
    """A query of the tables with the figures of a site."""
    if "@gpus_of_groups@" in query:
        by_count: dict[int, list[str]] = {}
        for group, gpus in place.gpu_groups.items():
            by_count.setdefault(gpus, []).append(group)
        query = " or ".join(
            f'node:gpus:count{{group=~"{"|".join(groups)}"}} < {gpus}' for gpus, groups in sorted(by_count.items())
        )
    return filled(query, place.figures)


def known(place: Place) -> dict[str, frozenset[str]]:
    """Every series that queries of a site may name, with its labels: exporters' and recorded ones."""
    made = {row["metric"]: exported(row["labels"]) for row in table("exporters.csv")}
    for one in metrics(place):
        made[one.record] = frozenset(one.labels)
    return made


def exported(labels: str) -> frozenset[str]:
    """Labels of an exporter's series once a scrape job has renamed, dropped and added its own."""
    own = {RENAMED.get(label, label) for label in labels.split()}
    return frozenset((own | TARGET_LABELS) - DROPPED)


def alerts(place: Place) -> list[tuple[Alert, str]]:
    """Alerts that apply to a site, with their queries."""
    records = {one.record for one in metrics(place)}
    made = []
    for one in ALERTS:
        if text := one.text(place.traits):
            query = query_of(text, place)
            if all(series in records for series in names(query).series if ":" in series):
                made.append((one, query))
    return made


def federated(place: Place) -> list[str]:
    """Recorded series that the first pair collects from the others."""
    return sorted({one.record for one in metrics(place) if one.level == "node"})


def record_file(place: Place, level: Level) -> dict[str, Any]:
    """Recording rules of a level. One group, so that they are evaluated in the order of the table."""
    rules = []
    for one in metrics(place):
        if one.level == level:
            rule: dict[str, Any] = {"record": one.record, "expr": query_of(one.text(place.traits), place)}
            if one.add:
                rule["labels"] = dict(one.add)
            rules.append(rule)
    return {"groups": [{"name": f"{level}-records", "interval": INTERVAL, "rules": rules}]}


def alert_file(place: Place, level: Level) -> dict[str, Any]:
    """Alert rules of a level, a group a team."""
    by_team: dict[str, list[dict[str, Any]]] = {}
    for one, query in alerts(place):
        if one.level == level:
            by_team.setdefault(one.team, []).append(_alert(place, one, query))
    return {"groups": [{"name": f"{level}-{team}", "rules": rules} for team, rules in by_team.items()]}


def _alert(place: Place, one: Alert, query: str) -> dict[str, Any]:
    return {
        "alert": one.name,
        "expr": query,
        "for": one.wait,
        "labels": {"severity": one.severity, "team": one.team},
        "annotations": {
            "summary": one.summary.replace("{{ $value }}", "{{ $value | humanize }}"),
            "description": one.action,
            "threshold": f"{one.source}.",
            "runbook_url": runbook_url(place, one.name),
        },
    }


def runbook_url(place: Place, name: str) -> str:
    """Where ``alerts.md`` of the bundle is read, at an alert's entry."""
    at = place.inventory.settings.repository
    scheme, _, rest = at.removesuffix(".git").partition("://")
    host, _, path = rest.partition("/")
    if scheme == "ssh":
        host = host.rpartition("@")[2].partition(":")[0]
    return f"https://{host}/{path}/-/blob/main/monitoring/{place.site.name}/alerts.md#{name.lower()}"


def handbook(place: Place) -> str:
    """``alerts.md``: every alert with its threshold, where that comes from, and what to do first."""
    return "".join(_handbook(place))


def _handbook(place: Place) -> Iterator[str]:
    site = place.site.name
    yield f"<!-- Alerts of {site}; rendered by clusterwright, do not edit -->\n# Alerts of {site}\n"
    for one, query in alerts(place):
        yield (
            f"\n## {one.name}\n\n{one.severity}, {one.team}; fires when this holds for {one.wait}:\n\n"
            f"    {query}\n\nThreshold: {one.source}.\n\nFirst: {one.action}\n"
        )


def with_target(one: Metric) -> Mapping[str, float]:
    """The target of a metric, by name of the bound."""
    return {name: bound for name, bound in (("low", one.low), ("high", one.high)) if bound is not None}
