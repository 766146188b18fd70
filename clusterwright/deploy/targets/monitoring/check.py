"""Our own reading of the monitoring files of a bundle; works without any tool."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.targets.monitoring import check_alerting, check_grafana, check_prometheus, check_rules
from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.deploy.targets.monitoring.reading import Here, data

__all__ = ["check"]

OWN = "clusterwright"
Reader = Callable[[Here, str], Iterator[str]]


def check(folder: Folder) -> Iterator[Check]:
    """Read every file of every site."""
    readers: dict[str, tuple[Reader, str]] = {
        "prometheus/*.yml": (check_prometheus.server, "keys, jobs, files that it names, shares, no secrets"),
        "prometheus/*.default": (check_prometheus.flags, "flags"),
        "prometheus/targets/*.json": (check_prometheus.targets, "targets and labels, each once"),
        "prometheus/rules/*.yml": (check_rules.rules, "names, labels, annotations, queries over known series"),
        "prometheus/tests/*.yml": (check_rules.rule_tests, "keys, rule files, queries"),
        "alerts.md": (check_rules.handbook, "an entry for every alert"),
        "alertmanager/*.yml": (check_alerting.alertmanager, "receivers, routes of every alert, no secrets"),
        "alertmanager/*.default": (check_prometheus.flags, "flags"),
        "dcgm-exporter/*.csv": (check_alerting.counters, "fields, types, every field that rules and panels need"),
        "dcgm-exporter/*.env": (check_alerting.environment, "names and values"),
        "slurm-exporter/*.py": (_program, "syntax"),
        "cost-exporter/*.prom": (check_alerting.prices, "series and values"),
        "grafana/provisioning/*.yml": (check_grafana.provisioning, "keys, addresses"),
        "grafana/dashboards/*.json": (check_grafana.dashboard, "panels, places, units, sources, queries"),
    }
    sites = dict.fromkeys(path.split("/")[1] for path in folder.glob("monitoring/*/*"))
    for site in sites:
        here = Here(folder, site)
        seen: set[str] = set()
        for pattern, (read, what) in readers.items():
            paths = [path for path in here.glob(pattern) if path not in seen and _fits(pattern, path)]
            seen.update(paths)
            for path in paths:
                yield _judged(here, path, read, what)
        for path, said in check_prometheus.whole(here):
            yield Check(path, OWN, "", "own", False, said)


def _fits(pattern: str, path: str) -> bool:
    """``*`` of a pattern must not reach into folders, but for provisioning."""
    return "provisioning" in pattern or path.count("/") == pattern.count("/") + 2


def _judged(here: Here, path: str, read: Reader, what: str) -> Check:
    if path.endswith((".yml", ".json")) and data(here, path) is None:
        return Check(path, OWN, "", "own", False, "cannot be read: no YAML or JSON")
    try:
        found = list(read(here, path))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        found = [f"has an unexpected form: {type(error).__name__}: {error}"[:160]]
    more = f" (and {len(found) - 4} more)" if len(found) > 4 else ""
    return Check(path, OWN, "", "own", not found, "; ".join(found[:4]) + more if found else what)


def _program(here: Here, path: str) -> Iterator[str]:
    """The exporter of Slurm: its syntax, and that it gives the series of the table with their labels."""
    try:
        tree = ast.parse(here.read(path))
    except SyntaxError as error:
        yield f"line {error.lineno}: {error.msg}"
        return
    listed = {row["metric"]: set(row["labels"].split()) for row in table("exporters.csv")}
    wanted = {name for name in listed if name.startswith("slurm_")}
    given: set[str] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "written" and _constant(call.args[0]):
            name = _constant(call.args[0])
            given.add(name)
            labels = {getattr(key, "value", "") for key in getattr(call.args[1], "keys", [])}
            if name not in wanted:
                yield f"line {call.lineno}: {name} is not in the table of metrics"
            elif labels and labels != listed[name]:
                yield f"line {call.lineno}: {name} has other labels than {', '.join(sorted(listed[name]))}"
    yield from (f"does not give {name}" for name in sorted(wanted - given))


def _constant(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""
