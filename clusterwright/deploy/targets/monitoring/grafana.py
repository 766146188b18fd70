"""Grafana: dashboards as JSON and the files that provision them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.deploy.targets.monitoring.figures import Place
from clusterwright.deploy.targets.monitoring.panels import BOARDS, Board, Panel, Query, query_for
from clusterwright.deploy.targets.monitoring.queries import names
from clusterwright.deploy.targets.monitoring.rules import metrics, query_of
from clusterwright.traces import placeholders

__all__ = ["COLUMNS", "SOURCE", "UNITS", "dashboard", "dashboards", "datasources", "providers"]

COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
UNITS = frozenset(
    {"short", "percentunit", "percent", "s", "watt", "Bps", "currencyUSD", "masskg", "celsius", "decmbytes"}
)
"""Units of Grafana that panels use; identifiers of its list of value formats."""
_SCHEMA = 39


def dashboards(place: Place) -> dict[str, dict[str, Any]]:
    """Dashboards of a site by uid; panels whose series do not exist there are left out."""
    return {board.uid: dashboard(place, board) for board in BOARDS if _shown(place, board)}


def _shown(place: Place, board: Board) -> list[tuple[Panel, list[tuple[str, str]]]]:
    records = {one.record for one in metrics(place)}
    made = []
    for panel in board.panels:
        queries = [(text, legend) for query, legend in panel.queries if (text := _query(place, query, records))]
        if (queries and any(names(text).series for text, _ in queries)) or panel.kind == "row":
            made.append((panel, queries))
    return made


def _query(place: Place, query: Query, records: set[str]) -> str:
    text = query_for(query, place.traits)
    if not text or placeholders(text) - place.figures.keys():
        return ""
    text = query_of(text, place)
    return text if all(series in records for series in names(text).series if ":" in series) else ""


def dashboard(place: Place, board: Board) -> dict[str, Any]:
    """One dashboard."""
    shown = _shown(place, board)
    return {
        "uid": board.uid,
        "title": f"{board.title} ({place.inventory.name}, {place.site.name})",
        "description": "Rendered by clusterwright; change the design, not the dashboard.",
        "tags": ["clusterwright", place.inventory.name],
        "schemaVersion": _SCHEMA,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_datasource(), *_variables(place, board)]},
        "links": [
            {
                "type": "dashboards",
                "title": "clusterwright",
                "tags": ["clusterwright"],
                "asDropdown": True,
                "includeVars": True,
            }
        ],
        "annotations": {"list": []},
        "panels": _placed(shown),
    }


def _datasource() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
        "hide": 0,
        "multi": False,
        "includeAll": False,
        "regex": "",
        "options": [],
        "current": {},
    }


def _variables(place: Place, board: Board) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "label": one.name.capitalize(),
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": text, "refId": one.name},
            "refresh": 2,
            "sort": 1,
            "hide": 0,
            "multi": one.name == "node",
            "includeAll": False,
            "regex": "",
            "options": [],
            "current": {},
        }
        for one in board.variables
        if (text := query_for(one.query, place.traits))
    ]


def _placed(shown: list[tuple[Panel, list[tuple[str, str]]]]) -> list[dict[str, Any]]:
    """Panels from left to right, line by line."""
    made: list[dict[str, Any]] = []
    x = y = tallest = 0
    for number, (panel, queries) in enumerate(shown, 1):
        if x + panel.width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        place = {"x": x, "y": y, "w": panel.width, "h": panel.height}
        made.append(_panel(number, panel, queries, place))
        x, tallest = x + panel.width, max(tallest, panel.height)
    return made


def _panel(number: int, panel: Panel, queries: list[tuple[str, str]], place: Mapping[str, int]) -> dict[str, Any]:
    head: dict[str, Any] = {"id": number, "title": panel.title, "type": panel.kind, "gridPos": dict(place)}
    if panel.kind == "row":
        return {**head, "collapsed": False, "panels": []}
    instant = panel.kind != "timeseries"
    return {
        **head,
        "description": panel.note,
        "datasource": SOURCE,
        "targets": [
            {
                "refId": chr(ord("A") + i),
                "datasource": SOURCE,
                "expr": text,
                "legendFormat": legend or "__auto",
                "instant": instant,
                "range": not instant,
                **({"format": "table"} if panel.kind == "table" else {}),
            }
            for i, (text, legend) in enumerate(queries)
        ],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.low is not None:
        steps = [{"color": "orange", "value": None}, {"color": "green", "value": panel.low}]
    if panel.high is not None:
        steps.append({"color": "red" if panel.low is None else "orange", "value": panel.high})
    made: dict[str, Any] = {
        "unit": panel.unit,
        "thresholds": {"mode": "absolute", "steps": steps},
        "color": {"mode": "thresholds" if panel.kind == "stat" else "palette-classic"},
    }
    if panel.unit == "percentunit":
        made["min"] = 0
    if panel.kind == "timeseries":
        targets = panel.low is not None or panel.high is not None
        made["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 5,
            "showPoints": "never",
            "thresholdsStyle": {"mode": "dashed" if targets else "off"},
        }
    return made


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "stat":
        return {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "area",
            "textMode": "value_and_name" if panel.title == "Bottleneck" else "auto",
            "justifyMode": "auto",
            "orientation": "auto",
        }
    if panel.kind == "table":
        return {"showHeader": True}
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def datasources(place: Place) -> dict[str, Any]:
    """Provisioned data sources: the first pair sees the whole site, each pair the GPUs of its own racks."""
    port = place.inventory.ports["prometheus"]
    hosts = {host.name: host for host in place.hosts("Prometheus")}
    made = []
    for i, name in enumerate(place.servers):
        shard, replica = min(i // 2, place.pairs - 1), "ab"[i % 2]
        made.append(
            {
                "name": "Site" if i == 0 else f"Share {shard} {replica}" if shard else f"Site {replica}",
                "uid": f"cw-{name}",
                "type": "prometheus",
                "access": "proxy",
                "url": f"http://{place.inventory.address(hosts[name])}:{port}",
                "isDefault": i == 0,
                "editable": False,
                "jsonData": {"httpMethod": "POST", "timeInterval": "30s"},
            }
        )
    return {"apiVersion": 1, "datasources": made}


def providers(place: Place) -> dict[str, Any]:
    """Where Grafana finds the dashboards."""
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": "clusterwright",
                "folder": f"{place.inventory.name} {place.site.name}",
                "type": "file",
                "disableDeletion": True,
                "allowUiUpdates": False,
                "updateIntervalSeconds": 30,
                "options": {"path": "/etc/grafana/dashboards/clusterwright"},
            }
        ],
    }
