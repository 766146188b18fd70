"""Where a number comes from, down to its sources: a tree of figures, laws, facts, wishes and choices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Literal

from clusterwright.cluster import SCHEMA, Cluster, Law, Provenance
from clusterwright.domains import all_laws
from clusterwright.report.words import in_unit, label, number, si, span
from clusterwright.units import unit_of

__all__ = ["Explanation", "LawText", "Option", "explain", "find", "suggest"]

_CELL = re.compile(r"(?P<table>\w+)\[(?P<row>[^\]]*[^\]\d][^\]]*)\]\.(?P<column>\w+)\Z")


@dataclass(frozen=True)
class LawText:
    """A law in words."""

    name: str
    formula: str
    unit: str
    source: str
    valid: str
    spread: float
    doc: str

    @classmethod
    def of(cls, law: Law) -> LawText:
        """The words of a law; ``doc`` is the first paragraph of its function's documentation."""
        doc = " ".join(law.doc.partition("\n\n")[0].split())
        return cls(law.name, law.formula, law.unit, law.source, law.valid, law.spread, doc)


@dataclass(frozen=True)
class Option:
    """One option that a choice weighed."""

    name: str
    chosen: bool
    why: str


@dataclass(frozen=True)
class Explanation:
    """One figure, choice, column or cell, and what it follows from.

    Attributes:
        path: as asked.
        kind: figure, choice (in words), column or cell.
        label: in words.
        value: the number or the words; for a column the list of its values.
        low: low end of the 80 % interval; None for what has none.
        high: high end.
        unit: SI unit.
        text: the value as people read it.
        span: the interval as people read it; empty for what has none.
        si: the value in SI units.
        origin: the provenance.
        law: the law, for what is computed.
        inputs: argument of the law -> the figures it got.
        options: what a choice weighed.
        cut: True when the inputs are not shown: the depth is reached, or the figure is shown above.
    """

    path: str
    kind: Literal["figure", "choice", "column", "cell"]
    label: str
    value: Any
    unit: str
    text: str
    origin: Provenance
    low: float | None = None
    high: float | None = None
    span: str = ""
    si: str = ""
    law: LawText | None = None
    inputs: Mapping[str, Sequence[Explanation]] = field(default_factory=dict)
    options: Sequence[Option] = ()
    cut: bool = False


def explain(cluster: Cluster, path: str, depth: int = 3, laws: Mapping[str, Law] | None = None) -> Explanation:
    """Explain one figure, choice, column or cell.

    Args:
        cluster: the design.
        path: ``facility.it_power_w``, ``fabric.topology``, ``racks.power_w`` or ``racks[main-c001].power_w``.
        depth: levels of inputs below the figure itself.
        laws: by name; every law of the package by default.

    Raises:
        KeyError: nothing of that name; see :func:`suggest`.
    """
    return _Walk(cluster, laws if laws is not None else all_laws()).at(path, depth)


def find(cluster: Cluster, query: str) -> list[str]:
    """The paths that a query names: itself, what a pattern with ``*`` matches, or everything below a prefix."""
    known = _paths(cluster)
    if query in known or _is_cell(cluster, query):
        return [query]
    if any(sign in query for sign in "*?"):
        pattern = query.replace("[", "[[]")
        return [path for path in known if fnmatchcase(path, pattern)]
    prefix = query.rstrip(".")
    return [path for path in known if path.startswith((prefix + ".", prefix + "["))]


def suggest(cluster: Cluster, query: str, most: int = 3) -> list[str]:
    """Paths like the one that was not found: near in spelling, or with the same last part."""
    known = list(_paths(cluster))
    last = query.rsplit(".", 1)[-1]
    near = get_close_matches(query, known, n=most, cutoff=0.6)
    same = [path for path in known if path.rsplit(".", 1)[-1] == last]
    inside = [path for path in known if len(last) > 3 and last in path]
    return list(dict.fromkeys([*near, *same, *inside]))[:most]


def _paths(cluster: Cluster) -> dict[str, None]:
    columns = (f"{name}.{column}" for name, table in cluster.tables.items() if len(table) for column in table.columns)
    return dict.fromkeys([*cluster.frame, *cluster.frame.texts, *columns])


def _is_cell(cluster: Cluster, query: str) -> bool:
    match = _CELL.match(query)
    if match is None or match["table"] not in cluster.tables:
        return False
    table = cluster.tables[match["table"]]
    return match["column"] in table.columns and match["row"] in _names(table.columns)


_UNSAID = Provenance("assumption", note="the table does not say where this column comes from")


def _names(columns: Mapping[str, list[Any]]) -> list[Any]:
    return columns.get("name") or columns.get("line") or columns.get("component") or []


