"""How the monitoring files of a bundle are read back, and what all their checks share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import yaml

from clusterwright.deploy.bundle import Folder
from clusterwright.deploy.targets.monitoring.figures import table
from clusterwright.deploy.targets.monitoring.rules import exported
from clusterwright.deploy.text import load_yaml
from clusterwright.traces import METRICS

__all__ = ["Here", "data", "secrets", "unknown"]


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


def secrets(read: Any, at: str = "") -> Iterator[str]:
    """Secrets written into a file in place of a reference to a file."""
    if isinstance(read, dict):
        for key, value in read.items():
            if _SECRET.search(str(key)) and isinstance(value, str):
                yield f"{at}{key} holds a secret; name a file by {key}_file"
            yield from secrets(value, f"{at}{key}.")
    elif isinstance(read, list):
        for i, value in enumerate(read):
            yield from secrets(value, f"{at}{i}.")


def unknown(read: Any, keys: frozenset[str], needed: frozenset[str], at: str) -> Iterator[str]:
    """Keys that a mapping may not have or lacks."""
    if not isinstance(read, dict):
        yield f"{at} is no mapping"
        return
    yield from (f"{at} has the unknown key {key}" for key in sorted(map(str, read.keys() - keys)))
    yield from (f"{at} lacks {key}" for key in sorted(needed - read.keys()))
