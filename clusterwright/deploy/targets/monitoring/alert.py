"""What an alert is: when, how bad, for whom, why at that value, and what to do first.

As in the table of metrics queries are PromQL by traits, with ``@figure@`` from the design.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from clusterwright.traces import Level

__all__ = ["SEVERITIES", "TEAMS", "Alert"]

SEVERITIES = ("critical", "warning", "info")
"""``critical`` wakes somebody, ``warning`` is for the working day, ``info`` for the record."""
TEAMS = ("hardware", "fabric", "storage", "platform", "facility", "finance")
Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True)
class Alert:
    """One alert.

    Attributes:
        name: CamelCase, unique; the anchor of its entry in ``alerts.md``.
        query: PromQL, or trait -> PromQL.
        wait: how long the query must hold.
        summary: one line, with the labels of the series.
        source: where the threshold comes from.
        action: what to do first.
        level: ``node`` is evaluated by every shard, ``cluster`` once for the site.
        needs: a trait without which it makes no sense.
    """

    name: str
    severity: Severity
    team: str
    query: str | Mapping[str, str]
    wait: str
    summary: str
    source: str
    action: str
    level: Level = "cluster"
    needs: str = ""

    def text(self, traits: Collection[str]) -> str:
        """The query for a cluster with these traits; empty where it does not apply."""
        if self.needs and self.needs not in traits:
            return ""
        if isinstance(self.query, str):
            return self.query
        return next((query for trait, query in self.query.items() if trait in traits), "")