class _Walk:
    """One walk through the provenance; a figure met again is not opened again."""

    def __init__(self, cluster: Cluster, laws: Mapping[str, Law]) -> None:
        self.cluster = cluster
        self.laws = laws
        self.opened: set[str] = set()

    def at(self, path: str, depth: int) -> Explanation:
        frame = self.cluster.frame
        if path in frame.texts:
            text, origin = frame.texts[path]
            options = _options(self.cluster, path)
            return Explanation(path, "choice", label(path), text, "text", text, origin, options=options)
        if path in frame:
            return self._figure(path, depth)
        return self._table(path, depth)

    def _figure(self, path: str, depth: int) -> Explanation:
        figure, estimate = self.cluster.frame.figure(path), self.cluster.frame.estimate(path)
        origin = figure.provenance
        plain = figure.count or figure.certain or estimate.low == estimate.high
        low, high = (None, None) if plain else (estimate.low, estimate.high)
        inputs, cut = self._inputs(origin, path, depth)
        return Explanation(
            path,
            "figure",
            label(path),
            estimate.value,
            unit_of(path),
            number(path, estimate.value),
            origin,
            low,
            high,
            span(path, low, high),
            si(path, estimate.value),
            self._law(origin),
            inputs,
            _options(self.cluster, path) if origin.kind == "choice" else (),
            cut,
        )

    def _law(self, origin: Provenance) -> LawText | None:
        found = self.laws.get(origin.law) if origin.law else None
        return LawText.of(found) if found is not None else None

    def _inputs(self, origin: Provenance, path: str, depth: int) -> tuple[dict[str, list[Explanation]], bool]:
        if not origin.inputs:
            return {}, False
        if depth <= 0 or path in self.opened:
            return {}, True
        self.opened.add(path)
        made: dict[str, list[Explanation]] = {}
        for argument, refs in origin.inputs.items():
            paths = [refs] if isinstance(refs, str) else list(refs)
            made[argument] = [self._input(str(one), depth - 1) for one in paths]
        return made, False

    def _input(self, path: str, depth: int) -> Explanation:
        try:
            return self.at(path, depth)
        except KeyError:
            gone = Provenance("assumption", note="not in this design")
            return Explanation(path, "figure", label(path), None, unit_of(path), "unknown", gone)

    def _table(self, path: str, depth: int) -> Explanation:
        match = _CELL.match(path)
        name, column = (match["table"], match["column"]) if match else (path.partition(".")[0], path.partition(".")[2])
        if name not in self.cluster.tables or column not in self.cluster.tables[name].columns:
            raise KeyError(f"nothing is called '{path}'")
        table = self.cluster.tables[name]
        about = SCHEMA[name][column]
        origin = table.provenance.get(column, _UNSAID)
        inputs, cut = self._inputs(origin, path, depth)
        words = about.meaning
        values = table[column]
        if match:
            names = _names(table.columns)
            if match["row"] not in names:
                raise KeyError(f"table {name} has no row '{match['row']}'")
            value = values[names.index(match["row"])]
            text = value if isinstance(value, str) else in_unit(value, about.unit)
            return Explanation(
                path, "cell", words, value, about.unit, text, origin, law=self._law(origin), inputs=inputs, cut=cut
            )
        text = _several(values, about.unit)
        return Explanation(
            path, "column", words, list(values), about.unit, text, origin, law=self._law(origin), inputs=inputs, cut=cut
        )


def _several(values: Sequence[Any], unit: str) -> str:
    """The values of a column in a line: text as it is, numbers with their unit, equal ones once."""
    said = list(dict.fromkeys(v if isinstance(v, str) else in_unit(v, unit) for v in values))
    return ", ".join(said[:6]) + (f" and {len(said) - 6} more" if len(said) > 6 else "") if said else "no rows"


_WEIGHED = frozenset(
    {
        "compute.gpus",
        "compute.accelerator",
        "compute.server",
        "compute.nodes_per_rack",
        "fabric.technology",
        "cost.procurement",
        "cost.buy",
        "cost.rent",
        "cost.reserved",
        "cost.colocate",
    }
)
"""Figures and texts that the table of options settles."""


def _options(cluster: Cluster, path: str) -> list[Option]:
    answers = cluster.answers
    plan = re.match(r"training\[(\d+)\]\.(?:tp|pp|dp|cp|ep|micro_batch)\Z", path)
    if path in _WEIGHED:
        return [_option(row) for row in _rows(answers.get("considered"))]
    if plan:
        plans = answers.get("plans") or []
        return [_plan(row) for row in _rows(plans[int(plan[1])] if int(plan[1]) < len(plans) else [])]
    key = {"fabric": "fabric_options", "scheduling": "scheduler_options", "storage": "storage_options"}
    room = path.partition(".")[0]
    return [_option(row) for row in _rows(answers.get(key.get(room, "")))]


def _rows(rows: Any) -> Iterable[Mapping[str, Any]]:
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _option(row: Mapping[str, Any]) -> Option:
    return Option(str(row.get("name", "")), bool(row.get("chosen")), str(row.get("why", "")))


def _plan(row: Mapping[str, Any]) -> Option:
    parts = [f"{key} {row[key]:g}" for key in ("tp", "pp", "dp", "cp", "ep", "micro_batch") if key in row]
    time = f"{number('step_time_s', row['step_time_s'])} a step; " if row.get("step_time_s") else ""
    return Option(" ".join(parts), bool(row.get("chosen")), time + str(row.get("why", "")))
