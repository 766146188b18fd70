"""The cluster object: head, figures, tables, findings and answers; what every stage reads and writes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from clusterwright.cluster.frame import Estimate, Frame
from clusterwright.cluster.tables import SCHEMA, Table
from clusterwright.findings import SEVERITIES, Finding
from clusterwright.units import money_in

__all__ = ["SCHEMA_NAME", "Cluster"]

SCHEMA_NAME = "clusterwright/design/1"


@dataclass
class Cluster:
    """One cluster, planned or observed.

    Attributes:
        head: schema, name, versions, digest of the spec; no clock time, so that equal inputs give equal bytes.
        frame: the single figures (totals) with interval and provenance, a frame of one candidate.
        tables: by name, see :data:`clusterwright.cluster.tables.SCHEMA`.
        findings: what is worth saying.
        answers: results that are neither figure nor row: considered options, Pareto front, sensitivities, audit.
    """

    head: dict[str, Any] = field(default_factory=dict)
    frame: Frame = field(default_factory=Frame)
    tables: dict[str, Table] = field(default_factory=lambda: {name: Table.empty(name) for name in SCHEMA})
    findings: list[Finding] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name that the spec gives."""
        return str(self.head.get("name", ""))

    @property
    def verdict(self) -> str:
        """``feasible`` or ``infeasible``."""
        return str(self.head.get("verdict", ""))

    def in_its_currency(self) -> AbstractContextManager[None]:
        """Show amounts in the currency that the spec asks for, inside the ``with`` block."""
        return money_in(str(self.head.get("currency", "USD")), float(self.head.get("currency_usd", 1.0)))

    def say(self, *findings: Finding) -> None:
        """Add findings; one that is there already is not repeated."""
        for finding in findings:
            if finding not in self.findings:
                self.findings.append(finding)

    def worst_first(self) -> list[Finding]:
        """The findings, errors first."""
        return sorted(self.findings, key=lambda f: SEVERITIES.index(f.severity))

    def total(self, path: str) -> Estimate:
        """One figure with its interval.

        Raises:
            KeyError: no such figure.
        """
        return self.frame.estimate(path)

    def value(self, path: str) -> float:
        """One figure's value."""
        return self.frame.estimate(path).value

    def totals(self) -> dict[str, Any]:
        """All figures and choices by path: counts as plain numbers, predictions as value, low, high."""
        made: dict[str, Any] = {}
        for path in self.frame:
            figure, estimate = self.frame.figure(path), self.frame.estimate(path)
            if figure.count:
                made[path] = int(estimate.value) if estimate.value.is_integer() else estimate.value
            else:
                made[path] = estimate.to_dict()
        made.update({path: text for path, (text, _) in self.frame.texts.items()})
        return made

    def tree(self) -> dict[str, Any]:
        """The figures nested by their paths: ``training[0].mfu`` becomes ``{"training": [{"mfu": ...}]}``."""
        root: dict[str, Any] = {}
        for path, value in self.totals().items():
            _plant(root, path, value)
        return root


def _plant(root: dict[str, Any], path: str, value: Any) -> None:
    here: Any = root
    parts = path.split(".")
    for i, part in enumerate(parts):
        name, _, index = part.partition("[")
        last = i == len(parts) - 1
        if index:
            items = here.setdefault(name, [])
            position = int(index.rstrip("]"))
            items.extend({} for _ in range(position + 1 - len(items)))
            if last:
                items[position] = value
            here = items[position]
        elif last:
            if isinstance(here.get(name), dict) and isinstance(value, dict):
                here[name].update(value)
            else:
                here[name] = value
        else:
            child = here.setdefault(name, {})
            here = child
