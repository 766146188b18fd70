"""Our own reading of the monitoring files of a bundle; works without any tool."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import yaml

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.deploy.targets.monitoring.metrics import METRICS
from clusterwright.deploy.targets.monitoring.rules import exported
from clusterwright.deploy.text import load_yaml

__all__ = ["Here", "check", "secrets"]

OWN = "clusterwright"
Problems = Iterator[str]
Reader = Callable[["Here", str], Problems]


@dataclass(frozen=True, eq=False)
class Here:
    """The monitoring files of one site in a bundle."""

    folder: Folder
    site: str

    @property
    def base(self) -> str:
        """Path of the site's folder."""
        return f"monitoring/{self.site}"

    def glob(self, pattern: str) -> list[str]:
        """Files below the site's folder."""
        return self.folder.glob(f"{self.base}/{pattern}")

    def read(self, path: str) -> str:
        """Text of a file of the bundle."""
        return self.folder.read(path)

    def beside(self, path: str, relative: str) -> str:
        """The path of what a file refers to."""
        parts: list[str] = []
        for part in (*PurePosixPath(path).parent.parts, *PurePosixPath(relative).parts):
            if part == "..":
                parts = parts[:-1]
            else:
                parts.append(part)
        return "/".join(parts)

    @cached_property
    def rules(self) -> dict[str, list[dict[str, Any]]]:
        """Rules by file, as far as they can be read."""
        return {path: list(_rules(data(self, path))) for path in self.glob("prometheus/rules/*.yml")}

    @cached_property
    def records(self) -> frozenset[str]:
        """Recorded series."""
        return frozenset(str(rule["record"]) for found in self.rules.values() for rule in found if "record" in rule)

    @cached_property
    def known(self) -> dict[str, frozenset[str]]:
        """Every series that a query may name, with its labels."""
        labels = {one.record: frozenset(one.labels) for one in METRICS}
        made = {row["metric"]: exported(row["labels"]) for row in table("exporters.csv")}
        return made | {record: labels[record] for record in self.records if record in labels}


def data(here: Here, path: str) -> Any:
    """A YAML or JSON file as plain data; None where it is damaged."""
    text = here.read(path)
    try:
        return json.loads(text) if path.endswith(".json") else load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _rules(read: Any) -> Iterator[dict[str, Any]]:
    groups = read.get("groups") if isinstance(read, dict) else None
    for group in groups if isinstance(groups, list) else []:
        found = group.get("rules") if isinstance(group, dict) else None
        yield from (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


_SECRET = re.compile(
    r"(^|_)(password|secret|token|credentials|bearer_token|routing_key|service_key|api_key|api_url|webhook_url)$"
)


def secrets(read: Any, at: str = "") -> Problems:
    """Secrets written into a file in place of a reference to a file."""
    if isinstance(read, dict):
        for key, value in read.items():
            if _SECRET.search(str(key)) and isinstance(value, str):
                yield f"{at}{key} holds a secret; name a file by {key}_file"
            yield from secrets(value, f"{at}{key}.")
    elif isinstance(read, list):
        for i, value in enumerate(read):
            yield from secrets(value, f"{at}{i}.")


def unknown(read: Any, keys: frozenset[str], needed: frozenset[str], at: str) -> Problems:
    """Keys that a mapping may not have or lacks."""
    if not isinstance(read, dict):
        yield f"{at} is no mapping"
        return
    yield from (f"{at} has the unknown key {key}" for key in sorted(map(str, read.keys() - keys)))
    yield from (f"{at} lacks {key}" for key in sorted(needed - read.keys()))


def check(folder: Folder) -> Iterator[Check]:
    """Read every file of every site."""
    from clusterwright.deploy.targets.monitoring import check_alerting, check_grafana, check_prometheus, check_rules

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


def _program(here: Here, path: str) -> Problems:
    try:
        ast.parse(here.read(path))
    except SyntaxError as error:
        yield f"line {error.lineno}: {error.msg}"
