"""What a report says, before it is written as HTML, Markdown or JSON: one object, three writers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterwright.cluster import Cluster
from clusterwright.report.explanation import Explanation
from clusterwright.report.words import label, number, span

__all__ = ["Cell", "Column", "Grid", "Number", "Picture", "ReportModel", "Risk", "Section", "Verdict", "cell", "figure"]

REPORT_SCHEMA = "clusterwright/report/1"


@dataclass(frozen=True)
class Number:
    """One figure as shown: the value, its interval, and the path that opens its explanation."""

    path: str
    label: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    span: str = ""
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """One cell of a table: text, the path that explains it, and a state (good, bad, warn, dim, code)."""

    text: str
    path: str = ""
    state: str = ""
    sub: str = ""


@dataclass(frozen=True)
class Column:
    """One column: its title and whether it holds numbers, which are set flush right."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Grid:
    """A table with a caption; a folded one is opened by a click, for it is only looked up."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Picture:
    """A chart or drawing as data: ``kind`` names the function that draws it, ``alt`` says what it shows."""

    kind: str
    title: str
    alt: str
    data: Mapping[str, Any]
    note: str = ""
    grid: Grid | None = None


@dataclass(frozen=True)
class Section:
    """One section: a sentence, figures, pictures and tables; ``missing`` says why there is nothing."""

    key: str
    title: str
    lead: str = ""
    numbers: Sequence[Number] = ()
    parts: Sequence[Grid | Picture] = ()
    missing: str = ""


@dataclass(frozen=True)
class Verdict:
    """The answer in a sentence: how much is to spare and what binds."""

    word: str
    good: bool
    sentence: str
    detail: str = ""


@dataclass(frozen=True)
class Risk:
    """One finding: what it says, what to do about it, and the figure that it is about (path, and its name)."""

    code: str
    severity: str
    message: str
    hint: str
    path: str = ""
    name: str = ""


@dataclass(frozen=True)
class ReportModel:
    """A whole report.

    Attributes:
        head: name, versions, digest of the spec, dates; as the cluster has it.
        verdict: the answer.
        asked: what was asked, label and text.
        key: the numbers of the first screen.
        risks: the worst first.
        sections: in the order of reading.
        figures: every figure and choice, explained one level deep; its inputs are figures themselves.
    """

    head: Mapping[str, Any]
    verdict: Verdict
    asked: Sequence[tuple[str, str]]
    key: Sequence[Number]
    risks: Sequence[Risk]
    sections: Sequence[Section]
    figures: Mapping[str, Explanation] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name that the spec gives."""
        return str(self.head.get("name") or "cluster")


def figure(cluster: Cluster, path: str, *, name: str = "", note: str = "") -> Number | None:
    """A figure of the cluster ready to be shown; None when the design has no such figure."""
    if path not in cluster.frame or path in cluster.frame.texts:
        return None
    estimate = cluster.total(path)
    certain = estimate.low == estimate.high or cluster.frame.figure(path).count
    low, high = (None, None) if certain else (estimate.low, estimate.high)
    said = number(path, estimate.value)
    return Number(path, name or label(path), estimate.value, said, low, high, span(path, low, high), note)


def cell(cluster: Cluster, path: str) -> Cell:
    """A cell with a figure and, below it, its interval."""
    found = figure(cluster, path)
    return Cell("–", state="dim") if found is None else Cell(found.text, path, sub=found.span)


def value_of(cluster: Cluster, path: str, default: float = math.nan) -> float:
    """The value of a figure, or ``default`` when the design has none."""
    return cluster.value(path) if path in cluster.frame and path not in cluster.frame.texts else default
