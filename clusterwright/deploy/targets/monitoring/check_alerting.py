"""Our own reading of Alertmanager's configuration and of the exporters' files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.deploy import dcgm
from clusterwright.deploy.targets.monitoring.alertmanager import ROUTES
from clusterwright.deploy.targets.monitoring.check_grafana import panel_queries
from clusterwright.deploy.targets.monitoring.check_rules import DURATION
from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.deploy.targets.monitoring.queries import names
from clusterwright.deploy.targets.monitoring.reading import Here, data, secrets, unknown

__all__ = ["alertmanager", "counters", "environment", "prices"]

_TOP = frozenset({"global", "route", "inhibit_rules", "receivers"})
_ROUTE = frozenset({"receiver", "group_by", "group_wait", "group_interval", "repeat_interval", "matchers", "routes"})
_INHIBIT = frozenset({"source_matchers", "target_matchers", "equal"})
_RECEIVER = frozenset({"name", "email_configs", "pagerduty_configs", "webhook_configs"})
_MATCHER = re.compile(r"([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*\"(.*)\"")


def alertmanager(here: Here, path: str) -> Iterator[str]:
    """Receivers, routes, inhibition."""
    read = data(here, path)
    yield from unknown(read, _TOP, _TOP, "the file")
    yield from secrets(read)
    receivers = [str(one.get("name")) for one in read["receivers"]]
    for one in read["receivers"]:
        yield from unknown(one, _RECEIVER, frozenset({"name"}), f"receiver {one.get('name')}")
        if len(one) < 2:
            yield f"receiver {one.get('name')} tells nobody"
    yield from (f"receiver {name} is there {n} times" for name, n in Counter(receivers).items() if n > 1)
    used: set[str] = set()
    yield from _route(read["route"], receivers, used, "route")
    yield from (f"no route leads to receiver {name}" for name in receivers if name not in used)
    for rule in read["inhibit_rules"]:
        yield from unknown(rule, _INHIBIT, _INHIBIT, "an inhibit rule")
        for text in [*rule["source_matchers"], *rule["target_matchers"]]:
            yield from _matcher(text)
    for labels, receiver in ROUTES:
        reached = routed(read["route"], labels)
        if receiver not in reached:
            said = ", ".join(labels.values())
            yield f"an alert of {said} reaches {', '.join(reached) or 'nobody'}, not {receiver}"


def _route(route: Any, receivers: list[str], used: set[str], at: str) -> Iterator[str]:
    yield from unknown(route, _ROUTE, frozenset({"receiver"}), at)
    used.add(str(route["receiver"]))
    if route["receiver"] not in receivers:
        yield f"{at}: there is no receiver {route['receiver']}"
    for key in ("group_wait", "group_interval", "repeat_interval"):
        if key in route and not DURATION.fullmatch(str(route[key])):
            yield f"{at}: {key} {route[key]!r} is no duration"
    for text in route.get("matchers", []):
        yield from _matcher(text)
    for i, one in enumerate(route.get("routes", [])):
        yield from _route(one, receivers, used, f"{at}.routes[{i}]")


def _matcher(text: object) -> Iterator[str]:
    found = _MATCHER.fullmatch(str(text).strip())
    if found is None:
        yield f"{text!r} is no matcher"
        return
    try:
        re.compile(found.group(3))
    except re.error as error:
        yield f"matcher {text!r}: {error}"


def routed(route: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Receivers that an alert reaches; the first route that fits counts."""
    if not all(_fits(str(text), labels) for text in route.get("matchers", [])):
        return []
    for one in route.get("routes", []):
        if found := routed(one, labels):
            return found
    return [str(route["receiver"])]


def _fits(matcher: str, labels: Mapping[str, str]) -> bool:
    found = _MATCHER.fullmatch(matcher.strip())
    if found is None:
        return False
    name, sign, value = found.groups()
    held = labels.get(name, "")
    same = re.fullmatch(value, held) is not None if "~" in sign else held == value
    return same != sign.startswith("!")


def counters(here: Here, path: str) -> Iterator[str]:
    """The field list of dcgm-exporter."""
    types = {row["field"]: row["type"] for row in dcgm.table()}
    listed: list[str] = []
    for number, line in enumerate(here.read(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != 3 or not all(cells):
            yield f"line {number} has {len(cells)} columns in place of field, type, help"
            continue
        listed.append(cells[0])
        if cells[0] not in types:
            yield f"line {number}: dcgm-exporter knows no field {cells[0]}"
        elif cells[1] != types[cells[0]]:
            yield f"line {number}: {cells[0]} is a {types[cells[0]]}, not a {cells[1]}"
    yield from (f"{name} is there {count} times" for name, count in Counter(listed).items() if count > 1)
    asked = {name for query in _queries(here) for name in _series(query) if name.startswith("DCGM_")}
    yield from (f"{name} is asked for and not exported" for name in sorted(asked - set(listed)))


def _queries(here: Here) -> Iterator[str]:
    yield from (str(rule.get("expr", "")) for found in here.rules.values() for rule in found)
    for path in here.glob("grafana/dashboards/*.json"):
        yield from panel_queries(data(here, path))


def _series(query: str) -> list[str]:
    try:
        return list(names(query).series)
    except ValueError:
        return []


_VARIABLE = re.compile(r"([A-Z][A-Z0-9_]*)=(\S*)")


def environment(here: Here, path: str) -> Iterator[str]:
    """Environment of dcgm-exporter."""
    given: dict[str, str] = {}
    for number, line in enumerate(here.read(path).splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        found = _VARIABLE.fullmatch(line)
        if found is None or not found.group(1).startswith("DCGM_EXPORTER_"):
            yield f"line {number} sets no variable of dcgm-exporter"
            continue
        given[found.group(1)] = found.group(2)
    for name in ("COLLECTORS", "LISTEN", "INTERVAL", "XID_COUNT_WINDOW_SIZE"):
        if not given.get(f"DCGM_EXPORTER_{name}"):
            yield f"lacks DCGM_EXPORTER_{name}"
    for name in ("INTERVAL", "XID_COUNT_WINDOW_SIZE"):
        text = given.get(f"DCGM_EXPORTER_{name}", "0")
        if not text.isdigit() or not 1000 <= int(text) <= 3_600_000:
            yield f"DCGM_EXPORTER_{name}={text} is no time in milliseconds"


_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")


def prices(here: Here, path: str) -> Iterator[str]:
    """The page of the cost exporter."""
    known = {row["metric"] for row in table("exporters.csv") if row["exporter"] == "cost-exporter"}
    typed, seen, values = set(), Counter[str](), set()
    for number, line in enumerate(here.read(path).splitlines(), 1):
        if line.startswith("# TYPE "):
            typed.add(line.split(" ")[2])
        if line.startswith("#") or not line:
            continue
        found = _SAMPLE.fullmatch(line)
        if found is None:
            yield f"line {number} is no sample"
            continue
        name, _, value = found.groups()
        seen[line.rpartition(" ")[0]] += 1
        values.add(name)
        if name not in typed:
            yield f"line {number}: {name} has no type"
        if name not in known:
            yield f"line {number}: {name} is not in the table of metrics"
        if not re.fullmatch(r"\d+(\.\d+)?(e[+-]?\d+)?", value):
            yield f"line {number}: {value!r} is no price, share or number of GPUs"
    yield from (f"lacks {name}" for name in sorted(known - values))
    yield from (f"{name} is there {count} times" for name, count in seen.items() if count > 1)
