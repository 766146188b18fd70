"""What a metric is: name, query, unit, target, direction and meaning.

Plain data that knows nothing of files, so that dashboards, rules, tests, live status and the simulator read one table.
Queries are PromQL; ``@name@`` stands for a figure of the design (see ``figures.py``). A query that differs by what is
deployed is a mapping from a trait of the cluster to the query: ``slurm`` or ``kubernetes``, ``nvidia`` or ``amd``,
``rdma`` or ``ethernet`` (counters of the nodes' ports), ``lustre``, ``gpfs``, ``nfs`` or ``posix`` (file system).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Direction", "Level", "Metric", "filled", "number", "placeholders"]

Level = Literal["node", "cluster"]
Direction = Literal["higher", "lower", "band", "none"]


@dataclass(frozen=True)
class Metric:
    """One thing that is watched.

    Attributes:
        name: short, unique.
        record: the series that a recording rule writes, ``level:what:how``.
        query: PromQL, or trait -> PromQL; the first trait that the cluster has counts.
        unit: of the value: ``1`` (a share or a plain number), ``s``, ``W``, ``bytes/s``, ``1/h``, ``USD/h``, ``kg/h``.
        labels: of the recorded series.
        level: ``node`` is evaluated by every shard of Prometheus on its own nodes, ``cluster`` once for the site.
        direction: which way is better; ``band`` between ``low`` and ``high``.
        low, high: the target, in ``unit``; None without one.
        source: where the target comes from.
        meaning: in words, limits of the measurement included.
        add: labels that the rule adds; several metrics may then write one series name.
    """

    name: str
    record: str
    query: str | Mapping[str, str]
    unit: str
    labels: tuple[str, ...]
    meaning: str
    level: Level = "cluster"
    direction: Direction = "none"
    low: float | None = None
    high: float | None = None
    source: str = ""
    add: Mapping[str, str] | None = None

    def text(self, traits: Collection[str]) -> str:
        """The query for a cluster with these traits; empty where it cannot be measured there."""
        if isinstance(self.query, str):
            return self.query
        return next((query for trait, query in self.query.items() if trait in traits), "")


_PLACE = re.compile(r"@([a-z0-9_]+)@")


def placeholders(query: str) -> set[str]:
    """Names of the figures that a query stands on."""
    return set(_PLACE.findall(query))


def filled(query: str, figures: Mapping[str, float]) -> str:
    """The query with the design's figures.

    Raises:
        KeyError: a figure is missing.
    """
    return _PLACE.sub(lambda found: number(figures[found.group(1)]), query)


def number(value: float) -> str:
    """A number as PromQL reads it, at most six digits long where that loses nothing that matters."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"
