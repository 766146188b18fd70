"""Our own reading of dashboards and of what provisions them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from clusterwright.deploy.targets.monitoring.grafana import COLUMNS, UNITS
from clusterwright.deploy.targets.monitoring.queries import wrong
from clusterwright.deploy.targets.monitoring.reading import Here, data, secrets, unknown

__all__ = ["dashboard", "panel_queries", "provisioning"]

_KINDS = frozenset({"stat", "timeseries", "table", "row"})
_VARIABLE = re.compile(r"\$\{?([a-z]\w*)")
_BUILT_IN = frozenset({"__rate_interval", "__interval", "__range"})
_LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")


def panel_queries(read: Any) -> Iterator[str]:
    """Queries of the panels of a dashboard."""
    panels = read.get("panels") if isinstance(read, dict) else None
    for panel in panels if isinstance(panels, list) else []:
        targets = panel.get("targets") if isinstance(panel, dict) else None
        for target in targets if isinstance(targets, list) else []:
            if isinstance(target, dict):
                yield str(target.get("expr", ""))


def dashboard(here: Here, path: str) -> Iterator[str]:
    """One dashboard."""
    read = data(here, path)
    needed = ("uid", "title", "schemaVersion", "panels", "templating", "time")
    yield from (f"lacks {key}" for key in needed if not read.get(key))
    if read["uid"] != path.rpartition("/")[2].removesuffix(".json"):
        yield f"its uid {read['uid']} is not its file's name"
    uids = Counter(str((data(here, one) or {}).get("uid")) for one in here.glob("grafana/dashboards/*.json"))
    if uids[str(read["uid"])] > 1:
        yield f"the uid {read['uid']} is there {uids[str(read['uid'])]} times"
    variables = {str(one["name"]) for one in read["templating"]["list"]}
    for one in read["templating"]["list"]:
        yield from _variable(here, one)
    yield from (
        f"panel {i} is there {n} times" for i, n in Counter(p.get("id") for p in read["panels"]).items() if n > 1
    )
    for panel in read["panels"]:
        yield from (f"panel {panel.get('title')!r}: {said}" for said in _panel(here, panel, variables))
    yield from _places(read["panels"])


def _variable(here: Here, one: Any) -> Iterator[str]:
    if one.get("type") == "datasource":
        return
    found = _LABEL_VALUES.fullmatch(str(one.get("query", {}).get("query")))
    if found is None:
        yield f"variable {one.get('name')} asks for no label's values"
        return
    yield from (f"variable {one['name']}: {said}" for said in wrong(found.group(1), here.known))
    yield from (
        f"variable {one['name']}: {said}" for said in wrong(f"sum by ({found.group(2)}) ({found.group(1)})", here.known)
    )


def _panel(here: Here, panel: Any, variables: set[str]) -> Iterator[str]:
    if panel.get("type") not in _KINDS:
        yield f"there is no kind {panel.get('type')!r}"
        return
    if not panel.get("title"):
        yield "has no title"
    if panel["type"] == "row":
        return
    unit = panel["fieldConfig"]["defaults"].get("unit")
    if unit not in UNITS:
        yield f"{unit!r} is no unit"
    if not panel.get("targets"):
        yield "asks for nothing"
    refs = Counter(target.get("refId") for target in panel["targets"])
    yield from (f"refId {ref} is there {count} times" for ref, count in refs.items() if count > 1)
    for target in [panel, *panel["targets"]]:
        if target.get("datasource") != {"type": "prometheus", "uid": "${datasource}"} or "datasource" not in variables:
            yield f"its data source {target.get('datasource')} is not the dashboard's"
    for target in panel["targets"]:
        query = str(target.get("expr", ""))
        used = set(_VARIABLE.findall(query)) - _BUILT_IN
        yield from (f"there is no variable {name}" for name in sorted(used - variables))
        yield from wrong(query, here.known)


def _places(panels: Any) -> Iterator[str]:
    """Each panel stands inside the grid, and no two on one spot."""
    taken: dict[tuple[int, int], Any] = {}
    clashes: set[tuple[str, str]] = set()
    for panel in panels:
        at = panel["gridPos"]
        if at["x"] < 0 or at["y"] < 0 or at["w"] < 1 or at["h"] < 1 or at["x"] + at["w"] > COLUMNS:
            yield f"panel {panel.get('title')!r} stands outside the grid"
            continue
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                other = taken.setdefault((x, y), panel.get("title"))
                if other != panel.get("title"):
                    clashes.add((str(other), str(panel.get("title"))))
    yield from (f"panels {one!r} and {other!r} overlap" for one, other in sorted(clashes))


_SOURCE = frozenset({"name", "uid", "type", "access", "url", "isDefault", "editable", "jsonData"})
_PROVIDER = frozenset(
    {"name", "folder", "type", "disableDeletion", "allowUiUpdates", "updateIntervalSeconds", "options"}
)


def provisioning(here: Here, path: str) -> Iterator[str]:
    """Data sources or providers of dashboards."""
    read = data(here, path)
    kind, keys = ("datasources", _SOURCE) if "/datasources/" in path else ("providers", _PROVIDER)
    yield from unknown(read, frozenset({"apiVersion", kind}), frozenset({"apiVersion", kind}), "the file")
    yield from secrets(read)
    if read["apiVersion"] != 1:
        yield f"apiVersion {read['apiVersion']} is not 1"
    for one in read[kind]:
        yield from unknown(one, keys, frozenset({"name", "type"}), f"{kind} {one.get('name')}")
    if kind == "providers":
        yield from (
            f"{one['name']}: lacks options.path" for one in read[kind] if not one.get("options", {}).get("path")
        )
        return
    yield from (
        f"uid {uid} is there {n} times" for uid, n in Counter(s.get("uid") for s in read[kind]).items() if n > 1
    )
    if sum(bool(one.get("isDefault")) for one in read[kind]) != 1:
        yield "not exactly one data source is the default"
    addresses = {host["management"] for host in here.folder.inventory.get("hosts", {}).values()}
    port = str(here.folder.inventory.get("ports", {}).get("prometheus"))
    for one in read[kind]:
        found = re.fullmatch(r"http://([0-9.]+):(\d+)", str(one.get("url")))
        if found is None or found.group(1) not in addresses or found.group(2) != port:
            yield f"{one.get('name')}: {one.get('url')} is no Prometheus of the site"
